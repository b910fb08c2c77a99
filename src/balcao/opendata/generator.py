"""Generates a month of the CNPJ open data, as the Receita Federal publishes it.

The 37 zips follow `rfb-open-data.md`, sections 2 and 3, byte by byte, with the shares and the dirt
of sections 9 and 11. A row's content is the fiction of its document (`balcao.fiction`), so a
generated month and the simulated providers agree on every company. Only the choice of documents,
the part a row is in and the places of the dirt depend on the seed.

Memory does not grow with the month: its roots are numbered, a permutation turns a number into the
root, and 50 000 numbers at a time become finished rows, independently of all others. Several
processes may make the chunks: the bytes are the same for any number of them.
"""

import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from balcao.fiction import codes, places
from balcao.fiction.month.chunks import PARTS, Chunk, build_chunk
from balcao.fiction.month.plan import MonthPlan, plan
from balcao.fiction.tax_regimes import FILES, PRESUMED, YEARS
from balcao.lifeline import end_with_parent

# The data are those of a known real month; a row of fiction is never younger.
EXTRACTION_DATE = date(2026, 8, 8)
EARLIER_EXTRACTION_DATE = date(2026, 7, 11)

# With this level the ratios are those of the real files (section 11: 4.0, 3.2 and 4.2 to 1).
COMPRESSION_LEVEL = 4

# The inner names of the two kinds of tables with parts; `{}` are the part and the date.
_PART_NAMES = {
    "Empresas": "K3241.K03200Y{part}.D{day}.EMPRECSV",
    "Estabelecimentos": "K3241.K03200Y{part}.D{day}.ESTABELE",
    "Socios": "K3241.K03200Y{part}.D{day}.SOCIOCSV",
}
_SIMPLES_NAME = "F.K03200$W.SIMPLES.CSV.D{day}"
_DOMAIN_NAME = "F.K03200$Z.D{day}.{mark}"
# Optional files of another form, with this first line (section 2.1).
_TAX_REGIME_HEADER = b"ano,cnpj,cnpj_da_scp,forma_de_tributacao,quantidade_de_escrituracoes\n"
_DOMAINS = {
    "Cnaes": ("CNAECSV", codes.ACTIVITIES),
    "Motivos": ("MOTICSV", codes.REASONS),
    "Municipios": ("MUNICCSV", {place.tom: place.name for place in places.MUNICIPALITIES}),
    "Naturezas": ("NATJUCSV", codes.NATURES),
    "Paises": ("PAISCSV", codes.COUNTRIES),
    "Qualificacoes": ("QUALSCSV", codes.QUALIFICATIONS),
}

# Above this a zip entry needs Zip64, which has to be declared before its first byte is written.
_ZIP64_BYTES = 2**32
_ROW_BYTES_MAX = {"Empresas": 90, "Estabelecimentos": 260, "Socios": 120, "Simples": 63}

# Chunks finished and not yet written, for each worker.
_CHUNKS_AHEAD = 2


@dataclass(frozen=True, slots=True)
class GeneratedMonth:
    """A month on disk. `records` counts the rows written, by table, dirt included."""

    folder: Path
    extraction_date: date
    files: tuple[Path, ...]
    records: dict[str, int]
    plan: MonthPlan

    def documents(self) -> Iterator[str]:
        """Yield every CNPJ of the month, without its dirt and without reading the files."""
        yield from self.plan.explicit
        for chunk in range(self.plan.chunks):
            yield from self.plan.documents_of(chunk)


def generate(
    out: Path,
    establishments: int,
    seed: int,
    *,
    alphanumeric_share: float = 0.001,
    clean: bool = False,
    extraction_date: date = EXTRACTION_DATE,
    include: Sequence[str] = (),
    workers: int = 1,
    dirt_times: float = 1.0,
    tax_regimes: bool = False,
    earlier: bool = False,
) -> GeneratedMonth:
    """Write the 37 zips of a month into `out`, which is created when missing.

    `establishments` is the number of rows before dirt, `include` names CNPJs that must be among
    them. `clean` leaves the dirt out; `dirt_times` multiplies its rates, which are too low to show
    in small months. `tax_regimes` adds the four optional zips of tax regimes. `earlier`: the month
    before, which differs in some companies of the sandbox alone; pass its `extraction_date`. The
    same arguments give the same bytes, for any number of `workers`.

    Raises `ValueError` when the arguments are inconsistent (`balcao.fiction.month.plan`).
    """
    month = plan(establishments, seed, alphanumeric_share, include)
    if earlier:
        month = month.month_before()
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        writer = _Writer(stack, out, month, extraction_date)
        regimes = _TaxRegimeWriter(stack, out, extraction_date) if tax_regimes else None
        dirty = 0.0 if clean else dirt_times
        for chunk in _chunks(month, dirty, workers, with_tax_regimes=tax_regimes):
            writer.add(chunk)
            if regimes is not None:
                regimes.add(chunk)
        if not clean:
            # Some files of some months end in a blank line.
            writer.entries[f"Socios{seed % PARTS}"].write(b"\n")
        if regimes is not None:
            writer.files += regimes.finish()
    files = [*writer.files, *(_write_domain(out, name, extraction_date) for name in _DOMAINS)]
    return GeneratedMonth(out, extraction_date, tuple(sorted(files)), writer.records, month)


class _Writer:
    """The zips of the large tables, all open at the same time."""

    def __init__(self, stack: ExitStack, out: Path, month: MonthPlan, day: date) -> None:
        self.files: list[Path] = []
        self.entries: dict[str, IO[bytes]] = {}
        self.records: dict[str, int] = {}
        for table, row_bytes in _ROW_BYTES_MAX.items():
            for part in range(1 if table == "Simples" else PARTS):
                name = table if table == "Simples" else f"{table}{part}"
                inner = _PART_NAMES.get(table, _SIMPLES_NAME).format(part=part, day=_stamp(day))
                path = out / f"{name}.zip"
                large = month.establishments * row_bytes > _ZIP64_BYTES
                archive = stack.enter_context(ZipFile(path, "w"))
                self.entries[name] = stack.enter_context(
                    archive.open(_entry(inner, day), "w", force_zip64=large)
                )
                self.files.append(path)

    def add(self, chunk: Chunk) -> None:
        for table, parts in chunk.parts.items():
            for part, text in enumerate(parts):
                self.entries[table if table == "Simples" else f"{table}{part}"].write(text)
            self.records[table] = self.records.get(table, 0) + chunk.records[table]


class _TaxRegimeWriter:
    """The zips of tax regimes. One may have several files, so they are written at the end."""

    def __init__(self, stack: ExitStack, out: Path, day: date) -> None:
        self._out, self._day = out, day
        self._entries: dict[str, IO[bytes]] = {}
        for file in sorted(set(FILES.values())):
            years = [f"{file}/{file} {year}" for year in YEARS]
            for name in years if file == FILES[PRESUMED] else [file]:
                self._entries[f"{name}.csv"] = stack.enter_context(TemporaryFile(dir=out))  # noqa: SIM115
        for entry in self._entries.values():
            entry.write(_TAX_REGIME_HEADER)

    def add(self, chunk: Chunk) -> None:
        for name, lines in chunk.tax_regimes.items():
            self._entries[name].write(lines)

    def finish(self) -> Sequence[Path]:
        """Write the zips and return their paths."""
        paths = {name: self._out / f"{_file_of(name)}.zip" for name in self._entries}
        for path in set(paths.values()):
            path.unlink(missing_ok=True)
        for name, lines in self._entries.items():
            lines.seek(0)
            with (
                ZipFile(paths[name], "a") as archive,
                archive.open(_entry(name, self._day), "w") as entry,
            ):
                shutil.copyfileobj(lines, entry)
        return sorted(set(paths.values()))


def _file_of(entry: str) -> str:
    """Return the file of tax regimes that an entry of its zip belongs to."""
    return entry.partition("/")[0].removesuffix(".csv")


def _write_domain(out: Path, name: str, day: date) -> Path:
    mark, texts = _DOMAINS[name]
    path = out / f"{name}.zip"
    lines = "".join(f'"{code}";"{text}"\n' for code, text in texts.items())
    with ZipFile(path, "w") as archive:
        inner = _entry(_DOMAIN_NAME.format(day=_stamp(day), mark=mark), day)
        archive.writestr(inner, lines.encode("latin-1"))
    return path


def _entry(name: str, day: date) -> ZipInfo:
    # All metadata of an entry is fixed here, so that the same month has the same bytes.
    entry = ZipInfo(name, date_time=(day.year, day.month, day.day, 0, 0, 0))
    entry.compress_type = ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    setattr(entry, "_compresslevel", COMPRESSION_LEVEL)  # noqa: B010  (public from Python 3.13)
    return entry


def _stamp(day: date) -> str:
    """Return last digit of the year, month, day: `60808` is 2026-08-08."""
    return f"{day.year % 10}{day:%m%d}"


def _chunks(
    month: MonthPlan, dirt_times: float, workers: int, *, with_tax_regimes: bool
) -> Iterator[Chunk]:
    """Yield all chunks in order, some of them built ahead by other processes."""
    if workers <= 1 or month.chunks == 1:
        for number in range(month.chunks):
            yield build_chunk(month, number, dirt_times, with_tax_regimes)
        return
    # Not forked: the caller may have threads, and their locks would be copied in any state.
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=end_with_parent
    ) as pool:
        ahead: deque[Future[Chunk]] = deque()
        for number in range(month.chunks):
            ahead.append(pool.submit(build_chunk, month, number, dirt_times, with_tax_regimes))
            if len(ahead) >= workers * _CHUNKS_AHEAD:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
