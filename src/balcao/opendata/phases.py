"""The two phases of an import for one group of tables: read its zips, sort its rows.

Each resumes where an earlier attempt stopped: a zip whose spill file exists is not read again, a
partition whose blocks are in the building snapshot is not sorted again.

The rows of a month are distributed over ranges of roots of about the same size. The publisher's
order is unspecified, so a sample of the roots is read first: inflating a zip takes a tenth of the
time of reading its records.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np

from balcao.opendata.archive import Part, read_chunks
from balcao.opendata.compression import TrainTask
from balcao.opendata.errors import OpenDataError
from balcao.opendata.gather import GatherTask, gather
from balcao.opendata.keys import (
    ROOT_CHARACTERS,
    Numbers,
    are_key_characters,
    first_keys,
    numbers_of,
    read_numbers,
    written_numbers,
)
from balcao.opendata.layout import EMPRESAS, LAYOUTS, TableGroup
from balcao.opendata.plan import ROWS_PER_BLOCK, ImportPlan
from balcao.opendata.progress import ProgressListener
from balcao.opendata.scatter import ScatterTask, read_or_train
from balcao.opendata.snapshot_writer import GroupReading, SnapshotWriter, Sorting
from balcao.opendata.spill import read_report
from balcao.opendata.store import Work
from balcao.opendata.worker_pool import Report, WorkerPool

_EVERY_BYTES = 8 * 1024
_LINE = b'\n"'  # followed by a root


@dataclass(frozen=True, slots=True)
class SampleTask:
    """A zip whose lines begin with roots, to sample."""

    part: Part


def sample_roots(task: SampleTask, report: Report) -> Numbers:
    """Return the roots of some lines, unsorted. Raises `BadInput` for a damaged zip."""
    found: list[bytes] = []
    for chunk, packed_bytes in read_chunks(task.part):
        for at in range(0, len(chunk), _EVERY_BYTES):
            begin = chunk.find(_LINE, at) + len(_LINE)
            root = chunk[begin : begin + ROOT_CHARACTERS]
            if begin >= len(_LINE) and len(root) == ROOT_CHARACTERS:
                found.append(root)
        report(task.part.file, packed_bytes, 0)
    matrix = np.frombuffer(b"".join(found), np.uint8).reshape(-1, ROOT_CHARACTERS)
    return numbers_of(matrix[are_key_characters(matrix).all(axis=1)])


def cut(roots: Numbers, ranges: int) -> Numbers:
    """Return the first root of each of at most `ranges` ranges, without that of the first range."""
    if not len(roots):
        return roots
    cuts = np.arange(1, ranges) * len(roots) // ranges
    return np.unique(np.sort(roots)[cuts])


def save_bounds(path: Path, bounds: Numbers) -> None:
    """Write the bounds to a file, atomically."""
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(written_numbers(bounds))
    temporary.replace(path)


def load_bounds(path: Path) -> Numbers | None:
    """Return the saved bounds; None if there are none."""
    return read_numbers(path.read_bytes()) if path.exists() else None


@dataclass(frozen=True, slots=True)
class ImportContext:
    """The plan, folders, workers and listeners that the phases of one import share."""

    plan: ImportPlan
    work: Work
    pool: WorkerPool
    writer: SnapshotWriter
    progress: ProgressListener


def find_bounds(context: ImportContext) -> Numbers:
    """Return the first root of each of the month's ranges, without that of the first range.

    They are saved with the rows distributed by them, so that zips read later are distributed
    in the same way.
    """
    plan, kept = context.plan, context.work.bounds
    if (bounds := load_bounds(kept)) is None:
        # By companies: nearly as many rows as establishments, in a third of the bytes.
        parts = [part for part in plan.inputs.parts if part.table == EMPRESAS.name]
        tasks = [SampleTask(part) for part in _largest_first(parts) if plan.ranges > 1]
        if tasks:
            context.progress.begin("Medindo faixas", sum(part.packed_bytes for part in parts))
        found = list(context.pool.run(sample_roots, tasks, context.progress.advance))
        bounds = cut(np.concatenate([np.zeros(0, np.uint64), *found]), plan.ranges)
        save_bounds(kept, bounds)
    return bounds


def _largest_first(parts: Iterable[Part]) -> Sequence[Part]:
    """Sort by size, so that no worker is left with a large zip at the end."""
    return sorted(parts, key=lambda part: part.bytes, reverse=True)


def read_group(group: TableGroup, bounds: Numbers, context: ImportContext) -> GroupReading:
    """Read the group's zips, and distribute their rows over the month's ranges."""
    plan, work = context.plan, context.work
    parts = plan.parts(group)
    to_read = [part for part in parts if not work.spill(part).exists()]
    tasks: list[ScatterTask | TrainTask] = [
        ScatterTask(
            part,
            group,
            first_keys(bounds, group.key_characters),
            plan.extraction,
            plan.sample_one_in,
            work.spill(part),
            plan.compress_spill,
        )
        for part in _largest_first(to_read)
    ]
    tasks.insert(1, TrainTask(group, parts))  # not last: it takes as long as a small zip
    context.progress.begin(f"Lendo {group.title}", sum(part.packed_bytes for part in to_read))
    results = list(context.pool.run(read_or_train, tasks, context.progress.advance))
    (dictionary,) = (result for result in results if isinstance(result, bytes))
    reports = [read_report(work.spill(part)) for part in parts]
    keys = sum(report.read for report in reports if report.table == group.tables[0].name)
    per_range = ceil(keys / (len(bounds) + 1) / ROWS_PER_BLOCK)
    return GroupReading(reports, dictionary, len(bounds) + 1, max(per_range, 1))


def sort_group(group: TableGroup, reading: GroupReading, context: ImportContext) -> Sorting:
    """Sort the group's rows into the snapshot, then remove its spill files."""
    plan, work = context.plan, context.work
    sorting = context.writer.sorting(group)
    partitions = reading.partitions
    parts = plan.parts(group)
    spills = tuple(work.spill(part) for part in parts)
    files = [part.file for part in parts]
    tasks = [
        GatherTask(
            group,
            partition,
            partitions,
            reading.blocks_per_partition,
            spills,
            reading.dictionary,
        )
        for partition in range(sorting.partitions_done, partitions)
    ]
    stored_bytes = sum(part.bytes for part in parts) - sum(
        report.read * (2 * LAYOUTS[report.table].width - 1) for report in reading.reports
    )
    context.progress.begin(f"Ordenando {group.title}", stored_bytes * len(tasks) // partitions)
    for gathered in context.pool.run(gather, tasks, context.progress.advance):
        sorting.add(gathered, files)
        context.writer.add(group, gathered, sorting)
    check_counts(reading, sorting)
    for spill in spills:
        spill.unlink(missing_ok=True)
    return sorting


def check_counts(reading: GroupReading, sorting: Sorting) -> None:
    """Check that every record read is stored, rejected or a duplicate, file by file.

    `rfb-open-data.md`, section 10.3.
    """
    for report in reading.reports:
        stored = sorting.stored.get(report.file, 0)
        again = sorting.duplicates.get(report.file, 0)
        if report.read != stored + again + len(report.rejects):
            raise OpenDataError(
                f"{report.file}: {report.read} registros lidos, mas {stored} guardados, "
                f"{again} repetidos e {len(report.rejects)} recusados"
            )
