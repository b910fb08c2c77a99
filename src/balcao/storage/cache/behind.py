"""Writing behind: the half of a cache that is the same on every engine.

What is kept waits in memory, where reads find it at once; one thread writes all that waits, batch
by batch. Chores are done by the same thread, each after what waited when it was asked for. How
entries are read, written and looked through is the engine's.
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
from balcao.core.freshness import AHEAD_MS, Kept
from balcao.storage.cache.keys import PEOPLE, Keys, described
from balcao.storage.contract import KeptAbout, Swept
from balcao.storage.failure import failure
from balcao.storage.turns import Worker, in_thread

log = logging.getLogger(__name__)

# Answers waiting to be written. Past this the oldest loses its place: it is only a cache.
WAITING_MAX = 10_000

# Entries kept in memory, about 2 kB each. The oldest goes first; long ones are read anew each time,
# since so many companies with ten thousand partners would be 40 GB.
RECENT_MAX = 16_384
RECENT_BYTES_MAX = 64_000

_END_MS = 1 << 62

T = TypeVar("T")
R = TypeVar("R")  # what an engine remembers of an entry


class WrittenBehind(ABC, Generic[R]):
    """A cache but for its reading. Promises: `storage.contract.Cache`.

    Whatever an engine adds is given keys as they are stored. The thread is started here: an engine
    has its connections before that.
    """

    def __init__(
        self, pepper: bytes, thread_name: str, waiting_max: int, now_ms: Callable[[], int] | None
    ) -> None:
        """Without `now_ms`, the time that is believed, no entry is taken to be ahead of it."""
        self._keys = Keys(pepper)
        self._now_ms = now_ms
        self._waiting: dict[str, Kept] = {}
        self._waiting_max = waiting_max
        # What was read or written a moment ago. Of a plain dict the oldest takes long to find.
        self._recent: OrderedDict[str, R] = OrderedDict()
        self._changing = threading.Lock()  # both threads take entries in and out of them
        self._worker = Worker(thread_name)

    @abstractmethod
    def _at_hand(self, key: str) -> Kept | None:
        """What is known of a key without waiting for anybody."""

    # In the writer's thread.

    @abstractmethod
    def _write(self, batch: Sequence[tuple[str, Kept]]) -> None:
        """Write entries; an older one never replaces a newer one. What fails is logged."""

    @abstractmethod
    def _sweep(self, before_ms: int, people_before_ms: int) -> tuple[Sequence[str], bool]:
        """Remove what is too old from the next stretch: its keys, and whether it was the last."""

    @abstractmethod
    def _about(self, person: DataSubject) -> Sequence[tuple[str, int, str]]:
        """Key, instant of asking and source of all entries about a person."""

    @abstractmethod
    def _erase(self, person: DataSubject) -> Sequence[str]:
        """Remove those. Their keys."""

    # Whoever uses the cache.

    def keep(self, entries: Sequence[tuple[str, Kept]]) -> None:
        """See the contract."""
        for plain, kept in entries:
            key = self._keys.stored(plain)
            if self._newest(self._at_hand(key), kept) is not kept:
                continue
            with self._changing:
                self._waiting[key] = kept
                if len(self._waiting) > self._waiting_max:
                    self._waiting.pop(next(iter(self._waiting)))
        self._worker.submit(self._write_what_waits)

    async def sweep(self, before_ms: int, people_before_ms: int) -> Swept:
        """See the contract."""
        gone, over = await self._in_turn(lambda: self._sweep(before_ms, people_before_ms))
        self._forget(gone)
        people = sum(PEOPLE[0] <= key < PEOPLE[1] for key in gone)
        return Swept(len(gone), people, over)

    async def about(self, person: DataSubject) -> Sequence[KeptAbout]:
        """See the contract."""
        rows = await self._in_turn(lambda: self._about(person))
        return [KeptAbout(*described(key), asked_ms, source) for key, asked_ms, source in rows]

    async def erase(self, person: DataSubject) -> int:
        """See the contract."""
        gone = await self._in_turn(lambda: self._erase(person))
        self._forget(gone)
        return len(gone)

    def _newest(self, one: Kept | None, other: Kept | None) -> Kept | None:
        """The newer answer; of one instant, the second. One that is ahead of now is the oldest."""
        if one is None or other is None:
            return other if one is None else one
        latest_ms = self._latest_ms()
        return max(other, one, key=lambda kept: (kept.asked_ms <= latest_ms, kept.asked_ms))

    def _latest_ms(self) -> int:
        """The latest instant of asking that can be true."""
        return _END_MS if self._now_ms is None else self._now_ms() + AHEAD_MS

    def forget(self) -> None:
        """See the contract."""
        with self._changing:
            self._recent.clear()

    def close(self) -> None:
        """Write what waits and end the thread; an engine then lets go of its connections."""
        self._worker.submit(self._write_what_waits)
        self._worker.close()

    def _forget(self, keys: Sequence[str]) -> None:
        """They were changed: what was read of them before is no longer true.

        After a removal on the loop's thread, so that no reading is half done. What was written
        still waits then, and is found before anything that is remembered.
        """
        with self._changing:
            for key in keys:
                self._recent.pop(key, None)

    async def _in_turn(self, work: Callable[[], T]) -> T:
        """Something for the writer's thread, after what waits. Raises `StorageFailed`."""
        return await in_thread(self._worker, partial(self._chore, work))

    def _chore(self, work: Callable[[], T]) -> T:
        self._write_what_waits()
        try:
            return work()
        except Exception as error:
            raise _told(error) from error

    def _write_what_waits(self) -> None:
        with self._changing:
            batch = list(self._waiting.items())
        if not batch:
            return
        self._write(batch)
        self._forget([key for key, _ in batch])
        with self._changing:
            for key, kept in batch:
                if self._waiting.get(key) is kept:
                    del self._waiting[key]


def _told(error: Exception) -> StorageFailed:
    if isinstance(error, StorageFailed):
        return error
    log.error("cache chore failed: %s", type(error).__name__)
    return failure(error)
