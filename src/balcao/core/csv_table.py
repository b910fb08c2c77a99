"""The writer of all CSV that leaves the service; its cells contain no formulas.

Every cell is quoted, so that a reader with another delimiter finds the same cells. Text that a
spreadsheet would evaluate gets an apostrophe before it (OWASP, CSV injection): at the beginning of
a cell, and after every character that readers may split at.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, TypeAlias

Cell: TypeAlias = str | int | None

_BYTES_AT_ONCE = 1 << 16
_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"  # the last four: full-width forms of the others
_BEGINS = re.compile(f"[{_SIGNS}\t\r\n]")
_WITHIN = re.compile(f"([,;|\t\r\n])(?=[{_SIGNS}])")


class CsvTable:
    """A writer of CSV for spreadsheets in Brazil: `;`, UTF-8 with a byte order mark."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._text = io.StringIO()
        self._writer = writer(self._text, ";", "\r\n")
        file.write(codecs.BOM_UTF8)

    def write(self, cells: Iterable[Cell]) -> None:
        self._writer.writerow(map(escape_formula, cells))
        if self._text.tell() > _BYTES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write buffered rows to the file."""
        self._file.write(self._text.getvalue().encode("utf-8", "replace"))
        self._text.seek(0)
        self._text.truncate()


def write_rows(text: IO[str], rows: Iterable[Iterable[Cell]]) -> None:
    """Write rows for programs: separated by commas, one per line."""
    writer(text, ",", "\n").writerows(map(escape_formula, row) for row in rows)


def writer(text: IO[str], delimiter: str, ending: str) -> Any:
    """Return a writer of `csv` that quotes every cell."""
    return csv.writer(text, delimiter=delimiter, lineterminator=ending, quoting=csv.QUOTE_ALL)


def escape_formula(cell: Cell) -> Cell:
    """Return the cell so that no spreadsheet evaluates it as a formula."""
    if not isinstance(cell, str) or not cell:
        return cell
    if _WITHIN.search(cell) is not None:
        cell = _WITHIN.sub(r"\1'", cell)
    return f"'{cell}" if _BEGINS.match(cell) else cell


def csv_pieces(columns: Sequence[str], lines: Iterable[Iterable[Cell]]) -> Iterator[bytes]:
    """Yield a table in pieces: a row with the names of the columns, and the lines."""
    content = io.BytesIO()
    table = CsvTable(content)
    table.write(columns)
    for line in lines:
        table.write(line)
        if content.tell() > _BYTES_AT_ONCE:
            yield content.getvalue()
            content.seek(0)
            content.truncate()
    table.flush()
    yield content.getvalue()


def write_csv(file: IO[bytes], columns: Sequence[str], lines: Iterable[Iterable[Cell]]) -> None:
    """Write a table; see `csv_pieces`."""
    file.writelines(csv_pieces(columns, lines))
