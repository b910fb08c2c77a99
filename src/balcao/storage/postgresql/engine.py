"""The engine on PostgreSQL: one of any number of nodes on the same database.

Three threads with a connection each write, read for requests, and count requests. Rare statements
run on the event loop's thread, on a fourth connection.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, TypeVar

import psycopg
from msgspec import structs

from balcao.core.access import Caller
from balcao.core.clock import ClockReading
from balcao.core.data_subject import AnswerAbout
from balcao.core.errors import CommitUncertain, StorageFailed
from balcao.core.ledger import Change, Refusal
from balcao.core.observed_items import FindInMonth
from balcao.core.rate_limit import Limit, Verdict, all_allow
from balcao.storage.batch import is_batch_row
from balcao.storage.connection import SqlConnection
from balcao.storage.engine import Attempt, DatabaseState, OnCharged
from balcao.storage.group_commit import Batcher, Callback, Worker, resolve, run_in
from balcao.storage.moved import check_not_moved
from balcao.storage.pepper import check_pepper
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql import limits as counting
from balcao.storage.postgresql.connections import (
    ReconnectingConnection,
    open_for_full_scan,
    open_reader,
)
from balcao.storage.postgresql.node import Node, nodes_without_secret, read_clock, read_clock_beside
from balcao.storage.postgresql.partitions import Partitions
from balcao.storage.postgresql.read_requests import ReadRequest, read_all
from balcao.storage.postgresql.schema import migrate
from balcao.storage.postgresql.standby import STATE, explained
from balcao.storage.postgresql.writer import ChargeRequest, NodeWriter, WriteRequest, WriteResult

log = logging.getLogger(__name__)

T = TypeVar("T")

_REPORT_SECRETS = "UPDATE node SET secret_ids = ? WHERE node_id = ?"

# Synchronized clocks differ by less.
CLOCK_AHEAD_MS_MAX = 60_000


class PostgresEngine:
    """A `storage.engine.Engine` on a database. Raises `StorageFailed` if it cannot be reached.

    `pepper` must be the one that hashed the database's keys; otherwise raises `PepperDiffers`.
    """

    queries = QUERIES

    def __init__(
        self,
        address: str,
        *,
        pepper: bytes | None = None,
        observe_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        self.connection: ReconnectingConnection = ReconnectingConnection(address, patient=True)
        self.open_reader = partial(open_reader, address)
        self.full_scan = partial(open_for_full_scan, address)
        self._node = Node()
        self._writing = ReconnectingConnection(
            address, self._node.on_connect, pipelines=True, patient=True
        )
        self._reading = ReconnectingConnection(address)
        self._counting = ReconnectingConnection(
            address, _disable_synchronous_commit, pipelines=True
        )
        try:
            with self.connection.guarded() as connection:
                check_not_moved(connection, QUERIES)
                migrate(connection, "desk")
                if pepper is not None:
                    check_pepper(connection, pepper, parameter="%s")
            self._writing.get()
        except BaseException as error:
            self.connection.close()
            self._writing.close()
            if isinstance(error, StorageFailed):
                failed = explained(error, address)
                raise failed from failed.__cause__
            raise
        # Healthy at any time: its worker runs a statement every second without other work.
        self.connection.monitor = self._writing
        self._observe_batch = observe_batch
        self._writer = NodeWriter(self._writing, self._node)
        self._workers = {
            "writer": Worker("desk-writer", self._reconnect),
            "reader": Worker("desk-reader"),
            "counter": Worker("desk-counter"),
        }
        self._commits: Batcher[WriteRequest, Any] = Batcher(
            self._workers["writer"], self._begin, _can_wait
        )
        self.commit = self._commits.submit
        self.commit_nowait = self._commits.submit_nowait
        self._reads: Batcher[ReadRequest, Any] = Batcher(
            self._workers["reader"], lambda requests: partial(read_all, self._reading, requests)
        )
        self._counts: Batcher[counting.Count, Sequence[Verdict]] = Batcher(
            self._workers["counter"],
            lambda requests: partial(counting.count, self._counting, requests),
        )
        # Replays that wait at the same time share one commit.
        self._confirmations: Batcher[None, None] = Batcher(
            self._workers["writer"], lambda requests: partial(self._confirm, requests)
        )
        self._partitions = Partitions()
        self._clock_warned = False

    # Connections.

    def write_in_place(self) -> AbstractContextManager[SqlConnection]:
        return nullcontext(self.connection)

    async def run_in_writer(self, work: Callable[[SqlConnection], T]) -> T:
        writer = self._workers["writer"]
        return await run_in(writer, lambda: work(self._writing), shielded=True)

    async def _with_writer(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        def guarded() -> T:
            with self._writing.guarded() as connection:
                return work(connection)

        return await run_in(self._workers["writer"], guarded, shielded=True)

    def _confirm(self, requests: Sequence[None]) -> Sequence[None]:
        """Make a durable commit. Raises `StorageFailed`."""
        with self._writing.guarded() as connection:
            self._node.last_batch(connection)
        return requests

    def _reconnect(self) -> None:
        """Reconnect soon after the connection was lost, before other nodes consider us dead."""
        try:
            with self._writing.guarded() as connection:
                connection.execute("SELECT 1")
        except StorageFailed:
            self._writing.drop()

    @property
    def find_in_month(self) -> FindInMonth:
        return self._writer.find_in_month

    def find_in_month_by(self, find: FindInMonth) -> None:
        self._writer.find_in_month = find

    # Replacements of the secret.

    def nodes_without_secret(self, connection: SqlConnection, secret_id: str) -> Sequence[int]:
        return nodes_without_secret(connection, secret_id)

    async def report_secrets(self, secret_ids: Sequence[str]) -> None:
        text = json.dumps(list(secret_ids))

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                connection.execute(_REPORT_SECRETS, (text, self._node.node_id))

        await self.run_in_writer(work)

    # For every request.

    def _begin(self, requests: Sequence[WriteRequest]) -> Callable[[], Any]:
        self._observe_batch(len(requests))
        return partial(self._writer.write, requests)

    def on_refusal(self, callback: Callable[[Refusal | Exception | None], None]) -> None:
        def of_any(answer: WriteResult) -> None:
            outcome = answer[1] if isinstance(answer, tuple) else answer
            if outcome is not None:
                callback(outcome)

        self._commits.on_result = of_any

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        outcome = self._writer.write([changes])[0]
        assert not isinstance(outcome, tuple)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def caller(self, key_hash: bytes) -> Caller | None:
        caller: Caller | None = await self._reads.submit(ReadRequest("caller", key_hash))
        return caller

    async def find_attempt(self, account_id: int, key_digest: str, now_ms: int) -> Attempt:
        found: asyncio.Future[Attempt] = asyncio.get_running_loop().create_future()
        self.find_attempt_nowait(account_id, key_digest, now_ms, partial(resolve, found))
        return await found

    def find_attempt_nowait(
        self, account_id: int, key_digest: str, now_ms: int, on_found: Callback[Attempt]
    ) -> None:
        self._reads.submit_nowait(
            ReadRequest("earlier", (account_id, key_digest, now_ms)),
            partial(self._confirm_attempt, on_found),
        )

    def _confirm_attempt(self, on_found: Callback[Attempt], found: Attempt | Exception) -> None:
        """Deliver an attempt that was read, once it is certain to be kept.

        After a crash and restart, a server shows commits that its standby may not have. A commit of
        our own is acknowledged only after all of those are replicated.
        """
        if found is None or isinstance(found, Exception):
            on_found(found)
            return

        def on_confirmed(outcome: Exception | None) -> None:
            if isinstance(outcome, StorageFailed):  # the recorded attempt may have been charged
                outcome = CommitUncertain("an earlier attempt is not confirmed")
            on_found(found if outcome is None else outcome)

        self._confirmations.submit_nowait(None, on_confirmed)

    async def has_received(self, answer: AnswerAbout) -> bool:
        return (
            await self._reads.submit(ReadRequest("received", structs.astuple(answer))) is not None
        )

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        return await self._counts.submit(counting.Count(caller, limits, now_ms))

    def charge_nowait(
        self,
        caller: Caller,
        limits: Sequence[Limit],
        now_ms: int,
        changes: Sequence[Change],
        on_done: OnCharged,
    ) -> None:
        """See `Engine`. Both are done in one transaction."""
        count = counting.Count(caller, limits, now_ms)
        if changes:
            self._commits.submit_nowait(
                ChargeRequest(count, changes), partial(_deliver_charge, on_done)
            )
        else:
            self._counts.submit_nowait(count, partial(_deliver_count, on_done))

    async def forget_limits(self, now_ms: int) -> None:
        await self._with_writer(lambda connection: counting.forget(connection, now_ms))

    # Starts, clocks, disk space.

    def recover(self, now_ms: int) -> int:
        with self._writing.guarded() as connection:
            self._partitions.make_ahead(connection, now_ms)
            return self._node.recover(connection, now_ms, at_start=True)

    async def recover_others(self, now_ms: int) -> int:
        return await self._with_writer(
            lambda connection: self._node.recover(connection, now_ms, at_start=False)
        )

    async def database_clock(self, steady_ms: Callable[[], int]) -> ClockReading | None:
        return await self._with_writer(lambda connection: read_clock_beside(connection, steady_ms))

    def latest_instant(self) -> int | None:
        with self.connection.guarded() as connection:
            return self._node.latest_of_others(connection)

    def set_clock_doubt(self, ahead_ms: int) -> None:
        self._node.clock_doubt_ms = ahead_ms

    async def safe_past(self, now_ms: int) -> int:
        def work(connection: psycopg.Connection[Any]) -> int:
            database_ms = read_clock(connection)
            if now_ms - database_ms > CLOCK_AHEAD_MS_MAX and not self._clock_warned:
                self._clock_warned = True
                log.warning("this machine's clock is ahead of the database's: set both (NTP)")
            return min(now_ms, database_ms)

        return await self._with_writer(work)

    async def maintain_reserve(self) -> None:
        """Do nothing: the server manages the disk."""

    async def state(self) -> DatabaseState:
        """See `Engine`. Uses the reader, whose statements never wait for a standby."""
        reader = self._workers["reader"]
        ((writable, waiting),) = await run_in(reader, lambda: [*self._reading.execute(STATE)])
        return DatabaseState(writable, waiting)

    async def heartbeat(self, now_ms: int) -> None:
        await self._with_writer(
            lambda connection: connection.execute(QUERIES["heartbeat"].encode(), (now_ms,))
        )

    # Retention.

    async def purge(self, now_ms: int) -> int:
        def work(connection: psycopg.Connection[Any]) -> int:
            self._partitions.make_ahead(connection, now_ms)
            counting.purge(connection, now_ms)
            self._node.forget_others(connection, now_ms)
            return connection.execute(QUERIES["purge_answers"].encode(), (now_ms,)).rowcount

        return await self._with_writer(work)

    async def drop_traces(self, before_ms: int) -> int:
        """See `Engine`. A month counts as one, however many traces it has."""
        return await self._with_writer(
            lambda connection: self._partitions.drop_traces(connection, before_ms)
        )

    def close(self) -> None:
        for worker in self._workers.values():
            worker.close()
        for database in (self.connection, self._writing, self._reading, self._counting):
            database.close()


def _can_wait(requests: WriteRequest) -> bool:
    return not isinstance(requests, ChargeRequest) and is_batch_row(requests)


def _deliver_count(on_done: OnCharged, verdicts: Sequence[Verdict] | Exception) -> None:
    if isinstance(verdicts, Exception) or not all_allow(verdicts):
        on_done(None, None)
    else:
        on_done(verdicts, None)


def _deliver_charge(on_done: OnCharged, answer: WriteResult) -> None:
    if isinstance(answer, tuple):
        on_done(*answer)
    else:  # an error
        on_done((), answer)


def _disable_synchronous_commit(connection: psycopg.Connection[Any]) -> None:
    connection.execute("SET synchronous_commit = off")
