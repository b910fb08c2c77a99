"""What is kept for how long, and how what has run out goes: in short strokes, beside the requests.

The classes, their settings and the reasons: `docs/retention.md`, `docs/decisions/0020`.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from balcao.core.calendar import HOUR_MS
from balcao.core.freshness import DAY_MS
from balcao.errors import StorageFailed
from balcao.receipts import keeping
from balcao.settings import Settings
from balcao.storage.contract import Blobs, Cache
from balcao.storage.desk.desk import Desk

log = structlog.get_logger()

PURGE_EVERY_SECONDS = 600.0
# A long backlog goes in short strokes, so that lookups slip in between.
PAUSE_SECONDS = 0.05
RECEIPTS_AT_ONCE = 100

# To find what is old, the whole cache is read: once a day, and not in the hurry of a start.
CACHE_FIRST_SECONDS = 60.0
CACHE_EVERY_SECONDS = 86_400.0

# Bytes that a crash left without a record; the record comes within seconds of the bytes. Not only
# after a day: a service that is started anew every night would never get there.
ORPHANS_FIRST_SECONDS = 600.0
ORPHANS_EVERY_SECONDS = 86_400.0
ORPHAN_MS = HOUR_MS

# What was erased at the terminal is remembered here for this long at the most.
ERASED_SECONDS = 0.5

# An entry names its receipt, and is found too old up to a day late.
CACHE_DAYS_BEFORE_RECEIPTS = 2


@dataclass(slots=True)
class Retention:
    """Removes what has run out. `observe` learns how many of which class went."""

    desk: Desk
    caches: Sequence[Cache]
    blobs: Blobs
    settings: Settings
    now_ms: Callable[[], int]
    observe: Callable[[str, int], None] = lambda kind, count: None
    _gone: Counter[str] = field(default_factory=Counter)  # since it was last told
    _erasures: int | None = None  # None: nothing is remembered yet that could be forgotten

    def tasks(self) -> "list[asyncio.Task[None]]":
        """What runs until it is cancelled."""
        return [
            asyncio.create_task(work)
            for work in (
                self._purge(),
                self._sweep_caches(),
                self._remove_orphans(),
                self._heed_erasures(),
            )
        ]

    async def purge_some(self) -> int:
        """One short stroke at what the desk has too much of. Count; 0: nothing is left.

        Raises `StorageFailed`.
        """
        now, kept = await self._now(), self.settings
        removed = {
            "idempotency": await self.desk.purge(now),
            "sessions_and_traces": await self.desk.people.purge_people(
                now,
                now - kept.trace_days * DAY_MS,
                now - kept.session_hours * HOUR_MS,
                # As long as the receipt can be fetched, the request leads to it.
                now - max(kept.trace_days, kept.receipt_days) * DAY_MS,
            ),
            "receipts": await keeping.purge(
                self.desk, self.blobs, now - kept.receipt_days * DAY_MS, RECEIPTS_AT_ONCE
            ),
        }
        for kind, count in removed.items():
            self._count(kind, count)
        return sum(removed.values())

    async def sweep_cache(self, cache: Cache) -> None:
        """Look through a whole cache for what is too old. Raises `StorageFailed`."""
        over = False
        while not over:
            now, kept = await self._now(), self.settings
            days_max = kept.receipt_days - CACHE_DAYS_BEFORE_RECEIPTS
            swept = await cache.sweep(
                now - min(kept.cache_days, days_max) * DAY_MS,
                now - min(kept.cache_person_days, days_max) * DAY_MS,
            )
            self._count("cache", swept.entries - swept.people_entries)
            self._count("cache_person", swept.people_entries)
            over = swept.over
            await asyncio.sleep(PAUSE_SECONDS)

    async def heed_erasures(self) -> None:
        """Forget what is remembered of what another process erased. Raises `StorageFailed`."""
        erasures = await self.desk.data_subjects.erasures()
        if self._erasures not in (None, erasures):
            self.desk.data_subjects.forget()
            for cache in self.caches:
                cache.forget()
        self._erasures = erasures

    def tell(self) -> None:
        """One line about all that went since the last one, if anything did: numbers alone."""
        if self._gone:
            log.info("retention.purged", **self._gone)
            self._gone.clear()

    async def _now(self) -> int:
        return await self.desk.surely_past(self.now_ms())

    def _count(self, kind: str, count: int) -> None:
        if count:
            self._gone[kind] += count
            self.observe(kind, count)

    async def _purge(self) -> None:
        while True:
            try:
                purged = await self.purge_some()
            except StorageFailed as error:  # the disk may have room again later
                log.warning("purge.failed", detail=error.detail)
                purged = 0
            if not purged:
                self.tell()
            await asyncio.sleep(PAUSE_SECONDS if purged else PURGE_EVERY_SECONDS)

    async def _sweep_caches(self) -> None:
        await asyncio.sleep(CACHE_FIRST_SECONDS)
        while True:
            for cache in self.caches:
                try:
                    await self.sweep_cache(cache)
                except StorageFailed as error:
                    log.warning("purge.failed", detail=error.detail)
            self.tell()
            await asyncio.sleep(CACHE_EVERY_SECONDS)

    async def _remove_orphans(self) -> None:
        await asyncio.sleep(ORPHANS_FIRST_SECONDS)
        while True:
            try:
                before_ms = await self._now() - ORPHAN_MS
                async for names in keeping.orphans(self.desk, self.blobs, before_ms):
                    for name in names:
                        await self.blobs.delete(name)
            except StorageFailed as error:
                log.warning("purge.failed", detail=error.detail)
            await asyncio.sleep(ORPHANS_EVERY_SECONDS)

    async def _heed_erasures(self) -> None:
        while True:
            with contextlib.suppress(StorageFailed):  # then nobody can erase anything either
                await self.heed_erasures()
            await asyncio.sleep(ERASED_SECONDS)
