"""The provider's envelope: its `code` is the result, not the HTTP status."""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from balcao.core.certificate_words import Reason
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.providers.infosimples.codes import CODES, CodeMeaning
from balcao.sources import replies
from balcao.sources.contract import HttpReply, HttpRequest
from balcao.sources.replies import RegistrationList

T = TypeVar("T")

# Parts that no result depends on are decoded only up to this size.
_PART_BYTES_MAX = 16_000
_ELAPSED_MS_MAX = 3_600_000

# Time reserved for their reply to arrive, out of our own limit; and their longest time limit.
REPLY_SECONDS = 2
TIMEOUT_SECONDS_MAX = 600

_PRICE = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,6})?", re.ASCII)

_ERRORS_OF_THE_ORIGIN = frozenset({614, 616})


class _Header(msgspec.Struct):
    billable: msgspec.Raw = msgspec.Raw(b"null")
    price: msgspec.Raw = msgspec.Raw(b"null")
    elapsed_time_in_milliseconds: msgspec.Raw = msgspec.Raw(b"null")
    parameters: msgspec.Raw = msgspec.Raw(b"null")


class _WithHeader(msgspec.Struct, kw_only=True):
    """The header of every reply, with or without a result."""

    header: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def billable(self) -> bool | None:
        """Whether the provider charges for the reply; None if not stated."""
        decoded = _decode(self._header.billable)
        return decoded if isinstance(decoded, bool) else None

    @property
    def cost_micros(self) -> int:
        """Return the price in millionths of a real; 0 if the header has none."""
        if self.billable is False:
            return 0
        return _micros(_decode(self._header.price))

    @property
    def elapsed_ms(self) -> int:
        """The provider's time for the query; 0 if not stated."""
        elapsed = _decode(self._header.elapsed_time_in_milliseconds)
        return elapsed if isinstance(elapsed, int) and 0 < elapsed <= _ELAPSED_MS_MAX else 0

    @property
    def parameters(self) -> Mapping[str, str]:
        """The parameters of the query, as the provider repeats them."""
        decoded = _decode(self._header.parameters)
        if not isinstance(decoded, dict):
            return {}
        return {name: value for name, value in decoded.items() if isinstance(value, str)}

    @property
    def _header(self) -> _Header:
        try:
            return replies.parse(_Header, bytes(self.header))
        except msgspec.ValidationError:  # no object
            return _Header()


class Envelope(_WithHeader):
    """The envelope of every result. Fields of type `Raw`, which are optional, may have any form."""

    code: int
    data: RegistrationList[msgspec.Raw] | None = None
    errors: msgspec.Raw = msgspec.Raw(b"null")
    site_receipts: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def meaning(self) -> CodeMeaning | None:
        """Return the meaning of the code; None for an unknown one."""
        return CODES[self.code].meaning if self.code in CODES else None

    @property
    def reasons(self) -> str | None:
        """`errors[]` as one text. It may contain the document: for the caller, not for the log."""
        return replies.text(" ".join(_texts(self.errors)))

    @property
    def receipt(self) -> str | None:
        """The address of the first receipt."""
        return next(filter(None, _texts(self.site_receipts)), None)


def request(
    service: str, parameters: Mapping[str, str], *, timeout: str | None = None
) -> HttpRequest:
    """Build a query, as a form, which the provider prefers to JSON.

    The token is in the body, since addresses end up in logs. The provider's time limit is what is
    left of ours, unless `timeout` is given.
    """

    def body(seconds_left: int) -> bytes:
        seconds = timeout or str(min(max(1, seconds_left - REPLY_SECONDS), TIMEOUT_SECONDS_MAX))
        return urlencode({**parameters, "timeout": seconds}).encode()

    return HttpRequest(
        "POST",
        f"/api/v2/consultas/{service}",
        headers={"content-type": "application/x-www-form-urlencoded"},
        body_for=body,
    )


def read(source: str, reply: HttpReply) -> Envelope:
    """Read the envelope of a reply. Without one, raises the error for the HTTP status."""
    if reply.status == 200:
        return replies.decode(source, Envelope, reply.body)
    try:
        envelope = replies.parse(Envelope, reply.body)
    except msgspec.DecodeError:
        raise replies.error_for_status(source, reply) from None
    if envelope.meaning in (None, CodeMeaning.FOUND):  # an HTTP error has no result
        raise replies.error_for_status(source, reply)
    return envelope


def results(source: str, envelope: Envelope, kind: type[T]) -> Sequence[T]:
    """Decode the data of a result, at least one object."""
    if not envelope.data:
        raise SourceFailed(f"{source}: resposta incompleta, sem dados")
    return [replies.decode_lenient(source, kind, bytes(raw)) for raw in envelope.data]


def error_for(source: str, envelope: Envelope) -> SourceError:
    """Return the error for a code without a result."""
    charged = "; cobrada pelo fornecedor" if envelope.billable else ""
    known = CODES.get(envelope.code)
    if known is None:
        # a longer number could be a document, so it is not repeated
        number = f" {envelope.code}" if 0 <= envelope.code <= 999 else ""
        return SourceFailed(f"{source}: código desconhecido{number}{charged}")
    detail = f"{known.text}, código {envelope.code}{charged}"
    match known.meaning:
        case CodeMeaning.MISCONFIGURED:
            return replies.misconfigured(source, detail)
        case CodeMeaning.UNAVAILABLE:
            return SourceUnavailable(f"{source}: {detail}", known.retry_seconds)
        case CodeMeaning.MISTAKE:
            return SourceFailed(f"{source}: ERRO NOSSO NA CONSULTA: {detail}")
        case _:
            return SourceFailed(f"{source}: {detail}")


def issuance_error(source: str, envelope: Envelope) -> SourceError:
    """Return the error for the code of an issuance: `SourceFailed` if it may have begun."""
    error = error_for(source, envelope)
    reached = envelope.billable is True or envelope.code in _ERRORS_OF_THE_ORIGIN
    if reached and isinstance(error, SourceUnavailable):
        return SourceFailed(error.detail)
    return error


def cost_micros(reply: HttpReply) -> int:
    """Return the price of a reply, in millionths of a real; 0 if not stated."""
    try:
        return replies.parse(_WithHeader, reply.body).cost_micros
    except msgspec.DecodeError:
        return 0


def outage(source: str, envelope: Envelope, reason: Reason) -> SourceError:
    """Return the error of a reply that reports trouble of the portal, not of the taxpayer.

    `SourceFailed`, not to be retried, if the certificate may have been issued: the provider
    charged, or the portal is processing.
    """
    charged = "; cobrada pelo fornecedor" if envelope.billable else ""
    detail = f"{source}: a origem pede para tentar mais tarde, código {envelope.code}{charged}"
    if envelope.billable or reason is not Reason.LATER:
        return SourceFailed(detail)
    return SourceUnavailable(detail, replies.RETRY_SECONDS)


def _decode(raw: msgspec.Raw) -> Any:
    """Decode a part of a reply. Raises `msgspec.DecodeError` if it is too long."""
    body = bytes(raw)
    if len(body) > _PART_BYTES_MAX:
        raise msgspec.DecodeError("Too long")
    return replies.parse(object, body)


def _micros(price: object) -> int:
    """Convert a price in reais, such as `"0.24"`; 0 for anything else."""
    if not isinstance(price, str) or not _PRICE.fullmatch(price):
        return 0
    return round(Decimal(price) * 1_000_000)


def _texts(raw: msgspec.Raw) -> Sequence[str]:
    decoded = _decode(raw)
    return [each for each in decoded if isinstance(each, str)] if isinstance(decoded, list) else []
