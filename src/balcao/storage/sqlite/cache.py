"""The cache on SQLite. Promises: `storage.contract.Cache`. Writes happen behind, in one thread."""

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue

import apsw

from balcao.core.freshness import Kept
from balcao.storage.sqlite.files import connect, migrate

log = logging.getLogger(__name__)

# Answers waiting to be written. Past this the oldest loses its place: it is only a cache.
WAITING_MAX = 10_000

# Entries kept in memory, about 2 kB each. The oldest goes first.
RECENT_MAX = 16_384


class SqliteCache:
    """One file; reads in place on the event loop's thread."""

    def __init__(self, path: Path) -> None:
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
        self._queue: SimpleQueue[bool] = SimpleQueue()
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
            kept = self._read(key)
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
        for key, kept in entries:
            known = self._read(key)
            if known is not None and known.asked_ms > kept.asked_ms:
                continue
            with self._changing:
                self._waiting[key] = kept
                self._recent.pop(key, None)
                if len(self._waiting) > WAITING_MAX:
                    self._waiting.pop(next(iter(self._waiting)))
        self._queue.put(True)

    def close(self) -> None:
        """See the contract."""
        self._queue.put(False)
        self._thread.join()
        self._reading.close()
        self._writing.close()

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
