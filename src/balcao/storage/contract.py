"""What every storage promises. One suite, `tests/storage`, runs on every engine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from balcao.core.access import Account, Caller, Key, Plan
from balcao.core.freshness import Kept
from balcao.core.idempotency import Attempt
from balcao.core.ledger import Change, Refusal
from balcao.core.questions import Mode
from balcao.core.rate_limit import Limit, Verdict


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
class LedgerCheck:
    """Whether the books agree. `complaints` is empty when they do."""

    accounts: int
    entries: int
    open_operations: int
    complaints: Sequence[str]


class Desk(Protocol):
    """Accounts, keys, the ledger, idempotency. An acknowledged change survives power loss."""

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """Make all changes durable, or none of them.

        Returns only after they are on disk. A refusal (too few credits, key already bound)
        is an answer, not an error; it leaves other requests' changes alone. Raises
        `StorageFailed` when the storage cannot write; then nothing of the list was kept.
        """
        ...

    def caller(self, key_hash: bytes, now_ms: int) -> Caller | None:
        """Who holds this key, or None: unknown or revoked. At most half a second old."""
        ...

    def spend(self, caller: Caller, limits: Sequence[Limit], now_ms: int) -> Sequence[Verdict]:
        """Count one request against all limits of account and key, or none if one refuses."""
        ...

    def earlier(self, account_id: int, key_digest: str, now_ms: int) -> Attempt | None:
        """What is recorded under an idempotency key that has not run out."""
        ...

    def accounts(self) -> Sequence[Account]:
        """All accounts, by number."""
        ...

    def keys(self, account_id: int) -> Sequence[Key]:
        """An account's keys, newest last."""
        ...

    def create_account(self, new: NewAccount, now_ms: int) -> Account:
        """Open an account. Raises `NameTaken`."""
        ...

    def create_key(self, new: NewKey, now_ms: int) -> Key:
        """Issue a key."""
        ...

    def revoke_key(self, key_id: int, now_ms: int) -> bool:
        """Revoke a key for ever; in force everywhere within a second. False: no such key."""
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

    async def heartbeat(self, now_ms: int) -> None:
        """Make something small durable, to know that it can be done. Raises `StorageFailed`."""
        ...

    async def purge(self, now_ms: int) -> int:
        """Remove some idempotency records that have run out. Count; 0: there are none left.

        Raises `StorageFailed`.
        """
        ...

    def close(self) -> None:
        """Finish what is queued and let go of the files."""
        ...


class Cache(Protocol):
    """Entries by key. May lose its last seconds in a crash, never lies."""

    def read(self, key: str) -> Kept | None:
        """The entry, or None. An entry that cannot be read counts as absent."""
        ...

    def keep(self, entries: Sequence[tuple[str, Kept]]) -> None:
        """Store entries soon. An older answer never replaces a newer one. Never raises."""
        ...

    def close(self) -> None:
        """Write what is queued and let go of the file."""
        ...
