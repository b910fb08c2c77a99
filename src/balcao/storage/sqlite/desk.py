"""The desk on SQLite: accounts, keys, ledger, idempotency. Promises: `storage.contract.Desk`."""

import asyncio
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw

from balcao.core.access import Account, Caller, Key
from balcao.core.clock import Heard
from balcao.core.idempotency import Attempt
from balcao.core.ledger import Change, KeepReceipt, Refusal
from balcao.core.people import AT_THE_TERMINAL, Signature
from balcao.core.rate_limit import Limit, Verdict, spend
from balcao.core.tariff import INTERRUPTED
from balcao.errors import StorageFailed
from balcao.storage.ballast import Ballast
from balcao.storage.batch import Outcome, Row
from balcao.storage.connection import Connection
from balcao.storage.contract import LedgerCheck, NewAccount, NewKey, PurgedReceipts
from balcao.storage.desk import office
from balcao.storage.desk.check import check_books
from balcao.storage.desk.clock import is_month_ahead, turn_months_back
from balcao.storage.desk.data_subjects import SharedDataSubjects
from balcao.storage.desk.people import SharedPeople
from balcao.storage.desk.reading import EARLIER_COLUMNS, Reading, attempt_of
from balcao.storage.moved import IN_SQLITE, check_here
from balcao.storage.pepper import check_pepper
from balcao.storage.sqlite import receipts
from balcao.storage.sqlite.connection import SqliteConnection, opened_apart
from balcao.storage.sqlite.files import connect, migrate
from balcao.storage.sqlite.writer import HEARTBEAT, Job, Writer, write

T = TypeVar("T")

# Revocation and plan changes are in force everywhere within 1 s (decisions 7.2): what is
# remembered of a key is half that old at the most.
CALLER_AGE_MAX_MS = 500
CALLERS_MAX = 10_000

# Rate limits are counted in memory and written behind, with whatever commit comes next.
LIMITS_WRITTEN_EVERY_MS = 1_000
BUCKETS_MAX = 100_000

# Receipts known to be recorded, about 200 bytes each. A cached certificate brings its own along
# with every delivery: looking it up on disk each time would cost half as much as the commit.
RECEIPTS_KNOWN_MAX = 32_768

_CALLER = (
    "SELECT a.account_id, k.key_id, a.plan, a.mode, a.certificates, a.partner_optin,"
    " k.expires_ms, k.per_minute, k.per_day"
    " FROM api_key AS k JOIN account AS a USING (account_id)"
    " WHERE k.hash = ? AND k.revoked_ms IS NULL AND a.suspended_ms IS NULL"
)
_EARLIER = (
    f"SELECT {EARLIER_COLUMNS} FROM idempotency"  # noqa: S608 - columns of ours
    " WHERE account_id = ? AND key_digest = ? AND expires_ms > ?"
)
# A disk with less room than this is full.
ROOM_BYTES_MIN = 1_000_000

_PURGE = (
    "DELETE FROM idempotency WHERE rowid IN"
    " (SELECT rowid FROM idempotency WHERE expires_ms <= ? LIMIT 1000) RETURNING 1"
)


class SqliteDesk(Reading):
    """One file, and two connections to it.

    The writer's belongs to its thread. The other is used in place, on the event loop's thread:
    for reading, and for what operators and the start of a process write now and then. Both are
    shared with `people`. `pepper` makes sure that it is the one with which the file's keys were
    hashed; raises `PepperDiffers`.
    """

    def __init__(
        self,
        path: Path,
        observe_batch: Callable[[int], None] = lambda size: None,
        *,
        pepper: bytes | None = None,
        ballast: Ballast | None = None,
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        writing = connect(path, synchronous="FULL")
        check_here(writing, catalogue=IN_SQLITE)
        migrate(writing, "desk")
        if pepper is not None:
            check_pepper(writing, pepper, parameter="?")
        self._here = connect(path, synchronous="FULL")
        super().__init__(SqliteConnection(self._here), partial(opened_apart, path))
        self._folder = path.parent
        self._ballast = ballast or Ballast(path.parent)
        self._writer = Writer(writing, self._ballast)
        self._observe_batch = observe_batch
        self._waiting: list[tuple[Sequence[Change], asyncio.Future[Refusal | None]]] = []
        self._writing = False
        self._callers: dict[bytes, tuple[int, Caller | None]] = {}
        full: Any = self._in_place.execute("SELECT bucket, empty_at_ms FROM rate_limit").fetchall()
        self._buckets: dict[str, float] = dict(full)
        self._dirty_buckets: set[str] = set()
        self._limits_written_ms = 0
        self._now_ms = 0  # the last request's
        self._doubt_ms = 0
        self._recorded: set[str] = set()  # numbers of receipts
        self.people = SharedPeople(
            self._in_place, partial(opened_apart, path), self._in_turn, self._callers.clear
        )
        self.data_subjects = SharedDataSubjects(
            partial(opened_apart, path), self._in_turn, self._recorded.clear
        )

    # Changes: everything that arrives during a commit goes into the next one.

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """See the contract."""
        for change in changes:
            if type(change) is KeepReceipt and change.receipt_id in self._recorded:
                changes = [other for other in changes if other is not change]
        if not changes:
            return None
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Refusal | None] = loop.create_future()
        self._waiting.append((changes, future))
        if not self._writing:
            self._writing = True
            # After the requests that are being read in this very turn of the loop.
            loop.call_soon(self._hand_over, loop)
        return await future

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._waiting = self._waiting, []
        self._observe_batch(len(batch))

        def done(outcomes: Sequence[Outcome]) -> None:
            try:
                loop.call_soon_threadsafe(self._resolve, loop, batch, outcomes)
            except RuntimeError:  # the loop is closed: nobody waits any more
                self._writing = False

        job = Job([changes for changes, _ in batch], done, *self._now_and_then())
        outcomes = self._writer.at_once(job)
        if outcomes is None:
            self._writer.submit(job)
        else:
            self._resolve(loop, batch, outcomes)

    def _resolve(
        self,
        loop: asyncio.AbstractEventLoop,
        batch: Sequence[tuple[Sequence[Change], asyncio.Future[Refusal | None]]],
        outcomes: Sequence[Outcome],
    ) -> None:
        if self._waiting:
            self._hand_over(loop)
        else:
            self._writing = False
        for (changes, future), outcome in zip(batch, outcomes, strict=True):
            if outcome is None:
                self._note_receipts(changes)
            if future.done():  # the caller went away; what was committed stays
                continue
            if isinstance(outcome, Exception):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

    def _note_receipts(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if type(change) is KeepReceipt:
                if len(self._recorded) >= RECEIPTS_KNOWN_MAX:
                    self._recorded.clear()
                self._recorded.add(change.receipt_id)

    async def _in_turn(self, work: Callable[[Connection], T]) -> T:
        return await self._writer.in_turn(lambda connection: work(SqliteConnection(connection)))

    # Callers, limits, answers under their keys.

    async def caller(self, key_hash: bytes, now_ms: int) -> Caller | None:
        """See the contract."""
        known = self._callers.get(key_hash)
        if known is not None and 0 <= now_ms - known[0] < CALLER_AGE_MAX_MS:
            return known[1]
        row: Any = self._in_place.execute(_CALLER, (key_hash,)).fetchone()
        caller = None if row is None else _caller(row)
        if len(self._callers) >= CALLERS_MAX:
            self._callers.clear()
        self._callers[key_hash] = (now_ms, caller)
        return caller

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        """See the contract."""
        buckets = self._buckets
        verdicts: list[Verdict] = []
        names: list[str] = []
        allowed = True
        for limit in limits:
            owner = caller.key_id if limit.of_key else caller.account_id
            name = f"{limit.name}:{owner}"
            verdict = spend(limit, buckets.get(name, 0.0), now_ms)
            allowed = allowed and verdict.allowed
            names.append(name)
            verdicts.append(verdict)
        if allowed:
            if len(buckets) >= BUCKETS_MAX:
                self._forget_empty_buckets(now_ms)
                buckets = self._buckets
            for name, verdict in zip(names, verdicts, strict=True):
                buckets[name] = verdict.empty_at_ms
            self._dirty_buckets.update(names)
        else:
            for name, verdict in zip(names, verdicts, strict=True):
                if not verdict.allowed:  # what it was, unless the clock was set back
                    buckets[name] = verdict.empty_at_ms
        self._now_ms = now_ms
        return verdicts

    async def earlier(self, account_id: int, key_digest: str, now_ms: int) -> Attempt | None:
        """See the contract."""
        row = self._in_place.execute(_EARLIER, (account_id, key_digest, now_ms)).fetchone()
        return None if row is None else attempt_of(row)

    def _now_and_then(self) -> tuple[Sequence[tuple[str, float]], int | None]:
        """What goes with a commit once a second: limits, and the instant."""
        if abs(self._now_ms - self._limits_written_ms) < LIMITS_WRITTEN_EVERY_MS:
            return (), None
        self._limits_written_ms = self._now_ms
        return self._take_dirty_buckets(), self._now_ms - self._doubt_ms

    def _take_dirty_buckets(self) -> Sequence[tuple[str, float]]:
        dirty, self._dirty_buckets = self._dirty_buckets, set()
        return [(name, self._buckets[name]) for name in dirty if name in self._buckets]

    def _forget_empty_buckets(self, now_ms: int) -> None:
        self._buckets = {name: at for name, at in self._buckets.items() if at > now_ms}

    # The operator's side: rare, written in place.

    def create_account(
        self, new: NewAccount, now_ms: int, signed: Signature = AT_THE_TERMINAL
    ) -> Account:
        """See the contract."""
        with _writing_in_place():
            account_id = office.create_account(self._in_place, new, now_ms, signed)
        return self.account(account_id)

    def create_key(self, new: NewKey, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> Key:
        """See the contract."""
        with _writing_in_place():
            office.create_key(self._in_place, new, now_ms, signed)
        return self.keys(new.account_id)[-1]

    def revoke_key(self, key_id: int, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> bool:
        """See the contract."""
        with _writing_in_place():
            known = office.revoke_key(self._in_place, key_id, now_ms, signed)
        self._callers.clear()
        return known

    def unnamed(self, digests: Collection[str]) -> Sequence[str]:
        """See the contract."""
        return receipts.unnamed(self._here, digests)

    def check(self) -> LedgerCheck:
        """See the contract."""
        return check_books(self._here, "BEGIN")

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        """See the contract."""
        try:
            outcome = write(self._here, [changes])[0]
        except apsw.Error as error:
            raise StorageFailed(type(error).__name__) from error
        assert not isinstance(outcome, Exception)
        return outcome

    def recover(self, now_ms: int) -> int:
        """See the contract."""
        with _writing_in_place(), self._here:
            rows = self._in_place.execute(
                "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change,"
                " held_change, request_id, key_id, operation, rule)"
                " SELECT o.account_id, ?, e.month, 'void', 0, -o.credits, o.request_id, e.key_id,"
                " o.operation, ? FROM open_operation AS o"
                " JOIN ledger_entry AS e ON e.request_id = o.request_id"
                " AND (e.kind IN ('post', 'void')) = 0 RETURNING entry_id",
                (now_ms, INTERRUPTED),
            ).fetchall()
            self._in_place.execute("DELETE FROM open_operation")
            self._in_place.execute("UPDATE idempotency SET state = 'died' WHERE state = 'running'")
        return len(rows)

    async def recover_others(self, now_ms: int) -> int:
        """See the contract."""
        return 0  # the folder's lock keeps others away

    # In the writer's thread, in its turn: these may wait for a busy file.

    async def database_clock(self, steady_ms: Callable[[], int]) -> Heard | None:
        """See the contract. It is the system's."""
        return None

    def latest_instant(self) -> int | None:
        """See the contract. To the second: it is written with the limits."""
        row: Any = self._in_place.execute("SELECT at_ms FROM heartbeat").fetchone()
        return None if row is None else row[0]

    def doubt(self, ahead_ms: int) -> None:
        """See the contract."""
        self._doubt_ms = ahead_ms

    async def turn_months_back(self, now_ms: int) -> int:
        """See the contract."""
        if not is_month_ahead(self._in_place, now_ms):
            return 0
        return await self._in_turn(lambda connection: turn_months_back(connection, now_ms))

    async def forget_limits(self, now_ms: int) -> None:
        """See the contract."""
        ahead = [name for name, at in self._buckets.items() if at > now_ms]
        self._buckets.update(dict.fromkeys(ahead, 0.0))
        self._dirty_buckets.update(ahead)

    async def keep_room(self) -> None:
        """See the contract."""
        if self._is_full():
            await self._writer.in_turn(lambda connection: self._writer.make_room())
        await asyncio.to_thread(self._ballast.make)

    def _is_full(self) -> bool:
        return shutil.disk_usage(self._folder).free < ROOM_BYTES_MIN

    async def heartbeat(self, now_ms: int) -> None:
        """See the contract."""

        def beat(connection: apsw.Connection) -> None:
            # What is as small as this still fits into a log that does not grow: a lookup would not.
            if self._is_full():
                self._writer.make_room()
            if self._is_full():
                raise StorageFailed("disk full")
            connection.execute(HEARTBEAT, (now_ms - self._doubt_ms,))

        await self._writer.in_turn(beat)

    async def surely_past(self, now_ms: int) -> int:
        """See the contract. There is one clock."""
        return now_ms

    async def purge(self, now_ms: int) -> int:
        """See the contract."""
        return len(await self._writer.in_turn(_statement(_PURGE, now_ms)))

    async def purge_receipts(self, before_ms: int, limit: int) -> PurgedReceipts:
        """See the contract."""
        gone = await self._writer.in_turn(
            lambda connection: receipts.purge(connection, before_ms, limit)
        )
        self._recorded.difference_update(number for number, _ in gone)
        free = sorted({digest for _, digest in gone if digest is not None})
        return PurgedReceipts(len(gone), free)

    def close(self) -> None:
        """See the contract."""
        self._writer.submit(Job((), lambda outcomes: None, self._take_dirty_buckets()))
        self._writer.close()
        self._here.close()
        self._ballast.remove()


def _statement(sql: str, argument: int) -> Callable[[apsw.Connection], Sequence[Row]]:
    return lambda connection: connection.execute(sql, (argument,)).fetchall()


def _caller(row: Any) -> Caller:
    account, key, plan, mode, certificates, optin, *rest = row
    return Caller(account, key, plan, mode, bool(certificates), bool(optin), *rest)


@contextmanager
def _writing_in_place() -> Iterator[None]:
    """Turn what keeps SQLite from writing into `StorageFailed`. Broken rules stay as they are."""
    try:
        yield
    except apsw.ConstraintError:
        raise
    except apsw.Error as error:
        raise StorageFailed(type(error).__name__) from error
