"""The desk on PostgreSQL: accounts, keys, ledger, idempotency. Promises: `storage.contract.Desk`.

Any number of processes have one open on the same database. Three threads, each with its
connection: one writes, one reads what requests ask, one counts them. What is rare is read in
place, on a fourth.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, TypeVar

import psycopg

from balcao.core.access import Account, Caller, Key
from balcao.core.clock import Heard
from balcao.core.idempotency import Attempt
from balcao.core.ledger import Change, KeepReceipt, Refusal
from balcao.core.people import AT_THE_TERMINAL, Signature
from balcao.core.rate_limit import Limit, Verdict
from balcao.errors import StorageFailed
from balcao.storage.connection import Connection
from balcao.storage.contract import LedgerCheck, NewAccount, NewKey, PurgedReceipts
from balcao.storage.desk import office
from balcao.storage.desk.check import check_books
from balcao.storage.desk.clock import is_month_ahead, turn_months_back
from balcao.storage.desk.data_subjects import SharedDataSubjects
from balcao.storage.desk.reading import Reading
from balcao.storage.moved import IN_POSTGRESQL, check_here
from balcao.storage.pepper import check_pepper
from balcao.storage.postgresql import limits as counting
from balcao.storage.postgresql import receipts
from balcao.storage.postgresql.connections import Line, opened_apart, opened_to_add_up
from balcao.storage.postgresql.node import Node, hear_clock, read_clock
from balcao.storage.postgresql.partitions import Partitions
from balcao.storage.postgresql.people import PostgresPeople
from balcao.storage.postgresql.reading import Asked, answer
from balcao.storage.postgresql.schema import migrate
from balcao.storage.postgresql.turns import Turns, Worker, in_thread
from balcao.storage.postgresql.writer import Writer

log = logging.getLogger(__name__)

T = TypeVar("T")

# Revocation and plan changes are in force everywhere within 1 s (decisions 7.2): what is
# remembered of a key is half that old at the most.
CALLER_AGE_MAX_MS = 500
CALLERS_MAX = 10_000

# Receipts known to be recorded: a cached certificate brings its own along with every delivery.
RECEIPTS_KNOWN_MAX = 32_768

# More than clocks that are kept right ever differ by.
CLOCK_AHEAD_MS_MAX = 60_000

_HEARTBEAT = (
    "INSERT INTO heartbeat VALUES (1, %s)"
    " ON CONFLICT (only_row) DO UPDATE SET at_ms = excluded.at_ms"
)
_PURGE = (
    "DELETE FROM idempotency WHERE (account_id, key_digest) IN"
    " (SELECT account_id, key_digest FROM idempotency WHERE expires_ms <= %s LIMIT 1000"
    " FOR UPDATE SKIP LOCKED)"
)


class PostgresDesk(Reading):
    """One node's desk. Raises `StorageFailed` when the database cannot be reached.

    `pepper` makes sure that it is the one with which the database's keys were hashed; raises
    `PepperDiffers`.
    """

    def __init__(
        self,
        address: str,
        *,
        pepper: bytes | None = None,
        observe_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._address = address
        self._here = Line(address)
        super().__init__(self._here, partial(opened_apart, address))
        self._node = Node()
        self._writing = Line(address, self._node.greet, pipelines=True)
        self._reading = Line(address)
        self._counting = Line(address, _without_waiting_for_the_disk, pipelines=True)
        try:
            with self._here.guarded() as connection:
                check_here(connection, catalogue=IN_POSTGRESQL)
                migrate(connection, "desk")
                if pepper is not None:
                    check_pepper(connection, pepper, parameter="%s")
            self._writing.get()
        except BaseException:
            self._here.close()
            raise
        # Its worker asks once a second even when nobody writes.
        self._here.scout = self._writing
        self._written = Writer(self._writing, self._node)
        self._workers = {
            "writer": Worker("desk-writer", self._come_back),
            "reader": Worker("desk-reader"),
            "counter": Worker("desk-counter"),
        }
        self._commits: Turns[Sequence[Change], Refusal | None] = Turns(
            self._workers["writer"],
            self._written.write,
            observe_batch,
        )
        self._asked: Turns[Asked, Any] = Turns(
            self._workers["reader"], partial(answer, self._reading)
        )
        self._counted: Turns[counting.Visit, Sequence[Verdict]] = Turns(
            self._workers["counter"], partial(counting.count, self._counting)
        )
        self._callers: dict[bytes, tuple[int, Caller | None]] = {}
        self._recorded: set[str] = set()  # numbers of receipts
        self._partitions = Partitions()
        self._told_of_clock = False
        self.people = PostgresPeople(
            self._here,
            partial(opened_apart, address),
            self._in_turn,
            self._callers.clear,
            self._partitions,
        )
        self.data_subjects = SharedDataSubjects(
            partial(opened_apart, address), self._in_turn, self._recorded.clear
        )

    # What every request needs.

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """See the contract."""
        keeps = [change for change in changes if type(change) is KeepReceipt]
        if keeps:
            known = {keep.receipt_id for keep in keeps} & self._recorded
            changes = [
                c for c in changes if type(c) is not KeepReceipt or c.receipt_id not in known
            ]
        if not changes:
            return None
        refusal = await self._commits.ask(changes)
        if keeps and refusal is None:
            if len(self._recorded) >= RECEIPTS_KNOWN_MAX:
                self._recorded.clear()
            self._recorded.update(keep.receipt_id for keep in keeps)
        return refusal

    async def caller(self, key_hash: bytes, now_ms: int) -> Caller | None:
        """See the contract."""
        known = self._callers.get(key_hash)
        if known is not None and 0 <= now_ms - known[0] < CALLER_AGE_MAX_MS:
            return known[1]
        caller: Caller | None = await self._asked.ask(Asked("caller", key_hash))
        if len(self._callers) >= CALLERS_MAX:
            self._callers.clear()
        self._callers[key_hash] = (now_ms, caller)
        return caller

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        """See the contract."""
        return await self._counted.ask(counting.Visit(caller, limits, now_ms))

    async def earlier(self, account_id: int, key_digest: str, now_ms: int) -> Attempt | None:
        """See the contract."""
        found: Attempt | None = await self._asked.ask(
            Asked("earlier", (account_id, key_digest, now_ms))
        )
        return found

    # The operator's side: rare, in place.

    def create_account(
        self, new: NewAccount, now_ms: int, signed: Signature = AT_THE_TERMINAL
    ) -> Account:
        """See the contract."""
        return self.account(office.create_account(self._here, new, now_ms, signed))

    def create_key(self, new: NewKey, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> Key:
        """See the contract."""
        office.create_key(self._here, new, now_ms, signed)
        return self.keys(new.account_id)[-1]

    def revoke_key(self, key_id: int, now_ms: int, signed: Signature = AT_THE_TERMINAL) -> bool:
        """See the contract."""
        known = office.revoke_key(self._here, key_id, now_ms, signed)
        self._callers.clear()
        return known

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        """See the contract."""
        outcome = self._written.write([changes])[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def unnamed(self, digests: Collection[str]) -> Sequence[str]:
        """See the contract."""
        with self._here.guarded() as connection:
            return receipts.unnamed(connection, digests)

    def check(self) -> LedgerCheck:
        """See the contract."""
        with opened_to_add_up(self._address) as connection:
            return check_books(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    # Beside the requests.

    def recover(self, now_ms: int) -> int:
        """See the contract."""
        with self._writing.guarded() as connection:
            self._partitions.make_ahead(connection, now_ms)
            return self._node.recover(connection, now_ms, at_start=True)

    async def recover_others(self, now_ms: int) -> int:
        """See the contract."""
        return await self._with_writer(
            lambda connection: self._node.recover(connection, now_ms, at_start=False)
        )

    async def database_clock(self, steady_ms: Callable[[], int]) -> Heard | None:
        """See the contract."""
        return await self._with_writer(lambda connection: hear_clock(connection, steady_ms))

    def latest_instant(self) -> int | None:
        """See the contract."""
        with self._here.guarded() as connection:
            return self._node.latest_of_others(connection)

    def doubt(self, ahead_ms: int) -> None:
        """See the contract."""
        self._node.doubt_ms = ahead_ms

    async def turn_months_back(self, now_ms: int) -> int:
        """See the contract."""
        if not is_month_ahead(self._here, now_ms):
            return 0
        return await self._in_turn(lambda connection: turn_months_back(connection, now_ms))

    async def forget_limits(self, now_ms: int) -> None:
        """See the contract."""
        await self._with_writer(lambda connection: counting.forget(connection, now_ms))

    async def keep_room(self) -> None:
        """See the contract. The disk is the server's."""

    async def heartbeat(self, now_ms: int) -> None:
        """See the contract."""
        await self._with_writer(lambda connection: connection.execute(_HEARTBEAT, (now_ms,)))

    async def surely_past(self, now_ms: int) -> int:
        """See the contract."""

        def work(connection: psycopg.Connection[Any]) -> int:
            database_ms = read_clock(connection)
            if now_ms - database_ms > CLOCK_AHEAD_MS_MAX and not self._told_of_clock:
                self._told_of_clock = True
                log.warning("this machine's clock is ahead of the database's: set both (NTP)")
            return min(now_ms, database_ms)

        return await self._with_writer(work)

    async def purge(self, now_ms: int) -> int:
        """See the contract."""

        def work(connection: psycopg.Connection[Any]) -> int:
            self._partitions.make_ahead(connection, now_ms)
            counting.purge(connection, now_ms)
            self._node.forget_others(connection, now_ms)
            return connection.execute(_PURGE, (now_ms,)).rowcount

        return await self._with_writer(work)

    async def purge_receipts(self, before_ms: int, limit: int) -> PurgedReceipts:
        """See the contract."""
        gone = await self._with_writer(
            lambda connection: receipts.purge(connection, before_ms, limit)
        )
        self._recorded.difference_update(number for number, _ in gone)
        free = sorted({digest for _, digest in gone if digest is not None})
        return PurgedReceipts(len(gone), free)

    def close(self) -> None:
        """See the contract."""
        for worker in self._workers.values():
            worker.close()
        for line in (self._here, self._writing, self._reading, self._counting):
            line.close()

    async def _with_writer(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        def guarded() -> T:
            with self._writing.guarded() as connection:
                return work(connection)

        return await in_thread(self._workers["writer"], guarded)

    async def _in_turn(self, work: Callable[[Connection], T]) -> T:
        return await in_thread(self._workers["writer"], lambda: work(self._writing))

    def _come_back(self) -> None:
        """Be here again soon after the connection was lost: else others take us for dead."""
        try:
            with self._writing.guarded() as connection:
                connection.execute("SELECT 1")
        except StorageFailed:
            self._writing.drop()


def _without_waiting_for_the_disk(connection: psycopg.Connection[Any]) -> None:
    connection.execute("SET synchronous_commit = off")
