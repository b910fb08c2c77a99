"""Infosimples' federal certificate as `infosimples.md`, sections 3, 4 and 8, describes it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.types import ASGIApp

from balcao.core.certificate_words import kind as kind_of
from balcao.fiction import establishment_of, exists, federal_certificate_of
from balcao.fiction.digits import cnpj as full_cnpj
from balcao.fiction.records import FederalKind
from tests.simulator.certificates import infosimples, receipt_of, text_of
from tests.simulator.world import NOW, an_app

SERVICE = "receita-federal/pgfn"


def ask(app: ASGIApp | None = None, /, **parameters: str) -> Any:
    return infosimples(SERVICE, app, **parameters)


def first(**parameters: str) -> Any:
    result = ask(**parameters)
    assert result["code"] == 200
    assert result["data_count"] == 1
    return result["data"][0]


@pytest.mark.parametrize(
    ("branch", "head_office"),
    [
        ("90010007000268", "90.010.007/0001-87"),
        ("00000000E08G12", "00.000.000/0001-91"),
    ],
)
@pytest.mark.parametrize("preference", ["nova", "2via"])
def test_a_branch_has_no_certificate_of_its_own(
    branch: str, head_office: str, preference: str
) -> None:
    """Each request for a branch is refused and charged."""
    result = ask(cnpj=branch, preferencia_emissao=preference)
    assert (result["code"], result["header"]["billable"], result["data"]) == (620, True, [])
    assert result["errors"] == [
        f"A certidão deve ser emitida para o CNPJ da matriz - {head_office}."
    ]


@pytest.mark.parametrize(
    "now",
    [
        datetime(2026, 8, 20, 12, tzinfo=UTC),
        datetime(2024, 2, 29, 12, tzinfo=UTC),
        datetime(2027, 1, 1, 2, 59, tzinfo=UTC),  # still the last day of the year in Brasília
    ],
)
def test_validities_count_from_today_in_brasilia(now: datetime) -> None:
    app = an_app(clock=lambda: now)
    today = (now - timedelta(hours=3)).date()

    def validity(cnpj: str, field: str = "validade_data") -> int:
        text = ask(app, cnpj=cnpj)["data"][0][field]
        return (datetime.strptime(text, "%d/%m/%Y").replace(tzinfo=UTC).date() - today).days

    assert validity("90010008000121") == 10
    assert validity("90010008000121", "validade_prorrogada") == 40
    assert validity("90010009000176") == 1
    assert validity("90010010000109") == 0
    assert validity("90010001000100", "emissao_data") <= 0


def test_all_people_have_a_birth_date() -> None:
    assert ask(cpf="52998224725", birthdate="1934-10-08")["code"] in (200, 611)


def test_2via_finds_the_same_on_the_next_day() -> None:
    tomorrow = an_app(clock=lambda: NOW + timedelta(1))

    again = ask(tomorrow, cnpj="90010001000100")["data"][0]
    found = first(cnpj="90010001000100")
    assert again["certidao_codigo"] == found["certidao_codigo"]
    assert again["emissao_data"] == found["emissao_data"]
    assert again["consulta_datahora"] != found["consulta_datahora"]


@pytest.mark.parametrize(
    "parameters",
    [{"cnpj": "90010002000154"}, {"cpf": "90010000291", "birthdate": "1980-01-01"}],
)
def test_nova_is_refused_while_a_cpend_is_in_force(parameters: dict[str, str]) -> None:
    result = ask(**parameters, preferencia_emissao="nova")

    assert result["code"] == 611
    assert result["header"]["billable"] is True
    assert "insuficientes para emitir a certidão pela Internet" in result["errors"][0]
    assert result["data"] == result["site_receipts"] == []
    assert ask(**parameters, preferencia_emissao="2via")["code"] == 200


def test_the_text_of_a_valid_certificate_denies_nothing() -> None:
    result = ask(cnpj="90010002000154")["data"][0]
    assert "com exigibilidade suspensa" in result["mensagem"]
    assert "invalidará este documento" in result["mensagem"]
    assert result["situacao"].startswith("Válida")


def test_refusal_of_an_inapt_company() -> None:
    result = ask(cnpj=an_inapt_company())
    assert result["code"] == 611
    assert "Inapta" in result["errors"][0]


def an_inapt_company() -> str:
    for n in range(2_000):
        cnpj = full_cnpj(f"{n * 7919:08d}", "0001")
        kind = federal_certificate_of(cnpj, NOW.date()).kind
        if kind is not FederalKind.IMPOSSIBLE or not exists(cnpj):
            continue
        if establishment_of(cnpj).status == "04":
            return cnpj
    raise AssertionError("no company is inapt")


def test_one_class_has_its_type_only_in_the_title() -> None:
    found = first(cnpj="90040001000152")

    assert found["tipo"] is None
    assert found["debitos_rfb"] is found["debitos_pgfn"] is None
    assert kind_of(found["tipo"], found["certidao"]) == "CND"


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({}, 606),
        ({"cnpj": "90010001000101"}, 607),
        ({"cpf": "90010000100"}, 606),
        ({"cpf": "90010000101", "birthdate": "1980-01-01"}, 607),
        ({"cpf": "90010000100", "birthdate": "19800101"}, 607),
        ({"cpf": "90010000100", "birthdate": "1980-02-30"}, 607),
        ({"cnpj": "90010001000100", "preferencia_emissao": "1via"}, 607),
    ],
)
def test_refusals(parameters: dict[str, str], code: int) -> None:
    result = ask(**parameters)

    assert result["code"] == code
    assert result["errors"]
    assert result["header"]["billable"] is False


PERSON = {"birthdate": "1980-01-01"}


@pytest.mark.parametrize(
    ("parameters", "kind", "rfb", "pgfn", "flag"),
    [
        ({"cnpj": "90010001000100"}, "Negativa", False, False, True),
        ({"cnpj": "90010002000154"}, "Positiva com efeitos de negativa", True, False, True),
        ({"cnpj": "90010003000107"}, "Positiva", True, True, False),
        ({"cnpj": "90010005000198"}, "Circunstanciada", None, None, False),
        ({"cnpj": "90010012000190"}, "Negativa", False, False, True),
        ({"cnpj": "12ABC34501DE35"}, "Negativa", False, False, True),
        ({"cnpj": "00000000000191"}, "Negativa", False, False, True),
        ({"cpf": "90010000291", **PERSON}, "Positiva com efeitos de negativa", True, True, False),
        ({"cpf": "90010000372", **PERSON}, "Positiva", True, False, False),
    ],
)
def test_rows(parameters: dict[str, str], kind: str, rfb: object, pgfn: object, flag: bool) -> None:
    found = first(**parameters)

    assert found["tipo"] == kind
    assert (found["debitos_rfb"], found["debitos_pgfn"]) == (rfb, pgfn)
    assert found["conseguiu_emitir_certidao_negativa"] is flag
    # type and title agree
    assert kind_of(None, found["certidao"]) == kind_of(kind, None)
    assert found["site_receipt"].endswith(".pdf")


@pytest.mark.parametrize(
    "parameters",
    [
        {"cnpj": "90010004000143"},
        {"cnpj": "99999999000191"},
        {"cpf": "90010000453", "birthdate": "1980-01-01"},
        {"cnpj": "90010004000143", "preferencia_emissao": "nova"},
    ],
)
def test_impossible(parameters: dict[str, str]) -> None:
    app = an_app()
    result = ask(app, **parameters)

    assert result["code"] == 611
    assert result["header"]["billable"] is True
    assert result["data"] == []
    assert result["data_count"] == 0
    assert "são insuficientes para emitir a certidão pela Internet" in result["errors"][0]
    assert result["site_receipts"][0].endswith(".html")
    page = receipt_of(result, app).decode()
    assert "DOCUMENTO FICTÍCIO, SEM VALOR LEGAL" in page


@pytest.mark.parametrize("cpf", ["90010000100", "90010000453", "90020000146", "52998224725"])
def test_another_birth_date_is_refused(cpf: str) -> None:
    result = ask(cpf=cpf, birthdate="1980-01-02")

    assert result["code"] == 608
    assert "nascimento" in result["errors"][0]
    assert result["header"]["billable"] is True
    assert result["data"] == result["site_receipts"] == []


def test_nova_is_issued_today() -> None:
    old = first(cnpj="90010008000121")
    app = an_app()
    result = ask(app, cnpj="90010008000121", preferencia_emissao="nova")
    new = result["data"][0]

    assert new["emissao_data"] == "20/08/2026"
    assert new["validade_data"] == "16/02/2027"
    assert new["validade_prorrogada"] == ""
    assert new["situacao"] == "Válida"
    assert new["certidao_codigo"] != old["certidao_codigo"]
    # the receipt of the new certificate
    assert new["certidao_codigo"] in text_of(receipt_of(result, app))
