"""Infosimples' unified SINTEGRA consultation, with saved bytes (`infosimples.md` section 6)."""

from typing import Any

import pytest
from msgspec.structs import replace

from balcao.core.errors import SourceFailed, SourceUnavailable
from balcao.core.questions import Inquiry
from balcao.core.registration import Registration, Registrations
from balcao.providers.infosimples.adapter import InfosimplesAdapter
from balcao.sources.contract import HttpReply
from tests.records import CNPJ as OTHER_CNPJ
from tests.records import CPF
from tests.sources.adapters import CNPJ, LETTERS, a_reply, a_uf, run_conversation
from tests.sources.sefaz.world import REGISTRATIONS
from tests.sources.test_infosimples import TOKEN, enveloped

SAVED: dict[str, Any] = {
    "abertura_data": "01/03/2010",
    "atividade_economica": "Comércio atacadista",
    "cnpj": "11.222.333/0001-81",
    "cnpj_cpf": "",
    "consulta_data": "05/08/2026",
    "consulta_datahora": "05/08/2026 10:15:34",
    "cpf": "",
    "endereco_bairro": "CENTRO",
    "endereco_cep": "88.010-000",
    "endereco_complemento": "SALA  2",
    "endereco_logradouro": "RUA DAS ACÁCIAS",
    "endereco_municipio": "FLORIANÓPOLIS",
    "endereco_numero": "100",
    "endereco_uf": "SC",
    "inscricao_estadual": "25.000.000-8",
    "nome": "",
    "nome_fantasia": "FICTICIA",
    "normalizado_cnpj": CNPJ,
    "normalizado_cpf": "",
    "razao_social": "EMPRESA FICTICIA DE TESTES LTDA",
    "regime_apuracao": "NORMAL",
    "situacao_cadastral": "HABILITADO",
    "situacao_cadastral_data": "15/06/2021",
    "telefone": "(48) 3000-0000",
    "site_receipt": None,
}


def read(*data: dict[str, Any], inquiry: Inquiry | None = None) -> Registrations:
    reply = enveloped(200 if len(data) == 1 else 201, *data)
    _, found = run_conversation(InfosimplesAdapter(TOKEN).converse(inquiry or a_uf()), reply)
    assert isinstance(found, Registrations)
    return found


def the_first(**changes: Any) -> Registration:
    """Read the first registration of the saved reply with changes."""
    return read(SAVED | changes).inscricoes[0]


def test_one_result_fills_every_field() -> None:
    # queried four seconds later, without the municipality's code
    (theirs,) = REGISTRATIONS.inscricoes
    assert theirs.endereco is not None
    address = replace(theirs.endereco, codigo_municipio_ibge="")
    one = replace(theirs, updated_at="2026-08-05 10:15:34", endereco=address)
    assert read(SAVED) == replace(REGISTRATIONS, inscricoes=(one,))


def test_several_results_are_several_registrations() -> None:
    closed = SAVED | {
        "inscricao_estadual": "250000016",
        "situacao_cadastral": "BAIXADA",
        "endereco_uf": "RS",
        "razao_social": "OUTRO NOME",
    }
    found = read(SAVED | {"razao_social": None}, closed)
    assert found.nome == "OUTRO NOME"
    assert [(each.inscricao_estadual, each.uf, each.ativa) for each in found.inscricoes] == [
        ("250000008", "SC", True),
        ("250000016", "SC", False),  # registered in SC, at home in RS
    ]
    assert found.inscricoes[1].endereco is not None
    assert found.inscricoes[1].endereco.uf == "RS"


def test_optional_fields() -> None:
    needed = ("inscricao_estadual", "situacao_cadastral", "normalizado_cnpj")
    bare = {name: SAVED[name] for name in needed}
    expected = Registrations(
        CNPJ,
        "SC",
        com_endereco=True,
        inscricoes=(Registration("250000008", "SC", ativa=True),),
    )
    assert read(bare) == expected
    for nothing in ("", None, "  ", "********"):
        assert read(dict.fromkeys(SAVED, nothing) | bare) == expected


@pytest.mark.parametrize(
    ("changes", "address"),
    [
        ({"endereco_complemento": ""}, {"complemento": None}),
        ({"endereco_numero": None}, {"numero": ""}),
        ({"endereco_cep": "********"}, {"cep": ""}),
    ],
)
def test_unknown_parts_of_an_address(changes: dict[str, Any], address: dict[str, Any]) -> None:
    found = the_first(**changes).endereco
    assert found is not None
    assert {name: getattr(found, name) for name in address} == address
    assert found.logradouro == "RUA DAS ACÁCIAS"


@pytest.mark.parametrize(
    "situation",
    [
        "HABILITADO", "habilitada", "Ativo", "ATIVA", " HABILITADO  -  ATIVO ",
        "ATIVO/HABILITADO", "Ativa - Habilitada",
        "ATIVO - DESDE 05/2003", "HABILITADO (desde 15/06/2021)", "Ativa desde 2003",
    ],
)  # fmt: skip
def test_situations_that_are_active(situation: str) -> None:
    assert the_first(situacao_cadastral=situation).ativa is True


@pytest.mark.parametrize(
    "situation",
    [
        "NÃO HABILITADO", "NAO HABILITADA", "Na\u0303o Habilitado", "Não Ativo", "INATIVO",
        "Inativa", "BAIXADO", "Baixada", "BAIXADA DE OFÍCIO", "Suspenso", "SUSPENSA",
        "CANCELADO", "Cancelada de Oficio", "INAPTO", "BAIXADA EM 15/06/2021",
        "SUSPENSO POR FALTA DE DECLARAÇÃO", "NÃO HABILITADO - DESDE 05/2003", "Inapta",
        "NULA", "Cassada", "PARALISADA",
    ],
)  # fmt: skip
def test_situations_that_are_not(situation: str) -> None:
    assert the_first(situacao_cadastral=situation).ativa is False


@pytest.mark.parametrize(
    "situation",
    [
        "",
        "********",
        "ATIVO COM RESTRIÇÃO",
        "BLOQUEADO",
        "EM BAIXA",
        "ATIVA?NÃO",
        "HABILITAD0",
        "ATIVO ATÉ A BAIXA",
        "Suspenso; reativado em 05/2003",
        "DESDE 05/2003 - ATIVO",
    ],
)  # fmt: skip
def test_unknown_situation_is_a_failure(situation: str) -> None:
    with pytest.raises(SourceFailed, match="situação desconhecida"):
        the_first(situacao_cadastral=situation)


@pytest.mark.parametrize("situation", ["EM BAIXA", None, 5])
def test_unknown_situation_discards_no_others(situation: Any) -> None:
    unknown = SAVED | {"inscricao_estadual": "250000016", "situacao_cadastral": situation}
    found = read(unknown, SAVED)
    assert [each.inscricao_estadual for each in found.inscricoes] == ["250000008"]
    assert found.omitidas == 1


@pytest.mark.parametrize("code", [608, 611, 612])
@pytest.mark.parametrize(
    "reason",
    [
        "CNPJ não cadastrado.",
        "Contribuinte não está cadastrado",
        "Nenhum registro encontrado",
    ],
)
def test_not_registered_is_an_empty_answer(code: int, reason: str) -> None:
    _, found = run_conversation(InfosimplesAdapter(TOKEN).converse(a_uf()), refused(code, reason))
    assert found == Registrations(CNPJ, "SC", com_endereco=True)


@pytest.mark.parametrize("code", [608, 611, 612])
@pytest.mark.parametrize("billable", [False, True])
def test_an_outage_is_no_empty_answer(code: int, billable: bool) -> None:
    reply = refused(code, "Sistema temporariamente indisponível. Tente novamente.", billable)
    with pytest.raises(SourceFailed if billable else SourceUnavailable, match=str(code)):
        run_conversation(InfosimplesAdapter(TOKEN).converse(a_uf()), reply)


def refused(code: int, reason: str, billable: bool = True) -> HttpReply:
    header = {"billable": billable, "price": "0.26"}
    return a_reply(200, {"code": code, "errors": [reason], "header": header, "data": []})


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("250000008", "250000008"),
        ("25.000.000-8", "250000008"),
        ("P-01100424.3/002", "P011004243002"),
        (" 0960000003 ", "0960000003"),
    ],
)
def test_numbers_without_punctuation(theirs: str, ours: str) -> None:
    assert the_first(inscricao_estadual=theirs).inscricao_estadual == ours


@pytest.mark.parametrize("nothing", ["", "00/00/0000", None, "**********"])
def test_a_date_that_is_none(nothing: str | None) -> None:
    found = the_first(situacao_cadastral_data=nothing, consulta_datahora=nothing)
    assert found.data_status is None
    assert found.updated_at is None


@pytest.mark.parametrize("theirs", ["15.06.2021", "31/02/2021", "06/2021"])
def test_invalid_date_is_absent(theirs: str) -> None:
    found = the_first(situacao_cadastral_data=theirs, consulta_datahora=theirs)
    assert found.inscricao_estadual == the_first().inscricao_estadual
    assert found.data_status is None
    assert found.updated_at is None


@pytest.mark.parametrize("given", ["Isento", "ISENTA", "NAO CONTRIBUINTE", "Não obrigado"])
def test_number_without_digits_is_ignored(given: str) -> None:
    exempt = SAVED | {"inscricao_estadual": given, "situacao_cadastral": "ISENTO"}
    assert read(exempt).inscricoes == ()
    assert read(exempt, SAVED).inscricoes == read(SAVED).inscricoes


BY_CNPJ = {name: SAVED[name] for name in SAVED if "cnpj" not in name and "cpf" not in name}


@pytest.mark.parametrize(
    ("given", "inquiry", "document"),
    [
        ({"normalizado_cnpj": CNPJ}, a_uf(), CNPJ),
        ({"cnpj": "11.222.333/0001-81"}, a_uf(), CNPJ),
        ({"cnpj_cpf": "11.222.333/0001-81", "cnpj": ""}, a_uf(), CNPJ),
        ({"cnpj": LETTERS.lower()}, a_uf("SP", LETTERS), LETTERS),
        ({"normalizado_cpf": CPF}, a_uf("SC", CPF), CPF),
        ({"cpf": "900.100.001-00"}, a_uf("SC", CPF), CPF),
        ({"cnpj_cpf": "900.100.001-00"}, a_uf("SC", CPF), CPF),
        ({"cpf": CPF, "cnpj": OTHER_CNPJ}, a_uf("SC", CPF), CPF),
        ({"cpf": CPF, "cnpj": CNPJ}, a_uf(), CNPJ),
        # `validated` rejects another document
        ({"cnpj": OTHER_CNPJ}, a_uf(), OTHER_CNPJ),
        ({"cpf": CPF}, a_uf(), CPF),
        ({}, a_uf(), ""),
        ({"cnpj": "", "cpf": None}, a_uf(), ""),
    ],
)
def test_holder_of_a_registration(given: dict[str, Any], inquiry: Inquiry, document: str) -> None:
    assert read(BY_CNPJ | given, inquiry=inquiry).documento == document


def test_another_document_among_several() -> None:
    other = BY_CNPJ | {"cnpj": OTHER_CNPJ}
    assert read(SAVED, other).documento == OTHER_CNPJ
    assert read(other, SAVED).documento == OTHER_CNPJ
    assert read(SAVED, BY_CNPJ).documento == ""


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{name: SAVED[name] for name in SAVED if name != "inscricao_estadual"}],
        [{name: SAVED[name] for name in SAVED if name != "situacao_cadastral"}],
        [SAVED | {"inscricao_estadual": ""}],
        [SAVED | {"inscricao_estadual": 250000008}],
        [SAVED | {"situacao_cadastral": None}],
        [SAVED, SAVED | {"inscricao_estadual": "00000000"}],
        ["nada"],
        [None],
    ],
)
def test_unusable_replies(data: list[Any]) -> None:
    with pytest.raises(SourceFailed) as caught:
        run_conversation(InfosimplesAdapter(TOKEN).converse(a_uf()), enveloped(200, *data))
    assert caught.value.detail.startswith("infosimples: ")
    assert CNPJ not in str(caught.value)
    assert "250000008" not in str(caught.value)
