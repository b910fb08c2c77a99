"""CNPJá's commercial API: offices (`cnpja.md` sections 1 and 4)."""

import copy
from decimal import Decimal
from typing import Any

import pytest

from balcao.core.company import Coded, Company, Partner
from balcao.providers.cnpja.adapter import CnpjaAdapter
from tests.sources.adapters import CNPJ, LETTERS, a_reply, an_inquiry, run_conversation

KEY = "11111111-2222-3333-4444-555555555555-66666666-7777-8888-9999-000000000000"

SAVED: dict[str, Any] = {
    "taxId": CNPJ,
    "updated": "2026-08-05T13:15:30.120Z",
    "alias": "Fictícia",
    "founded": "2010-03-01",
    "head": True,
    "company": {
        "id": 11222333,
        "name": "EMPRESA FICTICIA DE TESTES LTDA",
        "jurisdiction": None,
        "equity": 29500,
        "nature": {"id": 2062, "text": "Sociedade Empresária Limitada"},
        "size": {"id": 3, "acronym": "EPP", "text": "Empresa de Pequeno Porte"},
        "members": [
            {
                "since": "2010-03-01",
                "role": {"id": 49, "text": "Sócio-Administrador"},
                "person": {
                    "id": "0f8fad5b-d9cb-469f-a165-70867728950e",
                    "type": "NATURAL",
                    "name": "Fulana de Tal",
                    "taxId": "***222333**",
                    "age": "41-50",
                },
            },
            {
                "since": "2012-01-02",
                "role": {"id": 37, "text": "Sócio Pessoa Jurídica Domiciliado no Exterior"},
                "person": {
                    "id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
                    "type": "LEGAL",
                    "name": "Fictitious Holdings Inc",
                    "taxId": "90010001000100",
                    "country": {"id": 840, "name": "Estados Unidos"},
                },
                "agent": {
                    "person": {"type": "NATURAL", "name": "Beltrano", "taxId": "***444555**"},
                    "role": {"id": 17, "text": "Procurador"},
                },
            },
        ],
    },
    "status": {"id": 2, "text": "Ativa"},
    "statusDate": "2010-03-01",
    "address": {
        "municipality": 4205407,
        "street": "Rua das Acácias",
        "number": "100",
        "district": "Centro",
        "city": "Florianópolis",
        "state": "SC",
        "details": "Sala 2",
        "zip": "88010000",
        "latitude": -27.5,
        "country": {"id": 76, "name": "Brasil"},
    },
    "mainActivity": {"id": 4651601, "text": "Comércio atacadista de equipamentos de informática"},
    "sideActivities": [{"id": 111301, "text": "Cultivo de arroz"}],
    "phones": [
        {"type": "LANDLINE", "area": "48", "number": "30000000"},
        {"type": "MOBILE", "area": "48", "number": "930000001"},
    ],
    "emails": [
        {"ownership": "CORPORATE", "address": "contato@example.com", "domain": "example.com"}
    ],
}


def read(changes: dict[str, Any]) -> Company:
    """Read the saved reply with changes, given by dotted names."""
    body = copy.deepcopy(SAVED)
    for name, value in changes.items():
        *way, last = name.split(".")
        part = body
        for step in way:
            part = part[step]
        part[last] = value
    _, company = run_conversation(CnpjaAdapter(KEY).converse(an_inquiry()), a_reply(200, body))
    assert isinstance(company, Company)
    return company


def test_an_office_fills_every_field() -> None:
    assert read({}) == Company(
        cnpj=CNPJ,
        identificador_matriz_filial="MATRIZ",
        data_de_abertura="2010-03-01",
        nome_empresarial="EMPRESA FICTICIA DE TESTES LTDA",
        nome_fantasia="Fictícia",
        atividade_economica_principal=Coded(
            "4651601", "Comércio atacadista de equipamentos de informática"
        ),
        atividades_economicas_secundarias=(Coded("0111301", "Cultivo de arroz"),),
        natureza_juridica=Coded("2062", "Sociedade Empresária Limitada"),
        tipo_logradouro=None,
        logradouro="Rua das Acácias",
        numero="100",
        complemento="Sala 2",
        bairro="Centro",
        municipio="Florianópolis",
        cep="88010000",
        uf="SC",
        endereco_eletronico="contato@example.com",
        telefone="4830000000 / 48930000001",
        situacao_cadastral="ATIVA",
        data_da_situacao_cadastral="2010-03-01",
        porte="EMPRESA DE PEQUENO PORTE",
        socios=(
            Partner(
                nome="Fulana de Tal",
                cpf_cnpj_socio="***222333**",
                qualificacao_socio="Sócio-Administrador",
                faixa_etaria="Entre 41 a 50 anos",
                data_entrada_sociedade="2010-03-01 00:00:00",
            ),
            Partner(
                nome="Fictitious Holdings Inc",
                cpf_cnpj_socio="90010001000100",
                qualificacao_socio="Sócio Pessoa Jurídica Domiciliado no Exterior",
                pais="Estados Unidos",
                documento_representante_legal="***444555**",
                nome_representante_legal="Beltrano",
                data_entrada_sociedade="2012-01-02 00:00:00",
            ),
        ),
        capital_social=Decimal("29500.00"),
        codigo_municipio_ibge="4205407",
    )


def test_a_reason_is_given_only_for_companies_that_are_not_active() -> None:
    told = read({"status": {"id": 8}, "reason": {"id": 1, "text": "Extinção"}})
    assert told.motivo_situacao_cadastral == Coded("01", "Extinção")


def test_request_has_the_bare_key_and_a_maximum_age() -> None:
    request = next(CnpjaAdapter(KEY).converse(an_inquiry(LETTERS)))
    assert (request.method, request.path) == ("GET", f"/office/{LETTERS}")
    assert request.headers == {"authorization": KEY}
    assert request.query == {"strategy": "CACHE_IF_FRESH", "maxAge": "1"}
    assert KEY not in repr(CnpjaAdapter(KEY))
    assert KEY not in repr(request)
    assert LETTERS not in repr(request)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("0-12", "Entre 0 a 12 anos"),
        ("13-20", "Entre 13 a 20 anos"),
        ("21-30", "Entre 21 a 30 anos"),
        ("31-40", "Entre 31 a 40 anos"),
        ("41-50", "Entre 41 a 50 anos"),
        ("51-60", "Entre 51 a 60 anos"),
        ("61-70", "Entre 61 a 70 anos"),
        ("71-80", "Entre 71 a 80 anos"),
        ("81+", "Maiores de 80 anos"),
        (None, None),
        ("90-99", None),
    ],
)
def test_age_bands(theirs: str | None, ours: str | None) -> None:
    members = [{"person": {"name": "Fulana", "age": theirs}}]
    assert read({"company.members": members}).socios[0].faixa_etaria == ours


@pytest.mark.parametrize(
    ("code", "text"),
    [(1, "NULA"), (2, "ATIVA"), (3, "SUSPENSA"), (4, "INAPTA"), (8, "BAIXADA"), (5, None)],
)
def test_statuses(code: int, text: str | None) -> None:
    assert read({"status": {"id": code, "text": "whatever"}}).situacao_cadastral == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        ({"id": 1, "acronym": "ME", "text": "Microempresa"}, "MICRO EMPRESA"),
        ({"id": 5, "text": "Demais"}, "DEMAIS"),
        ({"id": 0, "text": "Não informado"}, None),
        (None, None),
    ],
)
def test_sizes(size: dict[str, Any] | None, text: str | None) -> None:
    assert read({"company.size": size}).porte == text


def test_public_body_special_status_and_missing_fields() -> None:
    company = read(
        {
            "head": False,
            "company.jurisdiction": "UNIÃO",
            "company.nature": {"id": 1015, "text": "Órgão Público"},
            "special": {"id": 1, "text": "Espólio"},
            "specialDate": "2020-05-06",
            "alias": None,
            "phones": [],
            "emails": None,
            "address": None,
            "sideActivities": None,
        }
    )
    assert company.identificador_matriz_filial == "FILIAL"
    assert company.ente_federativo_responsavel == "UNIÃO"
    assert company.situacao_especial == "Espólio"
    assert company.data_da_situacao_especial == "2020-05-06"
    assert company.nome_fantasia is None
    assert company.telefone is None
    assert company.endereco_eletronico is None
    assert company.uf is None
    assert company.atividades_economicas_secundarias == ()
