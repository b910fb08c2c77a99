"""The desk: accounts, keys, the ledger, idempotency. One, over whichever engine.

An acknowledged change survives power loss. What is signed is done in one commit with its entry in
the audit log. What every request needs is a coroutine: a database behind a network answers when it
does. The other reads are rare, and done in place. Whatever reads raises `StorageFailed` when the
storage is out of reach.
"""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from balcao.core.access import Account, Caller, Key
from balcao.core.clock import Heard
from balcao.core.idempotency import Attempt
from balcao.core.ledger import Change, KeepReceipt, Refusal
from balcao.core.people import AT_THE_TERMINAL, Signature
from balcao.core.rate_limit import Limit, Verdict
from balcao.storage.connection import SqlConnection
from balcao.storage.contract import LedgerCheck, NewAccount, NewKey, PurgedReceipts
from balcao.storage.desk import office
from balcao.storage.desk.check import check_books
from balcao.storage.desk.clock import is_month_ahead, turn_months_back
from balcao.storage.desk.data_subjects import DataSubjects
from balcao.storage.desk.people import People
from balcao.storage.desk.reading import DeskReading
from balcao.storage.engine import Engine

# Revocation and plan changes are in force everywhere within 1 s (decisions 7.2): what is
# remembered of a key is half that old at the most.
CALLER_AGE_MAX_MS = 500
CALLERS_MAX = 10_000

# Receipts known to be recorded, about 200 bytes each. A cached certificate brings its own along
# with every delivery: looking it up on disk each time would cost half as much as the commit.
RECEIPTS_KNOWN_MAX = 32_768

_PURGE_RECEIPTS = (
    "DELETE FROM receipt WHERE receipt_id IN"
    " (SELECT receipt_id FROM receipt WHERE created_ms < ? ORDER BY created_ms LIMIT ?)"
    " RETURNING receipt_id, digest"
)


class Desk(DeskReading):
    """What a process does with the books.

    `people`: those of the web application, and the log of what is done there. `data_subjects`: what
    is kept about natural persons, to be found and erased.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.here, engine.apart)
        self.engine = engine
        self._callers: dict[bytes, tuple[int, Caller | None]] = {}
        self._recorded: set[str] = set()  # numbers of receipts
        self.people = People(engine, self._callers.clear)
        self.data_subjects = DataSubjects(engine, self._recorded.clear)

    # What every request needs.

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """Make all changes durable, or none of them.

        Returns only after they are on disk. A refusal (too few credits, key already bound)
        is an answer, not an error; it leaves other requests' changes alone. Whatever the order of
        the list, a key that is bound is told before credits that are short (decisions 9.1). Raises
        `StorageFailed` when the storage cannot write; then nothing of the list was kept.
        """
        for change in changes:
            if type(change) is KeepReceipt:
                return await self._commit_receipts(changes)
        return await self.engine.commit(changes) if changes else None

    async def _commit_receipts(self, changes: Sequence[Change]) -> Refusal | None:
        keeps = {change.receipt_id for change in changes if type(change) is KeepReceipt}
        known = keeps & self._recorded
        changes = [c for c in changes if type(c) is not KeepReceipt or c.receipt_id not in known]
        refusal = await self.engine.commit(changes) if changes else None
        if refusal is None:
            if len(self._recorded) >= RECEIPTS_KNOWN_MAX:
                self._recorded.clear()
            self._recorded |= keeps
        return refusal

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        """Commit one list outside an event loop, for the command line. Raises `StorageFailed`."""
        return self.engine.commit_now(changes)

    async def caller(self, key_hash: bytes, now_ms: int) -> Caller | None:
        """Who holds this key. At most half a second old.

        None: it is unknown or revoked, or its account is suspended.
        """
        known = self._callers.get(key_hash)
        if known is not None and 0 <= now_ms - known[0] < CALLER_AGE_MAX_MS:
            return known[1]
        caller = await self.engine.caller(key_hash)
        if len(self._callers) >= CALLERS_MAX:
            self._callers.clear()
        self._callers[key_hash] = (now_ms, caller)
        return caller

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        """Count one request against all limits of account and key, or none if one refuses."""
        return await self.engine.spend(caller, limits, now_ms)

    async def earlier(self, account_id: int, key_digest: str, now_ms: int) -> Attempt | None:
        """What is recorded under an idempotency key that has not run out."""
        return await self.engine.earlier(account_id, key_digest, now_ms)

    # The operator's side: rare, written in place.

    def create_account(
        self, new: NewAccount, now_ms: int, signed: Signature = AT_THE_TERMINAL
    ) -> Account:
        """Open an account. Raises `NameTaken`, `FormDone`, `StorageFailed`."""
        with self.engine.in_place() as connection:
            account_id = office.create_account(connection, new, now_ms, signed)
        return self.account(account_id)

    def create_key(self, new: NewKey, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> Key:
        """Issue a key. Raises `FormDone`, `StorageFailed`."""
        with self.engine.in_place() as connection:
            office.create_key(connection, new, now_ms, signed)
        return self.keys(new.account_id)[-1]

    def revoke_key(self, key_id: int, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> bool:
        """Revoke a key for ever; in force everywhere within a second. False: no such key.

        One that is revoked already stays so, and nothing is logged. Raises `FormDone`,
        `StorageFailed`.
        """
        with self.engine.in_place() as connection:
            known = office.revoke_key(connection, key_id, now_ms, signed)
        self._callers.clear()
        return known

    def unnamed(self, digests: Collection[str]) -> Sequence[str]:
        """Those of the digests that no receipt names."""
        return self._unnamed(self.engine.here, digests)

    def check(self) -> LedgerCheck:
        """Add everything up again: balances = entries, holds = open operations."""
        with self.engine.from_end_to_end() as connection:
            return check_books(connection)

    # A start, and what is done now and then beside the requests.

    def recover(self, now_ms: int) -> int:
        """Give back the holds of processes that died; called once, before serving. Count."""
        return self.engine.recover(now_ms)

    async def recover_others(self, now_ms: int) -> int:
        """The same while serving, for other processes on the same database that died. Count.

        Where one process has the database to itself there are none. Raises `StorageFailed`.
        """
        return await self.engine.recover_others(now_ms)

    async def database_clock(self, steady_ms: Callable[[], int]) -> Heard | None:
        """What the database's own clock says beside the steady one. None: it has none of its own.

        Raises `StorageFailed`.
        """
        return await self.engine.database_clock(steady_ms)

    def latest_instant(self) -> int | None:
        """About when something was committed last, by the clock of whoever did. None: never."""
        return self.engine.latest_instant()

    def doubt(self, ahead_ms: int) -> None:
        """By how much the time may be ahead: instants in the books are that much earlier.

        Else a clock on trial would be right for whoever starts next (decision 0025).
        """
        self.engine.doubt(ahead_ms)

    async def turn_months_back(self, now_ms: int) -> int:
        """Bring accounts back from months that are not yet: the clock was ahead. Count.

        Their month's credits are added up anew. Raises `StorageFailed`.
        """
        if not is_month_ahead(self.engine.here, now_ms):
            return 0
        return await self.engine.in_turn(lambda connection: turn_months_back(connection, now_ms))

    async def forget_limits(self, now_ms: int) -> None:
        """Begin the limits anew that are not empty at this instant: the clock was ahead.

        Raises `StorageFailed`.
        """
        await self.engine.forget_limits(now_ms)

    async def keep_room(self) -> None:
        """Have some room on disk for when it is full; free what can be when it is.

        Where the storage is another's, nothing. Raises `StorageFailed`.
        """
        await self.engine.keep_room()

    async def heartbeat(self, now_ms: int) -> None:
        """Make something small durable, to know that it can be done. Raises `StorageFailed`."""
        await self.engine.heartbeat(now_ms)

    async def surely_past(self, now_ms: int) -> int:
        """This instant, or the database's own where that is earlier.

        Of many nodes one may have a wrong clock: what it took for old, all would lose. Raises
        `StorageFailed`.
        """
        return await self.engine.surely_past(now_ms)

    async def purge(self, now_ms: int) -> int:
        """Remove some idempotency records that have run out. Count; 0: there are none left.

        Raises `StorageFailed`.
        """
        return await self.engine.purge(now_ms)

    async def purge_receipts(self, before_ms: int, limit: int) -> PurgedReceipts:
        """Remove up to `limit` receipts recorded before that instant, the oldest first.

        Belongs to the process that serves, and `before_ms` to a time from which no cache entry is
        left: else a receipt that is delivered again at this moment may lose its bytes. Raises
        `StorageFailed`.
        """

        def work(connection: SqlConnection) -> tuple[Sequence[Any], Sequence[str]]:
            with connection.transaction():
                gone = connection.execute(_PURGE_RECEIPTS, (before_ms, limit)).fetchall()
                return gone, self._unnamed(connection, {digest for _, digest in gone})

        gone, free = await self.engine.in_turn(work)
        self._recorded.difference_update(number for number, _ in gone)
        return PurgedReceipts(len(gone), sorted(free))

    def close(self) -> None:
        """Finish what is queued and let go of the files or connections."""
        self.engine.close()

    def _unnamed(self, connection: SqlConnection, digests: Collection[str]) -> Sequence[str]:
        sql = self.engine.queries["named_digests"]
        named = {digest for (digest,) in connection.execute(sql, (json.dumps(list(digests)),))}
        return [digest for digest in digests if digest not in named]
