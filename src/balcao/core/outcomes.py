"""Results of a question: an outcome per inquiry, then one conclusion and one reply."""

from typing import Literal, TypeAlias

import msgspec

from balcao.core.certificates import CertificateSummary
from balcao.core.errors import SourceError
from balcao.core.ledger import Origin
from balcao.core.receipts import Receipt


class Delivered(msgspec.Struct, frozen=True, gc=False):
    """An inquiry is answered. `body` is the record as JSON, as it is cached and sent."""

    body: bytes
    origin: Origin
    source: str
    asked_ms: int
    to_keep: bool = False  # a new answer of an external source, to be cached
    complete: bool = True  # False: a source with further parts of it could not be asked


class ProvenAbsence(msgspec.Struct, frozen=True):
    """A source has proven that the subject of the inquiry does not exist."""

    source: str


class Failed(msgspec.Struct, frozen=True):
    """No source answered, and no cache entry may be served instead."""

    error: SourceError


Outcome: TypeAlias = Delivered | ProvenAbsence | Failed


class Conclusion(msgspec.Struct, frozen=True, gc=False):
    """The content of a reply and its price.

    `fields`: the body's JSON without the opening brace and `request_id`.
    """

    status: int
    fields: bytes
    credits: int
    rule: str
    origin: Origin | None = None
    source: str | None = None
    asked_ms: int | None = None  # when the source was asked; None on errors
    code: str | None = None  # internal code of an error
    retry_after_seconds: int | None = None
    receipt: Receipt | None = None  # named by the answer, recorded with the charge
    certificate: CertificateSummary | None = None  # stored in the trace
    detail: str | None = None  # of an error, for the log; no personal data


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The complete answer of a lookup."""

    request_id: str
    status: int
    body: bytes
    credits: int
    origin: Origin | None = None
    source: str | None = None
    asked_ms: int | None = None
    code: str | None = None
    retry_after_seconds: int | None = None
    replayed: bool = False
    detail: str | None = None


def reply_of(request_id: str, conclusion: Conclusion) -> Reply:
    """Return the reply with the request_id inserted into the conclusion's JSON."""
    return Reply(
        request_id,
        conclusion.status,
        b'{"request_id":"' + request_id.encode() + b'",' + conclusion.fields,
        conclusion.credits,
        conclusion.origin,
        conclusion.source,
        conclusion.asked_ms,
        conclusion.code,
        conclusion.retry_after_seconds,
        detail=conclusion.detail,
    )


# Origin of an answer that is quoted: our own copies, the cache, a source, or several of them.
Way: TypeAlias = Literal["own", "cache", "source", "mixed"]


class Quote(msgspec.Struct, frozen=True):
    """The current price of a lookup, from `least` to `greatest` credits.

    If the answer is available without a source (`at_hand`), the later fields describe it.
    """

    least: int
    greatest: int
    way: Way
    at_hand: bool = False  # no source has to be asked
    secret: bool = False  # the quote does not reveal whether a person's result is cached
    rule: str | None = None
    code: str | None = None  # of an error
    asked_ms: int | None = None  # when its source was asked
    validity: str | None = None  # YYYY-MM-DD; of a certificate

    @property
    def exact(self) -> bool:
        """Whether the price is certain, as long as nothing changes."""
        return self.least == self.greatest
