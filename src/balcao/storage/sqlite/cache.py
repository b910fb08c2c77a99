"""The cache on SQLite. Promises: `storage.contract.Cache`. Writes happen behind, in one thread."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import apsw

from balcao.core.data_subject import DataSubject
from balcao.core.freshness import Kept
from balcao.errors import StorageFailed
from balcao.storage.contract import KeptAbout, Swept
from balcao.storage.shared.cache_keys import PARTNERS, PEOPLE, Keys, described
from balcao.storage.sqlite.files import connect, empty_log, migrate

log = logging.getLogger(__name__)

# Answers waiting to be written. Past this the oldest loses its place: it is only a cache.
WAITING_MAX = 10_000

# Entries kept in memory, about 2 kB each. The oldest goes first.
RECENT_MAX = 16_384

# A stretch of entries looked through for old ones: about a megabyte, some milliseconds.
SWEPT_AT_ONCE = 500

# In the order in which the rows lie, which needs no index by age.
_STRETCH = (
    "SELECT max(rowid), count(*) FROM"
    " (SELECT rowid FROM entry WHERE rowid > ? ORDER BY rowid LIMIT ?)"
)
_SWEEP = (
    "DELETE FROM entry WHERE rowid > ? AND rowid <= ?"
    " AND asked_ms < CASE WHEN key >= ? AND key < ? THEN ? ELSE ? END RETURNING key"
)
_ABOUT = (
    "SELECT key, asked_ms, source FROM entry WHERE key >= ? AND key < ?"
    " UNION ALL SELECT key, asked_ms, source FROM entry WHERE key >= ? AND key < ?"
    " AND (instr(body, ?) > 0 OR instr(body, ?) > 0) ORDER BY key"
)

T = TypeVar("T")


class SqliteCache:
    """One file; reads in place on the event loop's thread."""

    def __init__(self, path: Path, secret: bytes = b"") -> None:
        self._keys = Keys(secret)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._open(path)
        except (apsw.NotADBError, apsw.CorruptError):
            # A damaged cache is worth nothing and must not keep the service down.
            log.error("cache file damaged; set aside and begun anew")
            path.replace(path.with_suffix(".damaged"))
            self._open(path)
        self._waiting: dict[str, Kept] = {}
        self._recent: dict[str, Kept] = {}  # what was read a moment ago; nobody else writes
        self._changing = threading.Lock()  # both threads take entries in and out of it
        self._swept_to = 0  # a rowid
        # What is done after that which waits was written; None: nothing more, ever.
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="cache-writer", daemon=True)
        self._thread.start()

    def _open(self, path: Path) -> None:
        self._writing = connect(path, synchronous="NORMAL")
        try:
            migrate(self._writing, "cache")
            self._writing.execute("SELECT * FROM entry ORDER BY key LIMIT 1").fetchall()
        except BaseException:
            self._writing.close()  # before the file gets another name: it has the -wal by name
            raise
        self._reading = connect(path, synchronous="NORMAL")

    async def read(self, keys: Sequence[str]) -> Mapping[str, Kept]:
        """See the contract."""
        found: dict[str, Kept] = {}
        for key in keys:
            kept = self._read(self._keys.stored(key))
            if kept is not None:
                found[key] = kept
        return found

    def _read(self, key: str) -> Kept | None:
        known = self._waiting.get(key) or self._recent.get(key)
        if known is not None:
            return known
        try:
            row = self._reading.execute(
                "SELECT body, asked_ms, source FROM entry WHERE key = ?", (key,)
            ).fetchone()
        except apsw.Error as error:
            log.error("cache unreadable: %s", type(error).__name__)
            return None
        if row is None:
            return None
        if len(self._recent) >= RECENT_MAX:
            del self._recent[next(iter(self._recent))]
        kept = self._recent[key] = Kept(*row)
        return kept

    def keep(self, entries: Sequence[tuple[str, Kept]]) -> None:
        """See the contract."""
        for plain, kept in entries:
            key = self._keys.stored(plain)
            known = self._read(key)
            if known is not None and known.asked_ms > kept.asked_ms:
                continue
            with self._changing:
                self._waiting[key] = kept
                self._recent.pop(key, None)
                if len(self._waiting) > WAITING_MAX:
                    self._waiting.pop(next(iter(self._waiting)))
        self._queue.put(_nothing)

    async def sweep(self, before_ms: int, people_before_ms: int) -> Swept:
        """See the contract."""
        swept, gone = await self._in_turn(lambda: self._sweep(before_ms, people_before_ms))
        self._forget(gone)
        return swept

    async def about(self, person: DataSubject) -> Sequence[KeptAbout]:
        """See the contract."""
        rows = await self._in_turn(lambda: self._about(person))
        return [KeptAbout(*described(key), asked_ms, source) for key, asked_ms, source in rows]

    async def erase(self, person: DataSubject) -> int:
        """See the contract."""
        gone = await self._in_turn(lambda: self._erase(person))
        self._forget(gone)
        return len(gone)

    def forget(self) -> None:
        """See the contract."""
        with self._changing:
            self._recent.clear()

    def close(self) -> None:
        """See the contract."""
        self._queue.put(None)
        self._thread.join()
        self._reading.close()
        self._writing.close()

    def _forget(self, keys: Sequence[str]) -> None:
        """On the loop's thread, so that no reading of it is half done."""
        with self._changing:
            for key in keys:
                self._recent.pop(key, None)

    async def _in_turn(self, work: Callable[[], T]) -> T:
        """Something for the writer's thread, after what waits. Raises `StorageFailed`."""
        done: Future[T] = Future()

        def chore() -> None:
            try:
                done.set_result(work())
            except Exception as error:
                log.error("cache chore failed: %s", type(error).__name__)
                failed = StorageFailed(type(error).__name__)
                failed.__cause__ = error  # the command line tells a busy file from a full disk
                done.set_exception(failed)

        self._queue.put(chore)
        return await asyncio.wrap_future(done)

    def _sweep(self, before_ms: int, people_before_ms: int) -> tuple[Swept, Sequence[str]]:
        stretch: Any = self._writing.execute(_STRETCH, (self._swept_to, SWEPT_AT_ONCE)).fetchone()
        last, count = stretch
        over = count < SWEPT_AT_ONCE
        gone: list[str] = []
        if count:
            values = (self._swept_to, last, *PEOPLE, people_before_ms, before_ms)
            rows: Any = self._writing.execute(_SWEEP, values).fetchall()
            gone = [key for (key,) in rows]
        self._swept_to = 0 if over else last
        people = sum(PEOPLE[0] <= key < PEOPLE[1] for key in gone)
        return Swept(len(gone), people, over), gone

    def _about(self, person: DataSubject) -> Sequence[Any]:
        values = (*self._keys.about(person.cpf.text), *PARTNERS, *person.written)
        return self._writing.execute(_ABOUT, values).fetchall()

    def _erase(self, person: DataSubject) -> Sequence[str]:
        gone = [key for key, _, _ in self._about(person)]
        with self._writing:
            self._writing.executemany("DELETE FROM entry WHERE key = ?", [(key,) for key in gone])
        empty_log(self._writing)
        return gone

    def _run(self) -> None:
        while True:
            chore = self._queue.get()
            with self._changing:
                batch = list(self._waiting.items())
            if batch:
                self._write(batch)
            if chore is None:
                return
            chore()

    def _write(self, batch: Sequence[tuple[str, Kept]]) -> None:
        try:
            with self._writing:
                self._writing.executemany(
                    "INSERT INTO entry (key, asked_ms, source, body) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (key) DO UPDATE SET asked_ms = excluded.asked_ms,"
                    " source = excluded.source, body = excluded.body"
                    " WHERE excluded.asked_ms >= entry.asked_ms",
                    [(key, kept.asked_ms, kept.source, kept.body) for key, kept in batch],
                )
        except apsw.Error as error:
            log.error("cache not written: %s", type(error).__name__)
        with self._changing:
            for key, kept in batch:
                if self._waiting.get(key) is kept:
                    del self._waiting[key]


def _nothing() -> None:
    """What waits is to be written, and that is all."""
