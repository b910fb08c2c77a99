"""Types of tables in files, shared by the readers of all formats (ADR 0045)."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, TypeAlias

import msgspec

from balcao.core.errors import FileUnreadable

TableFormat: TypeAlias = Literal["csv", "xlsx", "jsonl", "json"]
Cells: TypeAlias = tuple[str, ...]

# Media types of requests. XLSX is recognised by the file's bytes: browsers send wrong types, such
# as `application/vnd.ms-excel` for CSV.
MEDIA_TYPES: Mapping[str, TableFormat] = {
    "text/csv": "csv",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/x-ndjson": "jsonl",
    "application/json": "json",
}

# The sheets of our spreadsheets: a summary, then the rows of a batch or of the history.
SUMMARY_SHEET, RESULT_SHEET, HISTORY_SHEET = "Resumo", "Resultado", "Consultas"


class TableBounds(msgspec.Struct, frozen=True):
    """Limits of a file."""

    file_bytes: int = 100_000_000
    rows: int = 1_000_000
    columns: int = 200
    cell_characters: int = 32_767  # the limit of spreadsheets
    row_characters: int = 262_144
    unzipped_bytes: int = 1_000_000_000  # sum of a spreadsheet's parts
    unzipped_ratio: int = 200
    zipped_parts: int = 2_000
    cells: int = 20_000_000  # of all rows together
    characters: int = 400_000_000  # of all cells together
    child_bytes: int = 1_000_000_000  # maximum address space of a spreadsheet's reader
    child_seconds: int = 300  # maximum processor time of a spreadsheet's reader

    def characters_of(self, size_bytes: int) -> int:
        """Return the character limit of all cells of a file of this size.

        It exceeds the size: spreadsheets are compressed, and share equal texts of cells.
        """
        return min(self.characters, _SMALL_FILE_CHARACTERS + _CHARACTERS_PER_BYTE * size_bytes)

    def reader_bytes(self, size_bytes: int) -> int:
        """Return the address space allowed for reading a spreadsheet of this size.

        A million rows of five cells, 38 MB as a file, take 640 MB; the interpreter takes 30 MB.
        """
        return min(self.child_bytes, _READER_BYTES + _READER_BYTES_PER_BYTE * size_bytes)

    def reader_seconds(self, size_bytes: int) -> int:
        """Return the processor time allowed for reading it. Those 38 MB take 7 s."""
        return min(self.child_seconds, 1 + size_bytes * _READER_SECONDS_PER_MB // 1_000_000)


_SMALL_FILE_CHARACTERS, _CHARACTERS_PER_BYTE = 1_000_000, 64
_READER_BYTES, _READER_BYTES_PER_BYTE = 200_000_000, 16
_READER_SECONDS_PER_MB = 5

BOUNDS = TableBounds()


class TableRow(NamedTuple):
    """A row that is not blank. Its cells are texts as in the file.

    `line` counts from 1: lines of JSONL, items of a JSON list, else rows as spreadsheets count them
    (a text with line ends is within one row). `cells` may be fewer or more than the header's.
    """

    line: int
    cells: Cells


# A generator of rows; closing it closes the file.
RowSource: TypeAlias = Generator[TableRow, None, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """An open file, to be read once; a context manager that closes it.

    `header` has a name for every column: `Coluna A`, … if the file has none (`header_line` None).
    `rows` yields the rows below the header that are not blank. It raises `FileUnreadable` where the
    file is damaged; earlier rows must not be used then.
    """

    format: TableFormat
    header: Cells
    header_line: int | None
    sample: Sequence[TableRow]  # the first of `rows`
    rows: Iterator[TableRow]
    source: RowSource
    description: str  # for people: "CSV, separado por ponto e vírgula, UTF-8"

    def close(self) -> None:
        """Close the file, and end the process that reads it, if any."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def too_many_rows(bounds: TableBounds) -> FileUnreadable:
    """Return the error for a file with more rows than a batch may have."""
    most = f"{bounds.rows:,}".replace(",", ".")
    return FileUnreadable(
        "linhas_demais",
        f"O arquivo tem mais de {most} linhas. Divida o arquivo e envie cada parte como um lote.",
    )
