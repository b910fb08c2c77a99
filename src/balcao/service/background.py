"""Background work of a serving process: durable jobs, periodic work and backups."""

from collections.abc import Awaitable, Callable
from dataclasses import astuple
from secrets import randbelow

from balcao.backup.schedule import BackupSchedule
from balcao.core.errors import StorageFailed
from balcao.home import Home
from balcao.lookup.context import Parts
from balcao.observability.observers import Observers
from balcao.service.availability import AvailabilityCounts
from balcao.service.batching import BatchParts
from balcao.service.clock import Clock
from balcao.service.daily_totals import TotalsUpdater
from balcao.service.deprecated_uses import DeprecatedUseCounts
from balcao.service.derived_data import derived_data_builder
from balcao.service.event_counter import EventCounter
from balcao.service.expiring_keys import ExpiringKeys
from balcao.service.extending import extension_jobs
from balcao.service.fetching import MonthFetching
from balcao.service.jobs.durable import JobKind, JobWorker
from balcao.service.lifecycle import Lifecycle
from balcao.service.mail_delivery import MailDelivery
from balcao.service.month_comparison import (
    Comparer,
    ComparisonMeasured,
    MonthComparison,
    MonthWatch,
)
from balcao.service.paper_notices import ExpiringPapers
from balcao.service.parts import MODES
from balcao.service.portfolio_buying import PortfolioBuying
from balcao.service.portfolio_clock import ClockMoves
from balcao.service.provider_factory import ProviderFactory
from balcao.service.receipt_deletion import receipt_deletion_jobs
from balcao.service.requested_work import requested_jobs
from balcao.service.retention import Retention
from balcao.service.secret_following import SecretFollower
from balcao.service.webhooks.delivering import WebhookDelivery
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
    batches: BatchParts,
    availability: AvailabilityCounts,
    deprecated_uses: DeprecatedUseCounts,
    write_export: Callable[[str], Awaitable[None]],
    mail: MailDelivery,
    buying: PortfolioBuying,
    webhooks: WebhookDelivery,
    secrets: SecretFollower,
    comparer: Comparer,
    clock_moves: ClockMoves,
) -> Lifecycle:
    """Return the lifecycle of the process, and connect the metrics with its background work."""
    desk, metrics, now_ms = stores.desk, observers.metrics, clock.now_ms
    live_store = home.opendata("live")
    months = [(mode, home.opendata(mode)) for mode in MODES]
    comparison = MonthComparison(dict(months), desk.months, comparer, now_ms)
    kinds = [
        receipt_deletion_jobs(desk, stores.blobs),
        extension_jobs(desk, now_ms),
        *batches.kinds(),
        JobKind(EXPORT, write_export, at_once=1, poll_seconds=1.0),
        mail.jobs(),
        *buying.jobs(),
        webhooks.jobs(),
        comparison.jobs(),
        clock_moves.jobs(),
        *requested_jobs(desk, now_ms),
    ]
    worker = JobWorker(desk.jobs, kinds, now_ms)

    metrics.comparison = measured = ComparisonMeasured(desk.months, now_ms)

    async def write_counts() -> None:
        await availability.write_last()
        await deprecated_uses.write_last()

    lifecycle = Lifecycle(
        parts,
        desk,
        Retention(
            desk,
            stores.caches,
            stores.blobs,
            settings,
            clock.safe_past_ms,
            metrics.purged,
            parts.forget,
        ),
        factory.upstreams,
        observers.request_log,
        BackupSchedule(settings, now_ms, metrics.backup),
        worker,
        longest_lookup_seconds=settings.longest_lookup_seconds,
        clock=clock,
        derived_data=derived_data_builder(
            home, answers=settings.opendata_answers, search=settings.opendata_search
        ),
        fetching=MonthFetching(live_store, now_ms, randbelow) if settings.opendata_fetch else None,
        other_work=[
            batches.periodic(),
            ExpiringKeys(desk, now_ms).periodic(),
            EventCounter(desk.events, metrics.event).periodic(),
            TotalsUpdater(desk, clock.safe_past_ms).periodic(),
            availability.periodic(),
            deprecated_uses.periodic(),
            *buying.periodic_tasks(),
            ExpiringPapers(desk, now_ms).periodic(),
            secrets.periodic(),
            *(MonthWatch(store, desk.months, now_ms, mode).periodic() for mode, store in months),
            comparison.periodic(),
            measured.periodic(),
            *mail.periodic_tasks(),
            *webhooks.periodic_tasks(),
        ],
        at_end=write_counts,
    )

    def budgets() -> int | None:
        try:
            return desk.budgets.count()
        except StorageFailed:
            return None

    def portfolios() -> tuple[int, int] | None:
        try:
            return desk.wallets.total()
        except StorageFailed:
            return None

    metrics.budgets = budgets
    metrics.portfolios = portfolios
    metrics.webhooks = webhooks.measured
    metrics.purchases = lambda: buying.purchasing.waiting
    metrics.jobs = lambda: [
        (one.kind, one.state, one.count, one.oldest_due_ms) for one in worker.counts
    ]
    metrics.batches, metrics.files = lambda: batches.counts, batches.file_admission.figures
    metrics.work = lambda: {
        name: astuple(status) for name, status in lifecycle.runner.statuses.items()
    }
    return lifecycle
