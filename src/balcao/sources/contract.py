"""What a source is, and what it may say.

A source finds the thing (`Found`), says that it is not there (`Absent`), or lets us down
(`SourceUnavailable`, `SourceFailed`). Nothing else: an empty answer is not an absence.
"""

from collections.abc import Callable, Generator, Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

import msgspec

from balcao.core.certificates import FederalCertificate, StateCertificate, StoredReceipt
from balcao.core.questions import Inquiry, Part, Record


@dataclass(frozen=True, slots=True)
class Found:
    """The thing, and where and as of when it was read."""

    record: Record
    source: str  # the source's name, as in the settings
    as_of: datetime  # when the source was asked; for the snapshot: its extraction date
    local: bool = False  # read from a source of our own: there is nothing to keep in the cache
    complete: bool = True  # False: a source that knows more of it could not be asked (4.4)


@dataclass(frozen=True, slots=True)
class Absent:
    """The source says there is no such thing.

    `conclusive` only where its documentation says that this proves absence (contract 3), or where
    it is shown to (9.2). `so_far`: as of the day of its data; who may know younger ones is asked.
    """

    source: str
    conclusive: bool
    so_far: bool = False


Answer: TypeAlias = Found | Absent


class Finished(msgspec.Struct, frozen=True, gc=False):
    """A record as it is sent, put together beforehand; as of which instant, in milliseconds."""

    body: bytes
    source: str
    as_of_ms: int


@runtime_checkable
class LocalSource(Protocol):
    """A source of our own, read in place within microseconds: asking it needs no hold."""

    name: str
    parts: frozenset[Part]  # of registrations, as those of `OnlineSource`

    @property
    def edition(self) -> Hashable:
        """Changes whenever the same inquiry may be answered otherwise than before."""
        ...

    def find(self, inquiry: Inquiry) -> Answer | None:
        """Look it up. None when this source cannot answer such an inquiry at all."""
        ...

    def finished(self, inquiry: Inquiry) -> Finished | None:
        """What `find` would find, as it is sent. None: it is not at hand like that."""
        ...


class OnlineSource(Protocol):
    """A source that is asked over the network."""

    name: str

    @property
    def parts(self) -> frozenset[Part]:
        """What it knows of registrations that other sources may not know."""
        ...

    def serves(self, inquiry: Inquiry) -> bool:
        """Whether this source can answer such an inquiry (subject, UF, letters, opt-in)."""
        ...

    async def ask(self, inquiry: Inquiry, until: float = inf) -> Answer:
        """Ask it, until then by the event loop's clock. Raises `SourceError` of some kind."""
        ...


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What a conversation wants sent. `path` is relative to the source's base address.

    Printing it shows no document and no secret: both travel in the fields left out. A conversation
    has no clock: `after_seconds` asks for a pause first, within the time limit of the whole, and
    `body_for` makes the body when it is sent, given how many whole seconds are left then.
    """

    method: str
    path: str = field(repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    after_seconds: float = 0.0
    body_for: Callable[[int], bytes] | None = field(default=None, repr=False)

    def within(self, seconds_left: int) -> "HttpRequest":
        """Return the request as it is sent with so much time left."""
        if self.body_for is None:
            return self
        return replace(self, body=self.body_for(seconds_left), body_for=None)


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back, whole. Header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Certified:
    """What an adapter makes of a certificate's reply.

    `receipt` is the document itself, or the address where the provider keeps it for a short
    time, or None; it is not kept with the record, which names what was stored of it.
    """

    certificate: FederalCertificate | StateCertificate
    receipt: bytes | str | None = field(default=None, repr=False)


class ReceiptKeeper(Protocol):
    """Where receipts go before the records that name them."""

    async def keep(
        self, source: str, receipt: bytes | str, until: float = inf
    ) -> StoredReceipt | None:
        """Fetch it where it is an address, check it, store it. None: there is none to be had.

        Never raises `SourceError`: a certificate without its receipt is a certificate.
        """
        ...


# An adapter is a conversation without a socket: it yields requests, is sent replies, and
# returns what it was after, or None for "there is no such thing". A request that fails is thrown
# into it as its `SourceError`, which ends it, unless it can go on without an answer.
T = TypeVar("T")
Exchange: TypeAlias = Generator[HttpRequest, HttpReply, T | None]
Conversation: TypeAlias = Exchange[Record]
