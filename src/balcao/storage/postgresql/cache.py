"""The cache on PostgreSQL, for all nodes. Promises: `storage.contract.Cache`.

Read in turns of the loop, written behind by a thread.
"""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from queue import SimpleQueue
from typing import Any

import psycopg

from balcao.core.freshness import Kept
from balcao.core.questions import Mode
from balcao.errors import BalcaoError
from balcao.storage.postgresql.connections import Line
from balcao.storage.postgresql.rows import arrays, texts, unnest
from balcao.storage.postgresql.schema import migrated
from balcao.storage.postgresql.turns import Turns, Worker

log = logging.getLogger(__name__)

# Answers waiting to be written. Past this the oldest loses its place: it is only a cache.
WAITING_MAX = 10_000

# Entries kept in memory, about 2 kB each. The oldest goes first.
RECENT_MAX = 16_384
# Another node may have written a newer answer: what is remembered is this old at the most.
RECENT_SECONDS = 0.5

_READ = "SELECT key, body, asked_ms, source FROM entry WHERE mode = %s AND key = ANY(%s::text[])"
_TYPES = ("text", "bigint", "text", "bytea")
_WRITE = (
    "INSERT INTO entry (mode, key, asked_ms, source, body)"
    f" SELECT %s, new.* FROM {unnest(_TYPES)} AS new (key, asked_ms, source, body) ORDER BY key"
    " ON CONFLICT (mode, key) DO UPDATE SET asked_ms = excluded.asked_ms,"
    " source = excluded.source, body = excluded.body WHERE excluded.asked_ms >= entry.asked_ms"
    " RETURNING key"
)


class PostgresCache:
    """The entries of one mode. Opens nothing before the first key is asked for."""

    def __init__(self, address: str, mode: Mode) -> None:
        self._mode = mode
        self._reading = Line(address, migrated("cache"))
        self._writing = Line(address, _greet_writer())
        self._reader = Worker(f"cache-reader-{mode}")
        self._asked: Turns[Sequence[str], Mapping[str, Kept]] = Turns(self._reader, self._answer)
        self._waiting: dict[str, Kept] = {}
        self._recent: dict[str, tuple[float, Kept]] = {}  # and when it was read or written
        self._changing = threading.Lock()  # the writer's thread takes entries in and out of both
        self._queue: SimpleQueue[bool] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"cache-writer-{mode}", daemon=True)
        self._thread.start()

    async def read(self, keys: Sequence[str]) -> Mapping[str, Kept]:
        """See the contract."""
        found: dict[str, Kept] = {}
        missing = []
        for key in keys:
            known = self._remembered(key)
            if known is None:
                missing.append(key)
            else:
                found[key] = known
        if missing:
            try:
                said = await self._asked.ask(missing)
            except BalcaoError as error:
                log.error("cache unreadable: %s", error.detail)
                said = {}
            for key in missing:
                # Also what was written while we asked.
                newest = _newest(said.get(key), self._remembered(key))
                if key in said:
                    self._remember(key, said[key])
                if newest is not None:
                    found[key] = newest
        for key in keys:
            waits = self._waiting.get(key)
            if waits is not None:
                newest = _newest(found.get(key), waits)
                assert newest is not None
                found[key] = newest
        return found

    def keep(self, entries: Sequence[tuple[str, Kept]]) -> None:
        """See the contract."""
        for key, kept in entries:
            known = _newest(self._remembered(key), self._waiting.get(key))
            if known is not None and known.asked_ms > kept.asked_ms:
                continue
            with self._changing:
                self._waiting[key] = kept
                if len(self._waiting) > WAITING_MAX:
                    self._waiting.pop(next(iter(self._waiting)))
        self._queue.put(True)

    def close(self) -> None:
        """See the contract."""
        self._queue.put(False)
        self._thread.join()
        self._reader.close()
        self._reading.close()
        self._writing.close()

    def _remembered(self, key: str) -> Kept | None:
        recent = self._recent.get(key)
        if recent is None or time.monotonic() - recent[0] >= RECENT_SECONDS:
            return None
        return recent[1]

    def _remember(self, key: str, kept: Kept) -> None:
        with self._changing:
            newer = _newest(kept, self._remembered(key))
            assert newer is not None
            self._recent.pop(key, None)  # to the end of the line
            if len(self._recent) >= RECENT_MAX:
                del self._recent[next(iter(self._recent))]
            self._recent[key] = (time.monotonic(), newer)

    def _answer(self, questions: Sequence[Sequence[str]]) -> Sequence[Mapping[str, Kept]]:
        keys = {key for question in questions for key in question}
        rows = self._reading.execute(_READ, (self._mode, texts(keys)))
        found = {row[0]: Kept(*row[1:]) for row in rows}
        return [{key: found[key] for key in question if key in found} for question in questions]

    def _run(self) -> None:
        while True:
            more = self._queue.get()
            with self._changing:
                batch = list(self._waiting.items())
            if batch:
                self._write(batch)
            if not more:
                return

    def _write(self, batch: Sequence[tuple[str, Kept]]) -> None:
        rows = [(key, kept.asked_ms, kept.source, kept.body) for key, kept in batch]
        try:
            written = self._writing.execute(_WRITE, (self._mode, *arrays(_TYPES, rows)))
            keys = {key for (key,) in written}
        except (BalcaoError, psycopg.Error) as error:
            log.error("cache not written: %s", type(error).__name__)
        else:
            for key, kept in batch:
                if key in keys:  # else somebody has written a newer one
                    self._remember(key, kept)
        with self._changing:
            for key, kept in batch:
                if self._waiting.get(key) is kept:
                    del self._waiting[key]


def _newest(one: Kept | None, other: Kept | None) -> Kept | None:
    """The newer answer; of one instant, the second."""
    if one is None or other is None:
        return other if one is None else one
    return one if one.asked_ms > other.asked_ms else other


def _greet_writer() -> Any:
    migrate = migrated("cache")

    def greet(connection: psycopg.Connection[Any]) -> None:
        migrate(connection)
        # It may lose its last seconds in a crash.
        connection.execute("SET synchronous_commit = off")

    return greet
