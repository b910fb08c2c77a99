"""Composition root: builds the service from its real parts. Tests call it with fakes.

Importing this module opens nothing; `open_application` does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import IO, TYPE_CHECKING, Any

import httpx2

from balcao.accounts.mail.outbox import Outbox
from balcao.accounts.seal import Seal
from balcao.accounts.secrets import secrets_of
from balcao.accounts.webhooks.desk import WebhookDesk
from balcao.core.questions import Mode
from balcao.examination.checks import examine
from balcao.home import Home
from balcao.http import api
from balcao.http.authenticator import Authenticator
from balcao.http.compat_routes import compat_routes
from balcao.http.documentation import document_of
from balcao.http.front import ASGIApp, Front
from balcao.http.routes import Route, lookups
from balcao.http.searches import Searches
from balcao.lookup.context import Parts
from balcao.lookup.wallet import WalletDesk
from balcao.observability import observers
from balcao.observability.requests import RequestLog
from balcao.opendata.current import CurrentSnapshot
from balcao.service import background
from balcao.service.availability import AvailabilityCounts
from balcao.service.batching import BatchParts, build_batches
from balcao.service.clock import Clock
from balcao.service.clock_months import PassingMonths
from balcao.service.deprecated_uses import DeprecatedUseCounts
from balcao.service.fetching import MonthMeasured
from balcao.service.lifecycle import Lifecycle
from balcao.service.mail_delivery import MailDelivery
from balcao.service.month_comparison import Comparer
from balcao.service.month_records import month_records
from balcao.service.paper_notices import ExpiringPapers
from balcao.service.parts import MODES, build_parts, new_request_ids, open_snapshots
from balcao.service.portfolio_buying import PortfolioBuying
from balcao.service.portfolio_clock import ClockMoves
from balcao.service.portfolio_sandbox import PortfolioSandboxes
from balcao.service.provider_factory import ProviderFactory
from balcao.service.purchasing import Purchasing
from balcao.service.retention import Retention
from balcao.service.search_pool import SearchPool
from balcao.service.secret_following import SecretFollower
from balcao.service.wallet import wallet_desk
from balcao.service.webhooks.delivering import WebhookDelivery
from balcao.service.webhooks.sending import Sender, tls_context
from balcao.settings import Settings
from balcao.storage import stores
from balcao.storage.desk.desk import Desk
from balcao.storage.places import place_of
from balcao.web.kit.examinations import Examinations
from balcao.web.kit.tools import Tools
from balcao.web.pages.history.exporting import FileWriting
from balcao.web.site import build_site

if TYPE_CHECKING:
    from balcao.service.spans import Spans


@dataclass(slots=True)
class Application:
    """Everything that one server process holds open."""

    settings: Settings
    front: Front
    app: ASGIApp  # the front, wrapped in spans if tracing is on
    desk: Desk
    snapshots: Mapping[Mode, CurrentSnapshot]
    clock: Clock
    retention: Retention
    _closing: Sequence[Callable[[], None]]
    _lock: IO[bytes] | None

    def close(self) -> None:
        """Close all files and stores, and release the lock of the data folder."""
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
    """Open the data folder and build the service.

    Raises `HomeInUse`, `StorageFailed`, and `PepperDiffers` if the database belongs to another
    folder's secret. `live_transport` replaces the network in tests.
    """
    return _Assembly(settings, clock or Clock(), live_transport).application()


class _Assembly:
    """The parts of one application, each built when it is first needed."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        live_transport: httpx2.AsyncBaseTransport | None,
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.live_transport = live_transport
        self.new_id = new_request_ids(clock.now_ms)
        self.home = Home(settings.home)
        self.home.create()
        place = place_of(settings)
        self.lock = place.lock()
        self.pepper = self.home.pepper()
        self.spans = _spans(place.name) if settings.otel else None
        self.observers = observers.build(
            settings.log_format,
            settings.log_level,
            self.spans.request_log if self.spans else RequestLog,
        )
        self.metrics = self.observers.metrics
        opened = stores.build(
            place,
            self.pepper,
            settings.receipts or self.home.receipts,
            disk_reserve_mb=settings.disk_reserve_mb,
            now_ms=clock.now_ms,
            observe_batch=self.metrics.batch,
        )
        opened.desk.on_over_budget = self.metrics.over_budget
        self.stores = opened.wrapped(self.spans.desk, self.spans.cache) if self.spans else opened
        self.desk = self.stores.desk
        self.secrets = secrets_of(self.home, self.desk)
        self.seal = Seal(self.secrets)
        self.snapshots = open_snapshots(self.home)
        opened.desk.engine.find_in_month_by(month_records(self.snapshots))
        self.availability = AvailabilityCounts(self.desk, clock.now_ms)
        self.deprecated_uses = DeprecatedUseCounts(
            self.desk, clock.now_ms, self.metrics.deprecated_use
        )
        self.metrics.clock = partial(_clock_measured, clock)
        self.metrics.disk_reserve = lambda: (
            opened.disk_reserve.exists,
            opened.disk_reserve.times_released,
        )
        self.metrics.month = MonthMeasured(
            self.snapshots["live"], self.home.opendata("live"), clock.now_ms
        )

    @cached_property
    def factory(self) -> ProviderFactory:
        return ProviderFactory(
            settings=self.settings,
            snapshots=self.snapshots,
            blobs=self.stores.blobs,
            metrics=self.metrics,
            health=self.observers.health,
            source_log=self.observers.source_log,
            count=self.availability.note,
            now_ms=self.clock.now_ms,
            live_transport=self.live_transport,
            spans=self.spans,
        )

    @cached_property
    def parts(self) -> Parts:
        return build_parts(
            self.settings,
            self.desk,
            self.stores.caches,
            self.factory,
            self.clock.now_ms,
            self.pepper,
            safe_past_ms=self.clock.safe_past_ms,
            count_deprecated=self.deprecated_uses.note,
        )

    @cached_property
    def compatible(self) -> Sequence[Route]:
        """Routes of the company lookup in other services' shapes."""
        months = self.snapshots
        company = self.parts.operations["company"]
        return list(compat_routes(company, lambda mode, cnpj: months[mode].detail(cnpj)))

    @cached_property
    def batches(self) -> BatchParts:
        counted = (*lookups(self.parts.operations.values()), *self.compatible)
        return build_batches(
            self.settings,
            self.home,
            self.parts,
            self.secrets,
            self.stores.blobs,
            self.factory,
            self.new_id,
            partial(self.metrics.answered, frozenset(route.name for route in counted)),
            self.sandboxes.clock_of,
        )

    @cached_property
    def sandboxes(self) -> PortfolioSandboxes:
        """The sandbox by the clocks of test portfolios."""
        return PortfolioSandboxes(self.factory, self.desk.portfolio_clocks)

    @cached_property
    def lifecycle(self) -> Lifecycle:
        return background.build(
            self.settings,
            self.home,
            self.clock,
            stores=self.stores,
            observers=self.observers,
            parts=self.parts,
            factory=self.factory,
            batches=self.batches,
            availability=self.availability,
            deprecated_uses=self.deprecated_uses,
            write_export=FileWriting(self.desk, self.home.exports).write,
            secrets=SecretFollower(
                self.home, self.desk, self.secrets, self.seal, self.clock.now_ms
            ),
            buying=self.buying,
            mail=MailDelivery(self.desk, self.outbox, self.settings.mail_server, self.clock.now_ms),
            webhooks=WebhookDelivery(
                self.desk,
                self.seal,
                Sender(
                    partial(tls_context, self.settings.webhook_ca_file),
                    self.settings.webhook_private_cidrs,
                    self.clock.now_ms,
                ),
                self.clock.now_ms,
            ),
            comparer=self.comparer,
            clock_moves=ClockMoves(
                self.desk.portfolio_clocks,
                self.sandboxes,
                PassingMonths(self.home.opendata("test"), self.desk.clock_months),
                self.buying,
                ExpiringPapers(self.desk, self.clock.now_ms),
            ),
        )

    @cached_property
    def buying(self) -> PortfolioBuying:
        return PortfolioBuying.of(
            Purchasing(self.parts, self.new_id),
            self.batches.running.unavailable,
            self.wallet.open_person,
            self.metrics,
        )

    @cached_property
    def webhooks(self) -> WebhookDesk:
        return WebhookDesk(
            self.desk,
            self.seal,
            self.settings.webhook_private_cidrs,
            self.clock.now_ms,
            self.new_id,
        )

    @cached_property
    def comparer(self) -> Comparer:
        """For changes of the month."""
        return Comparer()

    @cached_property
    def outbox(self) -> Outbox:
        return Outbox(self.seal, self.settings.address)

    @cached_property
    def authenticator(self) -> Authenticator:
        return Authenticator(self.desk, self.secrets, self.settings.limits_by_plan)

    @cached_property
    def searching(self) -> SearchPool:
        return SearchPool({mode: self.home.opendata(mode) for mode in MODES})

    @cached_property
    def searches(self) -> Searches:
        return Searches(
            self.desk,
            self.searching,
            self.clock.now_ms,
            self.settings.preco_busca_creditos,
            self.settings.idempotency_hours,
            self.clock.safe_past_ms,
        )

    @cached_property
    def wallet(self) -> WalletDesk:
        return wallet_desk(self.settings, self.home, self.desk, self.seal, self.clock.now_ms)

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The OpenAPI document."""
        return document_of(self.settings, self.parts.operations)

    @cached_property
    def tools(self) -> Tools:
        return Tools(
            parts=self.parts,
            desk=self.desk,
            blobs=self.stores.blobs,
            authenticator=self.authenticator,
            settings=self.settings,
            home=self.home,
            health=self.observers.health,
            circuits=self.factory.circuits,
            seal=self.seal,
            outbox=self.outbox if self.settings.mail_server is not None else None,
            new_id=self.new_id,
            batches=self.batches.desk,
            results=self.batches.results,
            examinations=Examinations(partial(examine, self.settings, self.clock.now_ms)),
            searches=self.searches,
            wallet=self.wallet,
            months=self.snapshots,
            webhooks=self.webhooks,
            document=self.document,
        )

    def front(self) -> Front:
        routes = api.build(
            self.settings,
            self.parts,
            blobs=self.stores.blobs,
            metrics=self.metrics,
            months=self.snapshots,
            clock=self.clock.state,
            new_id=self.new_id,
            sources_now=self.factory.now,
            batches=self.batches.desk,
            results=self.batches.results,
            searches=self.searches,
            wallet=self.wallet,
            document=self.document,
            exports=self.home.exports,
            webhooks=self.webhooks,
        )
        return Front(
            parts=self.parts,
            authenticator=self.authenticator,
            metrics=self.metrics,
            request_log=self.observers.request_log,
            new_id=self.new_id,
            other_routes=[*routes, *self.compatible],
            header_bytes_max=self.settings.header_bytes_max,
            start=self.lifecycle.start,
            stop=self.lifecycle.stop,
            web=build_site(self.tools, self.metrics, self.observers.request_log),
            proxies=self.settings.proxies,
        )

    def application(self) -> Application:
        front = self.front()
        closing = [
            self.stores.close,
            *(snapshot.close for snapshot in self.snapshots.values()),
            self.searching.close,
            self.comparer.close,
            *([self.spans.close] if self.spans else ()),
        ]
        return Application(
            self.settings,
            front,
            self.spans.application(front) if self.spans else front,
            self.desk,
            self.snapshots,
            self.clock,
            self.lifecycle.retention,
            closing,
            self.lock,
        )


def _clock_measured(clock: Clock) -> tuple[float, int, bool]:
    seen = clock.state()
    return seen.system_ahead_ms / 1000, seen.jumps, seen.in_doubt


def _spans(database: str) -> "Spans":
    """Return the spans; imported here, since OpenTelemetry is optional and slow to load."""
    from balcao.observability.tracing import Tracing  # noqa: PLC0415
    from balcao.service.spans import Spans  # noqa: PLC0415

    return Spans(Tracing(), database=database)
