"""The writer of XLSX files. No cell is ever a formula.

Sheets have texts, whole numbers, days and instants. Rows are written to a temporary file as they
come: 50,000 of them in memory would take some hundred megabytes. The library makes the workbook,
and this module the XML of its rows: by the library's own calls each cell takes five times as long
(ADR 0091).
"""

import datetime
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeAlias

from balcao.core.column_letters import column_letter

# The value of a cell. Sheets have no time zones: pass instants in Brasília's.
Value: TypeAlias = str | int | datetime.date | datetime.datetime | None

_OPTIONS = {
    "constant_memory": True,
    "use_zip64": True,  # used only for sheets that need it
}
_TEXT_CHARACTERS_MAX = 32_767
# Not allowed in XML, not even escaped.
_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
# Excel reads `_x0041_` as the character with that number.
_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_SPECIAL = re.compile("[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]|_x")
_DAY_0 = datetime.date(1899, 12, 30)
_SECONDS_A_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Sheet:
    """One sheet. `widths` are in characters; without `columns` the rows are names and values."""

    name: str
    widths: Sequence[int]
    rows: Iterable[Sequence[Value]]
    columns: Sequence[str] = ()
    total: Sequence[Value] = field(default=())  # below the rows: values, not formulas
    # The number of first columns that are formatted as text, also for what is typed there later.
    text_columns: int = 0


def write_xlsx(
    file: IO[bytes],
    sheets: Iterable[Sheet],
    *,
    summary: Sheet | None = None,
    folder: Path | None = None,
    check_room: Callable[[int], None] = lambda needed_bytes: None,
) -> None:
    """Write a workbook, one sheet after another; nothing of it if an iterable of rows raises.

    `summary` is the first sheet; its rows are read last, when those of the others were written.
    Takes seconds of a core for 50,000 rows: see `web/kit/exports.py`. All rows are first written
    below `folder` (None: the system's temporary folder), and then copied before they are
    compressed: `check_room` is called with the bytes of that copy, and may raise.
    """
    with tempfile.TemporaryDirectory(dir=folder) as waiting:
        import xlsxwriter  # type: ignore[import-untyped]  # noqa: PLC0415 - slow to import

        book = xlsxwriter.Workbook(file, _OPTIONS | {"tmpdir": waiting})
        try:
            formats = _Formats(book)
            first = None if summary is None else book.add_worksheet(summary.name)
            for sheet in sheets:
                _write_sheet(book.add_worksheet(sheet.name), sheet, formats)
            if summary is not None:
                _write_sheet(first, summary, formats)
            for page in book.worksheets():
                page.row_data_fh.flush()
            check_room(sum(path.stat().st_size for path in Path(waiting).iterdir()))
        except BaseException:
            for page in book.worksheets():
                page.row_data_fh.close()
            raise
        book.close()


class _Styles:
    """Numbers of the formats of one row's values, by kind."""

    def __init__(self, book: Any, common: dict[str, object]) -> None:
        def number(**more: object) -> int:
            return _number(book.add_format(common | more))

        self.text = number()
        self.number = number(num_format="#,##0")
        self.day = number(num_format="dd/mm/yyyy")
        self.instant = number(num_format="dd/mm/yyyy hh:mm:ss")


class _Formats:
    def __init__(self, book: Any) -> None:
        bold = {"bold": True}
        self.plain = _Styles(book, {})
        self.strong = _Styles(book, bold | {"top": 6})
        self.head = _number(
            book.add_format(bold | {"bottom": 2, "text_wrap": True, "valign": "top"})
        )
        self.name = _number(book.add_format(bold))
        self.text_only = book.add_format({"num_format": "@"})


def _number(style: Any) -> int:
    number: int = style._get_xf_index()
    return number


def _write_sheet(page: Any, sheet: Sheet, formats: _Formats) -> None:
    for column, width in enumerate(sheet.widths):
        is_text = column < sheet.text_columns
        page.set_column(column, column, width, formats.text_only if is_text else None)
    start = 1 if sheet.columns else 0
    page.freeze_panes(start, 0 if sheet.columns else 1)
    letters = [column_letter(column) for column in range(len(sheet.widths))]
    write = page.row_data_fh.write
    count = 0
    if sheet.columns:
        head = [
            _text(f"{at}1", formats.head, each)
            for at, each in zip(letters, sheet.columns, strict=True)
        ]
        write(f'<row r="1">{"".join(head)}</row>')
        count = 1
    # The style of a text differs by column, that of other values by kind.
    texts = [formats.plain.text] * len(letters)
    if not sheet.columns and texts:
        texts[0] = formats.name
    texts[: sheet.text_columns] = [_number(formats.text_only)] * sheet.text_columns
    styled = list(zip(letters, texts, strict=True))
    for values in sheet.rows:
        count += 1
        write(_row(count, styled, values, formats.plain))
    body_rows = count
    if sheet.total:
        count += 1
        strong = [(at, formats.strong.text) for at in letters]
        write(_row(count, strong, sheet.total, formats.strong, blanks=True))
    if count:
        page.dim_rowmin, page.dim_rowmax = 0, count - 1
        page.dim_colmin, page.dim_colmax = 0, len(letters) - 1
    if sheet.columns and body_rows > start:
        page.autofilter(0, 0, body_rows - 1, len(sheet.columns) - 1)


def _row(
    row: int,
    styled: Sequence[tuple[str, int]],
    values: Sequence[Value],
    styles: _Styles,
    *,
    blanks: bool = False,
) -> str:
    """Return the XML of a row; empty cells are omitted, unless they have a style (`blanks`)."""
    cells = []
    for (letters, text_style), value in zip(styled, values, strict=False):
        at = f"{letters}{row}"
        if not value and value != 0:
            if blanks:
                cells.append(f'<c r="{at}" s="{text_style}"/>')
        elif isinstance(value, str):
            cells.append(_text(at, text_style, value))
        elif isinstance(value, int):
            cells.append(f'<c r="{at}" s="{styles.number}"><v>{value}</v></c>')
        elif isinstance(value, datetime.datetime):
            seconds = value.hour * 3600 + value.minute * 60 + value.second
            serial = (value.date() - _DAY_0).days + seconds / _SECONDS_A_DAY
            cells.append(f'<c r="{at}" s="{styles.instant}"><v>{serial:.16g}</v></c>')
        else:
            cells.append(f'<c r="{at}" s="{styles.day}"><v>{(value - _DAY_0).days}</v></c>')
    return f'<row r="{row}">{"".join(cells)}</row>'


def _text(at: str, style: int, text: str) -> str:
    text = text[:_TEXT_CHARACTERS_MAX]
    if _SPECIAL.search(text):
        text = _ESCAPE.sub("_x005F_", _IMPOSSIBLE.sub("", text))
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        text = text.replace("\r", "_x000D_")  # as Excel writes it
    keep = "" if text == text.strip() else ' xml:space="preserve"'
    return f'<c r="{at}" s="{style}" t="inlineStr"><is><t{keep}>{text}</t></is></c>'
