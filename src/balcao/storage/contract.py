"""What is told to the desk and by it, and what caches and stores of receipts promise.

One suite, `tests/storage`, runs on every engine.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from balcao.core.access import KeyDoor, Plan
from balcao.core.data_subject import DataSubject
from balcao.core.freshness import Kept
from balcao.core.ledger import Origin
from balcao.core.questions import Mode
from balcao.core.standing import MarkVersion, StoreMark

EngineName: TypeAlias = Literal["sqlite", "postgresql"]
ConsultationState: TypeAlias = Literal["running", "charged", "free"]


class Maker(Protocol):
    """A task that one process does for all that serve the same data."""

    def is_ours(self) -> bool:
        """Return whether it is this process's, from now on. Raises `StorageFailed`."""
        ...

    def close(self) -> None:
        """Leave it to another process."""
        ...


@dataclass(frozen=True, slots=True)
class NewAccount:
    """What an operator says of an account to be opened."""

    name: str
    plan: Plan
    mode: Mode
    certificates: bool = False
    partner_optin: bool = False
    ceiling_credits: int | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key to be issued; only its hash is stored."""

    account_id: int
    name: str
    prefix: str
    hash: bytes
    expires_ms: int | None = None
    per_minute: int | None = None
    per_day: int | None = None
    door: KeyDoor | None = None


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One ledger entry that moved credits (holds and voids move none)."""

    at_ms: int
    kind: str  # top_up, charge, post
    credits: int  # signed: charges and posts are negative
    request_id: str | None
    key_id: int | None
    operation: str | None
    rule: str | None
    origin: str | None
    reason: str | None
    client: str | None = None
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class Consultation:
    """What the ledger says of one request: was it charged, and why so much?"""

    request_id: str
    operation: str  # its path
    key_id: int | None  # None: asked in the web application
    state: ConsultationState
    held_credits: int  # now; 0 once it is settled
    charged_credits: int
    rule: str | None  # the tariff rule, or why nothing was charged; None while it runs
    origin: Origin | None
    opened_ms: int
    settled_ms: int | None  # None while it runs
    client: str | None = None  # its marks
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class ConsumptionRow:
    """What was charged on one civil day in Brasília for one operation, key, origin and client.

    And reference, where lines are wanted for each.
    """

    day: str  # YYYY-MM-DD
    operation: str
    key_id: int | None  # None: asked in the web application
    origin: Origin
    requests: int
    credits: int
    client: str | None = None
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """Whether the books agree. `complaints` is empty when they do.

    `remarks`: what is no mistake but may surprise, as a budget above a ceiling that was lowered.
    """

    accounts: int
    entries: int
    open_operations: int
    complaints: Sequence[str]
    budgets: int = 0  # those that ended, too
    remarks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Swept:
    """A stretch of the cache that was looked through for what is too old."""

    entries: int  # removed, persons' included
    people_entries: int  # removed, of natural persons
    over: bool  # that was the last stretch: the next one begins anew


@dataclass(frozen=True, slots=True)
class KeptAbout:
    """An entry of the cache in which a natural person is named; without what it says."""

    subject: str  # `core.questions.Subject`, with its variant
    uf: str  # empty where the subject has none
    asked_ms: int
    source: str


class Cache(Protocol):
    """Entries by key. May lose its last seconds in a crash, never lies.

    On disk, keys of natural persons hold neither CPF nor birth date: keyed hashes stand for them.
    """

    async def read(self, keys: Sequence[str]) -> Mapping[str, Kept]:
        """Those of the entries that there are, in one round trip.

        An entry that cannot be read counts as absent. Never raises.
        """
        ...

    def at_hand(self, keys: Sequence[str]) -> Mapping[str, Kept] | None:
        """`read` for who cannot wait, in place; None: somebody would have to be waited for."""
        ...

    def keep(self, entries: Sequence[tuple[str, Kept]]) -> None:
        """Store entries soon. An older answer never replaces a newer one. Never raises.

        What a clock that was ahead has stamped is not newer than any (`core.freshness.is_ahead`).
        """
        ...

    async def sweep(self, before_ms: int, people_before_ms: int) -> Swept:
        """Remove what is too old from the next stretch of entries, beside reads and writes.

        `people_before_ms` is for entries about natural persons. Every stretch is short; the whole
        cache is looked through once per round. Raises `StorageFailed`.
        """
        ...

    async def about(self, person: DataSubject) -> Sequence[KeptAbout]:
        """Entries about this person, and those that name them whole as a company's partner.

        Raises `StorageFailed`.
        """
        ...

    async def erase(self, person: DataSubject) -> int:
        """Remove those, and what waits to be written about them. Count. Raises `StorageFailed`.

        Other processes that have this cache open may remember them until they `forget`.
        """
        ...

    def forget(self) -> None:
        """Remember nothing that is not on disk, or about to be: entries were erased elsewhere."""
        ...

    def close(self) -> None:
        """Write what is queued and let go of the file."""
        ...


class Blobs(Protocol):
    """Receipts' bytes, by the digest of their content. What was put survives power loss."""

    async def put(self, digest: str, content: bytes) -> None:
        """Store bytes; what is there already under this digest is written anew.

        Returns only after they are durable: the record that names them comes next. A reader
        sees all of them or none. Raises `StorageFailed`.
        """
        ...

    async def get(self, digest: str) -> bytes | None:
        """The bytes. None: there are none, or not those of this digest, which is logged.

        Raises `StorageFailed` when they cannot be reached now.
        """
        ...

    def pieces(self, digest: str, size_bytes: int) -> AsyncIterator[bytes]:
        """The same in pieces of some 100 kB, for who hands them on; none, where there are none.

        Nothing is held between two of them. `size_bytes`: what there should be. The last piece
        comes only when all together are the bytes of this digest. Raises `StorageFailed`, for
        damaged ones too, which is logged.
        """
        ...

    async def delete(self, name: str) -> None:
        """Remove bytes by their digest, or a name found by `names`. Fine if there are none.

        Raises `StorageFailed`.
        """
        ...

    async def read_mark(self) -> tuple[StoreMark | None, MarkVersion | None]:
        """The mark of the desk that uses this store, and its version. Raises `StorageFailed`."""
        ...

    async def write_mark(self, mark: StoreMark, version: MarkVersion | None) -> bool:
        """Replace the mark of that version, or make the first one (None). Raises `StorageFailed`.

        False: it has another version by now, and stays.
        """
        ...

    async def mark_age_seconds(self) -> float | None:
        """How long ago the mark was written, by the store's own clock. None: there is none.

        Raises `StorageFailed`.
        """
        ...

    def names(self, before_ms: int) -> AsyncIterator[Sequence[str]]:
        """What was put before that instant, some at a time: digests, and what a crash left of
        bytes half written. Raises `StorageFailed`.
        """
        ...
