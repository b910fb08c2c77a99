"""Where a person's number stands in what is kept for ever (decisions 11.1)."""

import pytest

from balcao.core import extensions, terms
from balcao.core.extensions import Extension
from balcao.core.marks import holds_cpf, mark_flaw

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
    ],
)
def test_a_cpf_in_a_text(text: str) -> None:
    assert holds_cpf(text)


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
    ],
)
def test_no_cpf_in_a_text(text: str) -> None:
    assert not holds_cpf(text)


def test_marks_names_and_reasons_refuse_it() -> None:
    assert mark_flaw(f"loja-{CPF}") == "cpf"
    assert mark_flaw("90.010.001/0001-00") is None
    assert "CPF" in (terms.name_problem(f"Fulana {PUNCTUATED}") or "")
    assert "CPF" in (terms.reason_problem(f"pedido de {CPF}") or "")
    act = Extension("federal_certificate", None, "2026-01-01", "2026-02-01", None, 90, f"de {CPF}")
    assert "CPF" in (extensions.problem_of(act) or "")
