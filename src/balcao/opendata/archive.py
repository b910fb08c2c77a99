"""The publisher's zips: the table in each, its extraction date, and its content.

Names and dates: `rfb-open-data.md`, sections 1 and 2.
"""

import re
import struct
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import BinaryIO

from isal import igzip_lib, isal_zlib

from balcao.opendata.errors import BadInput
from balcao.opendata.layout import DOMAINS, TABLES, TAX_REGIME_FILES, TAX_REGIMES

# Bytes inflated by one call. Half a megabyte and everything derived from it stays in the
# processor's second-level cache; with 2 MB the same work takes a quarter longer.
CHUNK_BYTES = 512 * 1024
_READ_BYTES = 256 * 1024

INNER_DATE = re.compile(r"\.D([0-9])([0-9]{2})([0-9]{2})(?![0-9])")
_INNER_NUMBER = re.compile(r"Y([0-9]+)\.")
_OUTER_NUMBER = re.compile(r"[A-Za-z]+[ _-]?([0-9]+)")
# The publisher's name of a part, perhaps with a browser's suffix: `Empresas3 (1).zip`.
_NAMED_NUMBER = re.compile(r"[A-Za-z]+([0-9]{1,2})(?: ?\([0-9]+\)| - .*)?")
# A few rows may be the same in two parts of a small month.
_COPY_BYTES_MIN = 1000
_MARKS = {name: table.inner_mark for name, table in TABLES.items()}
_MARKS |= {name: domain.inner_mark for name, domain in DOMAINS.items()}
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1
# Errors that one wrong bit in a zip's directory causes.
_UNREADABLE = (zipfile.BadZipFile, OSError, NotImplementedError, ValueError, struct.error)


@dataclass(frozen=True, slots=True)
class Part:
    """A file in a zip of the month, as the directory describes it. Sent between processes."""

    path: Path
    table: str
    number: int
    entry: str
    method: int
    header_offset: int
    packed_bytes: int
    bytes: int
    crc: int
    modified: date | None

    @property
    def file(self) -> str:
        """The name for messages; files of tax regimes may be several in one zip."""
        name = self.path.name
        return f"{name}/{self.entry}" if self.table == TAX_REGIMES.name else name

    @property
    def identity(self) -> str:
        """A text that changes when the zip's content does."""
        return f"{self.table}{self.number}-{self.crc:08x}-{self.bytes}"


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files of a month, sorted by kind."""

    parts: tuple[Part, ...]  # of the large tables, in order of table and number
    domains: tuple[Part, ...]
    ignored: tuple[str, ...]  # zips that hold something else
    repeated: tuple[str, ...] = ()  # zips that hold the same bytes as another
    tax_regimes: tuple[Part, ...] = ()
    unreadable: tuple[str, ...] = ()  # zips of tax regimes, which are optional

    @property
    def rows(self) -> tuple[Part, ...]:
        """The files whose rows are stored."""
        return (*self.parts, *self.tax_regimes)


def discover(paths: Sequence[Path]) -> Inputs:
    """Open the directory of every zip that is given or lies in a given folder.

    A zip that was downloaded twice counts once. Raises `BadInput` for a damaged zip, for two zips
    that hold different versions of a part, and for one part given under two numbers.
    """
    found: dict[tuple[str, int], Part] = {}
    ignored: list[str] = []
    repeated: list[str] = []
    tax_regimes: dict[str, Part] = {}
    unreadable: list[str] = []
    for path in _zips(paths):
        if tax_regime_file(path.name) is not None:
            # Those of different files have different identities, even if they are equal.
            inside = inspect_tax_regimes(path)
            if not inside:
                unreadable.append(path.name)
            for each in inside:
                if tax_regimes.setdefault(each.identity, each) is not each:
                    repeated.append(each.file)
            continue
        part = _inspect(path)
        if part is None:
            ignored.append(path.name)
            continue
        other = found.setdefault((part.table, part.number), part)
        if other is part:
            continue
        if other.identity != part.identity:
            raise BadInput(f"{other.path} e {part.path} têm ambos {part.table} {part.number}")
        repeated.append(part.file)
    if not found:
        raise BadInput("nenhum zip dos dados abertos do CNPJ em " + ", ".join(map(str, paths)))
    parts = sorted(found.values(), key=lambda part: (part.table, part.number))
    _refuse_copies(parts)
    return Inputs(
        parts=tuple(part for part in parts if part.table in TABLES),
        domains=tuple(part for part in parts if part.table in DOMAINS),
        ignored=tuple(ignored),
        repeated=tuple(repeated),
        tax_regimes=tuple(sorted(tax_regimes.values(), key=lambda part: part.file)),
        unreadable=tuple(unreadable),
    )


def _refuse_copies(parts: Sequence[Part]) -> None:
    """Raise `BadInput` if a part is a copy of another one of its table."""
    seen: dict[tuple[str, int, int], Part] = {}
    for part in parts:
        other = seen.setdefault((part.table, part.crc, part.bytes), part)
        if other is not part and part.bytes > _COPY_BYTES_MIN:
            raise BadInput(f"{part.file} é uma cópia de {other.file}. Baixe de novo")


def _zips(paths: Sequence[Path]) -> list[Path]:
    zips: dict[Path, None] = {}  # keeps the order, drops repetitions
    for path in paths:
        if path.is_dir():
            inside = sorted(file for file in path.iterdir() if file.suffix.lower() == ".zip")
            zips.update((file.resolve(), None) for file in inside)
        else:
            zips[path.resolve()] = None
    for path in zips:
        if not path.exists():
            raise BadInput(f"{path} não existe")
        # Opening a FIFO would block until another process writes into it.
        if not (path.is_file() or path.is_dir()):
            raise BadInput(f"{path} não é um arquivo, e sim um FIFO, um soquete ou um dispositivo")
    return list(zips)


def tax_regime_file(name: str) -> int | None:
    """Return which of `TAX_REGIME_FILES` a zip is by its name; None: it is none of them."""
    plain = name.replace("_", " ").lower()
    starts = [plain.startswith(file.lower()) for file in TAX_REGIME_FILES]
    return starts.index(True) if any(starts) else None


def inspect_tax_regimes(path: Path) -> Sequence[Part]:
    """Return the files in a zip of tax regimes, one or one for each year; none: unreadable."""
    number = tax_regime_file(path.name)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except _UNREADABLE:
        return ()
    if number is None or any(_unsupported(entry) for entry in entries):
        return ()
    return [_part(path, TAX_REGIMES.name, number, entry) for entry in entries]


def _unsupported(entry: zipfile.ZipInfo) -> str | None:
    """Return why an entry cannot be read, in Portuguese."""
    if entry.flag_bits & _ENCRYPTED:
        return "está cifrado"
    if entry.compress_type not in {zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED}:
        return f"usa o método de compressão {entry.compress_type}"
    return None


def _inspect(path: Path) -> Part | None:
    outer = _table_of_outer_name(path.name)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
    except _UNREADABLE as error:
        if outer is None:
            return None
        raise BadInput(f"{path.name} está danificado ou incompleto. Baixe de novo") from error
    inner = _table_of_inner_names([entry.filename for entry in entries])
    table = inner or outer
    if table is None:
        return None
    if outer is not None and inner is not None and outer != inner:
        raise BadInput(f"{path.name} contém {inner}: {entries[0].filename}")
    if len(entries) != 1:
        raise BadInput(f"{path.name} tem {len(entries)} arquivos dentro, e não um")
    (entry,) = entries
    if reason := _unsupported(entry):
        raise BadInput(f"{path.name} {reason}")
    number = _INNER_NUMBER.search(entry.filename) or _OUTER_NUMBER.match(path.stem)
    named = _NAMED_NUMBER.fullmatch(path.stem)
    if number is not None and named is not None and int(named[1]) != int(number[1]):
        raise BadInput(f"{path.name} contém a parte {int(number[1])}: {entry.filename}")
    return _part(path, table, int(number[1]) if number else 0, entry)


def _part(path: Path, table: str, number: int, entry: zipfile.ZipInfo) -> Part:
    return Part(
        path=path,
        table=table,
        number=number,
        entry=entry.filename,
        method=entry.compress_type,
        header_offset=entry.header_offset,
        packed_bytes=entry.compress_size,
        bytes=entry.file_size,
        crc=entry.CRC,
        modified=_modified(entry),
    )


def _table_of_outer_name(name: str) -> str | None:
    lower = name.lower()
    return next((table for table in _MARKS if lower.startswith(table.lower())), None)


def _table_of_inner_names(names: Sequence[str]) -> str | None:
    inner = " ".join(names).upper()
    return next((table for table, mark in _MARKS.items() if mark in inner), None)


def _modified(entry: zipfile.ZipInfo) -> date | None:
    try:
        return date(*entry.date_time[:3])
    except ValueError:  # zips without a clock write day 0
        return None


def extraction_date(parts: Sequence[Part], today: date) -> date:
    """Return the extraction date in the names of the zipped files, else their newest time stamp.

    Raises `BadInput` when the names disagree or no date is found.
    """
    named: dict[date, str] = {}
    for part in parts:
        match = INNER_DATE.search(part.entry)
        day = None if match is None else _resolve(*map(int, match.groups()), today=today)
        if day is not None:
            named.setdefault(day, part.file)
    if len(named) > 1:
        days = ", ".join(f"{file} {day}" for day, file in sorted(named.items()))
        raise BadInput(f"os arquivos são de extrações diferentes: {days}")
    if named:
        return next(iter(named))
    modified = [part.modified for part in parts if part.modified is not None]
    if not modified:
        raise BadInput("nem os nomes internos nem os zips trazem uma data")
    return max(modified)


def _resolve(year_digit: int, month: int, day: int, *, today: date) -> date | None:
    """Return the latest day, not in the future, whose year ends in the digit."""
    for year in range(today.year, today.year - 11, -1):
        if year % 10 != year_digit:
            continue
        try:
            resolved = date(year, month, day)
        except ValueError:
            return None
        if resolved <= today:
            return resolved
    return None


def read_chunks(part: Part) -> Iterator[tuple[bytes, int]]:
    """Yield the inflated content in chunks, each with the number of packed bytes read for it.

    Raises `BadInput` at the end when length or CRC differ from the zip's directory, so nothing
    derived from the chunks may be used before the iterator is exhausted.
    """
    crc = 0
    length = 0
    try:
        with part.path.open("rb") as file:
            _skip_local_header(file, part)
            for chunk, packed in _inflate(file, part):
                crc = isal_zlib.crc32(chunk, crc)
                length += len(chunk)
                yield chunk, packed
    except (OSError, EOFError, ValueError, igzip_lib.IsalError) as error:  # type: ignore[misc]  # wrong stub
        why = error if isinstance(error, EOFError) else "não pode ser lido ou descomprimido"
        raise BadInput(f"{part.file} está danificado: {why}") from error
    if (length, crc) != (part.bytes, part.crc):
        raise BadInput(f"{part.file} está danificado: o tamanho ou o CRC não confere")


def _skip_local_header(file: BinaryIO, part: Part) -> None:
    file.seek(part.header_offset)
    header = file.read(30)
    if len(header) != 30:
        raise EOFError("falta o cabeçalho")
    signature, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
    if signature != b"PK\x03\x04":
        raise EOFError("falta o cabeçalho")
    file.seek(name_bytes + extra_bytes, 1)


def _inflate(file: BinaryIO, part: Part) -> Iterator[tuple[bytes, int]]:
    left = part.packed_bytes
    if part.method == zipfile.ZIP_STORED:
        while left:
            chunk = file.read(min(left, CHUNK_BYTES))
            if not chunk:
                raise EOFError("termina antes do fim")
            left -= len(chunk)
            yield chunk, len(chunk)
        return
    inflater = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE)
    while not inflater.eof:
        packed = b""
        if inflater.needs_input:
            packed = file.read(min(left, _READ_BYTES))
            if not packed:
                raise EOFError("termina antes do fim")
            left -= len(packed)
        yield inflater.decompress(packed, CHUNK_BYTES), len(packed)
