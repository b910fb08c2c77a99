"""The interface of Infosimples' services, and their receipts.

A service reads the parameters and returns the replies about a document, or an error. Everything
else (token, envelope, header, faults) is common to all services (`__init__.py`).

Receipts are not stored but created when they are fetched. Their encrypted names contain all that is
needed: they do not reveal the document, cannot be forged, and work in any process of the simulator.
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TypeAlias

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from balcao.core.federation import UFS
from balcao.fiction import (
    federal_certificate_of,
    fgts_regularity_of,
    labour_certificate_of,
    state_certificate_of,
)
from balcao.fiction.records import (
    FederalFiction,
    FgtsFiction,
    LabourFiction,
    ReceiptKind,
)
from balcao.providers.simulation.faults import ReplyFactory
from balcao.providers.simulation.messages import (
    HTML,
    PLAIN,
    SimulatedReply,
    is_cnpj,
    is_cpf,
    plain_document,
)
from balcao.providers.simulation.receipts import AnyCertificate, html, pdf

PDF = "application/pdf"

# In place of a UF.
FEDERAL, LABOUR, FGTS = "BR", "TST", "CRF"

# The simulator has no secrets, so the key need not be one.
_CIPHER = AESSIV(b"simulator".ljust(32, b"."))


@dataclass(frozen=True, slots=True)
class HostedReceipt:
    """A receipt at the provider, identified by its certificate."""

    of: str  # UF, `FEDERAL`, `LABOUR` or `FGTS`
    document: str
    day: date
    kind: ReceiptKind
    new: bool = False


def receipt_of(certificate: AnyCertificate, day: date) -> HostedReceipt | None:
    """Return the receipt of a certificate in force on a day, or None."""
    if certificate.receipt is ReceiptKind.NONE:
        return None
    match certificate:
        case FederalFiction():
            of = FEDERAL
        case LabourFiction():
            of = LABOUR
        case FgtsFiction():
            of = FGTS
        case _:
            of = certificate.uf
    return HostedReceipt(of, certificate.document, day, certificate.receipt)


def name_of(receipt: HostedReceipt, expires: datetime) -> str:
    """Return the last part of a receipt's address, valid until it expires."""
    plaintext = (
        f"{int(expires.timestamp())} {receipt.of} {receipt.document} {receipt.day} {receipt.new:d}"
    )
    sealed = (
        base64.urlsafe_b64encode(_CIPHER.encrypt(plaintext.encode(), None)).decode().rstrip("=")
    )
    return f"{sealed}.{receipt.kind.value}"


def reply_of(name: str, now: datetime) -> SimulatedReply:
    """Return the reply for the address of a receipt."""
    sealed, _, suffix = name.partition(".")
    try:
        raw = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        expires, of, document, day, new = _CIPHER.decrypt(raw, None).decode().split(" ")
        kind = ReceiptKind(suffix)
    except (binascii.Error, ValueError, InvalidTag):
        return _GONE
    if now.astimezone(UTC).timestamp() >= int(expires):
        return _GONE
    certificate = _certificate(of, document, date.fromisoformat(day), new=new == "1")
    if certificate.receipt is not kind:
        return _GONE
    if kind is ReceiptKind.PDF:
        return SimulatedReply(200, pdf(certificate), PDF)
    return SimulatedReply(200, html(certificate), HTML)


_GONE = SimulatedReply(404, b"Not Found", PLAIN)


def _certificate(of: str, document: str, day: date, *, new: bool) -> AnyCertificate:
    if of == FEDERAL:
        return federal_certificate_of(document, day, new=new)
    if of == LABOUR:
        return labour_certificate_of(document, day)
    if of == FGTS:
        return fgts_regularity_of(document, day)
    return state_certificate_of(document, of, day)


@dataclass(frozen=True, slots=True)
class Answer:
    """A result: code, data, error messages and receipt."""

    code: int
    data: tuple[dict[str, object], ...] = ()
    errors: tuple[str, ...] = ()
    receipt: HostedReceipt | None = None


# The replies about a document, or an error.
Outcome: TypeAlias = ReplyFactory[Answer] | Answer

# Parameters without the token, and the time in Brasília.
Service: TypeAlias = Callable[[Mapping[str, str], datetime], Outcome]


def missing(name: str) -> Answer:
    """Return the error for a missing parameter."""
    return Answer(606, errors=(f"O parâmetro {name} não foi enviado.",))


def invalid(name: str) -> Answer:
    """Return the error for an invalid parameter."""
    return Answer(607, errors=(f"O parâmetro {name} é inválido.",))


def not_found() -> Answer:
    """Return the result for an unknown document."""
    return Answer(612, errors=("Nenhum registro foi encontrado com os parâmetros informados.",))


def in_maintenance() -> Answer:
    """Return the error while the official portal is in maintenance."""
    return Answer(615, errors=("O site de origem está em manutenção.",))


def refused(code: int, reason: str) -> Answer:
    """Return the provider's answer when the official portal refuses."""
    return Answer(code, errors=(reason,))


def uf_of(parameters: Mapping[str, str]) -> str | Answer:
    """Return the requested UF, or an error."""
    uf = parameters.get("uf", "").strip().upper()
    if uf in UFS:
        return uf
    return invalid("uf") if uf else missing("uf")


def document_of(parameters: Mapping[str, str]) -> str | Answer | None:
    """Return the requested CNPJ or CPF without punctuation, an error, or None without either."""
    if requested := parameters.get("cnpj"):
        cnpj = plain_document(requested)
        return cnpj if is_cnpj(cnpj) else invalid("cnpj")
    if requested := parameters.get("cpf"):
        cpf = plain_document(requested)
        return cpf if is_cpf(cpf) else invalid("cpf")
    return None


def moment(value: datetime) -> str:
    """Return `dd/mm/yyyy HH:MM:SS`."""
    return value.strftime("%d/%m/%Y %H:%M:%S")
