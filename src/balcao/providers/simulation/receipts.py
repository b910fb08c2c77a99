"""Receipts of fictitious certificates, as PDF and HTML, marked as fictitious.

Equal certificates have equal bytes. Three documents have receipts that must be rejected.
"""

import html as markup
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from balcao.fiction.records import (
    FederalFiction,
    FederalKind,
    FgtsFiction,
    LabourFiction,
    LabourKind,
    StateFiction,
)
from balcao.providers.simulation.messages import day, punctuated

AnyCertificate: TypeAlias = FederalFiction | StateFiction | LabourFiction | FgtsFiction

MARK = "DOCUMENTO FICTÍCIO, SEM VALOR LEGAL"


class BadReceipt(StrEnum):
    """A defect of a simulated receipt, which the service must reject."""

    SCRIPT = "it runs a script when it is opened"
    ATTACHMENT = "a file is embedded in it"
    IMPOSTOR = "it only claims to be a PDF"


# Companies with bad receipts; otherwise they are like any of their class.
BAD_RECEIPTS: Mapping[str, BadReceipt] = {
    "90080001000186": BadReceipt.SCRIPT,
    "90080002000120": BadReceipt.ATTACHMENT,
    "90080003000175": BadReceipt.IMPOSTOR,
}


@dataclass(frozen=True, slots=True)
class _Content:
    """The content of a receipt."""

    issuer: str
    title: str
    text: str
    facts: tuple[tuple[str, str], ...]


def pdf(certificate: AnyCertificate) -> bytes:
    """Return the receipt as a PDF of one page."""
    bad = BAD_RECEIPTS.get(certificate.document)
    if bad is BadReceipt.IMPOSTOR:
        return b"%PDF-1.7\n" + html(certificate)
    # Libraries for PDFs are slow to import, and most processes write no receipt.
    from balcao.providers.simulation import receipt_pdf  # noqa: PLC0415

    content = _content(certificate)
    good = receipt_pdf.written(MARK, content.issuer, content.title, content.text, content.facts)
    if bad is None:
        return good
    return receipt_pdf.corrupted(good, with_script=bad is BadReceipt.SCRIPT)


def html(certificate: AnyCertificate) -> bytes:
    """Return the receipt as HTML, without scripts or external resources."""
    content = _content(certificate)
    facts = "".join(
        f"<tr><th>{markup.escape(name)}</th><td>{markup.escape(value)}</td></tr>"
        for name, value in content.facts
    )
    return (
        '<!DOCTYPE html><html lang="pt-BR"><head><meta charset="utf-8">'
        f"<title>{content.title}</title></head><body><p><strong>{MARK}</strong></p>"
        f"<p>{content.issuer}</p><h1>{content.title}</h1><p>{content.text}</p>"
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


def _content(certificate: AnyCertificate) -> _Content:
    if isinstance(certificate, FederalFiction):
        return _federal_content(certificate)
    if isinstance(certificate, LabourFiction):
        return _labour_content(certificate)
    if isinstance(certificate, FgtsFiction):
        return _fgts_content(certificate)
    return _Content(
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


def _federal_content(certificate: FederalFiction) -> _Content:
    company = len(certificate.document) == 14
    return _Content(
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


_LABOUR_TEXTS = {
    LabourKind.CND: "Não consta como inadimplente no Banco Nacional de Devedores Trabalhistas.",
    LabourKind.CPEND: "Consta no Banco Nacional de Devedores Trabalhistas, com débitos garantidos.",
    LabourKind.CPD: "Consta como inadimplente no Banco Nacional de Devedores Trabalhistas.",
    LabourKind.NONE: "",
}


def _labour_content(certificate: LabourFiction) -> _Content:
    company = len(certificate.document) == 14
    return _Content(
        issuer="JUSTIÇA DO TRABALHO FICTÍCIA",
        title=certificate.title,
        text=_LABOUR_TEXTS[certificate.kind],
        facts=_facts(
            ("CNPJ" if company else "CPF", punctuated(certificate.document)),
            ("Nome", certificate.name),
            ("Certidão nº", certificate.number),
            ("Expedição", day(certificate.issued_on)),
            ("Validade", day(certificate.validity)),
            ("Processos", ", ".join(certificate.lawsuits)),
        ),
    )


def _fgts_content(certificate: FgtsFiction) -> _Content:
    return _Content(
        issuer="CAIXA FICTÍCIA",
        title="CERTIFICADO DE REGULARIDADE DO FGTS - CRF",
        text="A empresa abaixo identificada encontra-se em situação regular perante o FGTS.",
        facts=_facts(
            ("Inscrição", punctuated(certificate.document)),
            ("Razão social", certificate.name),
            ("Endereço", certificate.address),
            ("Validade", f"{day(certificate.valid_from[0])} a {day(certificate.validity[0])}"),
            ("Certificação número", certificate.numbers[0]),
        ),
    )


def _facts(*facts: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple([(name, value) for name, value in facts if value])
