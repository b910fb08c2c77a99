"""The engine on SQLite: one file with two connections."""

import asyncio
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import apsw
from msgspec import structs

from balcao.core.access import Caller
from balcao.core.clock import ClockReading
from balcao.core.data_subject import AnswerAbout
from balcao.core.errors import StorageFailed
from balcao.core.ledger import Change, Refusal
from balcao.core.observed_items import FindInMonth
from balcao.core.rate_limit import Limit, Verdict, all_allow, bucket_of, spend
from balcao.core.tariff import INTERRUPTED
from balcao.storage.batch import Outcome, is_batch_row
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.rows import attempt_of, caller_of
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.engine import Attempt, OnCharged
from balcao.storage.group_commit import Batcher, Callback
from balcao.storage.moved import check_not_moved
from balcao.storage.pepper import check_pepper
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.connection import SqliteConnection, open_reader
from balcao.storage.sqlite.files import connect, is_log_short, migrate, preallocate_log
from balcao.storage.sqlite.writer import FileWriter, Job, write

T = TypeVar("T")

# Rate limits are counted in memory, and written with a later commit.
LIMITS_WRITTEN_EVERY_MS = 1_000
BUCKETS_MAX = 100_000

# A disk with less free space than this counts as full.
FREE_BYTES_MIN = 1_000_000


class SqliteEngine:
    """A `storage.engine.Engine` on a file.

    The writer's connection belongs to its thread. The other one is used on the event loop's thread:
    for reads, and for the rare writes of operators and of a start. `pepper` must be the one that
    hashed the file's keys; otherwise raises `PepperDiffers`.
    """

    queries = QUERIES

    def __init__(
        self,
        path: Path,
        observe_batch: Callable[[int], None] = lambda size: None,
        *,
        pepper: bytes | None = None,
        reserve: DiskReserve | None = None,
    ) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        writing = connect(path, synchronous="FULL")
        check_not_moved(writing, QUERIES)
        migrate(writing, "desk")
        if pepper is not None:
            check_pepper(writing, pepper, parameter="?")
        self._connection = connect(path, synchronous="FULL")
        self.connection: SqlConnection = SqliteConnection(self._connection)
        self.open_reader = partial(open_reader, path)
        self._path = path
        self._reserve = reserve or DiskReserve(path.parent)
        self._writer = FileWriter(writing, path, self._reserve)
        self._observe_batch = observe_batch
        self._commits: Batcher[Sequence[Change], Refusal | None] = Batcher(
            self._writer.worker, self._begin, is_batch_row
        )
        self.commit = self._commits.submit
        self.commit_nowait = self._commits.submit_nowait
        full: Any = self.connection.execute("SELECT bucket, empty_at_ms FROM rate_limit").fetchall()
        self._buckets: dict[str, float] = dict(full)
        self._dirty_buckets: set[str] = set()
        self._limits_written_ms = 0
        self._now_ms = 0  # of the last request
        self._clock_doubt_ms = 0

    # Connections.

    def full_scan(self) -> AbstractContextManager[SqlConnection]:
        return nullcontext(self.connection)

    @contextmanager
    def write_in_place(self) -> Iterator[SqlConnection]:
        try:
            yield self.connection
        except apsw.ConstraintError:
            raise
        except apsw.Error as error:
            raise StorageFailed(type(error).__name__) from error

    async def run_in_writer(self, work: Callable[[SqlConnection], T]) -> T:
        return await self._writer.run(lambda connection: work(SqliteConnection(connection)))

    # Replacements of the secret: the only process that serves a file activates them itself.

    def nodes_without_secret(self, connection: SqlConnection, secret_id: str) -> Sequence[int]:
        return ()

    async def report_secrets(self, secret_ids: Sequence[str]) -> None: ...

    @property
    def find_in_month(self) -> FindInMonth:
        return self._writer.find_in_month

    def find_in_month_by(self, find: FindInMonth) -> None:
        self._writer.find_in_month = find

    # Commits: all changes that arrive during one share the next one.

    def _begin(self, lists: Sequence[Sequence[Change]]) -> Callable[[], Sequence[Outcome]]:
        """Begin a commit, and return a function that completes it in the writer's thread."""
        self._observe_batch(len(lists))
        return self._writer.begin(Job(lists, *self._periodic_values()))

    def on_refusal(self, callback: Callable[[Refusal | Exception | None], None]) -> None:
        self._commits.on_result = callback

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        try:
            outcome: Outcome = write(self._connection, [changes])[0]
        except apsw.Error as error:
            raise StorageFailed(type(error).__name__) from error
        assert not isinstance(outcome, Exception)
        return outcome

    # Callers, idempotency records, limits.

    async def caller(self, key_hash: bytes) -> Caller | None:
        row = self._connection.execute(QUERIES["caller"], (key_hash,)).fetchone()
        return None if row is None else caller_of(row)

    def _find_attempt(self, account_id: int, key_digest: str, now_ms: int) -> Attempt:
        try:
            row = self._connection.execute(
                QUERIES["earlier"], (account_id, key_digest, now_ms)
            ).fetchone()
        except apsw.Error as error:
            raise StorageFailed(type(error).__name__) from error
        return None if row is None else attempt_of(row)

    async def find_attempt(self, account_id: int, key_digest: str, now_ms: int) -> Attempt:
        return self._find_attempt(account_id, key_digest, now_ms)

    def find_attempt_nowait(
        self, account_id: int, key_digest: str, now_ms: int, on_found: Callback[Attempt]
    ) -> None:
        """See `Engine`. Reads within this call."""
        try:
            found: Attempt | Exception = self._find_attempt(account_id, key_digest, now_ms)
        except StorageFailed as error:
            found = error
        on_found(found)

    async def has_received(self, answer: AnswerAbout) -> bool:
        account_id, operation, uf, document_hash, certificate = structs.astuple(answer)
        alike = (document_hash, account_id, operation, uf, certificate)
        return self._connection.execute(QUERIES["received"], alike * 2).fetchone() is not None

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        return self.spend_now(caller, limits, now_ms)

    def charge_nowait(
        self,
        caller: Caller,
        limits: Sequence[Limit],
        now_ms: int,
        changes: Sequence[Change],
        on_done: OnCharged,
    ) -> None:
        """See `Engine`. The limits are in memory, so they are counted within this call."""
        verdicts = self.spend_now(caller, limits, now_ms)
        if not all_allow(verdicts):
            on_done(None, None)
        elif changes:
            self.commit_nowait(changes, partial(on_done, verdicts))
        else:
            on_done(verdicts, None)

    def spend_now(self, caller: Caller, limits: Sequence[Limit], now_ms: int) -> Sequence[Verdict]:
        """Do `spend` synchronously: limits are counted in memory here."""
        if len(self._buckets) >= BUCKETS_MAX:
            self._forget_empty_buckets(now_ms)
        self._now_ms = now_ms
        buckets, full = self._buckets, False
        verdicts: list[Verdict] = []
        counted: dict[str, float] = {}
        for limit in limits:
            name = bucket_of(limit, caller)
            verdict = spend(limit, buckets.get(name, 0.0), now_ms)
            verdicts.append(verdict)
            if not verdict.allowed:  # unchanged, unless the clock was set back
                buckets[name] = verdict.empty_at_ms
                full = True
            counted[name] = verdict.empty_at_ms
        if not full:
            buckets.update(counted)
            self._dirty_buckets.update(counted)
        return verdicts

    def _periodic_values(self) -> tuple[Sequence[tuple[str, float]], int | None]:
        """Return the rate limits and the instant to write, once a second."""
        if abs(self._now_ms - self._limits_written_ms) < LIMITS_WRITTEN_EVERY_MS:
            return (), None
        self._limits_written_ms = self._now_ms
        return self._take_dirty_buckets(), self._now_ms - self._clock_doubt_ms

    def _take_dirty_buckets(self) -> Sequence[tuple[str, float]]:
        dirty, self._dirty_buckets = self._dirty_buckets, set()
        return [(name, self._buckets[name]) for name in dirty if name in self._buckets]

    def _forget_empty_buckets(self, now_ms: int) -> None:
        self._buckets = {name: at for name, at in self._buckets.items() if at > now_ms}

    async def forget_limits(self, now_ms: int) -> None:
        ahead = [name for name, at in self._buckets.items() if at > now_ms]
        self._buckets.update(dict.fromkeys(ahead, 0.0))
        self._dirty_buckets.update(ahead)

    # Starts, clocks, disk space.

    def recover(self, now_ms: int) -> int:
        with self.write_in_place() as connection, connection.transaction():
            held = connection.execute(QUERIES["void_holds"], (now_ms, INTERRUPTED)).fetchall()
            connection.execute(QUERIES["free_budgets"])
            connection.execute(QUERIES["close_voided"])
            connection.execute(QUERIES["mark_died"])
        return len(held)

    async def recover_others(self, now_ms: int) -> int:
        return 0  # the folder's lock excludes other processes

    async def database_clock(self, steady_ms: Callable[[], int]) -> ClockReading | None:
        """Return None: a file has no clock."""
        return None

    def latest_instant(self) -> int | None:
        """See `Engine`. Accurate to a second, since it is written with the limits."""
        row = self.connection.execute("SELECT at_ms FROM heartbeat").fetchone()
        return None if row is None else row[0]

    def set_clock_doubt(self, ahead_ms: int) -> None:
        self._clock_doubt_ms = ahead_ms

    async def safe_past(self, now_ms: int) -> int:
        """Return the same instant: there is only one clock."""
        return now_ms

    async def maintain_reserve(self) -> None:
        if self._is_full():
            await self._writer.run(lambda connection: self._writer.free_disk_space())
        elif self._reserve.size_bytes and is_log_short(self._path):
            await self._writer.run(lambda connection: preallocate_log(connection, self._path))
        await asyncio.to_thread(self._reserve.create)

    def _is_full(self) -> bool:
        return shutil.disk_usage(self._path.parent).free < FREE_BYTES_MIN

    async def state(self) -> None:
        """Return None: it is a file."""

    async def heartbeat(self, now_ms: int) -> None:
        def beat(connection: apsw.Connection) -> None:
            # This small write may fit into the log without growing it, when a lookup would not.
            if self._is_full():
                self._writer.free_disk_space()
            if self._is_full():
                raise StorageFailed("disk full")
            connection.execute(QUERIES["heartbeat"], (now_ms - self._clock_doubt_ms,))

        await self._writer.run(beat)

    # Retention.

    async def purge(self, now_ms: int) -> int:
        gone = await self.run_in_writer(
            lambda connection: connection.execute(QUERIES["purge_answers"], (now_ms,)).fetchall()
        )
        return len(gone)

    async def drop_traces(self, before_ms: int) -> int:
        """Return 0: there are no partitions."""
        return 0

    def close(self) -> None:
        self._writer.close(self._take_dirty_buckets())
        self._connection.close()
        self._reserve.remove()
