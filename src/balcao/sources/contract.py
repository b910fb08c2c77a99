"""The interface of sources and their answers.

A source returns `Found` or `Absent`, or raises `SourceUnavailable` or `SourceFailed`. Nothing
else: an empty answer is not an absence.
"""

from collections.abc import Callable, Generator, Hashable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

import msgspec

from balcao.core.certificates import Certificate, StoredReceipt
from balcao.core.questions import Inquiry, Part, Record


@dataclass(frozen=True, slots=True)
class Found:
    """A record, with its source and date."""

    record: Record
    source: str  # the source's name, as in the settings
    as_of: datetime  # when the source was asked; for the snapshot: its extraction date
    local: bool = False  # read from a local source: not stored in the cache
    complete: bool = True  # False: a source with more parts of it could not be asked (4.4)


@dataclass(frozen=True, slots=True)
class Absent:
    """The source has no such company, person or record.

    `conclusive` only if its documentation states that this proves absence (contract 3), or tests
    show it (9.2). `so_far`: as of the day of its data; sources with newer data are asked as well.
    """

    source: str
    conclusive: bool
    so_far: bool = False


Answer: TypeAlias = Found | Absent


class FinishedAnswer(msgspec.Struct, frozen=True, gc=False):
    """A response body that was encoded in advance, with its source and instant."""

    body: bytes
    source: str
    as_of_ms: int


@runtime_checkable
class LocalSource(Protocol):
    """A source in this process, read within microseconds: asking it needs no hold of credits."""

    name: str
    parts: frozenset[Part]  # of registrations, as those of `OnlineSource`

    @property
    def edition(self) -> Hashable:
        """A value that changes whenever answers may change."""
        ...

    def find(self, inquiry: Inquiry) -> Answer | None:
        """Look up the inquiry. Returns None if this source cannot answer such inquiries."""
        ...

    def finished(self, inquiry: Inquiry) -> FinishedAnswer | None:
        """Return the record that `find` would return, encoded in advance, or None."""
        ...


class OnlineSource(Protocol):
    """A source that is asked over the network."""

    name: str

    @property
    def parts(self) -> frozenset[Part]:
        """The optional parts of registrations that this source provides."""
        ...

    def serves(self, inquiry: Inquiry) -> bool:
        """Return whether this source can answer such an inquiry (subject, UF, letters, opt-in)."""
        ...

    async def ask(self, inquiry: Inquiry, deadline: float = inf) -> Answer:
        """Ask the source. `deadline` is by the event loop's clock. Raises `SourceError`."""
        ...


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request that a conversation yields. `path` is relative to the source's base address.

    Its `repr` omits the fields that hold documents and secrets. A conversation has no clock:
    `after_seconds` asks for a pause before sending, within the conversation's time limit, and
    `body_for` makes the body when it is sent, from the whole seconds that are left.
    """

    method: str
    path: str = field(repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: bytes | None = field(default=None, repr=False)
    after_seconds: float = 0.0
    body_for: Callable[[int], bytes] | None = field(default=None, repr=False)

    def within(self, seconds_left: int) -> "HttpRequest":
        """Return the request with its final body."""
        if self.body_for is None:
            return self
        return replace(self, body=self.body_for(seconds_left), body_for=None)


@dataclass(frozen=True, slots=True)
class HttpReply:
    """A complete reply. Header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Issuance:
    """A certificate and its receipt, as an adapter reads them from a reply.

    `receipt` is the document itself, the address where the provider hosts it for a short time,
    or None. It is not part of the record, which names the stored copy.
    """

    certificate: Certificate
    receipt: bytes | str | None = field(default=None, repr=False)


class ReceiptStorage(Protocol):
    """Storage of receipts."""

    async def keep(
        self, source: str, receipt: bytes | str, deadline: float = inf
    ) -> StoredReceipt | None:
        """Fetch the receipt if it is an address, check and store it. None if that fails.

        Never raises `SourceError`: a certificate is valid without its receipt.
        """
        ...


# A conversation is a generator without a socket: it yields requests, is sent replies, and returns
# a result, or None for an absence. If a request fails, its `SourceError` is thrown into the
# conversation, which may catch it and continue.
T = TypeVar("T")
Exchange: TypeAlias = Generator[HttpRequest, HttpReply, T | None]
Conversation: TypeAlias = Exchange[Record]
