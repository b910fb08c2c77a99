"""File names of receipts, and the part of names in them."""

from typing import Any

import pytest

from balcao.core.documents import without_cpf
from balcao.core.receipts import Receipt, ReceiptSubject, file_name, proven

USUAL: dict[str, Any] = {
    "document": "90010001000100",
    "uf": None,
    "verdict": "CND",
    "validity": "2027-02-15",
    "name": "EMPRESA ATIVA FICTICIA LTDA",
}


@pytest.mark.parametrize(
    ("about", "name"),
    [
        ({}, "CND-federal_90010001000100_EMPRESA-ATIVA_vale-2027-02-15.pdf"),
        ({"verdict": "CPEND"}, "CPEND-federal_90010001000100_EMPRESA-ATIVA_vale-2027-02-15.pdf"),
        (
            {"verdict": "CPD", "validity": None},
            "CPD-federal_90010001000100_EMPRESA-ATIVA.pdf",
        ),
        (
            {"verdict": "none", "validity": None, "name": None},
            "certidao-federal_90010001000100.pdf",
        ),
        ({"verdict": None, "validity": None, "name": None}, "certidao-federal_90010001000100.pdf"),
        (
            {"uf": "SP", "name": None},
            "CND-estadual-SP_90010001000100_vale-2027-02-15.pdf",
        ),
        (
            {"document": "***100001**", "name": None},
            "CND-federal_xxx100001xx_vale-2027-02-15.pdf",
        ),
        (
            {"name": "Açaí & Pão de Queijo – São João"},
            "CND-federal_90010001000100_ACAI-PAO-DE-QUEIJO_vale-2027-02-15.pdf",
        ),
        (
            {"name": '../"A"\r\nSet-Cookie: x\\B'},
            "CND-federal_90010001000100_A-SET-COOKIE-X-B_vale-2027-02-15.pdf",
        ),
        (
            {"name": "SUPERCALIFRAGILISTICOESPIALIDOSO SA"},
            "CND-federal_90010001000100_SUPERCALIFRAGILISTIC_vale-2027-02-15.pdf",
        ),
        (
            {"name": "ANA LUZ 90010000100"},
            "CND-federal_90010001000100_ANA-LUZ_vale-2027-02-15.pdf",
        ),
        (
            {"name": "900.100.001-00 ANA"},
            "CND-federal_90010001000100_ANA_vale-2027-02-15.pdf",
        ),
        ({"name": "日本"}, "CND-federal_90010001000100_vale-2027-02-15.pdf"),
        ({"document": "apagado", "name": None}, "CND-federal_apagado_vale-2027-02-15.pdf"),
    ],
)
def test_files_are_named_for_people(about: dict[str, Any], name: str) -> None:
    receipt = Receipt("n1", 1, "d", "application/pdf", 1, ReceiptSubject(**{**USUAL, **about}))
    assert receipt.about is not None
    uf = receipt.about.uf
    kind = f"{proven(receipt.about.verdict)}-{f'estadual-{uf}' if uf else 'federal'}"
    assert file_name(receipt, kind) == name
    assert name.isascii()


def test_html_likewise_and_by_its_number_where_nobody_remembers() -> None:
    html = Receipt("n1", 1, "d", "text/html", 1, ReceiptSubject(**USUAL))
    assert (
        file_name(html, "CND-federal")
        == "CND-federal_90010001000100_EMPRESA-ATIVA_vale-2027-02-15.html"
    )
    assert file_name(Receipt("n1", 1, "d", "application/pdf", 1), "") == "certidao-n1.pdf"


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("EMPRESA ATIVA FICTICIA LTDA", "EMPRESA ATIVA FICTICIA LTDA"),
        ("JOAO DA SILVA 52998224725", "JOAO DA SILVA"),
        ("JOAO DA SILVA 529.982.247-25", "JOAO DA SILVA"),
        ("JOAO DA SILVA 12345678901", "JOAO DA SILVA"),  # with any check digits
        ("52998224725", ""),
        ("90.010.001 MARIA DE SOUZA", "90.010.001 MARIA DE SOUZA"),  # the company's own number
        ("LOJA 24 HORAS 2000 LTDA", "LOJA 24 HORAS 2000 LTDA"),
    ],
)
def test_a_sole_traders_cpf_is_cut_from_the_name(name: str, left: str) -> None:
    assert without_cpf(name) == left
