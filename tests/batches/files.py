"""Builders of batch files, and the outcomes of their rows."""

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter  # type: ignore[import-untyped]

from balcao.batches.columns import ColumnMap, InvalidRow, ValidRow, map_columns
from balcao.batches.tables.contract import BOUNDS, TableBounds
from balcao.batches.tables.opening import open_table
from balcao.core.errors import FileUnreadable
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation

COMPANY, FEDERAL, STATE = (
    OPERATIONS["company"],
    OPERATIONS["federal_certificate"],
    OPERATIONS["state_certificate"],
)
RURAL, SINTEGRA = OPERATIONS["rural_producer"], OPERATIONS["state_registration"]

JSONL, JSON = "application/x-ndjson", "application/json"

Writing = Callable[[Any, Any], None]


def saved(folder: Path, content: bytes | str, coding: str = "utf-8") -> Path:
    """Write a file with this content."""
    path = folder / "arquivo"
    path.write_bytes(content if isinstance(content, bytes) else content.encode(coding))
    return path


def workbook(folder: Path, write: Writing, options: Mapping[str, object] | None = None) -> Path:
    """Write a spreadsheet; `write` receives its first sheet and the book, for formats."""
    path = folder / "planilha"
    with xlsxwriter.Workbook(str(path), dict(options or {})) as book:
        write(book.add_worksheet("Clientes"), book)
    return path


def sheet(folder: Path, rows: Sequence[Sequence[object]]) -> Path:
    """Write a spreadsheet of texts and numbers."""

    def write(page: Any, book: Any) -> None:
        for at, row in enumerate(rows):
            for column, value in enumerate(row):
                if isinstance(value, str):
                    page.write_string(at, column, value)
                elif value is not None:
                    page.write_number(at, column, value)

    return workbook(folder, write)


def written_by_hand(folder: Path, rows: str) -> Path:
    """Write a spreadsheet with these rows as XML, which is faster than a library."""
    path = workbook(folder, lambda page, book: None)
    made = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            content = old.read(part).decode()
            if part.filename == "xl/worksheets/sheet1.xml":
                content = content.replace("<sheetData/>", f"<sheetData>{rows}</sheetData>")
                assert rows in content
            new.writestr(part.filename, content)
    return saved(folder, made.getvalue())


def text_cell(place: str, text: str) -> str:
    """Return the XML of a cell."""
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def bomb(folder: Path, megabytes: int) -> Path:
    """Write a small ZIP that unpacks to a spreadsheet of this size."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/worksheets/sheet1.xml", "w") as part,
    ):
        for _ in range(megabytes):
            part.write(b" " * 1_000_000)
    return saved(folder, made.getvalue())


def outcomes(
    path: Path,
    operation: Operation = COMPANY,
    media_type: str = "text/csv",
    **how: Any,
) -> list[str]:
    """Return each row's question or error: `2 90010001000100`, `3 documento_invalido`."""
    return [row_text(read) for read in read_rows(path, operation, media_type, **how)]


def read_rows(
    path: Path,
    operation: Operation = COMPANY,
    media_type: str = "text/csv",
    *,
    bounds: TableBounds = BOUNDS,
    **how: Any,
) -> list[ValidRow | InvalidRow]:
    """Return the result of reading each row."""
    with open_table(path, media_type, bounds=bounds) as table:
        columns = map_columns(operation, table.header, table.sample, **how)
        return [columns.read(row) for row in table.rows]


def mapped(header: Sequence[str], operation: Operation = COMPANY, **how: Any) -> ColumnMap:
    """Map the columns of a header."""
    return map_columns(operation, header, **how)


def row_text(row: ValidRow | InvalidRow) -> str:
    """Return a row's question or error as a short text."""
    if isinstance(row, InvalidRow):
        return f"{row.line} {row.code}"
    inquiry = row.question.inquiries[0]
    parts = (str(row.line), row.document.text, inquiry.uf, inquiry.birth, row.ref)
    return " ".join(part for part in parts if part) + (" +zeros" if row.padded else "")


def refused(path: Path, media_type: str = "text/csv", bounds: TableBounds = BOUNDS) -> str:
    """Return the error code of a file that is refused when opened or read."""
    with (
        pytest.raises(FileUnreadable) as caught,
        open_table(path, media_type, bounds=bounds) as table,
    ):
        list(table.rows)
    assert caught.value.detail.endswith(".")
    return caught.value.reason
