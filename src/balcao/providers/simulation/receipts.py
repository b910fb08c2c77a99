"""Receipts of fictitious certificates, as PDF and as HTML: they say of themselves that they are.

The same certificate gives the same bytes, whenever it is fetched. Three documents are promised
receipts that nobody should keep.
"""

import html as markup
import io
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import pikepdf
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import simpleSplit
from reportlab.pdfgen.canvas import Canvas

from balcao.fiction.records import FederalFiction, FederalKind, StateFiction
from balcao.providers.simulation.exchange import day, punctuated

MARK = "DOCUMENTO FICTÍCIO, SEM VALOR LEGAL"


class BadReceipt(StrEnum):
    """What is wrong with a receipt."""

    SCRIPT = "it runs a script when it is opened"
    ATTACHMENT = "a file is embedded in it"
    IMPOSTOR = "it only claims to be a PDF"


# Whose receipts are bad; otherwise these companies are like any of their class.
BAD_RECEIPTS: Mapping[str, BadReceipt] = {
    "90080001000186": BadReceipt.SCRIPT,
    "90080002000120": BadReceipt.ATTACHMENT,
    "90080003000175": BadReceipt.IMPOSTOR,
}

_MARGIN = 56.0
_WIDTH = A4[0] - 2 * _MARGIN


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What is written on a receipt."""

    issuer: str
    title: str
    text: str
    facts: tuple[tuple[str, str], ...]


def pdf(certificate: FederalFiction | StateFiction) -> bytes:
    """The receipt as PDF: one page."""
    bad = BAD_RECEIPTS.get(certificate.document)
    if bad is BadReceipt.IMPOSTOR:
        return b"%PDF-1.7\n" + html(certificate)
    good = _drawn(_sheet(certificate))
    return good if bad is None else _spoiled(good, bad)


def html(certificate: FederalFiction | StateFiction) -> bytes:
    """The receipt as HTML, without anything that is fetched or run."""
    sheet = _sheet(certificate)
    facts = "".join(
        f"<tr><th>{markup.escape(name)}</th><td>{markup.escape(value)}</td></tr>"
        for name, value in sheet.facts
    )
    return (
        '<!DOCTYPE html><html lang="pt-BR"><head><meta charset="utf-8">'
        f"<title>{sheet.title}</title></head><body><p><strong>{MARK}</strong></p>"
        f"<p>{sheet.issuer}</p><h1>{sheet.title}</h1><p>{sheet.text}</p>"
        f"<table>{facts}</table><p><strong>{MARK}</strong></p></body></html>"
    ).encode()


_TEXTS = {
    FederalKind.CND: "Não constam pendências em nome do contribuinte abaixo identificado.",
    FederalKind.CPEND: "Constam débitos com a exigibilidade suspensa; este documento tem os"
    " mesmos efeitos da certidão negativa.",
    FederalKind.CPD: "Constam débitos em nome do contribuinte abaixo identificado.",
    FederalKind.IMPOSSIBLE: "As informações disponíveis sobre o contribuinte abaixo identificado"
    " são insuficientes para emitir a certidão pela Internet.",
    FederalKind.UNCLASSIFIED: "A situação do contribuinte abaixo identificado depende de análise.",
}


def _sheet(certificate: FederalFiction | StateFiction) -> _Sheet:
    if isinstance(certificate, FederalFiction):
        return _federal_sheet(certificate)
    return _Sheet(
        issuer=f"FAZENDA ESTADUAL FICTÍCIA ({certificate.uf})",
        title="CERTIDÃO NEGATIVA DE DÉBITOS TRIBUTÁRIOS ESTADUAIS",
        text="Não constam débitos em nome do contribuinte abaixo identificado.",
        facts=_facts(
            ("CNPJ", punctuated(certificate.document)),
            ("Razão social", certificate.name),
            ("Código da certidão", certificate.code),
            ("Número", certificate.number),
            ("Data de emissão", day(certificate.issued_on)),
            ("Válida até", day(certificate.validity)),
        ),
    )


def _federal_sheet(certificate: FederalFiction) -> _Sheet:
    company = len(certificate.document) == 14
    return _Sheet(
        issuer="RECEITA FEDERAL E PROCURADORIA-GERAL DA FAZENDA NACIONAL FICTÍCIAS",
        title=certificate.title or "EMISSÃO DE CERTIDÃO: NÃO FOI POSSÍVEL CONCLUIR",
        text=_TEXTS[certificate.kind],
        facts=_facts(
            ("CNPJ" if company else "CPF", punctuated(certificate.document)),
            ("Razão social" if company else "Nome", certificate.name),
            ("Código de controle", certificate.code),
            ("Data de emissão", day(certificate.issued_on)),
            ("Válida até", day(certificate.validity)),
            ("Validade prorrogada até", day(certificate.extended_validity)),
        ),
    )


def _facts(*facts: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple([(name, value) for name, value in facts if value])


def _drawn(sheet: _Sheet) -> bytes:
    into = io.BytesIO()
    # Neither times nor chance: the bytes depend on the certificate alone.
    page = Canvas(into, pagesize=A4, invariant=1, lang="pt-BR")
    page.setTitle(sheet.title)
    page.setAuthor("Simulador do Balcão")
    page.setSubject(MARK)
    height = A4[1] - _MARGIN
    height = _lines(page, MARK, height, "Helvetica-Bold", 13)
    height = _lines(page, sheet.issuer, height - 24, "Helvetica", 10)
    height = _lines(page, sheet.title, height - 12, "Helvetica-Bold", 14)
    height = _lines(page, sheet.text, height - 18, "Helvetica", 11) - 12
    for name, value in sheet.facts:
        height = _lines(page, f"{name}: {value}", height, "Helvetica", 11)
    _lines(page, MARK, _MARGIN, "Helvetica-Bold", 13)
    page.showPage()
    page.save()
    return into.getvalue()


def _lines(page: Canvas, text: str, height: float, font: str, size: float) -> float:
    """Write a paragraph down from a height; where the next one begins."""
    page.setFont(font, size)
    for line in simpleSplit(text, font, size, _WIDTH):
        page.drawString(_MARGIN, height, line)
        height -= 1.4 * size
    return height


def _spoiled(good: bytes, bad: BadReceipt) -> bytes:
    with pikepdf.open(io.BytesIO(good)) as document:
        if bad is BadReceipt.SCRIPT:
            document.Root.OpenAction = pikepdf.Dictionary(
                S=pikepdf.Name.JavaScript, JS=pikepdf.String("app.alert('fictício')")
            )
        else:
            document.attachments["ficticio.txt"] = pikepdf.AttachedFileSpec(
                document,
                b"ficticio",
                description="Anexo fictício",
                filename="ficticio.txt",
                mime_type="text/plain",
                creation_date="",
                mod_date="",
            )
        into = io.BytesIO()
        document.save(into, deterministic_id=True)
    return into.getvalue()
