"""Results as CSV: `;`, UTF-8 with its mark, what looks like a formula made a text."""

import codecs
import csv
import io
from collections.abc import Iterable, Sequence
from typing import IO

from balcao.batches.writing.contract import ResultColumns, ResultRow

# With these a spreadsheet takes a cell for a formula, or for what leads to one (OWASP, CSV
# injection). An apostrophe before it makes it a text.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_BYTES_AT_ONCE = 1 << 16


def write_csv(file: IO[bytes], columns: ResultColumns, rows: Iterable[ResultRow]) -> None:
    """Write all rows as they come. Blocking."""
    table = CsvTable(file)
    table.write(columns.names)
    for row in rows:
        table.write(columns.cells(row))
    table.flush()


class CsvTable:
    """Rows of texts on their way to a file, for spreadsheets of Brazilians."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._text = io.StringIO()
        self._writer = csv.writer(self._text, delimiter=";", lineterminator="\r\n")
        file.write(codecs.BOM_UTF8)

    def write(self, cells: Sequence[str]) -> None:
        """Write a row."""
        self._writer.writerow([harmless(cell) for cell in cells])
        if self._text.tell() > _BYTES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Hand on what is not in the file yet."""
        self._file.write(self._text.getvalue().encode("utf-8", "replace"))
        self._text.seek(0)
        self._text.truncate()


def harmless(cell: str) -> str:
    """The cell as a text that no spreadsheet carries out."""
    return f"'{cell}" if cell.startswith(_FORMULAS) else cell
