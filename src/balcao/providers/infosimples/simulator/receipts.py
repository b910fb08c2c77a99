"""Where Infosimples keeps the receipts of certificates: nowhere, they are drawn up when fetched.

The name of a receipt is all that is needed to draw it up, encrypted: nobody reads a document in
it, nobody makes a name up, and any process of the simulator can answer.
"""

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, date, datetime

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from balcao.fiction import federal_certificate_of, state_certificate_of
from balcao.fiction.records import FederalFiction, ReceiptKind, StateFiction
from balcao.providers.simulation.exchange import HTML, PLAIN, SimulatedReply
from balcao.providers.simulation.receipts import html, pdf

PDF = "application/pdf"

FEDERAL = "BR"  # in place of a UF

# Nothing is secret in here, so the key need not be either.
_CIPHER = AESSIV(b"simulator".ljust(32, b"."))


@dataclass(frozen=True, slots=True)
class HostedReceipt:
    """Of what one is: the certificate of a document on a day."""

    of: str  # UF, or `FEDERAL`
    document: str
    day: date
    kind: ReceiptKind
    new: bool = False


def receipt_of(certificate: FederalFiction | StateFiction, day: date) -> HostedReceipt | None:
    """The receipt of a certificate in force on a day, if it has any."""
    if certificate.receipt is ReceiptKind.NONE:
        return None
    of = FEDERAL if isinstance(certificate, FederalFiction) else certificate.uf
    return HostedReceipt(of, certificate.document, day, certificate.receipt)


def name_of(receipt: HostedReceipt, expires: datetime) -> str:
    """The last part of its address, until it expires."""
    said = (
        f"{int(expires.timestamp())} {receipt.of} {receipt.document} {receipt.day} {receipt.new:d}"
    )
    sealed = base64.urlsafe_b64encode(_CIPHER.encrypt(said.encode(), None)).decode().rstrip("=")
    return f"{sealed}.{receipt.kind.value}"


def reply_of(name: str, now: datetime) -> SimulatedReply:
    """What is found at an address."""
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


def _certificate(of: str, document: str, day: date, *, new: bool) -> FederalFiction | StateFiction:
    if of == FEDERAL:
        return federal_certificate_of(document, day, new=new)
    return state_certificate_of(document, of, day)
