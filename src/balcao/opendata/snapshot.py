"""The published month, open for reading.

One immutable SQLite file. The rows of a key are in one block (`keys.py`), whose number is its row
id: a lookup reads two blocks, decompresses them, and searches bytes.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec
import numpy as np
import zstandard

from balcao.core.company import STATUS_TEXTS, Coded, Company, TaxRegime, masked, normalized
from balcao.core.documents import Cnpj
from balcao.core.month_detail import MonthDetail
from balcao.opendata.compression import Unpacker
from balcao.opendata.details import DetailReader
from balcao.opendata.errors import OpenDataError
from balcao.opendata.files import load, meta, open_finished
from balcao.opendata.keys import block_within, first_keys, number_of, read_numbers
from balcao.opendata.layout import (
    COMPANY_GROUP,
    DOMAINS,
    EMPRESAS,
    ESTABLISHMENT_GROUP,
    SIMPLES,
    SOCIOS,
    TAX_REGIME_FILES,
    TAX_REGIMES,
    TableGroup,
)
from balcao.opendata.municipalities import ibge_by_tom
from balcao.opendata.rows import Texts, company, tax_regimes, tidy
from balcao.opendata.stored import StoredRows

FORMAT = 2
_HEAD_OFFICE = "1"  # identificador_matriz_filial
_FORMAT_WITHOUT_RANGES = 1  # read as a month with a single range

# A scan of a month has the rows of one range in memory.
_RANGE_ROWS_MAX = 500_000

# Tidied together: the working memory stays in the processor's cache.
_ROWS_AT_ONCE = 500

CURRENT = "current"  # a small text file in the store that names the published snapshot
_SNAPSHOT_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\.([1-9]\d*))?\.snapshot")


class SnapshotInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """Metadata of a snapshot. Counts are rows by table.

    Files derived from a month contain its digest: a field added here must have a default, so that
    those of earlier months stay valid.
    """

    format: int
    extraction_date: date
    built_on: date
    rows: dict[str, int]
    rejected: dict[str, int]
    duplicates: dict[str, int]
    domains: dict[str, date]  # the day each table of codes is as of; missing: there is none
    blocks: dict[str, int]
    files: list[str]
    # True: an operator accepted implausible sizes. Not stored otherwise.
    forced: bool | msgspec.UnsetType = msgspec.UNSET
    bytes_on_disk: int = 0  # of the file; filled in when it is opened
    tax_regimes: tuple[str, ...] = ()  # which of the four optional files were imported


class StoredCompany(NamedTuple):
    """The rows of an establishment and its company, as stored."""

    establishment: bytes
    company: bytes | None
    simples: bytes | None
    partners: bytes
    tax_regimes: bytes

    @property
    def cnpj(self) -> str:
        """The CNPJ of the establishment."""
        row = self.establishment
        return (row[1:9] + row[10:14] + row[15:17]).decode()

    @property
    def is_head_office(self) -> bool:
        return self.establishment.split(b"\x1f", 4)[3] == _HEAD_OFFICE.encode()


class EstablishmentStanding(NamedTuple):
    """An establishment's CNPJ, its head-office flag, and the code of its status."""

    cnpj: str
    head_office: bool
    status: str


class Snapshot:
    """One open month. Not thread safe; reads in place, some tens of microseconds each.

    Every method may raise `OpenDataError` when the file is damaged.
    """

    def __init__(self, connection: apsw.Connection, info: SnapshotInfo) -> None:
        self.extraction_date = info.extraction_date
        self._connection = connection
        self._info = info
        self._establishments = _Blocks(connection, ESTABLISHMENT_GROUP, info)
        self._companies = _Blocks(connection, COMPANY_GROUP, info)
        domains = self.domains()
        self._texts = _texts(domains, info.extraction_date)
        self._all_regimes = set(TAX_REGIME_FILES) <= set(info.tax_regimes)
        as_of = info.extraction_date.isoformat()
        self._details = DetailReader(domains, as_of)

    @classmethod
    def open(cls, path: Path, *, mapped: bool = False) -> "Snapshot":
        """Open an immutable file; `mapped`: see `open_finished`. Raises `OpenDataError`."""
        try:
            connection = open_finished(path, mapped=mapped)
            info = msgspec.json.decode(meta(connection, "info"), type=SnapshotInfo)
            if info.format not in {FORMAT, _FORMAT_WITHOUT_RANGES}:
                raise OpenDataError(
                    f"{path} tem o formato {info.format}, e não {FORMAT}: importe de novo"
                )
            size = path.stat().st_size
            return cls(connection, msgspec.structs.replace(info, bytes_on_disk=size))
        except (apsw.Error, OSError, ValueError, zstandard.ZstdError) as error:
            raise OpenDataError(f"{path} não é um mês importado, ou está danificado") from error

    def find(self, cnpj: Cnpj) -> Company | None:
        """Return the company of a CNPJ, names as in the dump (mask them before showing them)."""
        rows = self.stored_rows(cnpj.text[:12])
        return None if rows is None else self.company_of(rows)

    def stored_rows(self, key: str) -> StoredCompany | None:
        """Return the rows of an establishment (12 characters) and its company, as stored."""
        root = key[:8].encode()
        text = b"\nE%b\x1f%b\x1f" % (root, key[8:].encode())
        establishment = _row(self._establishments.read(key), text)
        if establishment is None:
            return None
        rows = self._companies.read(key[:8])
        return StoredCompany(
            establishment,
            _row(rows, b"\nC%b\x1f" % root),
            _row(rows, b"\nS%b\x1f" % root),
            _rows(rows, b"\nP%b\x1f" % root),
            _rows(rows, b"\nR%b\x1f" % root),
        )

    def company_of(self, rows: StoredCompany) -> Company:
        """Return the company of an establishment's rows, as `find` does."""
        return company(
            rows.cnpj,
            (
                tidy(rows.establishment),
                None if rows.company is None else tidy(rows.company),
                None if rows.simples is None else tidy(rows.simples),
            ),
            tidy(rows.partners).split("\n") if rows.partners else (),
            self._texts,
            self._tax_regimes(tidy(rows.tax_regimes)),
        )

    def standing_of(self, rows: StoredCompany) -> tuple[str | None, str | None, str | None]:
        """Return the legal name, the status and its day of an establishment's rows, unmasked."""
        _, _, _, _, _, status, day, _ = rows.establishment.split(b"\x1f", 7)
        name = None if rows.company is None else _field(rows.company.split(b"\x1f", 2)[1]) or None
        return name, STATUS_TEXTS.get(_field(status).zfill(2)), self._texts.day(_field(day))

    def establishments_of(
        self, roots: Collection[str]
    ) -> Mapping[str, Sequence[EstablishmentStanding]]:
        """Return the establishments of some companies, by root.

        Reads the ranges of all roots, up to a second each.
        """
        ranges: set[int] = set()
        for root in roots:
            ranges.update(self._establishments.ranges_of(root))
        wanted = np.array(sorted(map(number_of, roots)), np.uint64)
        found: dict[str, list[EstablishmentStanding]] = {}
        for number in sorted(ranges):
            text = self.rows_in(ESTABLISHMENT_GROUP, range(number, number + 1))
            rows = StoredRows(text, COMPANY_GROUP)
            for at in np.flatnonzero(np.isin(rows.numbers, wanted)).tolist():
                start = int(rows.starts[at])
                row = tidy(text[start : start + int(rows.lengths[at]) - 1])
                fields = row.split("\x1f", 6)
                found.setdefault(row[1:9], []).append(
                    EstablishmentStanding(
                        row[1:9] + row[10:14] + row[15:17], fields[3] == _HEAD_OFFICE, fields[5]
                    )
                )
        return found

    def is_head_office(self, cnpj: Cnpj) -> bool | None:
        """Return the establishment's head-office flag; None: the month does not have it."""
        row = self.establishment_row(cnpj.text[:12])
        return None if row is None else _is_head_office(row)

    def find_head_office(self, root: str) -> Cnpj | None:
        """Return the head office of a company; None: the month does not have it.

        Reads the whole range of the root, up to a second: not for the event loop.
        """
        assert self.ranges  # raises for a month without them, which is too much to read
        start = b"\nE%b\x1f" % root.encode()
        for block in self._establishments.rows_in_range_of(root):
            rows, at = b"\n" + block, -1
            while (at := rows.find(start, at + 1)) >= 0:
                row = tidy(rows[at + 1 : rows.index(b"\n", at + 1)])
                if _is_head_office(row):
                    return Cnpj(root + row[10:14] + row[15:17])
        return None

    def detail(self, cnpj: Cnpj) -> MonthDetail | None:
        """Return the data of a CNPJ that `find` leaves out; names and documents masked."""
        rows, found = self.rows_of(cnpj.text[:12]), self.find(cnpj)
        if rows is None or found is None:
            return None
        known = masked(found)
        partners = self.partners_of(cnpj.root)
        return self._details.detail(normalized(known), known.socios, rows[0], rows[1], partners)

    @property
    def ranges(self) -> int:
        """Number of ranges of roots, each small enough for memory.

        Raises `OpenDataError` if the month was imported before ranges existed.
        """
        ranges = self._establishments.ranges
        if self._info.rows["Estabelecimentos"] > ranges * _RANGE_ROWS_MAX:
            raise OpenDataError("o mês é de uma versão anterior e não tem faixas: importe de novo")
        return ranges

    def rows_in(self, group: TableGroup, ranges: range) -> bytes:
        """Return a group's rows of some successive ranges, each followed by a line feed."""
        blocks = self._companies if group == COMPANY_GROUP else self._establishments
        return b"".join(blocks.rows_in(ranges))

    def establishments(self) -> Iterator[bytes]:
        """Yield the rows of every establishment, some at a time, each followed by a line feed."""
        return self._establishments.rows_in(range(self._establishments.ranges))

    def rows_of(self, key: str) -> tuple[str, str | None, str | None] | None:
        """Return the tidy rows of an establishment (12 characters), its company and its Simples."""
        establishment = self.establishment_row(key)
        return None if establishment is None else (establishment, *self.company_rows(key[:8]))

    def establishment_row(self, key: str) -> str | None:
        """Return the tidy row of an establishment (12 characters)."""
        text = b"\nE%b\x1f%b\x1f" % (key[:8].encode(), key[8:].encode())
        row = _row(self._establishments.read(key), text)
        return None if row is None else tidy(row)

    def company_rows(self, root: str) -> tuple[str | None, str | None]:
        """Return the tidy rows of a company, and of its Simples."""
        rows, key = self._companies.read(root), root.encode()
        found = _row(rows, b"\nC%b\x1f" % key), _row(rows, b"\nS%b\x1f" % key)
        company_row, simples = (None if row is None else tidy(row) for row in found)
        return company_row, simples

    def partners_of(self, root: str) -> Sequence[str]:
        """Return the tidy rows of a company's partners."""
        rows = _rows(self._companies.read(root), b"\nP%b\x1f" % root.encode())
        return tidy(rows).split("\n") if rows else ()

    def companies_of(self, rows: Sequence[bytes]) -> Iterator[Company]:
        """Yield the companies of some establishments' rows, as `find` returns them.

        If the rows are of one range and in the order of `keys.spread` of their roots, each block of
        companies is read once.
        """
        number, block = -1, _Companies("")
        for at in range(0, len(rows), _ROWS_AT_ONCE):
            for row in tidy(b"\n".join(rows[at : at + _ROWS_AT_ONCE])).split("\n"):
                root = row[1:9]
                if root not in block.rows and (needed := self._companies.number(root)) != number:
                    number, block = needed, _Companies(tidy(self._companies.read(root)))
                yield company(
                    root + row[10:14] + row[15:17],
                    (row, block.rows.get(root), block.simples.get(root)),
                    block.partners.get(root, ()),
                    self._texts,
                    self._tax_regimes("\n".join(block.tax_regimes.get(root, ()))),
                )

    def _tax_regimes(self, rows: str) -> tuple[TaxRegime, ...] | None:
        """Return a company's tax regimes; None: not known (contract 9.18)."""
        if not rows:
            return () if self._all_regimes else None
        return tax_regimes(rows.split("\n"))

    def simples(self, root: str) -> list[str] | None:
        """Return the fields of the root's row in Simples, as in the file."""
        row = _row(self._companies.read(root), b"\nS%b\x1f" % root.encode())
        return None if row is None else row[1:].decode("latin-1").split("\x1f")

    def partner_count(self, root: str) -> int:
        rows = _rows(self._companies.read(root), b"\nP%b\x1f" % root.encode())
        return rows.count(b"\n") + 1 if rows else 0

    def domains(self) -> dict[str, dict[str, str]]:
        """Return the tables of codes: name, code, text."""
        tables: dict[str, dict[str, str]] = {name: {} for name in DOMAINS}
        for name, code, text in self._connection.execute("SELECT name, code, text FROM domain"):
            tables[name][code] = text
        return tables

    def info(self) -> SnapshotInfo:
        return self._info

    def close(self) -> None:
        self._establishments.close()
        self._companies.close()
        self._connection.close()


class _Blocks:
    """The blocks of one group of tables."""

    def __init__(self, connection: apsw.Connection, group: TableGroup, info: SnapshotInfo) -> None:
        self._connection = connection
        self._group = group.name
        roots = read_numbers(load(connection, "bounds") or b"")
        self._bounds: Sequence[int] = first_keys(roots, group.key_characters).tolist()
        self.ranges = len(self._bounds) + 1
        self._per_range = info.blocks[group.name] // self.ranges
        self._unpack = Unpacker(meta(connection, f"dictionary:{group.name}")).unpack
        # Incremental reading by row id costs a third less than a SELECT.
        self._blob = connection.blob_open("main", group.name, "rows", 0, False)

    def number(self, key: str) -> int:
        number = number_of(key)
        first = bisect_right(self._bounds, number) * self._per_range
        return first + block_within(number, self._per_range)

    def rows_in_range_of(self, root: str) -> Iterator[bytes]:
        """Yield the rows of the range of a root, block by block."""
        return self.rows_in(self.ranges_of(root))

    def ranges_of(self, root: str) -> range:
        """Return the ranges that may have establishments of a root."""
        first, last = (self.number(root + order) // self._per_range for order in ("0000", "ZZZZ"))
        return range(first, last + 1)

    def rows_in(self, ranges: range) -> Iterator[bytes]:
        """Yield the rows of some successive ranges, each followed by a line feed, by block."""
        try:
            for (block,) in self._connection.execute(
                f"SELECT rows FROM {self._group} WHERE block >= ? AND block < ? ORDER BY block",  # noqa: S608
                (ranges.start * self._per_range, ranges.stop * self._per_range),
            ):
                rows = self._unpack(block)
                yield rows[1:] + b"\n" if rows else b""
        except (apsw.Error, zstandard.ZstdError) as error:
            raise OpenDataError(f"as linhas de {self._group} estão danificadas") from error

    def read(self, key: str) -> bytes:
        """Return the rows of the key's block, each after a line feed, other keys' rows included."""
        return self._rows(self.number(key))

    def _rows(self, number: int) -> bytes:
        try:
            self._blob.reopen(number)
            return self._unpack(self._blob.read())
        except (apsw.Error, zstandard.ZstdError) as error:
            raise OpenDataError(f"as linhas de {self._group} estão danificadas") from error

    def close(self) -> None:
        self._blob.close(True)


class _Companies:
    """The rows of a block of companies, by root."""

    def __init__(self, text: str) -> None:
        self.rows: dict[str, str] = {}
        self.simples: dict[str, str] = {}
        self.partners: dict[str, list[str]] = {}
        self.tax_regimes: dict[str, list[str]] = {}
        for row in text.split("\n")[1:]:
            if row[0] == EMPRESAS.tag:
                self.rows[row[1:9]] = row
            elif row[0] == SIMPLES.tag:
                self.simples[row[1:9]] = row
            elif row[0] == SOCIOS.tag:
                self.partners.setdefault(row[1:9], []).append(row)
            elif row[0] == TAX_REGIMES.tag:
                self.tax_regimes.setdefault(row[1:9], []).append(row)


def _field(stored: bytes) -> str:
    """Return one field as `tidy` leaves it in its row."""
    return tidy(stored).strip(" ")


def _is_head_office(establishment: str) -> bool:
    return establishment.split("\x1f", 4)[3] == _HEAD_OFFICE


def _row(rows: bytes, key: bytes) -> bytes | None:
    at = rows.find(key)
    if at < 0:
        return None
    end = rows.find(b"\n", at + 1)
    return rows[at + 1 :] if end < 0 else rows[at + 1 : end]


def _rows(rows: bytes, key: bytes) -> bytes:
    """Return all rows of the key, which are contiguous."""
    at = rows.find(key)
    if at < 0:
        return b""
    end = rows.find(b"\n", rows.rfind(key) + 1)
    return rows[at + 1 :] if end < 0 else rows[at + 1 : end]


def _texts(domains: dict[str, dict[str, str]], extraction: date) -> Texts:
    def coded(name: str) -> dict[str, Coded]:
        return {code: Coded(code, text) for code, text in domains[name].items()}

    return Texts(
        extraction=extraction,
        activities=coded("Cnaes"),
        natures=coded("Naturezas"),
        cities=domains["Municipios"],
        cities_ibge=ibge_by_tom(),
        reasons=coded("Motivos"),
        countries=domains["Paises"],
        qualifications=domains["Qualificacoes"],
    )


class Edition(NamedTuple):
    """A month and its build, by the name of its file. Ordered as months follow each other."""

    extraction_date: date
    build: int  # 1; higher where the same month was built again

    @property
    def file_name(self) -> str:
        """The name: `2026-08-08.snapshot`, or `2026-08-08.2.snapshot` when built again."""
        again = "" if self.build == 1 else f".{self.build}"
        return f"{self.extraction_date}{again}.snapshot"


def edition_of(name: str) -> Edition | None:
    """Parse a file name; None when it is not a month's."""
    match = _SNAPSHOT_NAME.fullmatch(name)
    if match is None:
        return None
    try:
        return Edition(date.fromisoformat(match[1]), int(match[2] or 1))
    except ValueError:
        return None


def current_edition(store: Path) -> Edition:
    """Return the published edition. Raises `OpenDataError` when there is none."""
    try:
        name = (store / CURRENT).read_text("utf-8").strip()
    except OSError as error:
        raise OpenDataError(f"nada foi importado em {store}") from error
    edition = edition_of(name)
    if edition is None:
        raise OpenDataError(f"{store / CURRENT} não nomeia um mês")
    return edition


def current_path(store: Path) -> Path:
    """Return the published file. Raises `OpenDataError` when there is none."""
    return store / current_edition(store).file_name
