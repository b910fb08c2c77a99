"""Results as a spreadsheet: every cell a text, rows on disk as they come.

Written as XML by hand, since a sheet of nothing but texts needs so little of it (ECMA-376, part 1,
18.3): a library that can do all of it takes four times as long for a cell.
"""

import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

from balcao.batches.tables.contract import column_letter
from balcao.batches.writing.contract import ResultColumns, ResultRow

_CHARACTERS_MAX = 32_767  # of a cell
_WIDTHS = {"balcao_mensagem": 60, "balcao_requisicao": 38}
_WIDTH = 18
_LEVEL = 3  # a sheet is nearly all the same words: more takes twice as long for a tenth of it
_BYTES_AT_ONCE = 1 << 20

_SPECIAL = re.compile("[&<>\x00-\x1f\ufffe\uffff\ud800-\udfff]|^ | $|_x[0-9A-Fa-f]{4}_")
# What XML cannot have at all; and what stands for such a sign in a cell, and is meant as it is.
_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_SHEET = "xl/worksheets/sheet1.xml"

_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships'
    '+xml"/><Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>'
    f'<Override PartName="/{_SHEET}" ContentType="{_TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1"'
    f' Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
    '<sheet name="Resultado" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
    # 49 is the number format `@`: what is typed into such a cell stays a text, too.
    "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}">'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="2"><border><left/><right/><top/><bottom/><diagonal/></border>'
    '<border><left/><right/><top/><bottom style="medium"><color auto="1"/></bottom><diagonal/>'
    "</border></borders>"
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="49" fontId="1" fillId="0" borderId="1" xfId="0" applyNumberFormat="1"'
    ' applyFont="1" applyBorder="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
    "</styleSheet>",
}
_TEXT, _HEAD = 1, 2  # places in `cellXfs`


def write_xlsx_rows(
    file: IO[bytes],
    columns: ResultColumns,
    rows: Iterable[ResultRow],
    *,
    temporary: Path | None = None,
) -> None:
    """Write all rows. Blocking; the file must be seekable.

    Until the end they are in a nameless file in the folder `temporary`, None: the system's own.
    """
    with (
        tempfile.TemporaryFile(dir=temporary) as sheet,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as book,
    ):
        _write_sheet(sheet, columns, rows)
        for name, part in _PARTS.items():
            book.writestr(name, _XML + part)
        member = zipfile.ZipInfo(_SHEET)
        member.compress_type = zipfile.ZIP_DEFLATED
        # How long it is tells whether the archive needs the long form, which not all readers take.
        member.file_size = sheet.tell()
        sheet.seek(0)
        with book.open(member, "w") as part_file:
            shutil.copyfileobj(sheet, part_file, _BYTES_AT_ONCE)


def _write_sheet(sheet: IO[bytes], columns: ResultColumns, rows: Iterable[ResultRow]) -> None:
    letters = [column_letter(at) for at in range(len(columns.names))]
    widths = "".join(
        f'<col min="{at}" max="{at}" width="{_WIDTHS.get(name, _WIDTH)}" style="{_TEXT}"'
        ' customWidth="1"/>'
        for at, name in enumerate(columns.names, 1)
    )
    sheet.write(
        f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView>'
        f"</sheetViews><cols>{widths}</cols><sheetData>".encode()
    )
    sheet.write(_row(1, letters, columns.names, _HEAD))
    last = 1
    for last, row in enumerate(rows, 2):
        sheet.write(_row(last, letters, columns.cells(row), _TEXT))
    filtered = f'<autoFilter ref="A1:{letters[-1]}{last}"/>' if last > 1 else ""
    sheet.write(f"</sheetData>{filtered}</worksheet>".encode())


def _row(number: int, letters: Sequence[str], cells: Sequence[str], style: int) -> bytes:
    written = [
        f'<c r="{letter}{number}" s="{style}" t="inlineStr"><is>{_text(cell)}</is></c>'
        for letter, cell in zip(letters, cells, strict=True)
        if cell
    ]
    return f'<row r="{number}">{"".join(written)}</row>'.encode()


def _text(cell: str) -> str:
    """The cell as an element; what no XML can hold goes, and so does what would be too long."""
    if len(cell) > _CHARACTERS_MAX:
        cell = cell[:_CHARACTERS_MAX]
    if _SPECIAL.search(cell) is None:
        return f"<t>{cell}</t>"
    cell = _IMPOSSIBLE.sub("", _ESCAPE.sub("_x005F_", cell))
    cell = (
        cell.replace("\r", "_x000D_")
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
    )
    return f'<t xml:space="preserve">{cell}</t>'
