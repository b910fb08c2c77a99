"""First phase of an import: read one zip and distribute its rows over partitions.

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
from balcao.opendata.layout import LAYOUTS, TAX_REGIMES, TableGroup, TableLayout
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
from balcao.opendata.stored import distribute
from balcao.opendata.tally import ColumnTally, Counter
from balcao.opendata.tax_regimes import read_lines
from balcao.opendata.worker_pool import Report

# Longer batches make longer segments, which compress better and are read back in fewer reads.
BATCH_BYTES = 64 * 1024 * 1024

# Appending a piece to its partition takes as long as copying some rows. So rows are collected until
# pieces have about this many, but no more than the processor's caches have room for.
_ROWS_PER_PIECE = 6

# A record of the widest table, every field at the longest known length, has 2 kB.
LINE_BYTES_MAX = 1024 * 1024

# More than any table may have in total: stop instead of reading the rest slowly.
REJECTS_PER_PART_MAX = 1000

# Of the optional files: with more unreadable lines than one in a hundred, another layout.
_OPTIONAL_REJECTS_MIN, _OPTIONAL_REJECTS_SHARE = 10, 0.01


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


class _PendingRows:
    """Rows that are not distributed yet."""

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        self._lengths: list[Positions] = []
        self._partitions: list[Positions] = []
        self.rows = 0

    def add(self, rows: bytes, lengths: Positions, partition: Positions) -> None:
        """Add rows, with the arguments of `distribute`."""
        self._texts.append(rows)
        self._lengths.append(lengths)
        self._partitions.append(partition)
        self.rows += len(lengths)

    def distribute(self, batch: Sequence[list[memoryview]]) -> None:
        """Distribute and drop all of them."""
        if self._texts:
            lengths, partition = np.concatenate(self._lengths), np.concatenate(self._partitions)
            distribute(b"".join(self._texts), lengths, partition, batch)
        for held in (self._texts, self._lengths, self._partitions):
            held.clear()
        self.rows = 0


def read_or_train(task: ScatterTask | TrainTask, report: Report) -> PartReport | bytes:
    """Run a worker's task of the first phase."""
    if isinstance(task, TrainTask):
        return train_dictionary(task)
    if task.part.table == TAX_REGIMES.name:
        return scatter_optional(task, report)
    return scatter(task, report)


def scatter_optional(task: ScatterTask, report: Report) -> PartReport:
    """Read a zip without which the month is complete: one that cannot be read is left out."""
    try:
        return scatter(task, report)
    except (BadInput, TooManyRejects) as error:
        part = task.part
        part_report = PartReport(part.file, part.table, 0, 0, [], ColumnTally(), str(error))
        writer = SpillWriter(task.spill, compressed=task.compress_spill)
        writer.write([[] for _ in range(len(task.bounds) + 1)])
        writer.finish(part_report)
        return part_report


def scatter(task: ScatterTask, report: Report) -> PartReport:
    """Read one zip, write its spill file, report the findings.

    Raises `BadInput` for a damaged zip, `TooManyRejects` for a file that is something else.
    """
    part = task.part
    table = LAYOUTS[part.table]
    counter = Counter(table, task.extraction, task.sample_one_in)
    writer = SpillWriter(task.spill, compressed=task.compress_spill)
    part_report = PartReport(part.file, part.table, 0, 0, [], ColumnTally())
    ranges = len(task.bounds) + 1
    batch: list[list[memoryview]] = [[] for _ in range(ranges)]
    pending = _PendingRows()
    held_bytes = 0
    try:
        read = _checked_regimes if table is TAX_REGIMES else _checked
        for fields in read(part, table, part_report, report):
            numbers = key_numbers(fields, task.group)
            counter.count(fields, numbers)
            partition = ranges_of(numbers, task.bounds)
            pending.add(stored_rows(fields, table), stored_lengths(fields, table), partition)
            held_bytes += len(fields.buffer)
            if pending.rows >= ranges * _ROWS_PER_PIECE:
                pending.distribute(batch)
            if held_bytes >= BATCH_BYTES:
                writer.write(batch)
                batch = [[] for _ in range(ranges)]
                held_bytes = 0
        pending.distribute(batch)
        writer.write(batch)
        part_report.tally = counter.result()
        writer.finish(part_report)
    except BaseException:
        writer.abandon()
        raise
    return part_report


def _checked(
    part: Part, table: TableLayout, part_report: PartReport, report: Report
) -> Iterator[Fields]:
    """Yield the content as buffers of clean lines; counts them and the unreadable records."""
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
        before = part_report.read
        fields, unread = _parse(rest + chunk[:cut], table, part_report, final=False)
        rest = unread + chunk[cut:]
        if fields is not None:
            yield fields
        report(part.file, packed_bytes, part_report.read - before)
    encoding.finish()
    if rest:
        fields, _ = _parse(rest + b"\n", table, part_report, final=True)
        if fields is not None:
            yield fields


def _checked_regimes(
    part: Part, table: TableLayout, part_report: PartReport, report: Report
) -> Iterator[Fields]:
    """Yield the content of a file of tax regimes like `_checked`."""
    has_header = False
    for lines, packed_bytes in read_lines(part):
        has_header |= lines.has_header
        part_report.rejects += [
            Reject(part_report.file, part_report.read + number, raw.decode("latin-1"))
            for number, raw in lines.rejects
        ]
        _limit_rejects(part_report, REJECTS_PER_PART_MAX)
        part_report.read += lines.records
        if lines.clean:
            fields = find_fields(lines.clean, table)
            assert fields is not None, "rewritten lines are clean"
            yield fields
        report(part.file, packed_bytes, lines.records)
    if not part_report.read and not has_header:
        raise BadInput(f"{part.file} não tem nenhum registro")
    most = max(_OPTIONAL_REJECTS_MIN, int(part_report.read * _OPTIONAL_REJECTS_SHARE))
    _limit_rejects(part_report, most)


def _limit_rejects(part_report: PartReport, most: int) -> None:
    if len(part_report.rejects) > most:
        raise TooManyRejects(
            f"{part_report.file}: mais de {most} registros ilegíveis, o primeiro é o de número"
            f" {part_report.rejects[0].record}; o leiaute mudou?"
        )


def _parse(
    buffer: bytes, table: TableLayout, part_report: PartReport, *, final: bool
) -> tuple[Fields | None, bytes]:
    """Return the records of a buffer, and the lines that must wait for the next one."""
    fields = find_fields(buffer, table)
    if fields is not None:
        part_report.read += fields.lines
        return fields, b""
    repaired = repair(buffer, table, final=final)
    part_report.mended += repaired.mended
    part_report.rejects += [
        Reject(part_report.file, part_report.read + number, raw.decode("latin-1"))
        for number, raw in repaired.rejects
    ]
    _limit_rejects(part_report, REJECTS_PER_PART_MAX)
    part_report.read += len(repaired.rejects)
    if not repaired.lines:
        return None, repaired.rest
    fields = find_repaired_fields(repaired.lines, table)
    part_report.read += fields.lines
    return fields, repaired.rest
