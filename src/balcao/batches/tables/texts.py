"""Reader of CSV files: detects encoding and separator, and yields the records."""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TextIO

from balcao.batches.names import is_known_name
from balcao.batches.tables.contract import RowSource, TableBounds, TableRow, too_many_rows
from balcao.batches.tables.heading import ROWS_LOOKED_AT, find_heading
from balcao.core.column_letters import column_letter
from balcao.core.errors import FileUnreadable

# Encodings by byte order mark; without one UTF-8 if all of it is valid, else Windows-1252.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_NOT_WINDOWS = (0x81, 0x8D, 0x8F, 0x90, 0x9D)  # bytes without a character
_PIECE_BYTES = 1 << 20
_HEAD_BYTES = 4_096
_DOS_END = "\x1a"  # end of file in MS-DOS

SEPARATORS = {";": "ponto e vírgula", "\t": "tabulação", ",": "vírgula", "|": "barra vertical"}
_RULE_SIGNS = ":=+-"  # of lines drawn between the header and the rows
_DECLARATION = re.compile(r"sep=(.)\s*", re.IGNORECASE)  # Excel writes and reads such a first line

# An unclosed quotation mark swallows the following lines. No address has this many.
_LINES_IN_CELL_MAX = 50
_END = ("\x00end\x00",)  # cannot occur in a file: NUL is refused


def encoding_of(path: Path) -> tuple[str, str]:
    """Return the encoding of a text file for Python and for people. Raises `FileUnreadable`."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        for bom, encoding, name in _BYTE_ORDER_MARKS:
            if head.startswith(bom):
                return encoding, name
        if (unmarked := _unmarked_utf16(head)) is not None:
            return unmarked, "UTF-16"
        decoder = codecs.getincrementaldecoder("utf-8")()
        file.seek(0)
        utf8 = windows = True
        while piece := file.read(_PIECE_BYTES):
            if b"\x00" in piece:
                raise _not_text()
            if utf8:
                try:
                    decoder.decode(piece)
                except UnicodeDecodeError:
                    utf8 = False
            windows = windows and not any(byte in piece for byte in _NOT_WINDOWS)
    if not (utf8 or windows):
        raise _not_text()
    # `utf8` stays true if the last character is cut in two.
    return ("utf-8", "UTF-8") if utf8 else ("windows-1252", "Windows-1252")


def _unmarked_utf16(head: bytes) -> str | None:
    """Return UTF-16 if every other byte is mostly zero, as in most texts, else None."""
    pairs = len(head) // 2
    if not pairs or len(head) % 2:
        return None
    zeros = [head[at::2].count(0) * 2 > pairs for at in (0, 1)]
    none = [0 not in head[at::2] for at in (0, 1)]
    if zeros[1] and none[0]:
        return "utf-16-le"
    return "utf-16-be" if zeros[0] and none[1] else None


class Layout(NamedTuple):
    """Layout of the cells in a text file."""

    separator: str
    declared: bool = False  # by a first line `sep=;`, which is not a row
    framed: bool = False  # lines also begin with a separator


def detect_layout(path: Path, encoding: str, bounds: TableBounds) -> Layout:
    """Return the separator of the cells, and how lines are framed.

    Chosen is the separator that gives the header most known names, then most names; without a
    header, the one that gives most rows most cells. Raises `FileUnreadable`.
    """
    try:
        with _text(path, encoding) as file:
            declared = _DECLARATION.fullmatch(file.readline(16))
    except UnicodeDecodeError:
        raise _not_text() from None
    if declared is not None:
        return Layout(declared[1], declared=True)

    refusals: list[FileUnreadable] = []
    framed: dict[str, bool] = {}

    def score(separator: str) -> tuple[int, int]:
        try:
            with closing(records(path, encoding, Layout(separator), bounds)) as rows:
                first = list(islice(rows, ROWS_LOOKED_AT))
        except FileUnreadable as refusal:  # perhaps only with this separator
            refusals.append(refusal)
            return 0, 0
        framed[separator] = _is_framed(first)
        heading = find_heading(first)
        if heading.line is None:
            return 0, usual_width([row.cells for row in first])
        return sum(map(is_known_name, heading.names)), len(heading.names)

    best = max(scores := {each: score(each) for each in SEPARATORS}, key=scores.__getitem__)
    if refusals and scores[best][1] <= 1:
        raise refusals[0]
    return Layout(best, framed=best == "|" and framed[best])


def usual_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the most frequent number of cells, the smallest one if several are."""
    widths = Counter(map(len, rows))
    return max(sorted(widths), key=widths.__getitem__, default=0)


def _is_framed(first: Sequence[TableRow]) -> bool:
    tables = [row.cells for row in first if len(row.cells) > 1]
    return bool(tables) and not any(cells[0].strip() for cells in tables)


def records(path: Path, encoding: str, layout: Layout, bounds: TableBounds) -> RowSource:
    """Yield the file's records that are not blank. Raises `FileUnreadable`.

    They are numbered as spreadsheets number rows: a text with line ends is within one.
    """
    number = 1 if layout.declared else 0
    found = 0
    with _text(path, encoding) as file:
        if layout.declared:
            file.readline(16)
        reader = csv.reader(_lines(file, bounds), delimiter=layout.separator)
        try:
            for cells in reader:
                if cells == list(_END):
                    return
                number += 1
                if not any(map(str.strip, cells)):
                    continue
                _check_size(cells, number, bounds)
                if layout.separator == "|" and _is_rule(cells):
                    continue
                found += 1
                if found > bounds.rows + ROWS_LOOKED_AT:
                    raise too_many_rows(bounds)
                if layout.framed and not cells[0].strip():
                    del cells[0]
                yield TableRow(number, tuple(cells))
        except csv.Error:
            raise _unclosed_quote(number + 1) from None
        except UnicodeDecodeError:
            raise _not_text() from None
    raise _unclosed_quote(number)


def _is_rule(cells: Sequence[str]) -> bool:
    return all(
        "--" in cell and not "".join(cell.split()).strip(_RULE_SIGNS)
        for cell in cells
        if cell.strip()
    )


def _text(path: Path, encoding: str) -> TextIO:
    return path.open(encoding=encoding, newline="")


def _lines(file: TextIO, bounds: TableBounds) -> Iterator[str]:
    """Yield lines of bounded length, then one that detects a quotation still open."""
    number = 0
    ended = True
    while line := file.readline(bounds.row_characters + 1):
        number += 1
        if len(line) > bounds.row_characters:
            raise FileUnreadable(
                "linha_longa_demais",
                f"A linha {number} tem mais de {bounds.row_characters} caracteres e não parece"
                " uma tabela. Exporte de novo como CSV, com uma linha por empresa.",
                number,
            )
        if "\x00" in line:
            raise _not_text()
        ended = line.endswith(("\n", "\r"))
        if line.strip() != _DOS_END:
            yield line
    if not ended:
        yield "\n"
    yield f"{_END[0]}\n"


def _check_size(cells: list[str], number: int, bounds: TableBounds) -> None:
    if len(cells) > bounds.columns:
        raise FileUnreadable(
            "colunas_demais",
            f"A linha {number} tem mais de {bounds.columns} colunas. Deixe só as que o lote usa.",
            number,
        )
    for at, cell in enumerate(cells):
        if len(cell) > bounds.cell_characters or cell.count("\n") > _LINES_IN_CELL_MAX:
            raise _unclosed_quote(number, f", coluna {column_letter(at)},")


def _unclosed_quote(number: int, column: str = "") -> FileUnreadable:
    return FileUnreadable(
        "aspas_abertas",
        f"Na linha {number}{column} há aspas abertas que não são fechadas. Feche ou apague as"
        " aspas e envie o arquivo de novo.",
        number,
    )


def _not_text() -> FileUnreadable:
    return FileUnreadable(
        "texto_ilegivel",
        "O arquivo não é texto em UTF-8, UTF-16 nem Windows-1252. Salve a planilha como"
        " “CSV UTF-8” ou como .xlsx e envie de novo.",
    )
