"""A write-behind cache: the part that is the same on every engine.

New entries are pending in memory, where reads find them at once; one thread writes them in batches.
It also runs sweeps, searches and erasures, each after the entries that were pending before. How
entries are read, written and searched is the engine's part.
"""

import logging
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from balcao.core.data_subject import DataSubject
from balcao.core.errors import StorageFailed
from balcao.core.freshness import AHEAD_MS, CacheEntry
from balcao.storage.cache.keys import PEOPLE, Keys, subject_and_uf
from balcao.storage.contract import PersonEntry, SweepResult
from balcao.storage.failure import failure
from balcao.storage.group_commit import Worker, run_in

log = logging.getLogger(__name__)

# Pending answers. Beyond this the oldest is dropped: it is only a cache.
PENDING_MAX = 10_000

# Entries kept in memory after a read, about 2 kB each. The oldest is evicted first. Long entries
# are read each time: this many companies with ten thousand partners would take 40 GB.
RECENT_MAX = 16_384
RECENT_BYTES_MAX = 64_000

_END_MS = 1 << 62

T = TypeVar("T")
R = TypeVar("R")  # an entry in memory, of an engine


class WriteBehindCache(ABC, Generic[R]):
    """The writing half of a `storage.contract.Cache`.

    The engine's methods receive keys in their stored form. The constructor starts the thread, so
    the engine has to open its connections before calling it.
    """

    def __init__(
        self, pepper: bytes, thread_name: str, pending_max: int, now_ms: Callable[[], int] | None
    ) -> None:
        """`now_ms`: the trusted time; without it no entry counts as ahead of the clock."""
        self._keys = Keys(pepper)
        self._now_ms = now_ms
        self._pending: dict[str, CacheEntry] = {}
        self._pending_max = pending_max
        # Entries read recently. An OrderedDict finds its oldest entry quickly, a dict does not.
        self._recent: OrderedDict[str, R] = OrderedDict()
        self._lock = threading.Lock()  # of both dicts, which two threads change
        self._worker = Worker(thread_name)

    @abstractmethod
    def _read_nowait(self, key: str) -> CacheEntry | None:
        """Return the entry of a key if it can be read without blocking."""

    # In the writer's thread.

    @abstractmethod
    def _write(self, batch: Sequence[tuple[str, CacheEntry]]) -> None:
        """Write entries; an older one never replaces a newer one. Failures are logged."""

    @abstractmethod
    def _sweep(self, before_ms: int, people_before_ms: int) -> tuple[Sequence[str], bool]:
        """Remove expired entries from the next part; return their keys, and if it was the last."""

    @abstractmethod
    def _entries_about(self, person: DataSubject) -> Sequence[tuple[str, int, str]]:
        """Return key, `asked_ms` and source of all entries about a person."""

    @abstractmethod
    def _erase(self, person: DataSubject) -> Sequence[str]:
        """Remove these entries and return their keys."""

    # The cache's interface.

    def keep(self, entries: Sequence[tuple[str, CacheEntry]]) -> None:
        for plain, kept in entries:
            key = self._keys.stored(plain)
            if self._newest(self._read_nowait(key), kept) is not kept:
                continue
            with self._lock:
                self._pending[key] = kept
                if len(self._pending) > self._pending_max:
                    self._pending.pop(next(iter(self._pending)))
        self._worker.submit(self._flush)

    async def sweep(self, before_ms: int, people_before_ms: int) -> SweepResult:
        gone, over = await self._run_in_writer(lambda: self._sweep(before_ms, people_before_ms))
        self._forget(gone)
        people = sum(PEOPLE[0] <= key < PEOPLE[1] for key in gone)
        return SweepResult(len(gone), people, over)

    async def entries_about(self, person: DataSubject) -> Sequence[PersonEntry]:
        rows = await self._run_in_writer(lambda: self._entries_about(person))
        return [
            PersonEntry(*subject_and_uf(key), asked_ms, source) for key, asked_ms, source in rows
        ]

    async def erase(self, person: DataSubject) -> int:
        gone = await self._run_in_writer(lambda: self._erase(person))
        self._forget(gone)
        return len(gone)

    def _newest(self, one: CacheEntry | None, other: CacheEntry | None) -> CacheEntry | None:
        """Return the newer answer, or `other` if both are of one instant.

        An answer ahead of the present time counts as the oldest.
        """
        if one is None or other is None:
            return other if one is None else one
        latest_ms = self._latest_ms()
        return max(other, one, key=lambda kept: (kept.asked_ms <= latest_ms, kept.asked_ms))

    def _latest_ms(self) -> int:
        """Return the latest plausible `asked_ms`."""
        return _END_MS if self._now_ms is None else self._now_ms() + AHEAD_MS

    def forget(self) -> None:
        with self._lock:
            self._recent.clear()

    def close(self) -> None:
        """Write the pending entries and stop the thread. The engine then closes its connections."""
        self._worker.submit(self._flush)
        self._worker.close()

    def _forget(self, keys: Sequence[str]) -> None:
        """Drop changed entries from memory.

        After a removal this runs on the event loop's thread, where no read can be half done.
        Written entries are still pending, and reads look there first.
        """
        with self._lock:
            for key in keys:
                self._recent.pop(key, None)

    async def _run_in_writer(self, work: Callable[[], T]) -> T:
        """Run work in the writer's thread, after the pending entries. Raises `StorageFailed`."""
        return await run_in(self._worker, partial(self._flush_and_run, work))

    def _flush_and_run(self, work: Callable[[], T]) -> T:
        self._flush()
        try:
            return work()
        except Exception as error:
            raise _storage_failure(error) from error

    def _flush(self) -> None:
        with self._lock:
            batch = list(self._pending.items())
        if not batch:
            return
        self._write(batch)
        self._forget([key for key, _ in batch])
        with self._lock:
            for key, kept in batch:
                if self._pending.get(key) is kept:
                    del self._pending[key]


def _storage_failure(error: Exception) -> StorageFailed:
    if isinstance(error, StorageFailed):
        return error
    log.error("cache chore failed: %s", type(error).__name__)
    return failure(error)
