"""Recognition of columns, and questions or errors of rows."""

import datetime
import weakref
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.batches import names
from balcao.batches.columns import InvalidRow, ValidRow, map_columns, question_digest, roles
from balcao.batches.documents import CellDocument, read_document
from balcao.batches.tables.contract import TableRow
from balcao.core.check_digits import cnpj_check_digits, cpf_check_digits
from balcao.core.column_letters import column_index, column_letter
from balcao.core.document_reader import DocumentKind
from balcao.core.documents import Cnpj
from balcao.core.errors import FileUnreadable, InvalidInput, InvalidParameter
from balcao.core.questions import Strategy
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from balcao.operations.parameters import Parameters
from tests.batches.files import COMPANY, FEDERAL, RURAL, SINTEGRA, STATE, mapped, row_text

A, B, CPF = "90010001000100", "90010002000154", "90010000100"
CNPJS: frozenset[DocumentKind] = frozenset(("cnpj",))
KINDS: list[frozenset[DocumentKind]] = [CNPJS, frozenset(("cpf",)), frozenset(("cnpj", "cpf"))]


class Word(str):
    """A string subclass that can be weakly referenced."""


def meanings(header: str, operation: Operation = COMPANY) -> dict[str, str]:
    """Return the use of each used column, by letter."""
    columns = mapped(header.split(";"), operation).columns
    return {
        each.letter: "/".join(filter(None, (each.meaning, each.compared)))
        for each in columns
        if each.meaning or each.compared
    }


@pytest.mark.parametrize(
    ("header", "operation", "expected"),
    [
        ("CNPJ", COMPANY, {"A": "cnpj"}),
        ("C.N.P.J.;cnpj", COMPANY, {"B": "cnpj"}),
        ("Cód.;CPF / CNPJ", COMPANY, {"A": "ref", "B": "documento"}),
        ("Nº do CNPJ (só números)", COMPANY, {"A": "cnpj"}),
        ("CNPJ básico;CNPJ do cliente", COMPANY, {"B": "cnpj"}),
        ("Documento;CNPJ", COMPANY, {"B": "cnpj"}),  # number of an invoice
        ("CNPJ;CPF", COMPANY, {"A": "cnpj"}),
        ("CNPJ;CPF;Dt. Nasc.", FEDERAL, {"A": "cnpj", "B": "cpf", "C": "data_nascimento"}),
        ("CPF;Estado", RURAL, {"A": "cpf", "B": "uf"}),
        ("CNPJ;Sigla UF;Código;Ref", STATE, {"A": "cnpj", "B": "uf", "D": "ref"}),
        (
            "Cliente;Razão Social;CNPJ;I.E.;UF;Município;CEP;Situação Cadastral;CNAE Principal",
            COMPANY,
            {
                "A": "cliente",
                "B": "razao_social",
                "C": "cnpj",
                "E": "uf",
                "F": "municipio",
                "G": "cep",
                "H": "situacao",
                "I": "cnae",
            },
        ),
        (
            "CNPJ;UF;Razão Social;Inscrição Estadual;Endereço",
            SINTEGRA,
            {
                "A": "cnpj",
                "B": "uf",  # a parameter, so not compared
                "C": "razao_social",
                "D": "inscricao_estadual",
                "E": "logradouro",  # never the parameter `endereco`
            },
        ),
        ("cnpj;cache_strategy;cache", COMPANY, {"A": "cnpj", "B": "cache_strategy", "C": "cache"}),
        ("cnpj;balcao_documento;balcao_uf", COMPANY, {"A": "cnpj"}),  # a result, sent in again
    ],
)
def test_columns_are_found_by_their_names(
    header: str, operation: Operation, expected: Mapping[str, str]
) -> None:
    assert meanings(header, operation) == expected


def test_descriptions_of_columns() -> None:
    columns = mapped(["Nome", "CNPJ", "UF", "Fax"])
    assert columns.descriptions == [
        "coluna A «Nome» → conferir razão social",
        "coluna B «CNPJ» → cnpj",
        "coluna C «UF» → conferir UF",
    ]
    assert set(names.FACT_LABELS) == set(names.FACTS.values())
    assert [column_letter(at) for at in (0, 25, 26, 701, 702)] == ["A", "Z", "AA", "ZZ", "AAA"]


def test_a_choice_overrides_a_guess() -> None:
    header = ["CNPJ", "CNPJ do tomador", "Nota"]
    row = TableRow(2, (A, B, "X 1"))
    assert row_text(mapped(header).read(row)) == f"2 {A}"
    assert row_text(mapped(header, chosen={"cnpj": 1}).read(row)) == f"2 {B}"
    assert row_text(mapped(header, chosen={"documento": 1}).read(row)) == f"2 {B}"
    read = mapped(header, chosen={"ref": 2}).read(row)  # a chosen column must have valid values
    assert isinstance(read, InvalidRow)
    assert (read.code, read.message) == (
        "ref_invalida",
        "Linha 2, coluna C «Nota»: aceita até 64 letras sem acento, algarismos e . _ : / -",
    )
    assert row_text(mapped(header, chosen={"ref": None}).read(row)) == f"2 {A}"
    two = mapped(["CNPJ", "CPF"], FEDERAL, chosen={"cpf": None})
    assert row_text(two.read(TableRow(2, (A, CPF)))) == f"2 {A}"


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        (["Cliente", "Código", "CNPJ", "UF"], {}),
        (["Cliente", "Código", "CNPJ", "UF"], {"ref": None}),
        (["Cliente", "Código", "CNPJ", "UF"], {"ref": 0, "cliente": 1}),
        (["Ref", "Nome", "CNPJ (só números)", "UF"], {"uf": None}),
        (["Coluna A", "Coluna B", "Coluna C", "Coluna D"], {}),  # found in the sample
    ],
)
def test_a_stored_interpretation_reads_rows_alike(
    header: list[str], chosen: Mapping[str, int | None]
) -> None:
    """A file is read with the sample, later rows without it."""
    row = TableRow(2, ("Padaria do Zé", "não é marca", A, "SP"))
    for operation in (STATE, COMPANY, SINTEGRA):
        own = {role: at for role, at in chosen.items() if role in roles(operation)}
        first = map_columns(operation, header, [row], chosen=own)
        again = map_columns(operation, header, chosen=first.chosen)
        assert again.columns == first.columns
        assert again.chosen == first.chosen
        assert again.read(row) == first.read(row)


@pytest.mark.parametrize(
    "how",
    [
        {"chosen": {"idade": 0}},
        {"chosen": {"cpf": 0}},  # no document of this operation
        {"chosen": {"cnpj": "x" * 201}},
        {"common": {"cnpj": A}},
        {"common": {"cor": "azul"}},
        {"common": {"creditos_maximos": "1"}},
    ],
)
def test_invalid_choices(how: Mapping[str, Mapping[str, object]]) -> None:
    with pytest.raises(InvalidParameter):
        map_columns(COMPANY, ["CNPJ"], **how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("choice", "place"),
    [
        ("tomador", 1),
        ("TOMADOR", 1),
        ("b", 2),  # a name precedes a letter
        ("C", 2),
        ("Coluna A", None),  # no column has this name
        ("A", 0),
        (1, 1),
        (7, None),
        ("D", None),
        ("ZZZZ", None),
        ("--", None),
    ],
)
def test_columns_are_chosen_by_name_letter_or_place(choice: str | int, place: int | None) -> None:
    header = ["Prestador", "Tomador", "B"]
    if place is not None:
        assert mapped(header, chosen={"cnpj": choice}).chosen["cnpj"] == place
        return
    with pytest.raises(FileUnreadable) as caught:
        mapped(header, chosen={"cnpj": choice})
    assert caught.value.reason == "coluna_inexistente"
    assert "coluna_cnpj" in caught.value.detail


@pytest.mark.parametrize("none", [None, ""])
def test_a_role_can_be_excluded(none: str | None) -> None:
    columns = mapped(["CNPJ", "Código"], chosen={"ref": none})
    assert columns.chosen["ref"] is None
    assert mapped(["CNPJ", "Código"]).chosen["ref"] == 1


def test_letters_of_columns_and_back() -> None:
    assert [column_index(column_letter(at)) for at in range(800)] == [*range(800)]
    assert [column_index(each) for each in ("", "1", "É", "A B", "a")] == [None] * 4 + [0]


def test_a_file_without_documents() -> None:
    rows = [TableRow(2, ("Padaria", "12")), TableRow(3, ("Mercado", "13"))]
    with pytest.raises(FileUnreadable) as caught:
        map_columns(COMPANY, ["Nome", "Idade"], rows)
    assert caught.value.reason == "sem_coluna_de_documento"
    assert "“cnpj”" in caught.value.detail


def test_roles_of_an_operation() -> None:
    assert list(roles(STATE)) == ["documento", "cnpj", "uf", "atualizar_online", "ref", "cliente"]
    assert {"cnpj", "cpf", "data_nascimento"} <= set(roles(FEDERAL))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (f"{A};SP|{CPF};01/01/1980", None),  # a column of both is neither
        (f"{A}|{CPF};01/01/1980", "data_nascimento"),
        (f"{A};|{CPF};1980-01-01", "data_nascimento"),
        (f"{A}|{B};x|{CPF};01/01/1980", None),
        (f"{A};02/03/2020;01/02/2020|{CPF};01/01/1980;02/02/1990", None),
    ],
)
def test_a_birth_date_is_found_by_a_sample_of_rows(rows: str, expected: str | None) -> None:
    sample = [TableRow(at, tuple(row.split(";"))) for at, row in enumerate(rows.split("|"), 1)]
    width = max(len(row.cells) for row in sample)
    header = [f"Coluna {column_letter(at)}" for at in range(width)]
    columns = map_columns(FEDERAL, header, sample)
    assert columns.columns[1].meaning == expected
    row = columns.read(sample[-1])
    several = width > 2
    assert isinstance(row, InvalidRow) == several  # two dates are ambiguous
    named = map_columns(FEDERAL, ["CPF", *(f"dia {at}" for at in range(1, width))], sample)
    assert isinstance(named.read(sample[-1]), InvalidRow)


def test_parameters_for_all_rows_and_of_one() -> None:
    columns = mapped(["cnpj", "UF"], STATE, common={"uf": "RJ", "atualizar_online": "true"})
    read = [columns.read(TableRow(2, (A, "São Paulo"))), columns.read(TableRow(3, (A, "")))]
    assert [row_text(each) for each in read] == [f"2 {A} SP", f"3 {A} RJ"]
    assert isinstance(read[0], ValidRow)
    assert read[0].question.refresh
    ages = mapped(["cnpj", "cache_strategy"], COMPANY, common={"cache": "30"})
    age = ages.read(TableRow(2, (A, "so_online")))
    assert isinstance(age, ValidRow)
    assert (age.question.max_age_days, age.question.strategy) == (30, Strategy.SO_ONLINE)


@pytest.mark.parametrize(
    ("operation", "header", "cells", "expected"),
    [
        (STATE, "cnpj;uf", f"{A};", "2 uf_ausente"),
        (STATE, "cnpj;uf", f"{A};XX", "2 uf_invalida"),
        (STATE, "cnpj;uf", f"{A};br", "2 uf_invalida"),
        (SINTEGRA, "cnpj;uf", f"{A};", f"2 {A}"),
        (RURAL, "cpf;uf", f"{CPF};PR", "2 uf_invalida"),
        (COMPANY, "cnpj;cache", f"{A};muito", "2 parametro_invalido"),
        (FEDERAL, "cnpj;cpf", f"{A};{CPF}", "2 documentos_conflitantes"),
        (FEDERAL, "cnpj;cpf", f"{A};-", f"2 {A}"),
        (FEDERAL, "cnpj;cpf", f"{A};123", "2 tamanho_errado"),
        (FEDERAL, "cpf;cnpj;nascimento", f"{CPF};;01.02.1980", f"2 {CPF} 1980-02-01"),
    ],
)
def test_rows(operation: Operation, header: str, cells: str, expected: str) -> None:
    row = TableRow(2, tuple(cells.split(";")))
    assert row_text(mapped(header.split(";"), operation).read(row)) == expected


def test_tags_of_rows() -> None:
    columns = mapped(["cnpj", "ref", "cliente"])
    read = columns.read(TableRow(2, (A, " nf:12/3 ", "Padaria do Zé")))
    assert isinstance(read, ValidRow)
    assert (read.ref, read.client) == (
        "nf:12/3",
        None,
    )  # no valid tag in a guessed column
    for text in ("a b", "cliente é", "x" * 65, CPF, "900.100.001-00"):
        refused = columns.read(TableRow(2, (A, text, "")))
        assert isinstance(refused, InvalidRow)
        assert refused.code == ("marca_com_cpf" if text.startswith("9") else "ref_invalida")
        assert text not in refused.message


def test_a_parameter_s_error_names_its_own_column() -> None:
    columns = mapped(["cnpj", "uf", "cache_strategy", "cache"], SINTEGRA)
    read = columns.read(TableRow(2, (A, "SP", "ZZZ", "7")))
    assert isinstance(read, InvalidRow)
    assert "coluna C «cache_strategy»" in read.message


def test_messages_of_invalid_rows_name_the_column_and_no_cell() -> None:
    columns = mapped(["Nome", "CPF", "Nascimento"], FEDERAL)
    read = columns.read(TableRow(7, ("Maria", CPF, "31/02/1980")))
    assert isinstance(read, InvalidRow)
    assert read.message == (
        "Linha 7, coluna C «Nascimento»: informe uma data de nascimento válida, como 31/12/1980."
    )


def test_equal_rows_have_one_digest_that_needs_the_key() -> None:
    columns = mapped(["cnpj", "uf", "nome"], STATE)

    def digest(cells: str, key: bytes = b"k") -> bytes:
        read = columns.read(TableRow(2, tuple(cells.split(";"))))
        assert isinstance(read, ValidRow)
        return question_digest(STATE, read.question, key)

    first = digest(f"{A};SP;Um")
    assert first == digest("90.010.001/0001-00;são paulo;Outro")
    others = {digest(f"{A};RJ;Um"), digest(f"{B};SP;Um"), digest(f"{A};SP;Um", b"other")}
    assert len(others | {first}) == 4


@given(
    st.sampled_from(list(OPERATIONS.values())),
    st.text("0123456789ABC./- ", max_size=20) | st.sampled_from([A, B, CPF]),
    st.sampled_from(["", "SP", "BR", "zz", "19800201"]),
    st.sampled_from(["", "19800201", "1980", "29991231"]),
)
def test_a_row_is_valid_exactly_if_the_lookup_takes_it(
    operation: Operation, document: str, uf: str, birth: str
) -> None:
    """For complete documents, not for those that are repaired."""
    header = ["documento", "uf", "data_nascimento"]
    read = mapped(header, operation).read(TableRow(2, (document, uf, birth)))
    query = {"uf": uf, "data_nascimento": birth}
    query = {name: value for name, value in query.items() if value}
    bare = "".join(document.split())
    if not operation.document:
        kind = "cpf" if len("".join(filter(str.isalnum, bare))) == 11 else "cnpj"
        query[kind] = bare
        if kind == "cnpj":
            query.pop("data_nascimento", None)
    try:
        expected = operation.parse(bare, Parameters.of(query))
    except InvalidInput:
        assert isinstance(read, InvalidRow) or read.padded or bare != document
    else:
        assert isinstance(read, ValidRow)
        assert read.question == expected


@given(st.integers(1, 10**12 - 1), st.booleans())
def test_leading_zeros_are_restored(number: int, masked: bool) -> None:
    base = f"{number:012d}"
    whole = base + cnpj_check_digits(base)
    short = whole.lstrip("0")
    read_as = read_document(short, CNPJS)
    if len(short) == 8:  # a root
        assert not isinstance(read_as, CellDocument)
    elif len(set(whole)) > 1 and len(short) >= 3:
        assert read_as == CellDocument(Cnpj(whole), padded=whole.startswith("0"))
    if masked:
        assert read_document(Cnpj(whole).punctuated, CNPJS) == CellDocument(Cnpj(whole))


@given(st.text(max_size=40), st.sampled_from(KINDS))
def test_restored_documents_have_valid_check_digits(
    text: str, kinds: frozenset[DocumentKind]
) -> None:
    for only in (True, False):
        read_as = read_document(text, kinds, only=only)
        if isinstance(read_as, CellDocument):
            document = read_as.document.text
            digits = cnpj_check_digits if len(document) == 14 else cpf_check_digits
            assert digits(document[:-2]) == document[-2:]
            assert ("cnpj" if len(document) == 14 else "cpf") in kinds


@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2020, 12, 31)))
def test_days_as_people_write_them(day: datetime.date) -> None:
    columns = mapped(["cpf", "nascimento"], FEDERAL)
    for form in ("%d/%m/%Y", "%Y-%m-%d", "%Y%m%d", "%d-%m-%Y", "%d/%m/%Y 00:00:00"):
        read = columns.read(TableRow(2, (CPF, day.strftime(form))))
        assert row_text(read) == f"2 {CPF} {day.isoformat()}"


def test_names_of_columns_are_not_cached() -> None:
    """They may be personal data, which an erasure would not reach."""
    word = Word("Fulana de Tal, CPF 900.100.001-00")
    gone = weakref.ref(word)
    assert not names.is_known_name(word)
    assert names.guess_role(word) == "cpf"
    del word
    assert gone() is None
