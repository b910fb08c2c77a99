"""What every storage promises. One suite, `tests/storage`, runs on every engine."""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from balcao.core.access import Account, Caller, Key, Plan
from balcao.core.clock import Heard
from balcao.core.data_subject import DataSubject
from balcao.core.freshness import Kept
from balcao.core.idempotency import Attempt
from balcao.core.ledger import Change, Origin, Refusal
from balcao.core.people import AT_THE_TERMINAL, Signature
from balcao.core.questions import Mode
from balcao.core.rate_limit import Limit, Verdict
from balcao.core.receipts import Receipt
from balcao.storage.data_subjects import DataSubjects
from balcao.storage.people import People
from balcao.storage.shared.jobs import Jobs

ConsultationState: TypeAlias = Literal["running", "charged", "free"]


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


@dataclass(frozen=True, slots=True)
class Entry:
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


@dataclass(frozen=True, slots=True)
class ConsumptionRow:
    """What was charged on one civil day in Brasília for one operation, key and origin."""

    day: str  # YYYY-MM-DD
    operation: str
    key_id: int | None  # None: asked in the web application
    origin: Origin
    requests: int
    credits: int


@dataclass(frozen=True, slots=True)
class LedgerCheck:
    """Whether the books agree. `complaints` is empty when they do."""

    accounts: int
    entries: int
    open_operations: int
    complaints: Sequence[str]


class Desk(Protocol):
    """Accounts, keys, the ledger, idempotency. An acknowledged change survives power loss.

    What is signed is done in one commit with its entry in the audit log. What every request
    needs is a coroutine: a database behind a network answers when it does. The other reads are
    rare, and done in place. Whatever reads raises `StorageFailed` when the storage is out of reach.
    """

    @property
    def people(self) -> People:
        """The people of the web application, and the log of what is done there."""
        ...

    @property
    def jobs(self) -> Jobs:
        """What commits left to be done."""
        ...

    @property
    def data_subjects(self) -> DataSubjects:
        """What is kept about natural persons, to be found and erased."""
        ...

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """Make all changes durable, or none of them.

        Returns only after they are on disk. A refusal (too few credits, key already bound)
        is an answer, not an error; it leaves other requests' changes alone. Whatever the order of
        the list, a key that is bound is told before credits that are short (decisions 9.1). Raises
        `StorageFailed` when the storage cannot write; then nothing of the list was kept.
        """
        ...

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        """Commit one list outside an event loop, for the command line. Raises `StorageFailed`."""
        ...

    async def caller(self, key_hash: bytes, now_ms: int) -> Caller | None:
        """Who holds this key. At most half a second old.

        None: it is unknown or revoked, or its account is suspended.
        """
        ...

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        """Count one request against all limits of account and key, or none if one refuses."""
        ...

    async def earlier(self, account_id: int, key_digest: str, now_ms: int) -> Attempt | None:
        """What is recorded under an idempotency key that has not run out."""
        ...

    def operation(self, account_id: int, request_id: str) -> Consultation | None:
        """What became of a request of this account.

        None: it held and cost nothing, or it was another account's.
        """
        ...

    def consumption(self, account_id: int, from_ms: int, to_ms: int) -> Sequence[ConsumptionRow]:
        """What was charged in [from, to), by day, operation, key and origin, in this order.

        Requests that cost nothing are not counted. The credits add up to those of the ledger's
        entries. Reads every entry of the period: a second for a million of them. May be called
        in any thread.
        """
        ...

    def receipt(self, receipt_id: str) -> Receipt | None:
        """The receipt of this number, whoever may fetch it, and what it is about."""
        ...

    def unnamed(self, digests: Collection[str]) -> Sequence[str]:
        """Those of the digests that no receipt names."""
        ...

    def account(self, account_id: int) -> Account:
        """One account as it is now, at the price of one row. Raises `LookupError`."""
        ...

    def accounts(self) -> Sequence[Account]:
        """All accounts, by number."""
        ...

    def keys(self, account_id: int) -> Sequence[Key]:
        """An account's keys, newest last."""
        ...

    def create_account(
        self, new: NewAccount, now_ms: int, signed: Signature = AT_THE_TERMINAL
    ) -> Account:
        """Open an account. Raises `NameTaken`, `FormDone`, `StorageFailed`."""
        ...

    def create_key(self, new: NewKey, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> Key:
        """Issue a key. Raises `FormDone`, `StorageFailed`."""
        ...

    def revoke_key(self, key_id: int, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> bool:
        """Revoke a key for ever; in force everywhere within a second. False: no such key.

        One that is revoked already stays so, and nothing is logged. Raises `FormDone`,
        `StorageFailed`.
        """
        ...

    def entries(self, account_id: int, from_ms: int, to_ms: int) -> Iterable[Entry]:
        """Entries that moved credits in [from, to), oldest first."""
        ...

    def check(self) -> LedgerCheck:
        """Add everything up again: balances = entries, holds = open operations."""
        ...

    def recover(self, now_ms: int) -> int:
        """Give back the holds of processes that died; called once, before serving. Count."""
        ...

    async def recover_others(self, now_ms: int) -> int:
        """The same while serving, for other processes on the same database that died. Count.

        Where one process has the database to itself there are none. Raises `StorageFailed`.
        """
        ...

    async def database_clock(self, steady_ms: Callable[[], int]) -> Heard | None:
        """What the database's own clock says beside the steady one. None: it has none of its own.

        Raises `StorageFailed`.
        """
        ...

    def latest_instant(self) -> int | None:
        """About when something was committed last, by the clock of whoever did. None: never."""
        ...

    def doubt(self, ahead_ms: int) -> None:
        """By how much the time may be ahead: instants in the books are that much earlier.

        Else a clock on trial would be right for whoever starts next (decision 0025).
        """
        ...

    async def turn_months_back(self, now_ms: int) -> int:
        """Bring accounts back from months that are not yet: the clock was ahead. Count.

        Their month's credits are added up anew. Raises `StorageFailed`.
        """
        ...

    async def forget_limits(self, now_ms: int) -> None:
        """Begin the limits anew that are not empty at this instant: the clock was ahead.

        Raises `StorageFailed`.
        """
        ...

    async def keep_room(self) -> None:
        """Have some room on disk for when it is full; free what can be when it is.

        Where the storage is another's, nothing. Raises `StorageFailed`.
        """
        ...

    async def heartbeat(self, now_ms: int) -> None:
        """Make something small durable, to know that it can be done. Raises `StorageFailed`."""
        ...

    async def surely_past(self, now_ms: int) -> int:
        """This instant, or the database's own where that is earlier.

        Of many nodes one may have a wrong clock: what it took for old, all would lose. Raises
        `StorageFailed`.
        """
        ...

    async def purge(self, now_ms: int) -> int:
        """Remove some idempotency records that have run out. Count; 0: there are none left.

        Raises `StorageFailed`.
        """
        ...

    async def purge_receipts(self, before_ms: int, limit: int, now_ms: int) -> int:
        """Remove up to `limit` receipts recorded before that instant, the oldest first. Count.

        In the same commit it leaves a job to delete the bytes of each, if nobody names them then.
        Belongs to the process that serves, and `before_ms` to a time from which no cache entry is
        left: else a receipt that is delivered again at this moment may lose its bytes. Raises
        `StorageFailed`.
        """
        ...

    def close(self) -> None:
        """Finish what is queued and let go of the files."""
        ...


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

    def keep(self, entries: Sequence[tuple[str, Kept]]) -> None:
        """Store entries soon. An older answer never replaces a newer one. Never raises."""
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

    def names(self, before_ms: int) -> AsyncIterator[Sequence[str]]:
        """What was put before that instant, some at a time: digests, and what a crash left of
        bytes half written. Raises `StorageFailed`.
        """
        ...
