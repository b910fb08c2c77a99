"""Result files: CSV, XLSX, JSONL."""

import csv
import dataclasses
import datetime
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from python_calamine import CalamineWorkbook

from balcao.batches import result_columns
from balcao.batches.column_texts import columns_text, own_columns
from balcao.batches.columns import map_columns
from balcao.batches.names import is_known_name
from balcao.batches.result_columns import (
    PREFIX,
    ResultColumns,
    ResultRow,
    RowField,
    members,
    row_columns,
    row_type,
)
from balcao.batches.result_sheets import SheetContext
from balcao.batches.results import write_rows
from balcao.batches.tables.contract import Cells
from balcao.batches.tables.opening import open_table
from balcao.core.csv_table import escape_formula
from balcao.core.described import doc
from balcao.core.errors import NoFileSpace
from balcao.core.extensions import FEDERAL as EXTENDS_FEDERAL
from balcao.core.extensions import STATE, Extension
from balcao.operations import OPERATIONS
from balcao.operations.contract import EXAMPLE_MS, Operation
from balcao.storage.batches import StoredRow
from tests.batches.answers import REQUEST, answer, answers
from tests.batches.files import COMPANY, FEDERAL, saved

ROOT = Path(__file__).parents[2]
A = "90010001000100"
HEADER = ("Código", "CNPJ", "Razão Social", "CEP")
DONE = StoredRow(2, "concluida", ref="A-1", document=A, request_id=REQUEST, credits=1)
INVALID = StoredRow(3, "invalida", code="documento_invalido")
REPEATED = StoredRow(4, "repetida", document="***000001**", repeated_of=2)
ROWS = (
    ResultRow(DONE, ("A-1", A, "Empresa Ativa", "4000100"), answer(COMPANY)),
    ResultRow(INVALID, ("=1+1", "123"), message="Linha 3: não existe."),
    ResultRow(REPEATED, ("A-3", "x", "y", "z", "one", "too many")),
)


def columns(operation: Operation = COMPANY, header: Sequence[str] = HEADER) -> ResultColumns:
    return ResultColumns(operation, header, map_columns(operation, header, chosen={"documento": 1}))


def written_csv(rows: Sequence[ResultRow], of: ResultColumns) -> bytes:
    file = io.BytesIO()
    write_rows("csv", file, of, rows)
    return file.getvalue()


def read_csv(content: bytes) -> list[dict[str, str]]:
    assert content.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), ""), delimiter=";"))


def test_own_columns_first_then_ours() -> None:
    names = list(columns().names)
    assert tuple(names[:4]) == HEADER
    assert all(name.startswith(PREFIX) for name in names[4:])
    assert len(set(names)) == len(names)
    assert names[-4:] == [
        "balcao_confere_razao_social",
        "balcao_oficial_razao_social",
        "balcao_confere_cep",
        "balcao_oficial_cep",
    ]


def test_a_csv_of_results() -> None:
    done, invalid, repeated = read_csv(written_csv(ROWS, columns()))
    assert {name: done[name] for name in HEADER} == dict(zip(HEADER, ROWS[0].cells, strict=True))
    ours = {name.removeprefix(PREFIX): text for name, text in done.items() if text}
    assert {
        "linha": "2",
        "estado": "concluida",
        "creditos": "1",
        "requisicao": REQUEST,
        "documento": "90.010.001/0001-00",
        "razao_social": "EMPRESA ATIVA FICTICIA LTDA",
        "situacao": "ATIVA",
        "abertura": "02/03/2015",
        "cnae": "6201-5/01",
        "cep": "04000-100",
        "confere_razao_social": "parecido",
        "oficial_razao_social": "EMPRESA ATIVA FICTICIA LTDA",
        "confere_cep": "igual",
        "oficial_cep": "04000-100",
    }.items() <= ours.items()
    assert invalid["Código"] == "'=1+1"
    assert (invalid["CNPJ"], invalid["CEP"]) == ("123", "")
    assert invalid["balcao_codigo"] == "documento_invalido"
    assert invalid["balcao_confere_cep"] == "nao_verificado"
    assert (repeated["balcao_repetida_de"], repeated["balcao_documento"]) == (
        "2",
        "***.000.001-**",
    )
    assert repeated["CEP"] == "z; one; too many"  # nothing is lost, and no column moves


def sheets_of(path: Path, rows: Sequence[ResultRow], of: ResultColumns) -> dict[str, list[Any]]:
    """Write a spreadsheet and return the cells of its sheets."""
    about = SheetContext("Novembro", "Empresa", EXAMPLE_MS, "https://balcao.test")
    with path.open("wb") as file:
        write_rows("xlsx", file, of, rows, about, folder=path.parent)
    assert list(path.parent.iterdir()) == [path]
    book = CalamineWorkbook.from_path(path)
    return {name: book.get_sheet_by_name(name).to_python() for name in book.sheet_names}


def test_a_spreadsheet_of_results_is_for_people(tmp_path: Path) -> None:
    sheets = sheets_of(tmp_path / "resultado.xlsx", ROWS, columns())
    head, *found = sheets["Resultado"]
    done, invalid, repeated = (dict(zip(head, row, strict=True)) for row in found)
    assert tuple(head[:4]) == HEADER
    assert not any(name.startswith(PREFIX) for name in head)
    assert [row[:2] for row in found] == [list(each.cells[:2]) for each in ROWS]  # with `=`
    assert {
        "Linha": 2,
        "Situação da linha": "Respondida",
        "Créditos": 1,
        "Documento": "90.010.001/0001-00",
        "Titular": "EMPRESA ATIVA FICTICIA LTDA",
        "Abertura": datetime.date(2015, 3, 2),
        "Confere: razão social": "Parecido",
        "Oficial: CEP": "04000-100",
    }.items() <= done.items()
    assert "Razão social" not in head  # the answer's is `Titular`
    assert invalid["Código do motivo"] == "documento_invalido"
    assert (repeated["Situação da linha"], repeated["Repete a linha"]) == ("Repetida", 2)
    assert {
        "Lote": "Novembro",
        "Linhas": 3,
        "Créditos": 1,
        "  Ativa": 1,
        "  Inválida": 1,
        "  razão social: parecido": 1,
    }.items() <= {row[0]: row[1] for row in sheets["Resumo"] if row[0]}.items()


def test_our_spreadsheet_can_be_sent_in_again(tmp_path: Path) -> None:
    path = tmp_path / "resultado.xlsx"
    sheets_of(path, ROWS, columns())
    with open_table(path) as table:
        assert table.header[:4] == HEADER
        assert [row.cells[:2] for row in table.rows] == [each.cells[:2] for each in ROWS]


def test_a_spreadsheet_that_cannot_be_finished_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[ResultRow]:
        yield ROWS[0]
        raise NoFileSpace

    def no_room(needed_bytes: int) -> None:
        assert needed_bytes > 100_000  # the rows are written twice
        raise NoFileSpace

    many = [ROWS[0]] * 500
    for rows, check in ((failing(), lambda needed_bytes: None), (iter(many), no_room)):
        file = io.BytesIO()
        with pytest.raises(NoFileSpace):
            write_rows("xlsx", file, columns(), rows, folder=tmp_path, check_room=check)
        assert not file.getvalue()
        assert not list(tmp_path.iterdir())


def test_jsonl_has_the_whole_envelope() -> None:
    file = io.BytesIO()
    write_rows("jsonl", file, columns(), ROWS)
    done, invalid, repeated = map(msgspec.json.decode, file.getvalue().splitlines())
    envelope = msgspec.json.decode(answer(COMPANY))
    assert {name: done[name] for name in envelope} == envelope
    assert list(done)[:3] == ["linha", "ref", "balcao"]
    assert (done["linha"], done["ref"], done["balcao"]["creditos"]) == (2, "A-1", 1)
    assert done["balcao"]["confere"]["cep"] == {"resultado": "igual", "oficial": "04000-100"}
    assert (invalid["balcao"]["codigo"], "response" in invalid) == ("documento_invalido", False)
    assert repeated["balcao"]["repetida_de"] == 2


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_has_its_columns(operation: Operation) -> None:
    """Every column has a value in one of the examples, and names are unique."""
    of = ResultColumns(operation, (), map_columns(operation, ["documento"]))
    assert len(set(of.names)) == len(of.names)
    found: set[str] = set()
    for body in answers(operation).values():
        cells = of.cells(ResultRow(StoredRow(1, "concluida"), (), body))
        found |= {name for name, cell in zip(of.names, cells, strict=True) if cell}
    result = {PREFIX + fact.name for fact in operation.sheet_columns.facts}
    rare = ("simples", "mei", "situacao_especial", "inscricoes_inativas", "ufs_sem_resposta")
    assert result - found <= {PREFIX + name for name in rare}
    assert result


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_compares_with_its_answers(operation: Operation) -> None:
    bodies = [msgspec.json.decode(body) for body in answers(operation).values()]
    for fact, official in operation.sheet_columns.official.items():
        assert any(official(body) for body in bodies), fact
        for error in ({}, {"success": False, "error": True, "response": None}):
            assert official(error) is None, fact


def test_a_negative_result() -> None:
    of = ResultColumns(FEDERAL, (), map_columns(FEDERAL, ["documento"]))
    row = ResultRow(StoredRow(1, "concluida"), (), answers(FEDERAL)["positiva"])
    row_text = dict(zip(of.names, of.cells(row), strict=True))
    assert (row_text["balcao_certidao"], row_text["balcao_valida_ate"]) == ("CPD", "")
    assert row_text["balcao_debitos_rfb"] == "Sim"


def test_a_new_column_is_one_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """See `docs/batches.md`: in CSV, XLSX, JSONL, the API's rows and their description."""
    tries = RowField(
        lambda each: each.row.tries,
        column="tentativas",
        title="Tentativas",
        member="tentativas",
        api_type=Annotated[int, doc("Quantas vezes foi tentada.")],
    )
    monkeypatch.setattr(result_columns, "ROW_FIELDS", (*result_columns.ROW_FIELDS, tries))
    of, rows = columns(), [ROWS[0]._replace(row=dataclasses.replace(DONE, tries=3))]
    (in_csv,) = read_csv(written_csv(rows, of))
    assert in_csv["balcao_tentativas"] == "3"
    path = tmp_path / "resultado.xlsx"
    with path.open("wb") as file:
        write_rows("xlsx", file, of, rows)
    head, cells = CalamineWorkbook.from_path(path).get_sheet_by_name("Resultado").to_python()
    assert dict(zip(head, cells, strict=True))["Tentativas"] == 3
    jsonl = io.BytesIO()
    write_rows("jsonl", jsonl, of, rows)
    assert msgspec.json.decode(jsonl.getvalue())["balcao"]["tentativas"] == 3
    of_api = row_type()
    assert msgspec.to_builtins(msgspec.convert(members(rows[0]), of_api))["tentativas"] == 3
    (schema,) = msgspec.json.schema_components([of_api])[1].values()
    assert schema["properties"]["tentativas"]["description"] == "Quantas vezes foi tentada."


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)


@given(st.lists(st.lists(TEXTS, min_size=4, max_size=4), min_size=1, max_size=8))
def test_written_results_can_be_read_again(tmp_path_factory: Any, rows: list[list[str]]) -> None:
    """CSV preserves every own cell, except for the apostrophe before formulas."""
    assume(not any(is_known_name(cell) for cell in rows[0]))  # a second line of names
    of = columns()
    given_rows = [
        ResultRow(StoredRow(at, "pendente"), tuple(cells)) for at, cells in enumerate(rows, 2)
    ]
    path = saved(tmp_path_factory.getbasetemp(), written_csv(given_rows, of))
    with open_table(path) as table:
        assert table.header == tuple(name.strip() for name in of.names)
        found = [row.cells for row in table.rows]
    expected: list[Cells] = [
        tuple(str(escape_formula(cell)) for cell in of.cells(row)) for row in given_rows
    ]
    assert found == expected
    for row in found:
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)


@given(st.lists(st.lists(TEXTS, min_size=4, max_size=4), min_size=1, max_size=5))
def test_own_cells_are_unchanged_in_jsonl_and_spreadsheets(rows: list[list[str]]) -> None:
    of = columns()
    for at, cells in enumerate(rows, 2):
        row = ResultRow(StoredRow(at, "pendente"), tuple(cells))
        assert tuple(of.cells(row))[: len(of.own_header)] == tuple(cells)


def test_extensions_have_columns_if_there_are_any() -> None:
    """Contract 4.12: in addition to the source's validity, by the UF of the row's question."""
    operation = OPERATIONS["state_certificate"]
    header = ("CNPJ", "UF")
    body = {"error": False, "success": True, "validade": "2026-12-01"}
    result = msgspec.json.encode(body | {"datahora": "2026-05-10 14:03:00"})
    acts = [
        Extension(STATE, "SP", "2026-05-01", "2026-05-31", "2027-02-28", None, "Decreto 1"),
        Extension(EXTENDS_FEDERAL, None, "2026-05-01", "2026-05-31", None, 90, "Portaria 1"),
    ]
    mapped = map_columns(operation, header)
    of = ResultColumns(operation, header, mapped, acts)
    plain = ResultColumns(operation, header, mapped, acts[1:])  # none of this kind
    added = [f"{PREFIX}prorrogada_por_ato_ate", f"{PREFIX}ato"]
    assert [name for name in of.names if name not in plain.names] == added
    cases = (
        (("90010001000100", "SP"), result, ["28/02/2027", "Decreto 1"]),
        (("90010001000100", "RJ"), result, ["", ""]),
        (("90010001000100", "SP"), None, ["", ""]),
    )
    for cells, answered, expected in cases:
        row = ResultRow(DONE, cells, answered)
        found = dict(zip(of.names, of.cells(row), strict=True))
        assert [found.pop(name) for name in added] == expected
        assert found == dict(zip(plain.names, plain.cells(row), strict=True))


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_column_is_documented(operation: Operation) -> None:
    """In `docs/batches.md` by its name, in the guide by name, title and description."""
    of = ResultColumns(operation, (), map_columns(operation, ["documento"]))
    own = {each.name.removeprefix(PREFIX) for each in own_columns(operation)}
    page = (ROOT / "docs" / "batches.md").read_text("utf-8").partition("## Columns of a result")[2]
    line = next(line for line in page.splitlines() if line.startswith(f"| `{operation.path}`"))
    listed = set(re.findall("`([a-z_]+)`", line.split("|")[2]))
    acts = {"prorrogada_por_ato_ate", "ato"} if operation.issues else set()
    assert own == listed | acts
    assert all(f"`{name}`" in page for name in acts)
    guide = columns_text()
    for each in of.ours:
        assert f"| `{each.name}` | {each.title} | {each.text} |" in guide
        assert each.title
        assert each.text
    assert all(f"`{each.name.removeprefix(PREFIX)}`" in page for each in row_columns())
