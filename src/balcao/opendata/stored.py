"""Stored rows, many at once: where they are, their keys, and how they are dealt over partitions."""

from collections.abc import Sequence

import numpy as np

from balcao.opendata.keys import ROOT_CHARACTERS, Numbers, Positions, characters, numbers_of
from balcao.opendata.layout import LINE_FEED, TableGroup


class StoredRows:
    """Some rows, each followed by a line feed, column-wise: where they are, keys, tables."""

    def __init__(self, text: bytes, group: TableGroup) -> None:
        """`group`: by whose keys they are told apart."""
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


def deal(
    rows: bytes, lengths: Positions, partition: Positions, batch: Sequence[list[memoryview]]
) -> None:
    """Put each row into its partition, rows of one partition in the order in which they stand.

    `rows` and `lengths` as in `StoredRows`; `batch` has a list of pieces for each partition.
    """
    if len(batch) == 1:
        batch[0].append(memoryview(rows))
        return
    lines = rows.split(b"\n")  # the last one is empty, so that the text ends in a line feed
    order = np.argsort(partition.astype(np.uint16), kind="stable").tolist()
    text = memoryview(b"\n".join(map(lines.__getitem__, [*order, len(order)])))
    sizes = np.bincount(partition, weights=lengths, minlength=len(batch))
    begin = 0
    for pieces, end in zip(batch, np.cumsum(sizes).astype(np.int64).tolist(), strict=True):
        if end > begin:
            pieces.append(text[begin:end])
            begin = end
