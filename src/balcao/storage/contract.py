"""Records of the desk, and the interfaces of caches and of stores of receipts.

The tests in `tests/storage` run on every engine.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import msgspec

from balcao.core.access import KeyRestrictions, Plan
from balcao.core.data_subject import DataSubject
from balcao.core.freshness import CacheEntry
from balcao.core.ledger import Origin
from balcao.core.questions import Mode
from balcao.core.store_mark import MarkVersion, StoreMark

EngineName: TypeAlias = Literal["sqlite", "postgresql"]
ConsultationState: TypeAlias = Literal["running", "charged", "free"]


class TaskLock(Protocol):
    """A lock for a task that one of the processes serving the same data does."""

    def try_acquire(self) -> bool:
        """Take the lock if it is free, and return whether this process has it.

        Raises `StorageFailed`.
        """
        ...

    def close(self) -> None:
        """Release the lock."""
        ...


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account to be opened."""

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
    restrictions: KeyRestrictions | None = None
    secret_id: str | None = None  # of the secret that made `hash`; None: the installation's first


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
    """The ledger's record of one request: its state, its charge and the reason."""

    request_id: str
    operation: str  # its path
    key_id: int | None  # None: asked in the web application
    state: ConsultationState
    held_credits: int  # 0 once it is settled
    charged_credits: int
    rule: str | None  # the tariff rule, or why nothing was charged; None while it runs
    origin: Origin | None
    opened_ms: int
    settled_ms: int | None  # None while it runs
    client: str | None = None
    reference: str | None = None


class ConsumptionRow(msgspec.Struct, frozen=True, gc=False):
    """The charges of one civil day in Brasília for one operation, key, origin and client.

    For one reference too, if rows by reference were requested.
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
    """Result of checking the books. `complaints` is empty if they agree.

    `remarks`: correct but surprising facts, such as a budget above a ceiling that was lowered.
    """

    accounts: int
    entries: int
    open_operations: int
    complaints: Sequence[str]
    budgets: int = 0  # including ended ones
    remarks: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SweepResult:
    """Result of removing expired entries from one part of the cache."""

    entries: int  # removed in total
    people_entries: int  # removed, about natural persons
    over: bool  # this was the last part: the next sweep starts a new round


@dataclass(frozen=True, slots=True)
class PersonEntry:
    """A cache entry that names a natural person, without its content."""

    subject: str  # `core.questions.Subject`, with its variant
    uf: str  # empty where the subject has none
    asked_ms: int
    source: str


class Cache(Protocol):
    """Cached answers by key. A crash may lose the last seconds of writes.

    On disk, keys of natural persons have keyed hashes in place of CPF and birth date.
    """

    async def read(self, keys: Sequence[str]) -> Mapping[str, CacheEntry]:
        """Return the entries that exist, in one round trip.

        An entry that cannot be read counts as absent. Never raises.
        """
        ...

    def read_nowait(self, keys: Sequence[str]) -> Mapping[str, CacheEntry] | None:
        """Like `read`, without I/O that blocks. None: `read` has to be awaited."""
        ...

    def keep(self, entries: Sequence[tuple[str, CacheEntry]]) -> None:
        """Store entries in the background. A newer answer is not replaced. Never raises.

        An answer stamped by a clock that was ahead counts as oldest (`core.freshness.is_ahead`).
        """
        ...

    async def sweep(self, before_ms: int, people_before_ms: int) -> SweepResult:
        """Remove expired entries from the next part of the cache, between reads and writes.

        `people_before_ms` is for entries about natural persons. Each part is short; a round covers
        the whole cache. Raises `StorageFailed`.
        """
        ...

    async def entries_about(self, person: DataSubject) -> Sequence[PersonEntry]:
        """Return the entries about a person, and those that show them unmasked as a partner.

        Raises `StorageFailed`.
        """
        ...

    async def erase(self, person: DataSubject) -> int:
        """Remove these entries, pending ones included. Return the count. Raises `StorageFailed`.

        Other processes may keep them in memory until they `forget`.
        """
        ...

    def forget(self) -> None:
        """Drop entries kept in memory after a read: another process has erased some."""
        ...

    def close(self) -> None:
        """Write the pending entries and close the file."""
        ...


class Blobs(Protocol):
    """A durable store of receipts' bytes, by the digest of their content."""

    async def put(self, digest: str, content: bytes) -> None:
        """Store bytes, replacing any under this digest.

        Returns only after they are durable, since a record that names them is committed next.
        Readers see all of them or none. Raises `StorageFailed`.
        """
        ...

    async def get(self, digest: str) -> bytes | None:
        """Return the bytes. None if they are missing, or damaged, which is logged.

        Raises `StorageFailed` if the store cannot be reached.
        """
        ...

    def pieces(self, digest: str, size_bytes: int) -> AsyncIterator[bytes]:
        """Yield the bytes in pieces of some 100 kB, for streaming; nothing if they are missing.

        No connection is held between pieces. `size_bytes`: the expected size. The last piece is
        yielded only if all pieces match the digest. Raises `StorageFailed`, also for damaged
        bytes, which is logged.
        """
        ...

    async def delete(self, name: str) -> None:
        """Remove bytes by their digest, or a name found by `names`. Idempotent.

        Raises `StorageFailed`.
        """
        ...

    async def read_mark(self) -> tuple[StoreMark | None, MarkVersion | None]:
        """Return the mark of the desk that uses this store, and the mark's version.

        Raises `StorageFailed`.
        """
        ...

    async def write_mark(self, mark: StoreMark, version: MarkVersion | None) -> bool:
        """Replace the store's ownership mark if it still has this version (None: if there is none).

        Returns whether it did. Raises `StorageFailed`.
        """
        ...

    async def mark_age_seconds(self) -> float | None:
        """Return the age of the mark by the store's own clock. None: there is no mark.

        Raises `StorageFailed`.
        """
        ...

    def names(self, before_ms: int) -> AsyncIterator[Sequence[str]]:
        """Yield pages of names stored before an instant: digests, and leftovers of cut-off writes.

        Raises `StorageFailed`.
        """
        ...
