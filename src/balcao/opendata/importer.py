"""Import a month of the CNPJ open data: zips in, one published snapshot out.

Start with `build`. Two groups of tables, one after the other, each in two phases: the zips are read
and their rows distributed over ranges of roots (`scatter`); each range, small enough for memory, is
sorted into blocks (`gather`). So at any time the disk holds the finished blocks and the compressed
rows of one group.

Killed at any moment, the same call resumes. Nothing published changes before the last step, which
is a rename.
"""

import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import msgspec

from balcao.opendata import completeness, verify
from balcao.opendata import store as stores
from balcao.opendata.archive import Inputs, Part, discover, extraction_date
from balcao.opendata.domains import DomainTable, read_domain, with_earlier
from balcao.opendata.errors import BadInput, OpenDataError, TooManyRejects, VerificationFailed
from balcao.opendata.keys import Numbers, written_numbers
from balcao.opendata.layout import COMPANY_GROUP, GROUPS, TABLES, TAX_REGIMES, TableGroup
from balcao.opendata.phases import ImportContext, find_bounds, read_group, sort_group
from balcao.opendata.plan import SAMPLE_ROWS, ImportPlan, make_plan
from balcao.opendata.probe import ProbeTask, check_witnesses, probe
from balcao.opendata.progress import VERIFYING, Listeners, ProgressListener
from balcao.opendata.progress_file import FileProgress
from balcao.opendata.repair import Reject
from balcao.opendata.snapshot import FORMAT, Snapshot, SnapshotInfo
from balcao.opendata.snapshot_writer import GroupReading, SnapshotWriter, Sorting
from balcao.opendata.store import Work, rollback
from balcao.opendata.tally import ColumnTally
from balcao.opendata.tax_regimes import complete_files, notes_on
from balcao.opendata.verify import bad_dates, unknown_values
from balcao.opendata.worker_pool import WorkerPool


@dataclass(slots=True)
class Totals:
    """Records by table, the tables of codes included."""

    rows: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    duplicates: dict[str, int] = field(default_factory=dict)
    mended: dict[str, int] = field(default_factory=dict)
    tallies: dict[str, ColumnTally] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    most_partners: tuple[int, str] = (0, "")

    @property
    def bad_dates(self) -> dict[str, int]:
        """Rows by `Table.column`."""
        return _merged(bad_dates(table, tally) for table, tally in self.tallies.items())

    @property
    def unknown_values(self) -> dict[str, int]:
        """Rows by `Table.column=value`."""
        return _merged(unknown_values(table, tally) for table, tally in self.tallies.items())

    @property
    def sample(self) -> list[str]:
        """A sample of CNPJs from all files."""
        return [cnpj for tally in self.tallies.values() for cnpj in tally.sample]

    @property
    def witnesses(self) -> dict[str, str]:
        """Keys of rows with a special case, by kind of case; looked up after the import."""
        return {
            kind: key for tally in self.tallies.values() for kind, key in tally.witnesses.items()
        }


def add_up(
    results: Iterable[tuple[GroupReading, Sorting]], domains: Iterable[DomainTable]
) -> Totals:
    """Add up the totals of all groups and tables of codes."""
    totals = Totals()
    for counts in (totals.rejected, totals.duplicates, totals.mended):
        counts.update(dict.fromkeys(TABLES, 0))
    for reading, sorting in results:
        for report in reading.reports:
            table = report.table
            totals.rows[table] = totals.rows.get(table, 0) + sorting.stored[report.file]
            for counts, more in (
                (totals.duplicates, sorting.duplicates[report.file]),
                (totals.rejected, len(report.rejects)),
                (totals.mended, report.mended),
            ):
                counts[table] = counts.get(table, 0) + more
            totals.rejects.extend(report.rejects)
            if table in TABLES:
                totals.tallies.setdefault(table, ColumnTally()).add(report.tally)
        totals.most_partners = max(totals.most_partners, sorting.most_partners)
    for domain in domains:
        totals.rows[domain.name] = len(domain.texts)
        totals.duplicates[domain.name] = domain.duplicates
        totals.rejected[domain.name] = len(domain.rejects)
        totals.rejects.extend(domain.rejects)
    return totals


def _merged(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    return {name: rows for some in counts for name, rows in some.items()}


__all__ = ["BuildReport", "build", "rollback"]

# Below this, starting processes takes longer than the work itself.
_BYTES_WORTH_WORKERS = 16 * 1024 * 1024

# The larger group's spill files and the snapshot, over the bytes of the CSV. Measured on
# generated months, and raised by a third because real text compresses less well.
_DISK_PER_CSV_BYTE = 0.5
_DISK_PER_CSV_BYTE_PLAIN = 0.8

_PROBES = 2  # tasks that look the sample up


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Summary of an import. Counts are records by table, where not noted otherwise."""

    extraction_date: date
    path: Path
    rows: dict[str, int]  # stored
    rejected: dict[str, int]
    duplicates: dict[str, int]
    mended: dict[str, int]  # read in spite of dirt
    parts: dict[str, int]  # zips by table
    bad_dates: dict[str, int]  # `Table.column` -> rows; answered as null
    unknown_values: dict[str, int]  # `Table.column=value` -> rows
    sampled: int  # CNPJs looked up for verification
    seconds: float
    bytes_on_disk: int
    rejects_file: Path
    tax_regimes: tuple[str, ...] = ()  # which of the four optional files were imported
    warnings: list[str] = field(default_factory=list)


def build(
    paths: Sequence[Path],
    store: Path,
    *,
    today: date,
    progress: ProgressListener | None = None,
    workers: int = 2,
    force: bool = False,
) -> BuildReport:
    """Import the month in the given folders and zips, and publish it in `store`.

    `force` publishes a month that shrank or grew more than months do, or has parts of implausible
    sizes; it does not publish an incomplete one. Apart from calling `progress`, writes the file
    that other processes read (`progress_file.read_progress`). Raises `OpenDataError`; then the
    published month is unchanged.
    """
    began = time.monotonic()
    inputs = discover([*paths, *stores.kept_files(store)])
    plan = make_plan(inputs, extraction_date((*inputs.parts, *inputs.domains), today))
    warnings: list[str] = []
    previous = _previous(store, warnings)
    found = _check_inputs(inputs, previous, force=force)
    warnings += _input_warnings(inputs, found)

    with (
        Work(store, plan) as work,
        FileProgress(store, plan.extraction) as file_progress,
        WorkerPool(_workers_for(plan, workers)) as pool,
    ):
        progress = Listeners(file_progress, progress)
        share = _DISK_PER_CSV_BYTE if plan.compress_spill else _DISK_PER_CSV_BYTE_PLAIN
        work.require_space(int(_csv_bytes(plan) * share))
        domains, kept = _read_domains(plan, previous)
        with closing(SnapshotWriter(work.building)) as writer:
            context = ImportContext(plan, work, pool, writer, progress)
            bounds = find_bounds(context)
            results = [_import(group, bounds, context) for group in GROUPS]
            totals = add_up(results, domains)
            growth = verify.compare(totals.rows, previous.rows)
            info = _describe(plan, results, totals, domains, today)
            if growth or found.sizes:
                info = msgspec.structs.replace(info, forced=True)
            dictionaries = {
                group.name: reading.dictionary
                for group, (reading, _) in zip(GROUPS, results, strict=True)
            }
            writer.finish(info, dictionaries, written_numbers(bounds), domains)

        stores.write_rejects(work.rejects, totals.rejects)
        sample = verify.evenly_spaced(totals.sample, SAMPLE_ROWS)
        verdict = _verify(work, pool, totals, sample, progress)
        if verdict.problems or (growth and not force):
            problems = [*verdict.problems, *growth]
            raise VerificationFailed(problems, only_size=not verdict.problems)
        path = stores.publish(store, work, plan.extraction)
        work.remove()

    return BuildReport(
        extraction_date=plan.extraction,
        path=path,
        rows=totals.rows,
        rejected=totals.rejected,
        duplicates=totals.duplicates,
        mended=totals.mended,
        parts=_parts_by_table(inputs),
        bad_dates=totals.bad_dates,
        unknown_values=totals.unknown_values,
        sampled=len(sample),
        seconds=time.monotonic() - began,
        bytes_on_disk=path.stat().st_size,
        rejects_file=stores.rejects_path(path),
        tax_regimes=info.tax_regimes,
        warnings=[
            *warnings,
            *kept,
            *notes_on(_tax_regimes(plan, results)),
            *verify.sentences(totals.unknown_values, "valor desconhecido"),
            *verify.sentences(totals.bad_dates, "data inválida"),
            *verdict.warnings,
            *growth,
        ],
    )


def _check_inputs(
    inputs: Inputs, previous: "_PreviousMonth", *, force: bool
) -> completeness.Completeness:
    """Refuse an incomplete month.

    Raises `BadInput` and, without `force`, `VerificationFailed` for implausible sizes.
    """
    found = completeness.judge(inputs, {table.name for table in previous.domains})
    if found.missing is not None:
        raise BadInput(found.missing)
    if found.sizes and not force:
        raise VerificationFailed(found.sizes, only_size=True)
    return found


def _input_warnings(inputs: Inputs, found: completeness.Completeness) -> list[str]:
    return [
        *found.warnings,
        *found.sizes,
        *(f"{file} não é nenhuma das tabelas: ignorado" for file in inputs.ignored),
        *(f"{file} repete outro zip da pasta: ignorado" for file in inputs.repeated),
        *(f"{file} (regime tributário) não pode ser lido: ignorado" for file in inputs.unreadable),
    ]


def _parts_by_table(inputs: Inputs) -> dict[str, int]:
    return {name: sum(part.table == name for part in inputs.parts) for name in TABLES}


def _csv_bytes(plan: ImportPlan) -> int:
    return sum(part.bytes for part in plan.inputs.rows)


def _workers_for(plan: ImportPlan, workers: int) -> int:
    return workers if workers > 1 and _csv_bytes(plan) > _BYTES_WORTH_WORKERS else 0


@dataclass(frozen=True, slots=True)
class _PreviousMonth:
    """Data of the month published before; empty when there is none."""

    rows: dict[str, int] = field(default_factory=dict)
    domains: tuple[DomainTable, ...] = ()


def _previous(store: Path, warnings: list[str]) -> _PreviousMonth:
    try:
        snapshot = stores.published(store)
    except OpenDataError as error:  # damaged, or of an older format: importing is the remedy
        warnings.append(f"o mês em uso não pôde ser lido para comparação: {error}")
        return _PreviousMonth()
    if snapshot is None:
        return _PreviousMonth()
    with closing(snapshot):
        info = snapshot.info()
        tables = snapshot.domains()
    return _PreviousMonth(
        {name: info.rows[name] for name in TABLES},
        tuple(DomainTable(name, day, tables[name]) for name, day in info.domains.items()),
    )


def _read_domains(
    plan: ImportPlan, previous: _PreviousMonth
) -> tuple[list[DomainTable], list[str]]:
    fresh = [read_domain(part, plan.extraction) for part in plan.inputs.domains]
    return with_earlier(fresh, previous.domains)


def _import(
    group: TableGroup, bounds: Numbers, context: ImportContext
) -> tuple[GroupReading, Sorting]:
    reading = context.writer.reading(group)
    if reading is None:
        reading = read_group(group, bounds, context)
        _check_rejects(reading, context.work)
        _check_rows(reading, group, context.plan)
        context.writer.save_reading(group, reading)
    return reading, sort_group(group, reading, context)


def _check_rejects(reading: GroupReading, work: Work) -> None:
    for table in {report.table for report in reading.reports} & TABLES.keys():
        of_table = [report for report in reading.reports if report.table == table]
        rejects: list[Reject] = [reject for report in of_table for reject in report.rejects]
        if len(rejects) > verify.rejects_allowed(sum(report.read for report in of_table)):
            stores.write_rejects(work.rejects, rejects)
            raise TooManyRejects(
                f"{table}: {len(rejects)} registros ilegíveis; estão em {work.rejects}"
            )


def _check_rows(reading: GroupReading, group: TableGroup, plan: ImportPlan) -> None:
    """Raise `BadInput` for a file without any readable record, which its size does not reveal."""
    if completeness.is_extract(plan.inputs):
        return
    parts = plan.parts(group)
    rows = {
        (part.table, part.number): report.read - len(report.rejects)
        for part, report in zip(parts, reading.reports, strict=True)
        if part.table in TABLES
    }
    if empty := completeness.empty_parts(rows):
        files = {(part.table, part.number): part.file for part in parts}
        raise BadInput(completeness.empty_sentence([files[name] for name in empty]))


def _tax_regimes(
    plan: ImportPlan, results: Sequence[tuple[GroupReading, Sorting]]
) -> Sequence[tuple[Part, str]]:
    """Return the files of tax regimes, each with why it was left out; empty: it was not."""
    (reading,) = (
        reading
        for group, (reading, _) in zip(GROUPS, results, strict=True)
        if group is COMPANY_GROUP
    )
    reports = zip(plan.parts(COMPANY_GROUP), reading.reports, strict=True)
    return [(part, rep.left_out) for part, rep in reports if part.table == TAX_REGIMES.name]


def _describe(
    plan: ImportPlan,
    results: Sequence[tuple[GroupReading, Sorting]],
    totals: Totals,
    domains: Sequence[DomainTable],
    today: date,
) -> SnapshotInfo:
    return SnapshotInfo(
        format=FORMAT,
        extraction_date=plan.extraction,
        built_on=today,
        rows=totals.rows,
        rejected=totals.rejected,
        duplicates=totals.duplicates,
        domains={table.name: table.as_of for table in domains},
        blocks={
            group.name: reading.partitions * reading.blocks_per_partition
            for group, (reading, _) in zip(GROUPS, results, strict=True)
        },
        files=[part.file for part in (*plan.inputs.rows, *plan.inputs.domains)],
        tax_regimes=complete_files(_tax_regimes(plan, results)),
    )


def _verify(
    work: Work, pool: WorkerPool, totals: Totals, sample: Sequence[str], progress: ProgressListener
) -> verify.Verification:
    progress.begin(VERIFYING, len(sample))
    tasks = [ProbeTask(work.building, tuple(sample[at::_PROBES])) for at in range(_PROBES)]
    probed = sum(pool.run(probe, tasks, progress.advance), verify.ProbeResult())
    verdict = verify.judge_sample(probed, totals.rows["Estabelecimentos"])
    with closing(Snapshot.open(work.building)) as snapshot:
        witnessed = check_witnesses(snapshot, totals.witnesses, totals.most_partners)
    return verify.Verification(
        verdict.problems + witnessed.problems, verdict.warnings + witnessed.warnings
    )
