"""Second phase of an import: turn one partition's rows into finished blocks.

Runs in a worker. A partition has some tens of megabytes, so all is done in memory: sort by key,
keep one row per key, pack the rows of some sixteen keys into each block.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from balcao.opendata.compression import Packer
from balcao.opendata.keys import Positions, blocks_within, hash_keys
from balcao.opendata.layout import SEPARATOR, SEVERAL_ROWS, SOCIOS, TableGroup
from balcao.opendata.spill import read_partition
from balcao.opendata.stored import StoredRows
from balcao.opendata.worker_pool import Report


@dataclass(frozen=True, slots=True)
class GatherTask:
    """One partition to finish."""

    group: TableGroup
    partition: int
    partitions: int
    blocks_per_partition: int
    spills: tuple[Path, ...]  # in the order of the group's tables, then of their parts
    dictionary: bytes


@dataclass(frozen=True, slots=True)
class Gathered:
    """The partition's blocks in order, and the counts of each spill file's rows."""

    partition: int
    blocks: list[bytes]
    stored: list[int]  # per spill file
    duplicates: list[int]  # per spill file
    most_partners: tuple[int, str]  # how many, and the root that has them


def gather(task: GatherTask, report: Report) -> Gathered:
    """Sort one partition into blocks."""
    contents = [read_partition(path, task.partition, task.partitions) for path in task.spills]
    file_ends = np.cumsum([len(content) for content in contents])
    text = b"".join(contents)
    del contents
    lines = text.split(b"\n")
    lines.pop()
    rows = StoredRows(text, task.group)

    order = np.argsort(hash_keys(rows.numbers), kind="stable")
    dropped = [*_repeated_keys(rows, order, lines), *_repeated_rows(rows, lines)]
    if dropped:
        order = order[~np.isin(order, dropped)]

    block = blocks_within(rows.numbers[order], task.blocks_per_partition)
    packed = _pack(lines, rows.lengths[order], order, block, task)

    files = len(task.spills)
    file_of_row = np.searchsorted(file_ends, rows.starts, side="right")
    duplicates = np.bincount(file_of_row[dropped], minlength=files).tolist()
    stored = np.bincount(file_of_row[order], minlength=files).tolist()
    report(task.group.title, len(text), len(order))
    most_partners = _most_partners(rows, order, lines)
    return Gathered(task.partition, packed, stored, duplicates, most_partners)


def _repeated_keys(rows: StoredRows, order: Positions, lines: Sequence[bytes]) -> list[int]:
    """Return rows to drop because another of the same table and key has more fields filled."""
    numbers, tags = rows.numbers[order], rows.tags[order]
    again = (numbers[1:] == numbers[:-1]) & (tags[1:] == tags[:-1])
    again &= ~np.isin(tags[1:], [ord(table.tag) for table in SEVERAL_ROWS])
    dropped: list[int] = []
    best = -1
    for at in np.flatnonzero(again).tolist():
        one, other = int(order[at]), int(order[at + 1])
        if best < 0 or rows.numbers[best] != rows.numbers[one] or rows.tags[best] != rows.tags[one]:
            best = one
        if _filled(lines[other]) > _filled(lines[best]):
            best, other = other, best
        dropped.append(other)
    return dropped


def _filled(row: bytes) -> int:
    return sum(1 for field in row.split(bytes([SEPARATOR])) if field.strip())


def _repeated_rows(rows: StoredRows, lines: Sequence[bytes]) -> list[int]:
    """Return rows identical to an earlier one, of tables without a unique key."""
    return [at for table in SEVERAL_ROWS for at in _repeated_in(rows.tags == ord(table.tag), lines)]


def _repeated_in(of_table: npt.NDArray[np.bool_], lines: Sequence[bytes]) -> list[int]:
    places = np.flatnonzero(of_table)
    if not len(places):
        return []
    # They are contiguous: a group's tables come one after the other.
    first, last = int(places[0]), int(places[-1]) + 1
    if len(set(lines[first:last])) == last - first:
        return []
    seen: set[bytes] = set()
    dropped: list[int] = []
    for at in range(first, last):
        if lines[at] in seen:
            dropped.append(at)
        seen.add(lines[at])
    return dropped


def _most_partners(rows: StoredRows, order: Positions, lines: Sequence[bytes]) -> tuple[int, str]:
    partners = order[rows.tags[order] == ord(SOCIOS.tag)]
    if not len(partners):
        return 0, ""
    numbers = rows.numbers[partners]
    firsts = np.concatenate((np.zeros(1, np.int64), np.flatnonzero(np.diff(numbers)) + 1))
    counts = np.diff(firsts, append=len(partners))
    most = int(counts.argmax())
    line = lines[int(partners[firsts[most]])]
    return int(counts[most]), line[1:9].decode("latin-1")


def _pack(
    lines: Sequence[bytes],
    lengths: Positions,
    order: Positions,
    block: npt.NDArray[np.int64],
    task: GatherTask,
) -> list[bytes]:
    """Return the blocks' compressed bytes, empty blocks included. Each row follows a line feed."""
    pack = Packer(task.dictionary).pack
    text = memoryview(b"\n" + b"\n".join(map(lines.__getitem__, order.tolist())))
    upto = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    bounds = upto[np.searchsorted(block, np.arange(task.blocks_per_partition + 1))].tolist()
    return [pack(text[a:b]) for a, b in pairwise(bounds)]
