"""The only place where the real parts are put together. Tests call it with fakes.

Importing this module opens nothing; `open_application` does.
"""

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import IO, TYPE_CHECKING

import httpx2
import structlog

from balcao.accounts.seal import Seal
from balcao.backup.schedule import Schedule
from balcao.core.errors import StorageFailed
from balcao.core.questions import Mode
from balcao.examination.checks import examine
from balcao.home import Home
from balcao.http.account import Books
from balcao.http.authenticator import Authenticator
from balcao.http.batches import BatchPages
from balcao.http.budgets import BudgetPages
from balcao.http.compat.routes import faces
from balcao.http.documentation import document_of, documentation
from balcao.http.front import ASGIApp, Front
from balcao.http.health import MetricsAccess, Probes
from balcao.http.quotes import Quotes
from balcao.http.receipts import Files
from balcao.http.routes import routes_of
from balcao.http.searches import Searches
from balcao.observability import logs
from balcao.observability.health import Health
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestLog
from balcao.observability.source_log import SourceLog
from balcao.opendata.current import CurrentSnapshot
from balcao.service.availability import AvailabilityCounts
from balcao.service.batching import batching
from balcao.service.clock import Clock
from balcao.service.events_measured import EventsMeasured
from balcao.service.fetching import MonthFetching, MonthMeasured
from balcao.service.folding import Folding
from balcao.service.jobs.durable import JobKind, JobWorker
from balcao.service.lifespan import Life
from balcao.service.months import finishing
from balcao.service.parts import MODES, new_request_ids, parts_of
from balcao.service.provider_factory import ProviderFactory
from balcao.service.receipt_deletion import deleting_bytes
from balcao.service.retention import Retention
from balcao.service.searching import Searching
from balcao.settings import Settings
from balcao.storage.blobs import open_blobs
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.exports import EXPORT
from balcao.storage.places import place_of
from balcao.web.kit.examinations import Examinations
from balcao.web.kit.tools import Tools
from balcao.web.pages.history.exporting import FileWriting
from balcao.web.site import build_site

if TYPE_CHECKING:
    from balcao.service.spans import Spans

log = structlog.get_logger()


@dataclass(slots=True)
class Application:
    """Everything that one server process holds open."""

    settings: Settings
    front: Front
    app: ASGIApp  # what is served: the front, and around it whatever watches
    desk: Desk
    snapshots: Mapping[Mode, CurrentSnapshot]
    clock: Clock
    retention: Retention
    _closing: Sequence[Callable[[], None]]
    _lock: IO[bytes] | None

    def close(self) -> None:
        """Let go of all files."""
        for close in self._closing:
            close()
        if self._lock is not None:
            self._lock.close()


def open_application(
    settings: Settings,
    *,
    clock: Clock | None = None,
    live_transport: httpx2.AsyncBaseTransport | None = None,
) -> Application:
    """Open the data folder and put the service together. Raises `HomeInUse`, `StorageFailed`.

    `PepperDiffers` tells of a database whose keys this folder's secret does not know.

    `live_transport` stands in for the network in tests.
    """
    clock = clock or Clock()
    now_ms, new_id = clock.now_ms, new_request_ids(clock.now_ms)
    home = Home(settings.home)
    home.create()
    place = place_of(settings)
    lock = place.lock()
    pepper = home.pepper()
    metrics = Metrics()
    spans = _spans(place.name) if settings.otel else None
    keeping_log = spans.request_log if spans else RequestLog
    request_log = keeping_log(as_json=logs.is_json(settings.log_format), level=settings.log_level)
    source_log = SourceLog(time.monotonic, level=settings.log_level)
    health = Health()
    metrics.clock = partial(_clock_measured, clock)
    ballast = place.ballast(settings.ballast_mb)
    metrics.ballast = lambda: (ballast.is_there, ballast.given_up)
    desk = place.open_desk(pepper=pepper, observe_batch=metrics.batch, ballast=ballast)
    desk.over_budget = metrics.over_budget
    events = EventsMeasured(desk.budgets, metrics.event)
    caches = {
        mode: place.open_cache(mode, pepper=pepper, ballast=ballast, now_ms=now_ms)
        for mode in MODES
    }
    if spans:
        desk = spans.desk(desk)
        caches = {mode: spans.cache(cache) for mode, cache in caches.items()}
    snapshots = {mode: CurrentSnapshot(home.opendata(mode), time.monotonic) for mode in MODES}
    blobs = open_blobs(settings.receipts or home.receipts)
    availability = AvailabilityCounts(desk, now_ms)
    factory = ProviderFactory(
        settings=settings,
        snapshots=snapshots,
        blobs=blobs,
        metrics=metrics,
        health=health,
        source_log=source_log,
        count=availability.note,
        now_ms=now_ms,
        live_transport=live_transport,
        spans=spans,
    )
    parts = parts_of(
        settings, desk, caches, factory, now_ms, pepper, surely_past_ms=clock.surely_past_ms
    )
    served = list(
        faces(parts.operations["company"], lambda mode, cnpj: snapshots[mode].detail(cnpj))
    )
    paths = frozenset(
        [
            *(operation.path for operation in parts.operations.values()),
            *(one.name for one in served),
        ]
    )
    batches = batching(
        settings,
        home,
        parts,
        pepper,
        blobs,
        factory,
        new_id,
        partial(metrics.answered, paths),
    )
    files = FileWriting(desk, home.exports)
    kinds = [
        deleting_bytes(desk, blobs),
        *batches.kinds(),
        JobKind(EXPORT, files.write, at_once=1, look_seconds=1.0),
    ]
    worker = JobWorker(desk.jobs, kinds, now_ms)
    metrics.budgets = partial(_unless_away, desk.budgets.count)
    metrics.jobs = lambda: [
        (one.kind, one.state, one.count, one.oldest_due_ms) for one in worker.standing
    ]
    metrics.batches, metrics.files = lambda: batches.standing, batches.room.measured
    life = Life(
        parts,
        desk,
        Retention(
            desk, caches, blobs, settings, clock.surely_past_ms, metrics.purged, parts.forget
        ),
        factory.upstreams,
        request_log,
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
            events.periodic(),
            Folding(desk, clock.surely_past_ms).work(),
            availability.work(),
        ],
        at_end=availability.write_last,
    )
    metrics.month = MonthMeasured(snapshots["live"], home.opendata("live"), now_ms)
    metrics.work = lambda: {name: astuple(seen) for name, seen in life.runner.seen.items()}
    authenticator = Authenticator(desk, pepper, settings.limits_by_plan)
    searching = Searching({mode: home.opendata(mode) for mode in MODES})
    searches = Searches(
        desk,
        searching,
        now_ms,
        settings.preco_busca_creditos,
        settings.idempotency_hours,
        clock.surely_past_ms,
    )
    document = document_of(settings, parts.operations)
    tools = Tools(
        parts=parts,
        desk=desk,
        blobs=blobs,
        authenticator=authenticator,
        settings=settings,
        home=home,
        health=health,
        circuits=factory.circuits,
        seal=Seal(pepper),
        new_id=new_id,
        batches=batches.desk,
        results=batches.results,
        examinations=Examinations(partial(examine, settings, now_ms)),
        searches=searches,
        document=document,
    )
    front = Front(
        parts=parts,
        authenticator=authenticator,
        metrics=metrics,
        request_log=request_log,
        new_id=new_id,
        beside=[
            *routes_of(Files(desk, blobs, parts.remembering)),
            *routes_of(Books(desk, now_ms)),
            *routes_of(BudgetPages(parts, new_id)),
            *Quotes(parts, factory.now).routes(),
            *routes_of(BatchPages(batches.desk, batches.results)),
            *routes_of(searches),
            *routes_of(
                Probes(
                    metrics,
                    desk,
                    snapshots,
                    now_ms,
                    clock.state,
                    MetricsAccess(settings.whereabouts, settings.metrics_token.get_secret_value()),
                )
            ),
            *served,
            *documentation(document),
        ],
        header_bytes_max=settings.header_bytes_max,
        start=life.start,
        stop=life.stop,
        web=build_site(tools, metrics, request_log),
        whereabouts=settings.whereabouts,
    )
    closing = [
        desk.close,
        *(c.close for c in caches.values()),
        *(s.close for s in snapshots.values()),
        searching.close,
        *([spans.close] if spans else ()),
    ]
    app = spans.application(front) if spans else front
    return Application(settings, front, app, desk, snapshots, clock, life.retention, closing, lock)


def _unless_away(read: Callable[[], int]) -> int | None:
    """Return what is read in the database; None while it is away."""
    try:
        return read()
    except StorageFailed:
        return None


def _clock_measured(clock: Clock) -> tuple[float, int, bool]:
    seen = clock.state()
    return seen.system_ahead_ms / 1000, seen.jumps, seen.in_doubt


def _spans(database: str) -> "Spans":
    """Loaded only where it is wanted: OpenTelemetry is an optional extra, and slow to load."""
    from balcao.observability.tracing import Tracing  # noqa: PLC0415
    from balcao.service.spans import Spans  # noqa: PLC0415

    return Spans(Tracing(), database=database)
