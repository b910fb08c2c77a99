"""CPFs in names and tags, which are stored permanently (contract 11.1)."""

import pytest

from balcao.core import extensions, terms
from balcao.core.extensions import Extension
from balcao.core.request_tags import contains_cpf, tag_problem

CPF, PUNCTUATED = "90010000100", "900.100.001-00"


@pytest.mark.parametrize(
    "text",
    [
        CPF,
        PUNCTUATED,
        f"{PUNCTUATED} Fulana",
        f"cliente {CPF}",
        f"lote de {PUNCTUATED}.",
        f"CPF:{CPF}/2026",
        "900 100 001 00",
        "900100001-00",
        "900.100.001/00",
        "９００１００００１００",
        f"111 {PUNCTUATED}",
        f"12345678900 e {CPF}",
        "900-100-001-00",
        "900_100_001_00",
        "900/100/001-00",
        "900.100.001 - 00",
        "900\u2013100\u2013001\u201300",
        "900.100.001\u221200",
        "900.100\u200b.001-00",
        "9001000\u200b0100",
        "900\u00a0100\u2009001\u00a000",
        "90 010 000 100",
        "90.010.000.100",
        f"000{CPF}",
        f"lote 00{CPF}.",
        "900\uff0e100\uff0e001\uff0d00",
    ],
)
def test_a_cpf_in_a_text(text: str) -> None:
    assert contains_cpf(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Loja da esquina",
        "900.100.001-01",
        "90010001000100",
        "90.010.001/0001-00",
        f"1{CPF}",
        f"{CPF}0",
        "NF 2026-000123",
        "(11) 98765-4321",
        "3f1c9a52-77d0-4a51-9c1e-90010000",
        "90\u2013010\u2013001/0001\u201300",
        "00000000000191",  # a company's number; its end would be right as a CPF as well
        "00.000.000/0001-91",
        "900_100_001_01",
        "+55 (11) 91234-5678",
        "11 91234 5678",
        "2026-11-27_09-00-10",
        "0" * 5000,
    ],
)
def test_no_cpf_in_a_text(text: str) -> None:
    assert not contains_cpf(text)


def test_marks_names_and_reasons_refuse_it() -> None:
    assert tag_problem(f"loja-{CPF}") == "cpf"
    assert tag_problem("90.010.001/0001-00") is None
    assert "CPF" in (terms.account_name_problem(f"Fulana {PUNCTUATED}") or "")
    assert "CPF" in (terms.reason_problem(f"pedido de {CPF}") or "")
    act = Extension("federal_certificate", None, "2026-01-01", "2026-02-01", None, 90, f"de {CPF}")
    assert "CPF" in (extensions.problem_of(act) or "")
