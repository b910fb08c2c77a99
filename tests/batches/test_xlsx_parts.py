"""Our spreadsheets conform to ECMA-376, part 1, as strict readers require.

Lenient readers accept nearly everything; Excel offers to repair elements out of order.
"""

import io
import zipfile
from xml.etree import ElementTree as ET

import pytest
from python_calamine import CalamineWorkbook

from balcao.batches.columns import map_columns
from balcao.batches.result_columns import ResultColumns, ResultRow
from balcao.batches.results import write_rows
from balcao.core.column_letters import column_index
from balcao.storage.batches import StoredRow
from tests.batches.files import COMPANY

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
PACKAGE = "{http://schemas.openxmlformats.org/package/2006/%s}"
# In the order of the schema's sequences (18.3.1.99, 18.8.39); Excel rejects others.
WORKSHEET = [
    "dimension", "sheetViews", "sheetFormatPr", "cols", "sheetData", "autoFilter", "pageMargins",
]  # fmt: skip
STYLES = [
    "numFmts", "fonts", "fills", "borders", "cellStyleXfs", "cellXfs", "cellStyles", "dxfs",
    "tableStyles",
]  # fmt: skip

# Ordinary texts, and texts meant to harm readers.
CELLS = (
    "=1+1",
    "=HYPERLINK(\"http://example.org\";\"clique\")",
    "+55 11 99999-9999",
    "-2",
    "@SUM(A1)",
    "\t=1",
    "\r\n=1",
    "00012345678901234567",
    " com espaços ",
    "a & b < c > d \" '",
    "_x0041_ e _x000D_",
    "linha 1\nlinha 2",
    "\x00\x07\x1f\ufffe",
    "ação 🙂 𝔘",
    "]]>",
    # The library treats this as its own markup, and would write a formula.
    '<r></t></is></c><c r="ZZ9"><f>1+1</f></c></r>',
    "<r>_x0041_ com\nlinhas & _sinais_</r>",
    "<r></r>",
    "9" * 40_000,
)  # fmt: skip


@pytest.fixture(scope="module")
def book() -> bytes:
    header = ("CNPJ", "Texto")
    columns = ResultColumns(COMPANY, header, map_columns(COMPANY, header))
    rows = [
        ResultRow(StoredRow(at, "pendente"), ("90010001000100", cell))
        for at, cell in enumerate(CELLS, 2)
    ]
    file = io.BytesIO()
    write_rows("xlsx", file, columns, rows)
    return file.getvalue()


@pytest.fixture(scope="module")
def parts(book: bytes) -> dict[str, ET.Element]:
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        assert archive.testzip() is None
        return {name: ET.fromstring(archive.read(name)) for name in archive.namelist()}


def plain(element: ET.Element) -> str:
    return element.tag.removeprefix(MAIN)


def test_every_part_has_a_type_and_every_relationship_a_target(
    parts: dict[str, ET.Element],
) -> None:
    types = parts["[Content_Types].xml"]
    of = PACKAGE % "content-types"
    named = {each.get("PartName", "").lstrip("/") for each in types.findall(f"{of}Override")}
    extensions = {each.get("Extension") for each in types.findall(f"{of}Default")}
    assert named <= set(parts)
    assert all(name in named or name.rpartition(".")[2] in extensions for name in parts)
    for name, folder in (("_rels/.rels", ""), ("xl/_rels/workbook.xml.rels", "xl/")):
        related = parts[name].findall(f"{PACKAGE % 'relationships'}Relationship")
        assert {f"{folder}{each.get('Target')}" for each in related} <= set(parts)
        assert len({each.get("Id") for each in related}) == len(related) > 0


def test_children_are_in_the_order_of_the_schema(parts: dict[str, ET.Element]) -> None:
    assert [plain(each) for each in parts["xl/worksheets/sheet2.xml"]] == WORKSHEET
    assert [plain(each) for each in parts["xl/styles.xml"]] == STYLES
    for group in parts["xl/styles.xml"]:
        assert int(group.get("count", "")) == len(group), plain(group)


def test_cells_are_texts_at_their_references(parts: dict[str, ET.Element]) -> None:
    sheet, styles = parts["xl/worksheets/sheet2.xml"], parts["xl/styles.xml"]
    formats = styles.find(f"{MAIN}cellXfs")
    assert formats is not None
    rows = sheet.findall(f"{MAIN}sheetData/{MAIN}row")
    assert [int(row.get("r", "")) for row in rows] == [*range(1, len(CELLS) + 2)]
    width = 0
    for row in rows:
        places = []
        for cell in row:
            reference = cell.get("r", "")
            letters = reference.rstrip("0123456789")
            assert reference == f"{letters}{row.get('r')}"
            places.append(column_index(letters) or 0)
            assert int(cell.get("s", "")) < len(formats)
            (inline,) = cell
            if cell.get("t") is None:
                assert plain(inline) == "v"
                assert (inline.text or "").isdigit()
                continue
            assert cell.get("t") == "inlineStr"
            assert plain(inline) == "is"  # and no formula, ever
            assert [plain(each) for each in inline] == ["t"]
            texts = [each.text or "" for each in inline.iter(f"{MAIN}t")]
            assert len("".join(texts)) <= 32_767
        assert places == sorted(set(places))
        width = max(width, *places)
    reach = sheet.find(f"{MAIN}autoFilter")
    assert reach is not None
    last = reach.get("ref", "").partition(":")[2]
    assert last.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == str(len(CELLS) + 1)
    columns = sheet.findall(f"{MAIN}cols/{MAIN}col")  # each for a range
    styled = [
        at
        for each in columns
        for at in range(int(each.get("min", "")), int(each.get("max", "")) + 1)
    ]
    assert styled == [*range(1, len(styled) + 1)]
    assert len(styled) > width


def test_a_written_spreadsheet_can_be_read_again(book: bytes) -> None:
    page = CalamineWorkbook.from_filelike(io.BytesIO(book)).get_sheet_by_name("Resultado")
    found = [row[1] for row in page.to_python()][1:]
    impossible = dict.fromkeys(map(ord, "\x00\x07\x1f\ufffe"))
    expected = [cell.translate(impossible)[:32_767] for cell in CELLS]
    assert found == expected
    assert all(isinstance(row[1], str) for row in page.to_python())
