"""What came of a question: per inquiry an outcome, in the end one conclusion and one reply."""

from typing import Literal, TypeAlias

import msgspec

from balcao.core.certificates import CertificateGiven
from balcao.core.errors import SourceError
from balcao.core.ledger import Origin
from balcao.core.receipts import Receipt


class Delivered(msgspec.Struct, frozen=True, gc=False):
    """An inquiry is answered. `body` is the record as JSON, as it is kept and sent."""

    body: bytes
    origin: Origin
    source: str
    asked_ms: int
    to_keep: bool = False  # said by somebody else's service a moment ago
    complete: bool = True  # False: a source that knows more of it could not be asked


class Nothing(msgspec.Struct, frozen=True):
    """A source that can prove it says that there is no such thing."""

    source: str


class Failed(msgspec.Struct, frozen=True):
    """Nobody could answer, and nothing that is kept may stand in."""

    error: SourceError


Outcome: TypeAlias = Delivered | Nothing | Failed


class Conclusion(msgspec.Struct, frozen=True, gc=False):
    """What to say and what it costs. `fields` is JSON without its opening brace and request_id."""

    status: int
    fields: bytes
    credits: int
    rule: str
    origin: Origin | None = None
    source: str | None = None
    asked_ms: int | None = None  # when the source was asked; None on errors
    code: str | None = None  # internal code of an error
    retry_after_seconds: int | None = None
    receipt: Receipt | None = None  # named by the answer: recorded with the charge
    certificate: CertificateGiven | None = None  # remembered with the request
    detail: str | None = None  # of an error, for the log; no personal data


class Reply(msgspec.Struct, frozen=True, gc=False):
    """The answer of a lookup, ready to be sent."""

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
    """Splice the request_id into the body that was made without it."""
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


# Where an answer would come from: our own copies, the cache, a source, or more than one of them.
Way: TypeAlias = Literal["own", "cache", "source", "mixed"]


class Quote(msgspec.Struct, frozen=True):
    """What a question would cost at this moment: from `least` to `greatest` credits.

    The other fields are those of the answer, where all of it is `at_hand`.
    """

    least: int
    greatest: int
    way: Way
    at_hand: bool = False  # nobody has to be asked
    secret: bool = False  # what is kept about a person is not told, however much it matters
    rule: str | None = None
    code: str | None = None  # of an error
    asked_ms: int | None = None  # when its source was asked
    validity: str | None = None  # YYYY-MM-DD; of a certificate

    @property
    def exact(self) -> bool:
        """Whether it would cost just that, as long as nothing changes."""
        return self.least == self.greatest
