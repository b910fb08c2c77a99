"""CSV as people save it: which coding, which separator, and its records."""

import codecs
import csv
import re
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TextIO

from balcao.batches.names import is_known
from balcao.batches.tables.contract import (
    RowSource,
    TableBounds,
    TableRow,
    column_letter,
    too_many_rows,
)
from balcao.batches.tables.heading import ROWS_LOOKED_AT, find_heading
from balcao.errors import FileUnreadable

# Codings by their marks; without one it is UTF-8 if all of it is, else what Windows writes.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_NOT_WINDOWS = (0x81, 0x8D, 0x8F, 0x90, 0x9D)  # no characters there
_PIECE_BYTES = 1 << 20

SEPARATORS = {";": "ponto e vírgula", "\t": "tabulação", ",": "vírgula"}
_SAID = re.compile(r"sep=(.)\s*", re.IGNORECASE)  # Excel writes and reads such a first line

# A quotation mark that is never closed swallows whatever follows. No address has so many lines.
_LINES_IN_CELL_MAX = 50
_END = ("\x00end\x00",)  # nobody can have written it: texts with such characters are refused


def coding_of(path: Path) -> tuple[str, str]:
    """A coding that reads all of a text file, and what people call it. Raises `FileUnreadable`."""
    with path.open("rb") as file:
        head = file.read(4)
        for mark, coding, told in _MARKS:
            if head.startswith(mark):
                return coding, told
        decoder = codecs.getincrementaldecoder("utf-8")()
        file.seek(0)
        utf8 = windows = True
        while piece := file.read(_PIECE_BYTES):
            if b"\x00" in piece:
                raise _no_text()
            if utf8:
                try:
                    decoder.decode(piece)
                except UnicodeDecodeError:
                    utf8 = False
            windows = windows and not any(byte in piece for byte in _NOT_WINDOWS)
    if not (utf8 or windows):
        raise _no_text()
    # A character that the end of the file cuts in two is none of Windows', either.
    return ("utf-8", "UTF-8") if utf8 else ("windows-1252", "Windows-1252")


def separator_of(path: Path, coding: str, bounds: TableBounds) -> tuple[str, bool]:
    """What separates the cells, and whether the first line says so itself (`sep=;`).

    The one with which the header has most names that are known here, then most names at all; of
    a file without a header, most cells. Raises `FileUnreadable`.
    """
    try:
        with _text(path, coding) as file:
            said = _SAID.fullmatch(file.readline(16))
    except UnicodeDecodeError:
        raise _no_text() from None
    if said is not None:
        return said[1], True

    refusals: list[FileUnreadable] = []

    def promise(separator: str) -> tuple[int, int]:
        try:
            with closing(records(path, coding, separator, bounds)) as rows:
                first = list(islice(rows, ROWS_LOOKED_AT))
        except FileUnreadable as refusal:  # perhaps only with this separator
            refusals.append(refusal)
            return 0, 0
        heading = find_heading(first)
        return sum(map(is_known, heading.names)), len(heading.names)

    best = max(promises := {each: promise(each) for each in SEPARATORS}, key=promises.__getitem__)
    if refusals and promises[best][1] <= 1:
        raise refusals[0]
    return best, False


def records(
    path: Path, coding: str, separator: str, bounds: TableBounds, *, skip_line: bool = False
) -> RowSource:
    """The file's records that have anything in them. Raises `FileUnreadable` where it ends badly.

    They are numbered as spreadsheets number rows: a text with line ends in it is within one.
    """
    number = 1 if skip_line else 0
    found = 0
    with _text(path, coding) as file:
        if skip_line:
            file.readline(16)
        reader = csv.reader(_lines(file, bounds), delimiter=separator)
        try:
            for cells in reader:
                if cells == list(_END):
                    return
                number += 1
                if not any(map(str.strip, cells)):
                    continue
                found += 1
                if found > bounds.rows + ROWS_LOOKED_AT:
                    raise too_many_rows(bounds)
                _check(cells, number, bounds)
                yield TableRow(number, tuple(cells))
        except csv.Error:
            raise _never_closed(number + 1) from None
        except UnicodeDecodeError:
            raise _no_text() from None
    raise _never_closed(number)


def _text(path: Path, coding: str) -> TextIO:
    return path.open(encoding=coding, newline="")


def _lines(file: TextIO, bounds: TableBounds) -> Iterator[str]:
    """Lines of bounded length, and at the end one that tells whether a quotation is still open."""
    number = 0
    ended = True
    while line := file.readline(bounds.row_characters + 1):
        number += 1
        if len(line) > bounds.row_characters:
            raise FileUnreadable(
                "linha_longa_demais",
                f"A linha {number} tem mais de {bounds.row_characters} caracteres: não parece uma"
                " tabela. Exporte-a de novo como CSV, uma linha para cada empresa.",
                number,
            )
        if "\x00" in line:
            raise _no_text()
        ended = line.endswith(("\n", "\r"))
        yield line
    if not ended:
        yield "\n"
    yield f"{_END[0]}\n"


def _check(cells: list[str], number: int, bounds: TableBounds) -> None:
    if len(cells) > bounds.columns:
        raise FileUnreadable(
            "colunas_demais",
            f"A linha {number} tem mais de {bounds.columns} colunas. Deixe só as que o lote usa.",
            number,
        )
    for at, cell in enumerate(cells):
        if len(cell) > bounds.cell_characters or cell.count("\n") > _LINES_IN_CELL_MAX:
            raise _never_closed(number, f", coluna {column_letter(at)},")


def _never_closed(number: int, column: str = "") -> FileUnreadable:
    return FileUnreadable(
        "aspas_abertas",
        f"Na linha {number}{column} há aspas que abrem um texto e não se fecham: o resto do arquivo"
        " ficaria dentro dele. Feche ou apague as aspas e envie o arquivo de novo.",
        number,
    )


def _no_text() -> FileUnreadable:
    return FileUnreadable(
        "texto_ilegivel",
        "O arquivo não é texto em UTF-8, UTF-16 nem Windows-1252. Salve a planilha como"
        " “CSV UTF-8” ou como .xlsx e envie de novo.",
    )
