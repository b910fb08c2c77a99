"""Stored rows in bulk: their positions, their keys, and their distribution over partitions."""

from collections.abc import Sequence

import numpy as np

from balcao.opendata.keys import ROOT_CHARACTERS, Numbers, Positions, characters, numbers_of
from balcao.opendata.layout import LINE_FEED, TableGroup


class StoredRows:
    """Stored rows, each followed by a line feed, column-wise: positions, keys, tables."""

    def __init__(self, text: bytes, group: TableGroup) -> None:
        """Scan the rows; `group` sets the width of their keys."""
        self._view = np.frombuffer(text, np.uint8)
        ends = np.flatnonzero(self._view == LINE_FEED)
        starts = np.concatenate((np.zeros(1, np.int64), ends + 1))[:-1]
        self.starts: Positions = starts
        self.lengths: Positions = ends - starts + 1  # with the line feed
        self.tags = self._view[starts]
        self.numbers: Numbers = np.zeros(0, np.uint64)
        if len(starts):
            root = characters(self._view, starts + 1, ROOT_CHARACTERS)
            if group.key_characters == ROOT_CHARACTERS:
                self.numbers = numbers_of(root)
            else:
                self.numbers = numbers_of(root, characters(self._view, starts + 10, 4))


def distribute(
    rows: bytes, lengths: Positions, partition: Positions, batch: Sequence[list[memoryview]]
) -> None:
    """Append each row to its partition, keeping the order of rows within a partition.

    `rows` and `lengths` as in `StoredRows`; `batch` has a list of pieces for each partition.
    """
    if len(batch) == 1:
        batch[0].append(memoryview(rows))
        return
    lines = rows.split(b"\n")  # the last one is empty, so that the text ends with a line feed
    order = np.argsort(partition.astype(np.uint16), kind="stable").tolist()
    text = memoryview(b"\n".join(map(lines.__getitem__, [*order, len(order)])))
    sizes = np.bincount(partition, weights=lengths, minlength=len(batch))
    begin = 0
    for pieces, end in zip(batch, np.cumsum(sizes).astype(np.int64).tolist(), strict=True):
        if end > begin:
            pieces.append(text[begin:end])
            begin = end
