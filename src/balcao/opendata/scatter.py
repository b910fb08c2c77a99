"""First half of an import: one zip in, its rows dealt over partitions out.

Runs in a worker. Memory: one batch, about 70 MB with its copies.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from balcao.opendata.archive import Part, read_chunks
from balcao.opendata.compression import TrainTask, train_dictionary
from balcao.opendata.encoding import EncodingCheck
from balcao.opendata.errors import BadInput, TooManyRejects
from balcao.opendata.keys import Numbers, Positions, ranges_of
from balcao.opendata.layout import TABLES, TableGroup, TableLayout
from balcao.opendata.repair import Reject, repair
from balcao.opendata.scan import (
    Fields,
    find_fields,
    find_repaired_fields,
    key_numbers,
    stored_lengths,
    stored_rows,
)
from balcao.opendata.spill import PartReport, SpillWriter
from balcao.opendata.stored import deal
from balcao.opendata.tally import ColumnTally, Counter
from balcao.opendata.team import Report

# Longer batches make longer segments, which compress better and are read back in fewer reads.
BATCH_BYTES = 64 * 1024 * 1024

# To hand a piece to its partition takes as long as to copy some rows. So many are dealt at a time
# that there are that many in a piece, and not more than the processor's caches have room for.
_ROWS_PER_PIECE = 6

# A record of the widest table, every field at the longest ever seen, has 2 kB.
LINE_BYTES_MAX = 1024 * 1024

# More than any table may have in all: stop here instead of reading on, slowly.
REJECTS_PER_PART_MAX = 1000


@dataclass(frozen=True, slots=True)
class ScatterTask:
    """One zip to read."""

    part: Part
    group: TableGroup
    bounds: Numbers  # of the group's keys
    extraction: date
    sample_one_in: int
    spill: Path
    compress_spill: bool


class _Waiting:
    """Rows that are not dealt yet."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._lengths: list[Positions] = []
        self._partitions: list[Positions] = []
        self.rows = 0

    def add(self, rows: bytes, lengths: Positions, partition: Positions) -> None:
        """As `deal` takes them."""
        self._texts.append(rows)
        self._lengths.append(lengths)
        self._partitions.append(partition)
        self.rows += len(lengths)

    def deal(self, batch: Sequence[list[memoryview]]) -> None:
        """Deal all of them, and hold none any more."""
        if self._texts:
            lengths, partition = np.concatenate(self._lengths), np.concatenate(self._partitions)
            deal(b"".join(self._texts), lengths, partition, batch)
        for held in (self._texts, self._lengths, self._partitions):
            held.clear()
        self.rows = 0


def read_or_train(task: ScatterTask | TrainTask, report: Report) -> PartReport | bytes:
    """What a worker does in the first half."""
    if isinstance(task, TrainTask):
        return train_dictionary(task)
    return scatter(task, report)


def scatter(task: ScatterTask, report: Report) -> PartReport:
    """Read one zip, write its spill file, say what was found.

    Raises `BadInput` for a damaged zip, `TooManyRejects` for a file that is something else.
    """
    part = task.part
    table = TABLES[part.table]
    counter = Counter(table, task.extraction, task.sample_one_in)
    writer = SpillWriter(task.spill, compressed=task.compress_spill)
    found = PartReport(part.file, part.table, 0, 0, [], ColumnTally())
    ranges = len(task.bounds) + 1
    batch: list[list[memoryview]] = [[] for _ in range(ranges)]
    waiting = _Waiting()
    held_bytes = 0
    try:
        for fields in _checked(part, table, found, report):
            numbers = key_numbers(fields, task.group)
            counter.count(fields, numbers)
            partition = ranges_of(numbers, task.bounds)
            waiting.add(stored_rows(fields, table), stored_lengths(fields, table), partition)
            held_bytes += len(fields.buffer)
            if waiting.rows >= ranges * _ROWS_PER_PIECE:
                waiting.deal(batch)
            if held_bytes >= BATCH_BYTES:
                writer.write(batch)
                batch = [[] for _ in range(ranges)]
                held_bytes = 0
        waiting.deal(batch)
        writer.write(batch)
        found.tally = counter.result()
        writer.finish(found)
    except BaseException:
        writer.abandon()
        raise
    return found


def _checked(part: Part, table: TableLayout, found: PartReport, report: Report) -> Iterator[Fields]:
    """The content as buffers of clean lines; counts them, and what could not be read."""
    rest = b""
    encoding = EncodingCheck(part.file)
    for chunk, packed_bytes in read_chunks(part):
        encoding.add(chunk)
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            rest += chunk
            if len(rest) > LINE_BYTES_MAX:
                raise BadInput(f"{part.file} tem uma linha de mais de {LINE_BYTES_MAX} bytes")
            continue
        before = found.read
        fields, unread = _take(rest + chunk[:cut], table, found, final=False)
        rest = unread + chunk[cut:]
        if fields is not None:
            yield fields
        report(part.file, packed_bytes, found.read - before)
    encoding.finish()
    if rest:
        fields, _ = _take(rest + b"\n", table, found, final=True)
        if fields is not None:
            yield fields


def _take(
    buffer: bytes, table: TableLayout, found: PartReport, *, final: bool
) -> tuple[Fields | None, bytes]:
    """The records of a buffer, and the lines that must wait for the next one."""
    fields = find_fields(buffer, table)
    if fields is not None:
        found.read += fields.lines
        return fields, b""
    repaired = repair(buffer, table, final=final)
    found.mended += repaired.mended
    found.rejects += [
        Reject(found.file, found.read + number, raw.decode("latin-1"))
        for number, raw in repaired.rejects
    ]
    if len(found.rejects) > REJECTS_PER_PART_MAX:
        raise TooManyRejects(
            f"{found.file}: mais de {REJECTS_PER_PART_MAX} registros ilegíveis, o primeiro "
            f"é o de número {found.rejects[0].record}; o leiaute mudou?"
        )
    found.read += len(repaired.rejects)
    if not repaired.lines:
        return None, repaired.rest
    fields = find_repaired_fields(repaired.lines, table)
    found.read += fields.lines
    return fields, repaired.rest
