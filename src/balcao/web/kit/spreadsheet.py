"""Spreadsheets: sheets of texts, whole numbers, days and instants; never a formula."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import IO, TypeAlias

import xlsxwriter  # type: ignore[import-untyped]

# What a cell may be. Instants lose their zone (sheets know none): hand them in as Brasília's.
Value: TypeAlias = str | int | datetime.date | datetime.datetime | None

# Whatever a key is called, it is text: nothing that is written here is ever carried out.
# Rows go to a file as they come: 50,000 of them in memory take some hundred megabytes.
_HARMLESS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
}
_TEXT_CHARACTERS_MAX = 32_767


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet. `widths` are in characters; without `columns` the rows are names and values."""

    name: str
    widths: Sequence[int]
    rows: Iterable[Sequence[Value]]
    columns: Sequence[str] = ()
    total: Sequence[Value] = field(default=())  # below the rows: values, not formulas


def write_xlsx(file: IO[bytes], sheets: Iterable[Sheet]) -> None:
    """Write a workbook, one sheet after another.

    Takes seconds of a core for 50,000 rows: see `exports.py`.
    """
    with xlsxwriter.Workbook(file, _HARMLESS) as book:
        bold = {"bold": True}
        plain = _Formats(book, {})
        strong = _Formats(book, bold | {"top": 6})
        head = book.add_format(bold | {"bottom": 2, "text_wrap": True, "valign": "top"})
        name = book.add_format(bold)
        for sheet in sheets:
            page = book.add_worksheet(sheet.name)
            for column, width in enumerate(sheet.widths):
                page.set_column(column, column, width)
            page.write_row(0, 0, sheet.columns, head)
            start = 1 if sheet.columns else 0
            page.freeze_panes(start, 0 if sheet.columns else 1)
            row = start - 1
            for row, values in enumerate(sheet.rows, start):
                for column, value in enumerate(values):
                    if not sheet.columns and column == 0:
                        page.write_string(row, column, str(value), name)
                    else:
                        _write(page, row, column, value, plain)
            for column, value in enumerate(sheet.total):
                _write(page, row + 1, column, value, strong)
            if sheet.columns and row >= start:
                page.autofilter(0, 0, row, len(sheet.columns) - 1)


class _Formats:
    def __init__(self, book: xlsxwriter.Workbook, common: dict[str, object]) -> None:
        self.text = book.add_format(common)
        self.number = book.add_format(common | {"num_format": "#,##0"})
        self.day = book.add_format(common | {"num_format": "dd/mm/yyyy"})
        self.instant = book.add_format(common | {"num_format": "dd/mm/yyyy hh:mm:ss"})


def _write(
    page: xlsxwriter.worksheet.Worksheet, row: int, column: int, value: Value, formats: _Formats
) -> None:
    match value:
        case None:
            page.write_blank(row, column, None, formats.text)
        case str():
            page.write_string(row, column, value[:_TEXT_CHARACTERS_MAX], formats.text)
        case int():
            page.write_number(row, column, value, formats.number)
        case datetime.datetime():
            page.write_datetime(row, column, value.replace(tzinfo=None), formats.instant)
        case _:
            page.write_datetime(row, column, value, formats.day)
