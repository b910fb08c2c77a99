"""The desk: accounts, keys, the ledger, idempotency. One, over whichever engine.

An acknowledged change survives power loss. What is signed is done in one commit with its entry in
the audit log. What every request needs is a coroutine: a database behind a network answers when it
does. The other reads are rare, and done in place. Whatever reads raises `StorageFailed` when the
storage is out of reach.
"""

import json
from collections.abc import Callable, Collection, Sequence
from functools import partial

from balcao.core.access import Account, Caller, Key, KeyDoor
from balcao.core.budgets import OverBudget, OwnerKind
from balcao.core.ledger import Change, KeepReceipt, Refusal
from balcao.core.people import AT_THE_TERMINAL, Signature
from balcao.core.rate_limit import Limit, Verdict
from balcao.storage.connection import SqlConnection
from balcao.storage.contract import LedgerCheck, NewAccount, NewKey
from balcao.storage.desk import office
from balcao.storage.desk.availability import Availability
from balcao.storage.desk.batch_files import BatchFiles
from balcao.storage.desk.batches import Batches
from balcao.storage.desk.budgets import Budgets
from balcao.storage.desk.check import check_books
from balcao.storage.desk.clock import is_month_ahead, turn_months_back
from balcao.storage.desk.data_subjects import DataSubjects
from balcao.storage.desk.exports import StoredExports
from balcao.storage.desk.extensions import Extensions
from balcao.storage.desk.folding import DailyTotals
from balcao.storage.desk.jobs import Jobs
from balcao.storage.desk.people import People
from balcao.storage.desk.reading import DeskReading
from balcao.storage.desk.receipt_marks import ReceiptMarks
from balcao.storage.desk.receipts import purge
from balcao.storage.desk.seats import Seats
from balcao.storage.engine import Engine, ToldPaid
from balcao.storage.turns import Told

# Revocation and plan changes are in force everywhere within 1 s (contract 7.2): what is
# remembered of a key is half that old at the most.
CALLER_AGE_MAX_MS = 500
CALLERS_MAX = 10_000

# Receipts known to be recorded, about 200 bytes each. A cached certificate brings its own along
# with every delivery: looking it up on disk each time would cost half as much as the commit.
RECEIPTS_KNOWN_MAX = 32_768


class Desk(DeskReading):
    """What a process does with the books.

    `people`: those of the web application, and the log of what is done there. `seats`: operators'
    places in accounts. `extensions`: acts that extend certificates. `jobs`: what commits
    left to be done. `batches`: of lookups; `batch_files`: the room they take.
    `budgets`: ceilings of an account's parts.
    `totals`: what was charged, by day. `exports`: files that take long to write.
    `availability`: how well sources have served. `receipt_marks`: what this desk shares with the
    store of its receipts.
    `data_subjects`: what is kept about natural persons, to be found and erased.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.here, engine.apart)
        self.engine = engine
        self._callers: dict[bytes, tuple[int, Caller | None]] = {}
        self._recorded: set[str] = set()  # numbers of receipts
        self.people = People(engine, self._callers.clear)
        self.seats = Seats(engine)
        self.extensions = Extensions(engine)
        self.jobs = Jobs(engine)
        self.batches = Batches(engine)
        self.batch_files = BatchFiles(engine)
        self.budgets = Budgets(engine)
        self.totals = DailyTotals(engine)
        self.exports = StoredExports(engine)
        self.availability = Availability(engine)
        self.receipt_marks = ReceiptMarks(engine)
        self.data_subjects = DataSubjects(engine, self._recorded.clear)
        # Who counts what budgets refuse puts itself here: it hears whose budget it was.
        self.over_budget: Callable[[OwnerKind], None] = lambda owner_kind: None
        engine.on_refused(self._refused)
        self.consumption = self.totals.consumption
        # What is the engine's alone: its promises are told there.
        self.commit_now = engine.commit_now
        self.earlier = engine.earlier
        self.received = engine.received
        self.spend = engine.spend
        self.recover = engine.recover
        self.recover_others = engine.recover_others
        self.database_clock = engine.database_clock
        self.latest_instant = engine.latest_instant
        self.doubt = engine.doubt
        self.surely_past = engine.surely_past
        self.forget_limits = engine.forget_limits
        self.keep_room = engine.keep_room
        self.state = engine.state
        self.heartbeat = engine.heartbeat
        self.purge = engine.purge
        self.close = engine.close

    # What every request needs.

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """Make all changes durable, or none of them.

        Returns only after they are on disk. A refusal (too few credits, key already bound)
        is an answer, not an error; it leaves other requests' changes alone. Whatever the order of
        the list, a key that is bound is told before credits that are short (contract 9.1). Raises
        `StorageFailed` when the storage cannot write; then nothing of the list was kept.
        """
        keeps, changes = self._unknown(changes)
        refusal = await self.engine.commit(changes) if changes else None
        if keeps and refusal is None:
            self._note(keeps)
        return refusal

    def tell(self, changes: Sequence[Change], told: Told[Refusal | None]) -> None:
        """`commit` for who cannot wait: `told` hears the outcome, an error as it is, later.

        There must be a change that is no receipt's.
        """
        if len(changes) > 1:
            keeps, changes = self._unknown(changes)
            if keeps:
                told = partial(self._told, keeps, told)
        self.engine.tell(changes, told)

    def pay(
        self,
        caller: Caller,
        limits: Sequence[Limit],
        now_ms: int,
        changes: Sequence[Change],
        told: ToldPaid,
    ) -> None:
        """Count a request and, if no limit refuses, `tell`. Without changes it is only counted."""
        if len(changes) > 1:
            keeps, changes = self._unknown(changes)
            if keeps:
                told = partial(self._told_paid, keeps, told)
        self.engine.pay(caller, limits, now_ms, changes, told)

    def _told_paid(
        self,
        keeps: set[str],
        told: ToldPaid,
        verdicts: Sequence[Verdict] | None,
        outcome: Refusal | Exception | None,
    ) -> None:
        if verdicts is not None and outcome is None:
            self._note(keeps)
        told(verdicts, outcome)

    def _refused(self, outcome: Refusal | Exception | None) -> None:
        if type(outcome) is OverBudget:
            self.over_budget(outcome.owner_kind)

    def _told(
        self,
        keeps: set[str],
        told: Told[Refusal | None],
        outcome: Refusal | Exception | None,
    ) -> None:
        if outcome is None:
            self._note(keeps)
        told(outcome)

    def _unknown(self, changes: Sequence[Change]) -> tuple[set[str], Sequence[Change]]:
        """Receipts that are not known to be recorded; the list without the others."""
        keeps: set[str] = set()
        others: list[Change] = []
        for change in changes:
            if type(change) is KeepReceipt:
                if change.receipt_id in self._recorded:
                    continue
                keeps.add(change.receipt_id)
            others.append(change)
        return keeps, others

    def _note(self, recorded: set[str]) -> None:
        if len(self._recorded) >= RECEIPTS_KNOWN_MAX:
            self._recorded.clear()
        self._recorded |= recorded

    def has_recorded(self, receipt_id: str) -> bool:
        """Whether this receipt is known to be recorded: then nobody need say it again."""
        return receipt_id in self._recorded

    def remembered(self, key_hash: bytes, now_ms: int) -> Caller | None:
        """What `caller` knows without asking anybody; None: ask it."""
        known = self._callers.get(key_hash)
        if known is None or not 0 <= now_ms - known[0] < CALLER_AGE_MAX_MS:
            return None
        return known[1]

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

    async def caller_for(
        self, account_id: int, key_id: int | None, user_id: int | None, now_ms: int
    ) -> Caller | None:
        """On whose behalf something goes on that this key began, or this user.

        None: the key was revoked or has expired, or the account is suspended.
        """
        if key_id is not None:
            wanted = "SELECT hash FROM api_key WHERE key_id = ? AND account_id = ?"
            rows = await self.engine.in_turn(
                lambda here: here.execute(wanted, (key_id, account_id)).fetchall()
            )
            caller = await self.caller(bytes(rows[0][0]), now_ms) if rows else None
            expired = caller and caller.expires_ms is not None and caller.expires_ms <= now_ms
            return None if expired else caller
        account = self.account(account_id)
        return None if account.suspended_ms else account.caller(user_id)

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

    def change_door(
        self,
        key_id: int,
        door: KeyDoor | None,
        now_ms: int,
        signed: Signature = AT_THE_TERMINAL,
    ) -> bool:
        """What a key may be used for from now on; in force everywhere within a second.

        False: no such key. Where nothing changes nothing is logged. Raises `FormDone`,
        `StorageFailed`.
        """
        with self.engine.in_place() as connection:
            known = office.change_door(connection, key_id, door, now_ms, signed)
        self._callers.clear()
        return known

    def revoke_key(self, key_id: int, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> bool:
        """Revoke a key for ever; in force everywhere within a second. False: no such key.

        One that is revoked already stays so, and nothing is logged. Raises `FormDone`,
        `StorageFailed`.
        """
        with self.engine.in_place() as connection:
            known = office.revoke_key(connection, key_id, now_ms, signed)
        self._callers.clear()
        return known

    def check(self) -> LedgerCheck:
        """Add everything up again: balances = entries, holds = open operations."""
        with self.engine.from_end_to_end() as connection:
            return check_books(connection)

    # Now and then, beside the requests.

    async def turn_months_back(self, now_ms: int) -> int:
        """Bring accounts back from months that are not yet: the clock was ahead. Count.

        Their month's credits are added up anew. Raises `StorageFailed`.
        """
        if not is_month_ahead(self.engine.here, now_ms):
            return 0
        return await self.engine.in_turn(lambda connection: turn_months_back(connection, now_ms))

    async def purge_receipts(self, before_ms: int, limit: int, now_ms: int) -> int:
        """Remove up to `limit` receipts recorded before that instant, the oldest first. Count.

        In the same commit it leaves a job to delete the bytes of each, if nobody names them then.
        Belongs to the process that serves, and `before_ms` to a time from which no cache entry is
        left: else a receipt that is delivered again at this moment may lose its bytes. Raises
        `StorageFailed`.
        """
        gone = await self.engine.in_turn(
            lambda connection: purge(connection, before_ms, limit, now_ms)
        )
        self._recorded.difference_update(gone)
        return len(gone)

    async def is_unnamed(self, digest: str) -> bool:
        """Whether no receipt names this digest."""
        return bool(await self.engine.in_turn(lambda here: self._unnamed(here, [digest])))

    def unnamed(self, digests: Collection[str]) -> Sequence[str]:
        """Those of the digests that no receipt names."""
        return self._unnamed(self.engine.here, digests)

    def _unnamed(self, connection: SqlConnection, digests: Collection[str]) -> Sequence[str]:
        sql = self.engine.queries["named_digests"]
        named = {digest for (digest,) in connection.execute(sql, (json.dumps(list(digests)),))}
        return [digest for digest in digests if digest not in named]
