"""Tables in files, as their readers see them, whatever the format (ADR 0045)."""

import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, TypeAlias

import msgspec

from balcao.core.errors import FileUnreadable

TableFormat: TypeAlias = Literal["csv", "xlsx", "jsonl", "json"]
Cells: TypeAlias = tuple[str, ...]

# What a request may call its body. What a file is, its own bytes tell: people's browsers call a
# CSV `application/vnd.ms-excel`.
MEDIA_TYPES: Mapping[str, TableFormat] = {
    "text/csv": "csv",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/x-ndjson": "jsonl",
    "application/json": "json",
}

_LETTERS = re.compile("[A-Za-z]{1,3}", re.ASCII)


class TableBounds(msgspec.Struct, frozen=True):
    """Limits of a file."""

    file_bytes: int = 100_000_000
    rows: int = 1_000_000
    columns: int = 200
    cell_characters: int = 32_767  # as many as a spreadsheet's cell has
    row_characters: int = 262_144
    unzipped_bytes: int = 1_000_000_000  # of a spreadsheet: the sum of its parts
    unzipped_ratio: int = 200
    zipped_parts: int = 2_000
    cells: int = 20_000_000  # of all rows together
    characters: int = 400_000_000  # of all cells together
    child_bytes: int = 1_000_000_000  # address space of a process that reads a spreadsheet, at most
    child_seconds: int = 300  # of its processor, at most

    def characters_of(self, size_bytes: int) -> int:
        """Return how many characters the cells of a file of this size may have together.

        A spreadsheet may repeat one text in every cell, and is compressed besides.
        """
        return min(self.characters, _SMALL_FILE_CHARACTERS + _CHARACTERS_PER_BYTE * size_bytes)

    def reader_bytes(self, size_bytes: int) -> int:
        """Return the address space of the process that reads a spreadsheet of this size.

        A million rows of five cells, 38 MB as a file, take 640 MB; the interpreter takes 30 MB.
        """
        return min(self.child_bytes, _READER_BYTES + _READER_BYTES_PER_BYTE * size_bytes)

    def reader_seconds(self, size_bytes: int) -> int:
        """Return the processor time of that process. The same 38 MB take 7 s."""
        return min(self.child_seconds, 1 + size_bytes * _READER_SECONDS_PER_MB // 1_000_000)


_SMALL_FILE_CHARACTERS, _CHARACTERS_PER_BYTE = 1_000_000, 64
_READER_BYTES, _READER_BYTES_PER_BYTE = 200_000_000, 16
_READER_SECONDS_PER_MB = 5

BOUNDS = TableBounds()


class TableRow(NamedTuple):
    """One row that has anything in it. Its cells are texts, as the file has them.

    `line`: as the file has it, the first one is 1: lines of JSONL, items of a JSON list, else rows
    as a spreadsheet counts them (a text with line ends in it is in one row). `cells` may be fewer
    than the header's, and more.
    """

    line: int
    cells: Cells


# What reads a file goes on where it was, and lets go of it when it is closed.
RowSource: TypeAlias = Generator[TableRow, None, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """An open file. Its rows can be read once; as a context it closes what it opened.

    `header` has a name for every column; without one in the file (`header_line` None) it is
    `Coluna A`, … `rows` are all below the header that are not blank, in order; they raise
    `FileUnreadable` where the file cannot be read on: what came before is not to be used then.
    """

    format: TableFormat
    header: Cells
    header_line: int | None
    sample: Sequence[TableRow]  # the first of `rows`
    rows: Iterator[TableRow]
    source: RowSource
    description: str  # for people: "CSV, separado por ponto e vírgula, UTF-8"

    def close(self) -> None:
        """Close the file, and end the process that reads it, if one does."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def column_letter(index: int) -> str:
    """Return a column's letter in spreadsheets, `A`, … `Z`, `AA`; the first index is 0."""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def column_index(letter: str) -> int | None:
    """Return the index of the column with this letter, in any case; None: it is no letter."""
    if _LETTERS.fullmatch(letter) is None:
        return None
    index = 0
    for each in letter.upper():
        index = index * 26 + ord(each) - ord("A") + 1
    return index - 1


def too_many_rows(bounds: TableBounds) -> FileUnreadable:
    """Return the refusal of a file with more rows than one batch takes."""
    most = f"{bounds.rows:,}".replace(",", ".")
    return FileUnreadable(
        "linhas_demais",
        f"O arquivo tem mais de {most} linhas. Divida-o e envie cada parte como um lote.",
    )
