"""What stands behind a path of Infosimples: what it needs to be asked, and what it answers.

A service reads the parameters and returns what to look up, or why it does not. Everything
else (token, envelope, header, misbehaviour) is common to all services (`__init__.py`).

Receipts are not stored but drawn up when they are fetched. A receipt's name, encrypted, has all
that is needed for it: the document cannot be read in it, no name can be made up, and any process
of the simulator can answer.
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
from balcao.fiction import federal_certificate_of, state_certificate_of
from balcao.fiction.records import FederalFiction, ReceiptKind, StateFiction
from balcao.providers.simulation.exchange import (
    HTML,
    PLAIN,
    SimulatedReply,
    is_cnpj,
    is_cpf,
    plain_document,
)
from balcao.providers.simulation.receipts import html, pdf
from balcao.providers.simulation.staging import Scene

PDF = "application/pdf"

FEDERAL = "BR"  # in place of a UF

# Nothing is secret in here, so the key need not be either.
_CIPHER = AESSIV(b"simulator".ljust(32, b"."))


@dataclass(frozen=True, slots=True)
class HostedReceipt:
    """A receipt at the provider, named by the certificate it proves."""

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


def _certificate(of: str, document: str, day: date, *, new: bool) -> FederalFiction | StateFiction:
    if of == FEDERAL:
        return federal_certificate_of(document, day, new=new)
    return state_certificate_of(document, of, day)


@dataclass(frozen=True, slots=True)
class Answer:
    """A result: its code, the objects it found, the reasons it failed and its receipt."""

    code: int
    data: tuple[dict[str, object], ...] = ()
    errors: tuple[str, ...] = ()
    receipt: HostedReceipt | None = None


# What to look up, once the parameters were read; or why it is not looked up.
Outcome: TypeAlias = Scene[Answer] | Answer

# Parameters without the token, and the time in Brasília.
Service: TypeAlias = Callable[[Mapping[str, str], datetime], Outcome]


def missing(name: str) -> Answer:
    """A parameter that has to be there is not."""
    return Answer(606, errors=(f"O parâmetro {name} não foi enviado.",))


def invalid(name: str) -> Answer:
    """A parameter is there, and is nothing of the kind."""
    return Answer(607, errors=(f"O parâmetro {name} é inválido.",))


def not_found() -> Answer:
    """The origin knows nothing."""
    return Answer(612, errors=("Nenhum registro foi encontrado com os parâmetros informados.",))


def refused(code: int, reason: str) -> Answer:
    """The origin says why not."""
    return Answer(code, errors=(reason,))


def uf_of(parameters: Mapping[str, str]) -> str | Answer:
    """The UF that is asked about."""
    uf = parameters.get("uf", "").strip().upper()
    if uf in UFS:
        return uf
    return invalid("uf") if uf else missing("uf")


def document_of(parameters: Mapping[str, str]) -> str | Answer | None:
    """The CNPJ or CPF that is asked about, if any, in digits (and letters)."""
    if asked := parameters.get("cnpj"):
        cnpj = plain_document(asked)
        return cnpj if is_cnpj(cnpj) else invalid("cnpj")
    if asked := parameters.get("cpf"):
        cpf = plain_document(asked)
        return cpf if is_cpf(cpf) else invalid("cpf")
    return None


def moment(value: datetime) -> str:
    """`dd/mm/yyyy HH:MM:SS`."""
    return value.strftime("%d/%m/%Y %H:%M:%S")
