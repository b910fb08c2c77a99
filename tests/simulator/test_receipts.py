"""Receipts are valid and harmless files, marked as fictitious."""

import hashlib
import io
from datetime import date, timedelta

import pikepdf
import pytest

from balcao.fiction import federal_certificate_of, state_certificate_of
from balcao.fiction.records import FederalFiction, FederalKind, StateFiction
from balcao.providers.simulation.receipts import BAD_RECEIPTS, MARK, BadReceipt, html, pdf
from tests.simulator.certificates import text_of

TODAY = date(2026, 8, 20)

FEDERAL = federal_certificate_of("90010001000100", TODAY)
STATE = state_certificate_of("90010001000100", "SP", TODAY)
ALL: list[FederalFiction | StateFiction] = [
    FEDERAL,
    STATE,
    *(
        federal_certificate_of(document, TODAY)
        for document in ("90010002000154", "90010003000107", "90010004000143", "90010005000198")
    ),
    federal_certificate_of("90010008000121", TODAY),
    federal_certificate_of("90010000100", TODAY),
    state_certificate_of("90010005000198", "SP", TODAY),
    state_certificate_of("90020008000102", "RS", TODAY),
]


@pytest.mark.parametrize("certificate", ALL)
def test_a_pdf_of_one_page_with_the_mark(certificate: FederalFiction | StateFiction) -> None:
    content = pdf(certificate)
    written = text_of(content)

    assert content.startswith(b"%PDF-")
    assert written.count("DOCUMENTO FICTÍCIO, SEM VALOR LEGAL") == 2
    assert certificate.name in written
    assert certificate.code in written
    with pikepdf.open(io.BytesIO(content)) as document:
        assert document.docinfo["/Subject"] == MARK
        assert document.docinfo["/Author"] == "Simulador do Balcão"


@pytest.mark.parametrize("certificate", ALL)
def test_no_scripts_or_attachments(certificate: FederalFiction | StateFiction) -> None:
    with pikepdf.open(io.BytesIO(pdf(certificate))) as document:
        assert not document.check_pdf_syntax()
        assert not document.attachments
        assert set(document.Root) == {"/Type", "/Pages", "/Lang"}
        for each in document.objects:
            if isinstance(each, (pikepdf.Dictionary, pikepdf.Stream)):
                assert not {"/AA", "/JS", "/OpenAction", "/Launch", "/EF"} & set(each.keys())


def test_content_of_a_federal_receipt() -> None:
    lines = text_of(pdf(FEDERAL)).splitlines()

    assert "CERTIDÃO NEGATIVA DE DÉBITOS RELATIVOS AOS TRIBUTOS" in " ".join(lines)
    assert "CNPJ: 90.010.001/0001-00" in lines
    assert "Razão social: EMPRESA ATIVA FICTICIA LTDA" in lines
    assert f"Código de controle: {FEDERAL.code}" in lines
    assert FEDERAL.issued_on is not None
    assert f"Data de emissão: {FEDERAL.issued_on:%d/%m/%Y}" in lines
    assert f"Válida até: {FEDERAL.validity:%d/%m/%Y}" in lines
    extended = text_of(pdf(federal_certificate_of("90010008000121", TODAY)))
    assert f"Validade prorrogada até: {TODAY + timedelta(40):%d/%m/%Y}" in extended
    person = text_of(pdf(federal_certificate_of("90010000100", TODAY)))
    assert "CPF: 900.100.001-00" in person
    assert "Nome: PRODUTORA DA FICCAO PAULISTA" in person


def test_content_of_a_state_receipt() -> None:
    lines = text_of(pdf(STATE)).splitlines()

    assert "FAZENDA ESTADUAL FICTÍCIA (SP)" in lines
    assert f"Código da certidão: {STATE.code}" in lines
    assert "Válida até: 19/10/2026" in lines
    undated = text_of(pdf(state_certificate_of("90010005000198", "SP", TODAY)))
    assert "Válida até" not in undated


def test_the_same_certificate_has_the_same_bytes() -> None:
    tomorrow = federal_certificate_of("90010001000100", TODAY + timedelta(1))

    assert tomorrow == FEDERAL
    assert pdf(tomorrow) == pdf(FEDERAL)
    assert html(tomorrow) == html(FEDERAL)
    assert pdf(STATE) != pdf(FEDERAL)
    new = federal_certificate_of("90010001000100", TODAY, new=True)
    assert pdf(new) != pdf(FEDERAL)


def test_small() -> None:
    assert max(len(pdf(each)) for each in ALL) < 5_000


@pytest.mark.parametrize("certificate", ALL)
def test_html_fetches_and_runs_nothing(certificate: FederalFiction | StateFiction) -> None:
    page = html(certificate).decode()

    assert page.startswith("<!DOCTYPE html>")
    assert page.count("DOCUMENTO FICTÍCIO, SEM VALOR LEGAL") == 2
    assert certificate.name in page
    for bad in ("<script", "href", "src=", "onload", "http", "<form", "<meta http"):
        assert bad not in page.lower()


def test_impossible_has_a_reason() -> None:
    page = html(federal_certificate_of("90010004000143", TODAY)).decode()

    assert "são insuficientes para emitir a certidão pela Internet" in page
    assert "90.010.004/0001-43" in page


def test_bad_receipts_are_documented() -> None:
    assert list(BAD_RECEIPTS.values()) == list(BadReceipt)
    for document in BAD_RECEIPTS:
        found = federal_certificate_of(document, TODAY)
        assert found.document == document
        assert found.kind is FederalKind.CND
        assert found.receipt == "pdf"


def bad(kind: BadReceipt) -> bytes:
    (document,) = [each for each, what in BAD_RECEIPTS.items() if what is kind]
    certificate = federal_certificate_of(document, TODAY)
    content = pdf(certificate)
    assert content.startswith(b"%PDF-")
    assert hashlib.sha256(content).digest() == hashlib.sha256(pdf(certificate)).digest()
    return content


def test_bad_receipt_with_a_script() -> None:
    with pikepdf.open(io.BytesIO(bad(BadReceipt.SCRIPT))) as document:
        assert document.Root.OpenAction.S == "/JavaScript"


def test_bad_receipt_with_an_attachment() -> None:
    with pikepdf.open(io.BytesIO(bad(BadReceipt.ATTACHMENT))) as document:
        assert list(document.attachments) == ["ficticio.txt"]


def test_bad_receipt_that_is_no_pdf() -> None:
    with pytest.raises(pikepdf.PdfError):
        pikepdf.open(io.BytesIO(bad(BadReceipt.IMPOSTOR)))
