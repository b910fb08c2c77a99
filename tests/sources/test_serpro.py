"""SERPRO's Consulta CNPJ v2, with saved bytes (`serpro-cnd.md` sections 1 and 3)."""

import re
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from balcao.core.company import Coded, Company, Partner, TaxOption
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.providers.serpro.adapter import SerproAdapter
from balcao.sources.contract import HttpReply
from tests.sources.adapters import CNPJ, LETTERS, a_reply, an_inquiry, run_conversation

SAVED: dict[str, Any] = {
    "ni": CNPJ,
    "tipoEstabelecimento": "1",
    "dataAbertura": "2010-03-01",
    "nomeEmpresarial": "EMPRESA FICTICIA DE TESTES LTDA",
    "nomeFantasia": "FICTICIA",
    "correioEletronico": "contato@example.com",
    "capitalSocial": 29500,
    "porte": "03",
    "situacaoCadastral": {"codigo": "2", "data": "2010-03-01", "motivo": ""},
    "situacaoEspecial": "",
    "dataSituacaoEspecial": "",
    "orgao": {"codigo": "0917900", "descricao": "FLORIANOPOLIS"},
    "enteFederativo": "",
    "cnaePrincipal": {"codigo": "4651601", "descricao": "Comércio atacadista"},
    "cnaeSecundarias": [{"codigo": "111301", "descricao": "Cultivo de arroz"}],
    "naturezaJuridica": {"codigo": "2062", "descricao": "Sociedade Empresária Limitada"},
    "endereco": {
        "tipoLogradouro": "RUA",
        "logradouro": "DAS ACACIAS",
        "numero": "100",
        "complemento": "SALA 2",
        "cep": "88010000",
        "bairro": "CENTRO",
        "municipio": {"codigo": "8105", "descricao": "FLORIANOPOLIS"},
        "uf": "SC",
        "pais": {"codigo": "105", "descricao": "BRASIL"},
    },
    "telefones": [{"ddd": "48", "numero": "30000000"}],
    "socios": [
        {
            "tipoSocio": "2",
            "cpf": "***222333**",
            "nome": "FULANA DE TAL",
            "qualificacao": "49",
            "dataInclusao": "2010-03-01",
            "pais": {"codigo": "", "descricao": ""},
            "representanteLegal": {"cpf": "", "nome": "", "qualificacao": "00"},
        },
        {
            "tipoSocio": "1",
            "cnpj": "90010001000100",
            "nome": "OUTRA FICTICIA SA",
            "qualificacao": {"codigo": "22", "descricao": "Sócio"},
            "dataInclusao": "2012-01-02",
            "pais": "ESTADOS UNIDOS",
            "representanteLegal": {"cpf": "***444555**", "nome": "BELTRANO", "qualificacao": "17"},
        },
    ],
    "informacoesAdicionais": {"optanteSimples": "NAO"},
}

COMPANY = Company(
    cnpj=CNPJ,
    identificador_matriz_filial="MATRIZ",
    data_de_abertura="2010-03-01",
    nome_empresarial="EMPRESA FICTICIA DE TESTES LTDA",
    nome_fantasia="FICTICIA",
    atividade_economica_principal=Coded("4651601", "Comércio atacadista"),
    atividades_economicas_secundarias=(Coded("0111301", "Cultivo de arroz"),),
    natureza_juridica=Coded("2062", "Sociedade Empresária Limitada"),
    tipo_logradouro="RUA",
    logradouro="DAS ACACIAS",
    numero="100",
    complemento="SALA 2",
    bairro="CENTRO",
    municipio="FLORIANOPOLIS",
    cep="88010000",
    uf="SC",
    endereco_eletronico="contato@example.com",
    telefone="4830000000",
    situacao_cadastral="ATIVA",
    data_da_situacao_cadastral="2010-03-01",
    porte="EMPRESA DE PEQUENO PORTE",
    socios=(
        Partner(
            nome="FULANA DE TAL",
            cpf_cnpj_socio="***222333**",
            qualificacao_socio="Sócio-Administrador",
            data_entrada_sociedade="2010-03-01 00:00:00",
        ),
        Partner(
            nome="OUTRA FICTICIA SA",
            cpf_cnpj_socio="90010001000100",
            qualificacao_socio="Sócio",
            pais="ESTADOS UNIDOS",
            documento_representante_legal="***444555**",
            nome_representante_legal="BELTRANO",
            data_entrada_sociedade="2012-01-02 00:00:00",
        ),
    ),
    simples=TaxOption(optante=False),
    capital_social=Decimal("29500.00"),
)


def read(body: dict[str, Any]) -> Company:
    _, company = run_conversation(SerproAdapter().converse(an_inquiry()), a_reply(200, body))
    assert isinstance(company, Company)
    return company


def snake(value: Any) -> Any:
    if isinstance(value, list):
        return [snake(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {re.sub("([A-Z])", r"_\1", name).lower(): snake(item) for name, item in value.items()}


def test_every_field_in_camel_case_and_in_snake_case() -> None:
    assert read(SAVED) == COMPANY
    assert read(snake(SAVED)) == COMPANY


@pytest.mark.parametrize(
    ("sent", "read_as"),
    [
        ("1", Coded("01", None)),
        (0, Coded("00", None)),
        ({"codigo": "63", "descricao": "OMISSAO"}, Coded("63", "OMISSAO")),
        ("", None),
        ("123", None),
    ],
)
def test_the_reason_of_the_status(sent: object, read_as: Coded | None) -> None:
    company = read(SAVED | {"situacaoCadastral": {"codigo": "2", "motivo": sent}})
    assert company.motivo_situacao_cadastral == read_as


@pytest.mark.parametrize(
    ("sent", "read_as"),
    [("SIM", TaxOption(True)), ("n", TaxOption(False)), ("TALVEZ", None), (None, None)],
)
def test_an_unknown_option_is_not_a_no(sent: str | None, read_as: TaxOption | None) -> None:
    company = read(SAVED | {"informacoesAdicionais": {"optanteMei": sent}})
    assert (company.simples, company.mei) == (None, read_as)


def test_camel_case_has_precedence() -> None:
    assert read(SAVED | {"nome_empresarial": "OUTRO NOME"}) == COMPANY
    assert read({"nome_empresarial": "OUTRO NOME"} | SAVED) == COMPANY


def test_codes_as_numbers_and_with_zeros_in_front() -> None:
    assert read(
        SAVED
        | {
            "tipoEstabelecimento": 2,
            "situacaoCadastral": {"codigo": 8},
            "porte": 1,
            "cnaePrincipal": {"codigo": 111301},
            "socios": [{"cpf": "111.222.333-44", "qualificacao": 5}, {"qualificacao": "99"}],
        }
    ) == msgspec.structs.replace(
        COMPANY,
        identificador_matriz_filial="FILIAL",
        situacao_cadastral="BAIXADA",
        data_da_situacao_cadastral=None,
        porte="MICRO EMPRESA",
        atividade_economica_principal=Coded("0111301", None),
        socios=(
            Partner(cpf_cnpj_socio="11122233344", qualificacao_socio="Administrador"),
            Partner(qualificacao_socio="99"),
        ),
    )


@pytest.mark.parametrize(
    ("full_partners", "path"),
    [
        (False, f"/consulta-cnpj-df-trial/v2/qsa/{CNPJ}"),
        (True, f"/consulta-cnpj-df-trial/v2/empresa/{CNPJ}"),
    ],
)
def test_full_partners_are_another_path(full_partners: bool, path: str) -> None:
    adapter = SerproAdapter("consulta-cnpj-df-trial", full_partners=True)
    request = next(adapter.converse(an_inquiry(full_partners=full_partners)))
    assert (request.method, request.path) == ("GET", path)


def test_capabilities() -> None:
    assert SerproAdapter().capabilities.include(an_inquiry(LETTERS))
    assert not SerproAdapter(accepts_alphanumeric=False).capabilities.include(an_inquiry(LETTERS))
    assert not SerproAdapter().capabilities.include(an_inquiry(full_partners=True))
    assert SerproAdapter(full_partners=True).capabilities.include(an_inquiry(full_partners=True))


WRONG_PRODUCT = {"fault": {"code": 900906, "message": "No matching resource found"}}

REFUSALS = [
    (a_reply(206, SAVED), SourceFailed),
    (a_reply(400, {"mensagem": f"CNPJ {CNPJ}"}), SourceFailed),
    (a_reply(401), SourceUnavailable),
    (a_reply(403), SourceUnavailable),
    (a_reply(404, WRONG_PRODUCT), SourceUnavailable),
    (a_reply(404, b"\n<html>not found</html>"), SourceFailed),
    (a_reply(429), SourceUnavailable),
    (a_reply(500), SourceFailed),
    (a_reply(502), SourceUnavailable),
    (a_reply(503), SourceUnavailable),
    (a_reply(504), SourceFailed),
    (a_reply(200, b"<html>maintenance</html>"), SourceFailed),
    (a_reply(200, b"[]"), SourceFailed),
    (a_reply(200, {"nomeEmpresarial": "SEM NUMERO"}), SourceFailed),
    (a_reply(200, SAVED | {"socios": "none"}), SourceFailed),
]


def test_invalid_date_is_absent() -> None:
    _, whole = run_conversation(SerproAdapter().converse(an_inquiry()), a_reply(200, SAVED))
    changed = a_reply(200, SAVED | {"dataAbertura": "01032010"})
    _, company = run_conversation(SerproAdapter().converse(an_inquiry()), changed)
    assert isinstance(whole, Company)
    assert isinstance(company, Company)
    assert company == msgspec.structs.replace(whole, data_de_abertura=None)


@pytest.mark.parametrize(("reply", "kind"), REFUSALS)
def test_refusals(reply: HttpReply, kind: type[SourceError]) -> None:
    with pytest.raises(SourceError) as caught:
        run_conversation(SerproAdapter().converse(an_inquiry()), reply)
    assert type(caught.value) is kind
    assert CNPJ not in str(caught.value)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"mensagem":"nao encontrado"}'])
def test_not_found_is_an_answer(body: bytes) -> None:
    _, company = run_conversation(SerproAdapter().converse(an_inquiry()), a_reply(404, body))
    assert company is None
    assert SerproAdapter().conclusive_absence


INVALID = a_reply(400, {"mensagem": "CNPJ inválido"})


@pytest.mark.parametrize(
    ("full_partners", "path"),
    [
        (False, "/consulta-cnpj-df/v2/qsa/00000000000001"),
        (True, "/consulta-cnpj-df/v2/empresa/00000000000001"),
    ],
)
def test_a_probe_is_refused_free_of_charge(full_partners: bool, path: str) -> None:
    inquiry = an_inquiry(full_partners=full_partners)
    requests, result = run_conversation(SerproAdapter(full_partners=True).probe(inquiry), INVALID)
    assert result == "respondeu"
    assert [(request.method, request.path) for request in requests] == [("GET", path)]


@pytest.mark.parametrize("reply", [a_reply(200, SAVED), a_reply(206), a_reply(404, b"{}")])
def test_probe_accepted_as_a_company_succeeds(reply: HttpReply) -> None:
    assert run_conversation(SerproAdapter().probe(an_inquiry()), reply)[1] == "respondeu"


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        (a_reply(401), SourceUnavailable, "token novo recusado"),
        (a_reply(403), SourceUnavailable, "qsa não contratado"),
        (a_reply(404, WRONG_PRODUCT), SourceUnavailable, "produto desconhecido"),
        (a_reply(404, b"<html></html>"), SourceFailed, "outra forma"),
        (a_reply(429), SourceUnavailable, "HTTP 429"),
        (a_reply(500), SourceFailed, "HTTP 500"),
    ],
)
def test_a_probe_that_fails(reply: HttpReply, kind: type[SourceError], text: str) -> None:
    with pytest.raises(SourceError, match=text) as caught:
        run_conversation(SerproAdapter().probe(an_inquiry()), reply)
    assert type(caught.value) is kind
