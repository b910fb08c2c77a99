"""The cache on PostgreSQL, shared by all nodes.

A thread of its own reads in batches. Entries stay in memory until any node changes them: changes
are announced by NOTIFY. Entries in memory count as valid only for a short time after the last
contact with the database.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import psycopg

from balcao.core.data_subject import DataSubject
from balcao.core.errors import BalcaoError, StorageFailed
from balcao.core.freshness import CacheEntry
from balcao.core.questions import Mode
from balcao.storage.cache.keys import PARTNERS, age_limits
from balcao.storage.cache.write_behind import (
    PENDING_MAX,
    RECENT_BYTES_MAX,
    RECENT_MAX,
    WriteBehindCache,
)
from balcao.storage.group_commit import Batcher, Worker
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import ReconnectingConnection, open_reader
from balcao.storage.postgresql.rows import arrays, texts
from balcao.storage.postgresql.schema import migrated

log = logging.getLogger(__name__)

# Entries in memory are trusted this long after the last contact with the database.
SYNCED_SECONDS = 0.5
LISTEN_SECONDS = 0.2
# Or this long after they were read: entries may be changed by hand, without NOTIFY.
RECENT_SECONDS = 60.0

_TYPES = ("text", "bigint", "text", "bytea")
# Entries checked for expiry at once: some milliseconds.
SWEPT_AT_ONCE = 500


class PostgresCache(WriteBehindCache[tuple[float, CacheEntry]]):
    """A `storage.contract.Cache` of one mode. Connects when the first key is read.

    Entries in memory have the time of their read, on the monotonic clock.
    """

    def __init__(
        self,
        address: str,
        mode: Mode,
        pepper: bytes = b"",
        now_ms: Callable[[], int] | None = None,
    ) -> None:
        self._address = address
        self._mode = mode
        self._channel = f"balcao_cache_{mode}"
        # All changes before this time have arrived here. None: no contact yet.
        self._synced_at: float | None = None
        # Keys changed since the present read began. None: no read, or changes may have been missed.
        self._changed_during_read: set[str] | None = None
        self._migrated = migrated("cache")
        self._reading = ReconnectingConnection(address, self._on_reader_connect)
        self._writing = ReconnectingConnection(address, _on_writer_connect())
        self._reader = Worker(f"cache-reader-{mode}", self._listen, LISTEN_SECONDS)
        self._reads: Batcher[Sequence[str], Mapping[str, CacheEntry]] = Batcher(
            self._reader, lambda requests: partial(self._read_all, requests)
        )
        self._swept_to = ""  # a key
        super().__init__(pepper, f"cache-writer-{mode}", PENDING_MAX, now_ms)

    async def read(self, keys: Sequence[str]) -> Mapping[str, CacheEntry]:
        stored = {key: self._keys.stored(key) for key in keys}
        found = await self._find(list(stored.values()))
        return {key: found[name] for key, name in stored.items() if name in found}

    def read_nowait(self, keys: Sequence[str]) -> Mapping[str, CacheEntry] | None:
        """Return the entries if all are in memory; else None, for they are read over a network."""
        found: dict[str, CacheEntry] = {}
        for key in keys:
            name = self._keys.stored(key)
            remembered = self._remembered(name)
            if remembered is None:
                return None
            found[key] = self._newest(remembered, self._pending.get(name)) or remembered
        return found

    async def _find(self, keys: Sequence[str]) -> Mapping[str, CacheEntry]:
        known: dict[str, CacheEntry] = {}
        missing = []
        for key in keys:
            kept = self._remembered(key)
            if kept is None:
                missing.append(key)
            if (kept := self._newest(kept, self._pending.get(key))) is not None:
                known[key] = kept
        if missing:
            try:
                read = await self._reads.submit(missing)
            except BalcaoError as error:
                log.error("cache unreadable: %s", error.detail)
                read = {}
            for key in keys:  # entries may have become pending meanwhile
                kept = self._newest(read.get(key), known.get(key))
                if (kept := self._newest(kept, self._pending.get(key))) is not None:
                    known[key] = kept
        return known

    def _read_nowait(self, key: str) -> CacheEntry | None:
        return self._newest(self._remembered(key), self._pending.get(key))

    def close(self) -> None:
        super().close()
        self._reader.close()
        self._reading.close()
        self._writing.close()

    def _remembered(self, key: str) -> CacheEntry | None:
        synced_at = self._synced_at  # read first: entries found after this were valid at that time
        recent = self._recent.get(key)
        if recent is None or synced_at is None:
            return None
        now = time.monotonic()
        if now - synced_at >= SYNCED_SECONDS or now - recent[0] >= RECENT_SECONDS:
            return None
        return recent[1]

    # In the reader's thread.

    def _on_reader_connect(self, connection: psycopg.Connection[Any]) -> None:
        self._migrated(connection)
        connection.add_notify_handler(lambda notification: self._forget([notification.payload]))
        connection.execute(f"LISTEN {self._channel}")
        with self._lock:  # changes may have been missed without a connection
            self._changed_during_read = None
            self._recent.clear()

    def _listen(self) -> None:
        """Receive notifications while no entries are requested."""
        if self._synced_at is None:
            return
        began = time.monotonic()
        try:
            self._reading.execute("SELECT 1")
        except StorageFailed:
            return  # entries in memory are not trusted until the next contact
        self._synced_at = began

    def _read_all(self, requests: Sequence[Sequence[str]]) -> Sequence[Mapping[str, CacheEntry]]:
        keys = {key for request in requests for key in request}
        began = time.monotonic()
        with self._lock:
            self._changed_during_read = set()
        try:
            rows = self._reading.execute(QUERIES["read_entries"], (texts(keys), self._mode))
            found = {row[0]: CacheEntry(*row[1:]) for row in rows}
            self._remember(found)
        finally:
            with self._lock:
                self._changed_during_read = None
        self._synced_at = began
        return [{key: found[key] for key in request if key in found} for request in requests]

    def _remember(self, found: Mapping[str, CacheEntry]) -> None:
        """Keep entries in memory, except those that were changed during the read."""
        now = time.monotonic()
        with self._lock:
            if self._changed_during_read is None:
                return
            for key, kept in found.items():
                if key in self._changed_during_read:
                    continue
                self._recent.pop(key, None)  # so that it becomes the newest
                if len(kept.body) > RECENT_BYTES_MAX:
                    continue
                if len(self._recent) >= RECENT_MAX:
                    self._recent.popitem(last=False)
                self._recent[key] = (now, kept)

    # In any thread.

    def _forget(self, keys: Sequence[str]) -> None:
        """Drop changed entries from memory, and from the result of a read under way."""
        with self._lock:
            if self._changed_during_read is not None:
                self._changed_during_read.update(keys)
            for key in keys:
                self._recent.pop(key, None)

    # In the writer's thread.

    def _sweep(self, before_ms: int, people_before_ms: int) -> tuple[Sequence[str], bool]:
        stretch = (self._mode, self._swept_to, SWEPT_AT_ONCE)
        ((last, count),) = self._writing.execute(QUERIES["stretch"], stretch)
        over = count < SWEPT_AT_ONCE
        gone: list[str] = []
        if count:
            ages = age_limits(before_ms, people_before_ms)
            stretched = (self._mode, self._swept_to, last, *ages, self._channel)
            gone = [key for key, _ in self._writing.execute(QUERIES["sweep"], stretched)]
        self._swept_to = "" if over else last
        return gone, over

    def _entries_about(self, person: DataSubject) -> Sequence[Any]:
        about = self._keys.about(person.cpf.text)
        # Partners' documents are searched in whole answers, which may be slow.
        with open_reader(self._address) as patient, patient.guarded() as connection:
            migrated("cache")(connection)
            values = (self._mode, *about, *PARTNERS, *person.written)
            return connection.execute(QUERIES["entries_about"].encode(), values).fetchall()

    def _erase(self, person: DataSubject) -> Sequence[str]:
        gone = [key for key, _, _ in self._entries_about(person)]
        with self._writing.guarded() as connection, connection.transaction():
            # An erasure, unlike a new entry, must not be lost in a crash.
            connection.execute("SET LOCAL synchronous_commit = on")
            connection.execute(
                QUERIES["erase_entries"].encode(), (self._mode, texts(gone), self._channel)
            )
        return gone

    def _write(self, batch: Sequence[tuple[str, CacheEntry]]) -> None:
        rows = [(key, kept.asked_ms, kept.source, kept.body) for key, kept in batch]
        try:
            values = (self._mode, *arrays(_TYPES, rows), self._latest_ms(), self._channel)
            self._writing.execute(QUERIES["write_entries"], values, repeatable=True)
        except (BalcaoError, psycopg.Error) as error:
            log.error("cache not written: %s", type(error).__name__)


def _on_writer_connect() -> Any:
    migrate = migrated("cache")

    def on_connect(connection: psycopg.Connection[Any]) -> None:
        migrate(connection)
        # A crash may lose the last seconds.
        connection.execute("SET synchronous_commit = off")

    return on_connect
