"""Infosimples' certificates of the states as `infosimples.md`, section 5, describes them."""

from typing import Any

import pytest

from balcao.core.federation import UFS
from balcao.fiction import state_certificate_of
from balcao.fiction.digits import cnpj as full_cnpj
from tests.simulator.certificates import infosimples, receipt_of
from tests.simulator.world import NOW, an_app

TODAY = NOW.date()
SERVICE = "sefaz/certidao-debitos"

# Negative in every UF.
EVERYWHERE = "90020008000102"


def ask(uf: str, cnpj: str) -> Any:
    return infosimples(SERVICE, uf=uf, cnpj=cnpj)


def test_a_refusal_as_a_result() -> None:
    result = ask("SP", "90010003000107")
    found = result["data"][0]

    assert result["code"] == 200
    assert found["certidao_negativa"] is found["conseguiu_emitir_certidao_negativa"] is False
    assert found["mensagem"]
    assert found["certidao_mensagem"] == "constam débitos"
    assert found["certidao_codigo"] == found["validade_data"] == found["emissao_data"] == ""
    assert result["site_receipts"] == []


@pytest.mark.parametrize(
    ("cnpj", "uf", "code"),
    [
        ("90010004000143", "SP", 620),
        ("99999999000191", "SP", 612),
        ("99999999000191", "AM", 612),
    ],
)
def test_a_refusal_as_an_error(cnpj: str, uf: str, code: int) -> None:
    result = ask(uf, cnpj)

    assert result["code"] == code
    assert result["errors"]
    assert result["data"] == result["site_receipts"] == []
    assert result["header"]["billable"] is True


def test_the_drawn_are_refused_in_all_ways() -> None:
    codes = set()
    for n in range(200):
        cnpj = full_cnpj(f"{n * 7919:08d}", "0001")
        if not state_certificate_of(cnpj, "SP", TODAY).negative:
            codes.add(ask("SP", cnpj)["code"])

    assert codes == {200, 612, 620}


def test_every_uf_has_a_page_of_its_own_too() -> None:
    app = an_app()
    for uf in UFS:
        result = infosimples(f"sefaz/{uf.lower()}/certidao-debitos", app, cnpj="90010001000100")
        unified = infosimples(SERVICE, app, uf=uf, cnpj="90010001000100")
        assert result["code"] == unified["code"]
        assert result["header"]["service"] == f"sefaz/{uf.lower()}/certidao-debitos"
        assert result["data"] == unified["data"]
    assert infosimples("sefaz/SP/certidao-debitos", cnpj="90010001000100")["code"] == 602


def test_field_names_of_the_ufs() -> None:
    """All known synonyms occur in some UF."""
    # BA, MG and RS of that company fail on purpose.
    found = {uf: ask(uf, EVERYWHERE)["data"][0] for uf in UFS if uf not in ("BA", "MG", "RS")}

    assert "codigo_autenticidade" in found["AC"]
    assert "certidao_codigo" in found["AC"]
    assert "codigo_autenticidade" in found["RO"]
    assert "certidao_codigo" not in found["RO"]
    assert "/" in found["PR"]["validade"]
    assert "validade_data" not in found["PR"]
    assert found["PE"]["data_validade"][4] == "-"
    assert found["PR"]["numero"].isdigit()
    assert "certidao_negativa" not in found["GO"]
    assert found["GO"]["conseguiu_emitir_certidao_negativa"] is True
    assert "numero" not in found["SP"]
    assert found["PB"]["validade"] == "60 dias, contados da data de sua expedição"
    assert set(found["AL"]) == {
        "certidao_codigo",
        "conseguiu_emitir_certidao_negativa",
        "emissao_data",
        "mensagem",
        "validade_data",
        "site_receipt",
    }


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"cnpj": "90010001000100"}, 606),
        ({"uf": "XX", "cnpj": "90010001000100"}, 607),
        ({"uf": "SP"}, 606),
        ({"uf": "SP", "cnpj": "90010001000101"}, 607),
        ({"uf": "SP", "cpf": "90010000100"}, 612),
    ],
)
def test_refusals(parameters: dict[str, str], code: int) -> None:
    assert infosimples(SERVICE, **parameters)["code"] == code


def test_without_a_receipt_and_with_one_in_html() -> None:
    without = ask("SP", "90010006000132")
    assert without["code"] == 200
    assert without["site_receipts"] == []
    assert without["data"][0]["site_receipt"] is None

    html = ask("SP", "90010011000145")
    assert html["site_receipts"][0].endswith(".html")
    assert "SEM VALOR LEGAL" in receipt_of(html).decode()
