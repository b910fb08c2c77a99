"""The provider's envelope: the result is in its `code`, whatever the HTTP status says."""

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

# What no result depends on is read only where it is as short as it should be.
_ASIDE_BYTES_MAX = 16_000
_ELAPSED_MS_MAX = 3_600_000

# What is left of our own limit for their answer to arrive; and the longest that clients allow them.
REPLY_SECONDS = 2
TIMEOUT_SECONDS_MAX = 600

_PRICE = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,6})?", re.ASCII)

_ERRORS_OF_THE_ORIGIN = frozenset({614, 616})


class _Header(msgspec.Struct):
    billable: msgspec.Raw = msgspec.Raw(b"null")
    price: msgspec.Raw = msgspec.Raw(b"null")
    elapsed_time_in_milliseconds: msgspec.Raw = msgspec.Raw(b"null")
    parameters: msgspec.Raw = msgspec.Raw(b"null")


class _Headed(msgspec.Struct, kw_only=True):
    """The header of every answer, with or without a result."""

    header: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def billable(self) -> bool | None:
        """Whether the provider charges for it; None where it does not say."""
        said = _any(self._header.billable)
        return said if isinstance(said, bool) else None

    @property
    def cost_micros(self) -> int:
        """Return the price in millionths of a real; 0 if the header has none."""
        if self.billable is False:
            return 0
        return _micros(_any(self._header.price))

    @property
    def elapsed_ms(self) -> int:
        """How long they took; 0 where they do not say."""
        elapsed = _any(self._header.elapsed_time_in_milliseconds)
        return elapsed if isinstance(elapsed, int) and 0 < elapsed <= _ELAPSED_MS_MAX else 0

    @property
    def parameters(self) -> Mapping[str, str]:
        """What they were asked, as they heard it."""
        said = _any(self._header.parameters)
        if not isinstance(said, dict):
            return {}
        return {name: value for name, value in said.items() if isinstance(value, str)}

    @property
    def _header(self) -> _Header:
        try:
            return replies.parse(_Header, bytes(self.header))
        except msgspec.ValidationError:  # no object
            return _Header()


class Envelope(_Headed):
    """The envelope of every result. `Raw`: fields that no result depends on may have any form."""

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
        """`errors[]` as one text. It may name the document: for the caller, never for the log."""
        return replies.text(" ".join(_texts(self.errors)))

    @property
    def receipt(self) -> str | None:
        """The address of the first receipt."""
        return next(filter(None, _texts(self.site_receipts)), None)


def request(
    service: str, parameters: Mapping[str, str], *, timeout: str | None = None
) -> HttpRequest:
    """A consultation. The token travels in the body: addresses end up in logs.

    It is a form, which they prefer to JSON. They may spend what is left of our own time, unless
    `timeout` has another word for it.
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
    """The envelope of a reply. Raises what the HTTP status means where there is none."""
    if reply.status == 200:
        return replies.decode(source, Envelope, reply.body)
    try:
        envelope = replies.parse(Envelope, reply.body)
    except msgspec.DecodeError:
        raise replies.refusal(source, reply) from None
    if envelope.meaning in (None, CodeMeaning.FOUND):  # an HTTP error does not bring a result
        raise replies.refusal(source, reply)
    return envelope


def results(source: str, envelope: Envelope, kind: type[T]) -> Sequence[T]:
    """The data of a result; at least one object."""
    if not envelope.data:
        raise SourceFailed(f"{source}: resposta incompleta, sem dados")
    return [replies.decode_what_can_be(source, kind, bytes(raw)) for raw in envelope.data]


def refusal(source: str, envelope: Envelope) -> SourceError:
    """What a code that brings no result means: an error to raise."""
    charged = "; cobrada pelo fornecedor" if envelope.billable else ""
    known = CODES.get(envelope.code)
    if known is None:
        # A number as long as a document is none of their codes, and is not repeated.
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


def issuing_refusal(source: str, envelope: Envelope) -> SourceError:
    """The same of an issuance: where the origin was reached or they charge, it may have begun, and
    nobody else may be asked."""
    error = refusal(source, envelope)
    reached = envelope.billable is True or envelope.code in _ERRORS_OF_THE_ORIGIN
    if reached and isinstance(error, SourceUnavailable):
        return SourceFailed(error.detail)
    return error


def cost_micros(reply: HttpReply) -> int:
    """Return what a reply costs us, in millionths of a real; 0 where it does not say."""
    try:
        return replies.parse(_Headed, reply.body).cost_micros
    except msgspec.DecodeError:
        return 0


def outage(source: str, envelope: Envelope, reason: Reason) -> SourceError:
    """Return the error of an answer whose reason is about the portal: no result of anybody's.

    Where they charge, or the portal is at work on it, it may have begun: nobody else may be asked.
    """
    charged = "; cobrada pelo fornecedor" if envelope.billable else ""
    detail = f"{source}: a origem pede para tentar mais tarde, código {envelope.code}{charged}"
    if envelope.billable or reason is not Reason.LATER:
        return SourceFailed(detail)
    return SourceUnavailable(detail, replies.RETRY_SECONDS)


def _any(raw: msgspec.Raw) -> Any:
    """What stands there. Raises `msgspec.DecodeError` where it is longer than anybody's."""
    body = bytes(raw)
    if len(body) > _ASIDE_BYTES_MAX:
        raise msgspec.DecodeError("Too long")
    return replies.parse(object, body)


def _micros(price: object) -> int:
    """A price in reais as they write it, `"0.24"`; 0 for what is none."""
    if not isinstance(price, str) or not _PRICE.fullmatch(price):
        return 0
    return round(Decimal(price) * 1_000_000)


def _texts(raw: msgspec.Raw) -> Sequence[str]:
    said = _any(raw)
    return [each for each in said if isinstance(each, str)] if isinstance(said, list) else []
