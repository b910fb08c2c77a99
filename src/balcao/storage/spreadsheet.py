"""The writer of XLSX files. No cell is ever a formula.

Sheets have texts, whole numbers, days and instants. Rows are written to a temporary file as they
come: 50,000 of them in memory would take some hundred megabytes.
"""

import datetime
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeAlias

# The value of a cell. Sheets have no time zones: pass instants in Brasília's.
Value: TypeAlias = str | int | datetime.date | datetime.datetime | None

_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "strings_to_numbers": False,
    "use_zip64": True,  # used only for sheets that need it
}
_TEXT_CHARACTERS_MAX = 32_767
# Not allowed in XML, not even escaped.
_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet. `widths` are in characters; without `columns` the rows are names and values.

    `text_only`: all cells are formatted as text, also for what is typed into them later.
    """

    name: str
    widths: Sequence[int]
    rows: Iterable[Sequence[Value]]
    columns: Sequence[str] = ()
    total: Sequence[Value] = field(default=())  # below the rows: values, not formulas
    text_only: bool = False


def write_xlsx(
    file: IO[bytes],
    sheets: Iterable[Sheet],
    *,
    folder: Path | None = None,
    check_room: Callable[[int], None] = lambda needed_bytes: None,
) -> None:
    """Write a workbook, one sheet after another; nothing of it if an iterable of rows raises.

    Takes seconds of a core for 50,000 rows: see `web/kit/exports.py`. All rows are first written
    below `folder` (None: the system's temporary folder), and then copied before they are
    compressed: `check_room` is called with the bytes of that copy, and may raise.
    """
    with tempfile.TemporaryDirectory(dir=folder) as waiting:
        import xlsxwriter  # type: ignore[import-untyped]  # noqa: PLC0415 - slow to import

        book = xlsxwriter.Workbook(file, _OPTIONS | {"tmpdir": waiting})
        try:
            formats = _Formats(book)
            for sheet in sheets:
                _write_sheet(book.add_worksheet(sheet.name), sheet, formats)
            check_room(sum(path.stat().st_size for path in Path(waiting).iterdir()))
        except BaseException:
            for page in book.worksheets():
                page.row_data_fh.close()
            raise
        book.close()


class _Styles:
    def __init__(self, book: Any, common: dict[str, object]) -> None:
        self.text = book.add_format(common)
        self.number = book.add_format(common | {"num_format": "#,##0"})
        self.day = book.add_format(common | {"num_format": "dd/mm/yyyy"})
        self.instant = book.add_format(common | {"num_format": "dd/mm/yyyy hh:mm:ss"})


class _Formats:
    def __init__(self, book: Any) -> None:
        bold = {"bold": True}
        self.plain = _Styles(book, {})
        self.strong = _Styles(book, bold | {"top": 6})
        self.head = book.add_format(bold | {"bottom": 2, "text_wrap": True, "valign": "top"})
        self.name = book.add_format(bold)
        self.text_only = book.add_format({"num_format": "@"})


def _write_sheet(page: Any, sheet: Sheet, formats: _Formats) -> None:
    for column, width in enumerate(sheet.widths):
        page.set_column(column, column, width, formats.text_only if sheet.text_only else None)
    for column, name in enumerate(sheet.columns):
        _write_text(page, 0, column, name, formats.head)
    start = 1 if sheet.columns else 0
    page.freeze_panes(start, 0 if sheet.columns else 1)
    row = start - 1
    for row, values in enumerate(sheet.rows, start):
        for column, value in enumerate(values):
            if sheet.text_only:
                if value:
                    _write_text(page, row, column, str(value), formats.text_only)
            elif not sheet.columns and column == 0:
                _write_text(page, row, column, str(value), formats.name)
            else:
                _write(page, row, column, value, formats.plain)
    for column, value in enumerate(sheet.total):
        _write(page, row + 1, column, value, formats.strong)
    if sheet.columns and row >= start:
        page.autofilter(0, 0, row, len(sheet.columns) - 1)


def _write(page: Any, row: int, column: int, value: Value, styles: _Styles) -> None:
    match value:
        case None:
            page.write_blank(row, column, None, styles.text)
        case str():
            _write_text(page, row, column, value, styles.text)
        case int():
            page.write_number(row, column, value, styles.number)
        case datetime.datetime():
            page.write_datetime(row, column, value.replace(tzinfo=None), styles.instant)
        case _:
            page.write_datetime(row, column, value, styles.day)


def _write_text(page: Any, row: int, column: int, text: str, style: Any) -> None:
    text = _IMPOSSIBLE.sub("", text[:_TEXT_CHARACTERS_MAX])
    if text.startswith("<r>") and text.endswith("</r>"):
        # The library takes this for its own markup and would write cells and formulas in it. Text
        # in parts is escaped; the split keeps any escape (`_x0041_`) from being in one part.
        parts = filter(None, re.split("(_)", text[2:].replace("\r", "")))
        page.write_rich_string(row, column, text[0], text[1], *parts, style)
    else:
        page.write_string(row, column, text, style)
