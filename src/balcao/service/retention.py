"""Retention: periodic removal of expired data, in short steps, so that requests are not delayed.

The classes, their settings and the reasons: `docs/retention.md`, `docs/adr/0020`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from balcao.core.calendar import HOUR_MS, civil_day_text, details_since
from balcao.core.deprecations import KEPT_DAYS
from balcao.core.freshness import DAY_MS
from balcao.core.questions import Mode
from balcao.core.store_mark import Standing, may_delete
from balcao.core.webhooks import DELIVERIES_KEPT_DAYS
from balcao.service.jobs.periodic import Periodic, warn_on_storage_failure
from balcao.settings import Settings
from balcao.storage.contract import Blobs, Cache
from balcao.storage.desk.desk import Desk
from balcao.storage.receipt_standing import MARK_EVERY_SECONDS, renew, standing
from balcao.storage.receipts import keeping

log = structlog.get_logger()

PURGE_EVERY_SECONDS = 600.0
# A long backlog is removed in short steps, so that lookups are not delayed.
PAUSE_SECONDS = 0.05
RECEIPTS_AT_ONCE = 100

# Finished jobs are not shown; failed ones are, to operators.
JOBS_DONE_DAYS = 1
JOBS_FAILED_DAYS = 30

# Events are listed for as long (contract 12.5).
EVENT_DAYS = 90

# Corrections after a return name events, which are listed for less; the rest is history.
MONTH_DAYS = 730

# An exported file is downloaded soon, or made again (contract 15.6).
EXPORT_DAYS = 7

# The status page shows ninety days, and the one before them in part (contract 17).
AVAILABILITY_DAYS = 92

# The whole cache is read to find old entries: once a day, and not right at the start.
CACHE_FIRST_SECONDS = 60.0
CACHE_EVERY_SECONDS = 86_400.0

# Bytes that a crash left without a record, which normally follows within seconds. The first run
# is not after a day: a service that is restarted every night would never get there.
ORPHANS_FIRST_SECONDS = 600.0
ORPHANS_EVERY_SECONDS = 86_400.0
ORPHAN_MS = HOUR_MS

# One refusal may be a conflict within the store. It is logged after five, then once an hour.
MARK_REFUSALS_LOGGED = 5
MARK_REFUSALS_EACH_LOGGED = 60

# The longest that a serving process remembers data erased by a command.
ERASED_SECONDS = 0.5

# A cache entry names its receipt, and is removed up to a day late.
CACHE_DAYS_BEFORE_RECEIPTS = 2


@dataclass(slots=True)
class Retention:
    """Removes expired data. `observe` is called with a class of data and the number removed."""

    desk: Desk
    caches: Mapping[Mode, Cache]
    blobs: Blobs
    settings: Settings
    now_ms: Callable[[], int]
    observe: Callable[[str, int], None] = lambda kind, count: None
    forget: Callable[[], None] = lambda: None  # answers composed from entries
    _removed: Counter[str] = field(default_factory=Counter)  # since the last line in the log
    _standing: Standing | None = None  # of the receipt store, as last logged
    _refusals: int = 0  # renewals in a row that the store refused
    _erasures: int | None = None  # None before the first check

    def periodic_tasks(self) -> Sequence[Periodic]:
        """Return the periodic tasks."""
        failed = warn_on_storage_failure("purge.failed")
        return (
            Periodic("purge", self.purge, PURGE_EVERY_SECONDS, on_failure=failed),
            *(
                Periodic(
                    f"cache_sweep:{mode}",
                    partial(self.sweep, cache),
                    CACHE_EVERY_SECONDS,
                    CACHE_FIRST_SECONDS,
                    failed,
                )
                for mode, cache in self.caches.items()
            ),
            Periodic(
                "receipt_orphans",
                self.remove_orphans,
                ORPHANS_EVERY_SECONDS,
                ORPHANS_FIRST_SECONDS,
                failed,
            ),
            Periodic(
                "receipt_mark",
                self.renew_mark,
                MARK_EVERY_SECONDS,
                MARK_EVERY_SECONDS,
                failed,
            ),
            # Without the storage there are no erasures either, so its failures are ignored.
            Periodic("erasures", self.apply_erasures, ERASED_SECONDS),
        )

    async def purge(self) -> float | None:
        """Remove some; return a short pause if there is more. Raises `StorageFailed`."""
        if await self.purge_some():
            return PAUSE_SECONDS
        self.log_removed()
        return None

    async def sweep(self, cache: Cache) -> float | None:
        """Remove expired entries from one range of a cache; return a short pause if more follow.

        Raises `StorageFailed`.
        """
        now, kept = await self._now(), self.settings
        days_max = kept.receipt_days - CACHE_DAYS_BEFORE_RECEIPTS
        swept = await cache.sweep(
            now - min(kept.cache_days, days_max) * DAY_MS,
            now - min(kept.cache_person_days, days_max) * DAY_MS,
        )
        self._count("cache", swept.entries - swept.people_entries)
        self._count("cache_person", swept.people_entries)
        if not swept.over:
            return PAUSE_SECONDS
        self.log_removed()
        return None

    async def remove_orphans(self) -> None:
        """Delete the bytes of receipts that no record names. Raises `StorageFailed`.

        Does nothing if the desk may be older than the store, or the store belongs to another
        installation: lost records may have named them (ADR 0074).
        """
        before_ms = await self._now() - ORPHAN_MS
        count = 0
        async for names in keeping.orphans(self.desk, self.blobs, before_ms):
            if not may_delete(found := await standing(self.desk, self.blobs)):
                log.error("receipts.orphans_kept", standing=found, found=len(names))
                return
            # Logged before: there is no other trace of them.
            log.info("receipts.orphans", deleting=len(names))
            for name in names:
                await self.blobs.delete(name)
            count += len(names)
        self._count("receipt_orphans", count)
        self.log_removed()

    async def renew_mark(self) -> None:
        """Renew the mark that desk and store share. Raises `StorageFailed`."""
        renewal = await renew(self.desk, self.blobs, self.now_ms())
        self._count_refusal(refused=renewal.refused)
        found = renewal.standing
        if found != self._standing:
            if not may_delete(found):
                log.error("receipts.restore_unconfirmed", standing=found)
            elif self._standing is not None:
                log.info("receipts.restore_confirmed")
            self._standing = found

    def _count_refusal(self, *, refused: bool) -> None:
        """Log that the store keeps rejecting new marks: by an old one no restore is detected."""
        if refused:
            self._refusals += 1
            if self._refusals % MARK_REFUSALS_EACH_LOGGED == MARK_REFUSALS_LOGGED:
                log.error("receipts.mark_refused", refusals=self._refusals)
        else:
            if self._refusals >= MARK_REFUSALS_LOGGED:
                log.info("receipts.mark_accepted")
            self._refusals = 0

    async def purge_some(self) -> int:
        """Remove some expired data of the desk; return the number. Raises `StorageFailed`."""
        now, kept = await self._now(), self.settings
        removed = {
            "idempotency": await self.desk.purge(now),
            "sessions_and_traces": await self.desk.people.purge_people(
                now,
                now - kept.trace_days * DAY_MS,
                now - kept.session_hours * HOUR_MS,
                # A request is kept as long as its receipt, which it links to.
                now - max(kept.trace_days, kept.receipt_days) * DAY_MS,
            ),
            "receipts": await self.desk.purge_receipts(
                now - kept.receipt_days * DAY_MS, RECEIPTS_AT_ONCE, now
            ),
            "batches": await self._purge_batches(now),
            "jobs": await self.desk.jobs.purge(
                now - JOBS_DONE_DAYS * DAY_MS, now - JOBS_FAILED_DAYS * DAY_MS
            ),
            "events": await self.desk.events.purge(now - EVENT_DAYS * DAY_MS),
            "portfolios": await self.desk.wallets.purge(now - EVENT_DAYS * DAY_MS, now),
            "month_comparisons": await self.desk.months.purge(now - MONTH_DAYS * DAY_MS),
            "webhook_deliveries": await self.desk.webhook_deliveries.purge(
                now - DELIVERIES_KEPT_DAYS * DAY_MS
            ),
            "exports": await self.desk.exports.purge(now - EXPORT_DAYS * DAY_MS),
            "mail": await self.desk.mail.purge(now),
            "availability": await self.desk.availability.purge(
                now, now - AVAILABILITY_DAYS * DAY_MS
            ),
            "deprecated_uses": await self.desk.deprecated_uses.purge(
                civil_day_text(now - KEPT_DAYS * DAY_MS)
            ),
            # The first day with complete details keeps them.
            "total_details": await self.desk.totals.coarsen(details_since(now, kept.trace_days)),
        }
        for kind, count in removed.items():
            self._count(kind, count)
        return sum(removed.values())

    async def _purge_batches(self, now: int) -> int:
        """Remove unconfirmed quotes, files that never became a batch, and old data."""
        batches, count = self.desk.batches, 0
        for batch_id in await batches.unconfirmed(now):
            count += await batches.expire(batch_id, now)
        for batch_id in await batches.outdated(now - self.settings.batch_days * DAY_MS):
            count += await batches.erase(batch_id, now)
        return count + await batches.purge_pieces(now - HOUR_MS)

    async def apply_erasures(self) -> None:
        """Clear memories of data that another process erased. Raises `StorageFailed`."""
        erasures = await self.desk.data_subjects.erasures()
        if self._erasures not in (None, erasures):
            self.desk.data_subjects.forget()
            for cache in self.caches.values():
                cache.forget()
            self.forget()
        self._erasures = erasures

    def log_removed(self) -> None:
        """Log how many of each class were removed since the last line, if any."""
        if self._removed:
            log.info("retention.purged", **self._removed)
            self._removed.clear()

    async def _now(self) -> int:
        return await self.desk.safe_past(self.now_ms())

    def _count(self, kind: str, count: int) -> None:
        if count:
            self._removed[kind] += count
            self.observe(kind, count)
