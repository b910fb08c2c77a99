"""The cache on SQLite."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from balcao.core.data_subject import DataSubject
from balcao.core.freshness import CacheEntry
from balcao.storage.cache.keys import PARTNERS, age_limits
from balcao.storage.cache.write_behind import (
    PENDING_MAX,
    RECENT_BYTES_MAX,
    RECENT_MAX,
    WriteBehindCache,
)
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.files import (
    connect,
    free_disk_space,
    is_full,
    migrate,
    transaction,
    truncate_log,
)

log = logging.getLogger(__name__)

# Entries checked for expiry at once: about a megabyte, some milliseconds.
SWEPT_AT_ONCE = 500


class SqliteCache(WriteBehindCache[CacheEntry]):
    """A `storage.contract.Cache` in one file.

    Reads are synchronous on the event loop's thread, the only one that adds to `_recent`.
    """

    def __init__(
        self,
        path: Path,
        pepper: bytes = b"",
        reserve: DiskReserve | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        self._reserve = reserve or DiskReserve(path.parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._open(path)
        except (apsw.NotADBError, apsw.CorruptError):
            # A damaged cache must not prevent a start.
            log.error("cache file damaged; set aside and begun anew")
            path.replace(path.with_suffix(".damaged"))
            self._open(path)
        self._swept_to = 0  # a rowid
        super().__init__(pepper, "cache-writer", PENDING_MAX, now_ms)

    def _open(self, path: Path) -> None:
        self._writing = connect(path, synchronous="NORMAL")
        try:
            migrate(self._writing, "cache")
            self._writing.execute("SELECT * FROM entry ORDER BY key LIMIT 1").fetchall()
        except BaseException:
            self._writing.close()  # before the file is renamed: the log is found by its name
            raise
        self._reading = connect(path, synchronous="NORMAL")

    async def read(self, keys: Sequence[str]) -> Mapping[str, CacheEntry]:
        return self.read_nowait(keys)

    def read_nowait(self, keys: Sequence[str]) -> Mapping[str, CacheEntry]:
        """Return the entries that exist: reads here never block."""
        found: dict[str, CacheEntry] = {}
        for key in keys:
            kept = self._read_nowait(self._keys.stored(key))
            if kept is not None:
                found[key] = kept
        return found

    def _read_nowait(self, key: str) -> CacheEntry | None:
        known = self._pending.get(key) or self._recent.get(key)
        if known is not None:
            return known
        try:
            row = self._reading.execute(QUERIES["read_entries"], (key,)).fetchone()
        except apsw.Error as error:
            log.error("cache unreadable: %s", type(error).__name__)
            return None
        if row is None:
            return None
        kept = CacheEntry(*row)
        if len(kept.body) <= RECENT_BYTES_MAX:
            if len(self._recent) >= RECENT_MAX:
                self._recent.popitem(last=False)
            self._recent[key] = kept
        return kept

    def close(self) -> None:
        super().close()
        self._reading.close()
        self._writing.close()

    def _sweep(self, before_ms: int, people_before_ms: int) -> tuple[Sequence[str], bool]:
        stretch: Any = self._writing.execute(
            QUERIES["stretch"], (self._swept_to, SWEPT_AT_ONCE)
        ).fetchone()
        last, count = stretch
        over = count < SWEPT_AT_ONCE
        gone: list[str] = []
        if count:
            values = (self._swept_to, last, *age_limits(before_ms, people_before_ms))
            rows: Any = self._writing.execute(QUERIES["sweep"], values).fetchall()
            gone = [key for (key,) in rows]
        self._swept_to = 0 if over else last
        return gone, over

    def _entries_about(self, person: DataSubject) -> Sequence[Any]:
        values = (*self._keys.about(person.cpf.text), *PARTNERS, *person.written)
        return self._writing.execute(QUERIES["entries_about"], values).fetchall()

    def _erase(self, person: DataSubject) -> Sequence[str]:
        gone = [key for key, _, _ in self._entries_about(person)]
        with self._writing:
            self._writing.executemany(QUERIES["erase_entries"], [(key,) for key in gone])
        truncate_log(self._writing)
        return gone

    def _write(self, batch: Sequence[tuple[str, CacheEntry]]) -> None:
        latest_ms = self._latest_ms()
        rows = [(key, kept.asked_ms, kept.source, kept.body, latest_ms) for key, kept in batch]
        try:
            try:
                self._insert(rows)
            except apsw.Error as error:
                if not is_full(error):
                    raise
                free_disk_space(self._writing, self._reserve)
                self._insert(rows)
        except apsw.Error as error:
            log.error("cache not written: %s", type(error).__name__)

    def _insert(self, rows: Sequence[tuple[str, int, str, bytes, int]]) -> None:
        # No savepoint: a full disk may roll back by itself, and releasing it would raise another
        # error.
        with transaction(self._writing):
            self._writing.executemany(QUERIES["write_entries"], rows)
