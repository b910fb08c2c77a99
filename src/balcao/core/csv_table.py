"""CSV as it leaves the service: the one writer of it, and no cell of it is a formula.

Every cell is quoted, so that a reader which parts at another sign finds the same cells. What a
spreadsheet takes for a formula, or for what leads to one, becomes a text by an apostrophe (OWASP,
CSV injection): at the beginning of a cell, and behind whatever readers part at.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import IO, Any, TypeAlias

Cell: TypeAlias = str | int | None

_BYTES_AT_ONCE = 1 << 16
_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20"  # the last four: full-width, which become the others
_BEGINS = re.compile(f"[{_SIGNS}\t\r\n]")
_WITHIN = re.compile(f"([,;|\t\r\n])(?=[{_SIGNS}])")


class CsvTable:
    """Rows on their way to a file, as spreadsheets in Brazil open it: `;`, UTF-8 with its mark."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._text = io.StringIO()
        self._writer = writer(self._text, ";", "\r\n")
        file.write(codecs.BOM_UTF8)

    def write(self, cells: Iterable[Cell]) -> None:
        """Write a row."""
        self._writer.writerow(map(harmless, cells))
        if self._text.tell() > _BYTES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Hand on what is not in the file yet."""
        self._file.write(self._text.getvalue().encode("utf-8", "replace"))
        self._text.seek(0)
        self._text.truncate()


def write_rows(text: IO[str], rows: Iterable[Iterable[Cell]]) -> None:
    """Write rows for programs: parted by commas, a line each."""
    writer(text, ",", "\n").writerows(map(harmless, row) for row in rows)


def writer(text: IO[str], delimiter: str, ending: str) -> Any:
    """Return a writer of `csv` that quotes every cell."""
    return csv.writer(text, delimiter=delimiter, lineterminator=ending, quoting=csv.QUOTE_ALL)


def harmless(cell: Cell) -> Cell:
    """Return the cell as a text that no spreadsheet carries out. Numbers are none."""
    if not isinstance(cell, str) or not cell:
        return cell
    if _WITHIN.search(cell) is not None:
        cell = _WITHIN.sub(r"\1'", cell)
    return f"'{cell}" if _BEGINS.match(cell) else cell


def as_csv(columns: Sequence[str], lines: Iterable[Iterable[Cell]]) -> bytes:
    """Return a table as a whole; see `write_csv`."""
    content = io.BytesIO()
    write_csv(content, columns, lines)
    return content.getvalue()


def write_csv(file: IO[bytes], columns: Sequence[str], lines: Iterable[Iterable[Cell]]) -> None:
    """Write a table: its columns' names, and the lines as they come."""
    table = CsvTable(file)
    table.write(columns)
    for line in lines:
        table.write(line)
    table.flush()
