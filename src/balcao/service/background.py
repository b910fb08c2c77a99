"""Background work of a serving process: durable jobs, periodic work and backups."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import astuple

from balcao.backup.schedule import Schedule
from balcao.core.errors import StorageFailed
from balcao.home import Home
from balcao.lookup.context import Parts
from balcao.observability.observers import Observers
from balcao.service.availability import AvailabilityCounts
from balcao.service.batching import Batching
from balcao.service.clock import Clock
from balcao.service.events_measured import EventsMeasured
from balcao.service.fetching import MonthFetching
from balcao.service.folding import Folding
from balcao.service.jobs.durable import JobKind, JobWorker
from balcao.service.lifespan import Life
from balcao.service.months import finishing
from balcao.service.provider_factory import ProviderFactory
from balcao.service.receipt_deletion import deleting_bytes
from balcao.service.retention import Retention
from balcao.settings import Settings
from balcao.storage.desk.exports import EXPORT
from balcao.storage.stores import Stores


def build(
    settings: Settings,
    home: Home,
    clock: Clock,
    *,
    stores: Stores,
    observers: Observers,
    parts: Parts,
    factory: ProviderFactory,
    batches: Batching,
    availability: AvailabilityCounts,
    write_export: Callable[[str], Awaitable[None]],
) -> Life:
    """Return the life of the process, and connect the metrics with the state of its work."""
    desk, metrics, now_ms = stores.desk, observers.metrics, clock.now_ms
    kinds = [
        deleting_bytes(desk, stores.blobs),
        *batches.kinds(),
        JobKind(EXPORT, write_export, at_once=1, look_seconds=1.0),
    ]
    worker = JobWorker(desk.jobs, kinds, now_ms)
    life = Life(
        parts,
        desk,
        Retention(
            desk,
            stores.caches,
            stores.blobs,
            settings,
            clock.surely_past_ms,
            metrics.purged,
            parts.forget,
        ),
        factory.upstreams,
        observers.request_log,
        Schedule(settings, now_ms, metrics.backup),
        worker,
        longest_lookup_seconds=settings.longest_lookup_seconds,
        clock=clock,
        months=finishing(home, answers=settings.opendata_answers, search=settings.opendata_search),
        fetching=MonthFetching(home.opendata("live"), now_ms, secrets.randbelow)
        if settings.opendata_fetch
        else None,
        beside=[
            batches.counting(),
            EventsMeasured(desk.budgets, metrics.event).periodic(),
            Folding(desk, clock.surely_past_ms).work(),
            availability.work(),
        ],
        at_end=availability.write_last,
    )

    def budgets() -> int | None:
        try:
            return desk.budgets.count()
        except StorageFailed:
            return None

    metrics.budgets = budgets
    metrics.jobs = lambda: [
        (one.kind, one.state, one.count, one.oldest_due_ms) for one in worker.standing
    ]
    metrics.batches, metrics.files = lambda: batches.standing, batches.room.measured
    metrics.work = lambda: {name: astuple(seen) for name, seen in life.runner.seen.items()}
    return life
