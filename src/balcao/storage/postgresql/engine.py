"""PostgreSQL: one node of any number on the same database.

Three threads, each with its connection: one writes, one reads what requests ask, one counts them.
What is rare is read in place, on a fourth.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar

import psycopg
from msgspec import structs

from balcao.core.access import Caller
from balcao.core.clock import Heard
from balcao.core.data_subject import AnswerAbout
from balcao.core.errors import CommitUncertain, StorageFailed
from balcao.core.idempotency import Attempt
from balcao.core.ledger import Change, Refusal
from balcao.core.rate_limit import Limit, Verdict, all_allow
from balcao.storage.batch import of_a_batch
from balcao.storage.connection import SqlConnection
from balcao.storage.engine import DatabaseState, ToldPaid
from balcao.storage.moved import check_here
from balcao.storage.pepper import check_pepper
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql import limits as counting
from balcao.storage.postgresql.connections import LastingConnection, opened_apart, opened_to_add_up
from balcao.storage.postgresql.node import Node, hear_clock, read_clock
from balcao.storage.postgresql.partitions import Partitions
from balcao.storage.postgresql.reading import Wanted, answer
from balcao.storage.postgresql.schema import migrate
from balcao.storage.postgresql.standby import STATE, explained
from balcao.storage.postgresql.writer import BatchAnswer, NodeWriter, Paying, ToWrite
from balcao.storage.turns import Turns, Worker, in_thread

log = logging.getLogger(__name__)

T = TypeVar("T")

# More than clocks that are kept right ever differ by.
CLOCK_AHEAD_MS_MAX = 60_000


class PostgresEngine:
    """See `storage.engine.Engine`. Raises `StorageFailed` when the database cannot be reached.

    `pepper` makes sure that it is the one with which the database's keys were hashed; raises
    `PepperDiffers`.
    """

    queries = QUERIES

    def __init__(
        self,
        address: str,
        *,
        pepper: bytes | None = None,
        observe_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        self.here: LastingConnection = LastingConnection(address, patient=True)
        self.apart = partial(opened_apart, address)
        self.from_end_to_end = partial(opened_to_add_up, address)
        self._node = Node()
        self._writing = LastingConnection(address, self._node.greet, pipelines=True, patient=True)
        self._reading = LastingConnection(address)
        self._counting = LastingConnection(address, _without_waiting_for_the_disk, pipelines=True)
        try:
            with self.here.guarded() as connection:
                check_here(connection, QUERIES)
                migrate(connection, "desk")
                if pepper is not None:
                    check_pepper(connection, pepper, parameter="%s")
            self._writing.get()
        except BaseException as error:
            self.here.close()
            self._writing.close()
            if isinstance(error, StorageFailed):
                failed = explained(error, address)
                raise failed from failed.__cause__
            raise
        # Its worker asks once a second even when nobody writes.
        self.here.scout = self._writing
        self._observe_batch = observe_batch
        self._writer = NodeWriter(self._writing, self._node)
        self._workers = {
            "writer": Worker("desk-writer", self._come_back),
            "reader": Worker("desk-reader"),
            "counter": Worker("desk-counter"),
        }
        self._commits: Turns[ToWrite, Any] = Turns(
            self._workers["writer"], self._begin, _is_patient
        )
        self.commit = self._commits.ask
        self.tell = self._commits.tell
        self._asked: Turns[Wanted, Any] = Turns(
            self._workers["reader"], lambda asked: partial(answer, self._reading, asked)
        )
        self._counted: Turns[counting.Count, Sequence[Verdict]] = Turns(
            self._workers["counter"], lambda asked: partial(counting.count, self._counting, asked)
        )
        # Replays that wait at the same time share one commit.
        self._confirmed: Turns[None, None] = Turns(
            self._workers["writer"], lambda asked: partial(self._confirm, asked)
        )
        self._partitions = Partitions()
        self._told_of_clock = False

    # Connections.

    def in_place(self) -> AbstractContextManager[SqlConnection]:
        """See the contract."""
        return nullcontext(self.here)

    async def in_turn(self, work: Callable[[SqlConnection], T]) -> T:
        """See the contract."""
        writer = self._workers["writer"]
        return await in_thread(writer, lambda: work(self._writing), in_any_case=True)

    async def _with_writer(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        def guarded() -> T:
            with self._writing.guarded() as connection:
                return work(connection)

        return await in_thread(self._workers["writer"], guarded, in_any_case=True)

    def _confirm(self, asked: Sequence[None]) -> Sequence[None]:
        """Commit something durably. Raises `StorageFailed`."""
        with self._writing.guarded() as connection:
            self._node.last_batch(connection)
        return asked

    def _come_back(self) -> None:
        """Be here again soon after the connection was lost: else others take us for dead."""
        try:
            with self._writing.guarded() as connection:
                connection.execute("SELECT 1")
        except StorageFailed:
            self._writing.drop()

    # What every request needs.

    def _begin(self, asked: Sequence[ToWrite]) -> Callable[[], Any]:
        self._observe_batch(len(asked))
        return partial(self._writer.write, asked)

    def on_refused(self, hear: Callable[[Refusal | Exception | None], None]) -> None:
        """See the contract."""

        def of_any(answer: BatchAnswer) -> None:
            outcome = answer[1] if isinstance(answer, tuple) else answer
            if outcome is not None:
                hear(outcome)

        self._commits.refused = of_any

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        """See the contract."""
        outcome = self._writer.write([changes])[0]
        assert not isinstance(outcome, tuple)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def caller(self, key_hash: bytes) -> Caller | None:
        """See the contract."""
        caller: Caller | None = await self._asked.ask(Wanted("caller", key_hash))
        return caller

    async def earlier(self, account_id: int, key_digest: str, now_ms: int) -> Attempt | None:
        """See the contract."""
        found: Attempt | None = await self._asked.ask(
            Wanted("earlier", (account_id, key_digest, now_ms))
        )
        if found is not None:
            # After a crash and a restart a server shows commits that its standby may not have.
            # One of our own is acknowledged no sooner than all of those are replicated.
            try:
                await self._confirmed.ask(None)
            except StorageFailed as error:  # the attempt that was found may have been charged
                raise CommitUncertain("an earlier attempt is not confirmed") from error
        return found

    async def received(self, answer: AnswerAbout) -> bool:
        """See the contract."""
        return await self._asked.ask(Wanted("received", structs.astuple(answer))) is not None

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        """See the contract."""
        return await self._counted.ask(counting.Count(caller, limits, now_ms))

    def pay(
        self,
        caller: Caller,
        limits: Sequence[Limit],
        now_ms: int,
        changes: Sequence[Change],
        told: ToldPaid,
    ) -> None:
        """See the contract. Both are one transaction."""
        count = counting.Count(caller, limits, now_ms)
        if changes:
            self._commits.tell(Paying(count, changes), partial(_tell_paid, told))
        else:
            self._counted.tell(count, partial(_tell_counted, told))

    async def forget_limits(self, now_ms: int) -> None:
        """See the contract."""
        await self._with_writer(lambda connection: counting.forget(connection, now_ms))

    # Starts, clocks, room.

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
        with self.here.guarded() as connection:
            return self._node.latest_of_others(connection)

    def doubt(self, ahead_ms: int) -> None:
        """See the contract."""
        self._node.doubt_ms = ahead_ms

    async def surely_past(self, now_ms: int) -> int:
        """See the contract."""

        def work(connection: psycopg.Connection[Any]) -> int:
            database_ms = read_clock(connection)
            if now_ms - database_ms > CLOCK_AHEAD_MS_MAX and not self._told_of_clock:
                self._told_of_clock = True
                log.warning("this machine's clock is ahead of the database's: set both (NTP)")
            return min(now_ms, database_ms)

        return await self._with_writer(work)

    async def keep_room(self) -> None:
        """See the contract. The disk is the server's."""

    async def state(self) -> DatabaseState:
        """See the contract. Asked where nothing is written, and so nothing waits for a standby."""
        reader = self._workers["reader"]
        ((writable, waiting),) = await in_thread(reader, lambda: [*self._reading.execute(STATE)])
        return DatabaseState(writable, waiting)

    async def heartbeat(self, now_ms: int) -> None:
        """See the contract."""
        await self._with_writer(
            lambda connection: connection.execute(QUERIES["heartbeat"].encode(), (now_ms,))
        )

    # What has run out.

    async def purge(self, now_ms: int) -> int:
        """See the contract."""

        def work(connection: psycopg.Connection[Any]) -> int:
            self._partitions.make_ahead(connection, now_ms)
            counting.purge(connection, now_ms)
            self._node.forget_others(connection, now_ms)
            return connection.execute(QUERIES["purge_answers"].encode(), (now_ms,)).rowcount

        return await self._with_writer(work)

    async def drop_traces(self, before_ms: int) -> int:
        """See the contract. A month counts once, however many traces were in it."""
        return await self._with_writer(
            lambda connection: self._partitions.drop_traces(connection, before_ms)
        )

    def close(self) -> None:
        """See the contract."""
        for worker in self._workers.values():
            worker.close()
        for line in (self.here, self._writing, self._reading, self._counting):
            line.close()


def _is_patient(asked: ToWrite) -> bool:
    return not isinstance(asked, Paying) and of_a_batch(asked)


def _tell_counted(told: ToldPaid, verdicts: Sequence[Verdict] | Exception) -> None:
    if isinstance(verdicts, Exception) or not all_allow(verdicts):
        told(None, None)
    else:
        told(verdicts, None)


def _tell_paid(told: ToldPaid, answer: BatchAnswer) -> None:
    if isinstance(answer, tuple):
        told(*answer)
    else:  # an error
        told((), answer)


def _without_waiting_for_the_disk(connection: psycopg.Connection[Any]) -> None:
    connection.execute("SET synchronous_commit = off")
