"""SQLite: one file, and two connections to it."""

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
from balcao.core.clock import Heard
from balcao.core.data_subject import AnswerAbout
from balcao.core.errors import StorageFailed
from balcao.core.idempotency import Attempt
from balcao.core.ledger import Change, Refusal
from balcao.core.rate_limit import Limit, Verdict, all_allow, bucket_of, spend
from balcao.core.tariff import INTERRUPTED
from balcao.storage.ballast import Ballast
from balcao.storage.batch import Outcome, of_a_batch
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.rows import attempt_of, caller_of
from balcao.storage.engine import ToldPaid
from balcao.storage.moved import check_here
from balcao.storage.pepper import check_pepper
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.connection import SqliteConnection, opened_apart
from balcao.storage.sqlite.files import connect, is_log_short, lengthen_log, migrate
from balcao.storage.sqlite.writer import FileWriter, Job, write
from balcao.storage.turns import Turns

T = TypeVar("T")

# Rate limits are counted in memory and written behind, with whatever commit comes next.
LIMITS_WRITTEN_EVERY_MS = 1_000
BUCKETS_MAX = 100_000

# A disk with less room than this is full.
ROOM_BYTES_MIN = 1_000_000


class SqliteEngine:
    """See `storage.engine.Engine`.

    The writer's connection belongs to its thread. The other is used in place, on the event loop's
    thread: for reading, and for what operators and the start of a process write now and then.
    `pepper` makes sure that it is the one with which the file's keys were hashed; raises
    `PepperDiffers`.
    """

    queries = QUERIES

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
        check_here(writing, QUERIES)
        migrate(writing, "desk")
        if pepper is not None:
            check_pepper(writing, pepper, parameter="?")
        self._connection = connect(path, synchronous="FULL")
        self.here: SqlConnection = SqliteConnection(self._connection)
        self.apart = partial(opened_apart, path)
        self._path = path
        self._ballast = ballast or Ballast(path.parent)
        self._writer = FileWriter(writing, path, self._ballast)
        self._observe_batch = observe_batch
        self._commits: Turns[Sequence[Change], Refusal | None] = Turns(
            self._writer.worker, self._begin, of_a_batch
        )
        self.commit = self._commits.ask
        self.tell = self._commits.tell
        full: Any = self.here.execute("SELECT bucket, empty_at_ms FROM rate_limit").fetchall()
        self._buckets: dict[str, float] = dict(full)
        self._dirty_buckets: set[str] = set()
        self._limits_written_ms = 0
        self._now_ms = 0  # the last request's
        self._doubt_ms = 0

    # Connections.

    def from_end_to_end(self) -> AbstractContextManager[SqlConnection]:
        """See the contract."""
        return nullcontext(self.here)

    @contextmanager
    def in_place(self) -> Iterator[SqlConnection]:
        """See the contract."""
        try:
            yield self.here
        except apsw.ConstraintError:
            raise
        except apsw.Error as error:
            raise StorageFailed(type(error).__name__) from error

    async def in_turn(self, work: Callable[[SqlConnection], T]) -> T:
        """See the contract."""
        return await self._writer.in_turn(lambda connection: work(SqliteConnection(connection)))

    # Changes: everything that arrives during a commit goes into the next one.

    def _begin(self, lists: Sequence[Sequence[Change]]) -> Callable[[], Sequence[Outcome]]:
        """What is left for the writer's thread."""
        self._observe_batch(len(lists))
        return self._writer.begin(Job(lists, *self._now_and_then()))

    def on_refused(self, hear: Callable[[Refusal | Exception | None], None]) -> None:
        """See the contract."""
        self._commits.refused = hear

    def commit_now(self, changes: Sequence[Change]) -> Refusal | None:
        """See the contract."""
        try:
            outcome: Outcome = write(self._connection, [changes])[0]
        except apsw.Error as error:
            raise StorageFailed(type(error).__name__) from error
        assert not isinstance(outcome, Exception)
        return outcome

    # Callers, answers under their keys, limits.

    async def caller(self, key_hash: bytes) -> Caller | None:
        """See the contract."""
        row = self._connection.execute(QUERIES["caller"], (key_hash,)).fetchone()
        return None if row is None else caller_of(row)

    async def earlier(self, account_id: int, key_digest: str, now_ms: int) -> Attempt | None:
        """See the contract."""
        row = self._connection.execute(
            QUERIES["earlier"], (account_id, key_digest, now_ms)
        ).fetchone()
        return None if row is None else attempt_of(row)

    async def received(self, answer: AnswerAbout) -> bool:
        """See the contract."""
        account_id, operation, uf, document_hash, certificate = structs.astuple(answer)
        alike = (document_hash, account_id, operation, uf, certificate)
        return self._connection.execute(QUERIES["received"], alike * 2).fetchone() is not None

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        """See the contract."""
        return self.spend_now(caller, limits, now_ms)

    def pay(
        self,
        caller: Caller,
        limits: Sequence[Limit],
        now_ms: int,
        changes: Sequence[Change],
        told: ToldPaid,
    ) -> None:
        """See the contract. Limits are in memory."""
        verdicts = self.spend_now(caller, limits, now_ms)
        if not all_allow(verdicts):
            told(None, None)
        elif changes:
            self.tell(changes, partial(told, verdicts))
        else:
            told(verdicts, None)

    def spend_now(self, caller: Caller, limits: Sequence[Limit], now_ms: int) -> Sequence[Verdict]:
        """The same at once, for who cannot wait: limits are counted in memory here."""
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
            if not verdict.allowed:  # it is what it was, unless the clock was set back
                buckets[name] = verdict.empty_at_ms
                full = True
            counted[name] = verdict.empty_at_ms
        if not full:
            buckets.update(counted)
            self._dirty_buckets.update(counted)
        return verdicts

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

    async def forget_limits(self, now_ms: int) -> None:
        """See the contract."""
        ahead = [name for name, at in self._buckets.items() if at > now_ms]
        self._buckets.update(dict.fromkeys(ahead, 0.0))
        self._dirty_buckets.update(ahead)

    # Starts, clocks, room.

    def recover(self, now_ms: int) -> int:
        """See the contract."""
        with self.in_place() as connection, connection.transaction():
            held = connection.execute(QUERIES["void_holds"], (now_ms, INTERRUPTED)).fetchall()
            connection.execute(QUERIES["free_budgets"])
            connection.execute(QUERIES["close_voided"])
            connection.execute(QUERIES["mark_died"])
        return len(held)

    async def recover_others(self, now_ms: int) -> int:
        """See the contract."""
        return 0  # the folder's lock keeps others away

    async def database_clock(self, steady_ms: Callable[[], int]) -> Heard | None:
        """See the contract. It is the system's."""
        return None

    def latest_instant(self) -> int | None:
        """See the contract. To the second: it is written with the limits."""
        row = self.here.execute("SELECT at_ms FROM heartbeat").fetchone()
        return None if row is None else row[0]

    def doubt(self, ahead_ms: int) -> None:
        """See the contract."""
        self._doubt_ms = ahead_ms

    async def surely_past(self, now_ms: int) -> int:
        """See the contract. There is one clock."""
        return now_ms

    async def keep_room(self) -> None:
        """See the contract."""
        if self._is_full():
            await self._writer.in_turn(lambda connection: self._writer.make_room())
        elif self._ballast.size_bytes and is_log_short(self._path):
            await self._writer.in_turn(lambda connection: lengthen_log(connection, self._path))
        await asyncio.to_thread(self._ballast.make)

    def _is_full(self) -> bool:
        return shutil.disk_usage(self._path.parent).free < ROOM_BYTES_MIN

    async def state(self) -> None:
        """See the contract. It is a file."""

    async def heartbeat(self, now_ms: int) -> None:
        """See the contract."""

        def beat(connection: apsw.Connection) -> None:
            # What is as small as this still fits into a log that does not grow: a lookup would not.
            if self._is_full():
                self._writer.make_room()
            if self._is_full():
                raise StorageFailed("disk full")
            connection.execute(QUERIES["heartbeat"], (now_ms - self._doubt_ms,))

        await self._writer.in_turn(beat)

    # What has run out.

    async def purge(self, now_ms: int) -> int:
        """See the contract."""
        gone = await self.in_turn(
            lambda connection: connection.execute(QUERIES["purge_answers"], (now_ms,)).fetchall()
        )
        return len(gone)

    async def drop_traces(self, before_ms: int) -> int:
        """See the contract. Here they lie together."""
        return 0

    def close(self) -> None:
        """See the contract."""
        self._writer.close(self._take_dirty_buckets())
        self._connection.close()
        self._ballast.remove()
