"""Builds the sources: for each configured provider an adapter, and per subject and UF an upstream
with its own connections and circuit.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cache, partial
from ssl import SSLContext
from typing import TYPE_CHECKING

import httpx2

from balcao.core.breaker import BreakerSettings
from balcao.core.calendar import civil_day
from balcao.core.certificates import MediaType
from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry, Mode, Subject
from balcao.core.receipts import RECEIPT_BYTES_MAX
from balcao.examination.inventory import SNAPSHOT, configured
from balcao.fiction import establishment_of, head_office_of
from balcao.fiction.days import PassedDays
from balcao.lookup.head_offices import HeadOfficeRegistry, HeadOffices
from balcao.lookup.source_status import SourceLine, SourceStatus
from balcao.observability.health import Health, standing
from balcao.observability.metrics import Metrics
from balcao.observability.source_log import SourceLog
from balcao.opendata.current import CurrentSnapshot
from balcao.operations import OPERATIONS
from balcao.providers import PROVIDERS
from balcao.providers.contract import EnabledSource
from balcao.providers.opendata.adapter import SnapshotSource
from balcao.providers.simulation.app import simulated_providers
from balcao.providers.simulation.messages import Simulator
from balcao.providers.simulation.transport import SimulatorTransport
from balcao.settings import Settings
from balcao.sources.certificates import CertificateAdapter, CertificateSource, fetch_receipt
from balcao.sources.contract import OnlineSource, ReceiptStorage
from balcao.sources.multi_uf import MultiUfAdapter, MultiUfSource
from balcao.sources.online import AdapterSource, UpstreamFor
from balcao.sources.router import Source, SourceRouter
from balcao.sources.upstream import SourceCall, Upstream
from balcao.storage.contract import Blobs, Cache
from balcao.storage.receipts.keeping import ReceiptKeeping

if TYPE_CHECKING:
    from balcao.service.spans import Spans

# The sandbox is configured like an operator's sources, at an address served within this process.
SANDBOX_URL = "http://sandbox.invalid"

# A receipt is a file of some kilobytes, and the certificate waits for it.
RECEIPT_SECONDS = 10.0

# Delays that the sandbox promises, under the clock of a portfolio.
_HURRIED_SECONDS = 0.01


@cache
def _usual_context() -> SSLContext:
    """Return the TLS context of all calls without a client certificate.

    Shared by the process, since creating one takes tens of milliseconds.
    """
    return httpx2.create_ssl_context()


@dataclass(slots=True, kw_only=True)
class ProviderFactory:
    """Builds the sources of each mode. `live_transport` stands in for the network in tests."""

    settings: Settings
    snapshots: Mapping[Mode, CurrentSnapshot]
    blobs: Blobs
    metrics: Metrics
    health: Health
    source_log: SourceLog
    # Counts calls for the status page.
    count: Callable[[Mode, SourceCall, int], None] = lambda mode, call, at_ms: None
    now_ms: Callable[[], int]
    live_transport: httpx2.AsyncBaseTransport | None
    spans: "Spans | None" = None
    upstreams: list[Upstream] = field(default_factory=list)  # to be closed at the end
    _live: list[Upstream] = field(default_factory=list)
    _simulated: Mapping[str, Simulator] = field(default_factory=simulated_providers)
    _usual_tls: SSLContext = field(default_factory=_usual_context)

    def __post_init__(self) -> None:
        self.metrics.circuits = self.circuits

    @property
    def _months(self) -> Mapping[Mode, HeadOfficeRegistry]:
        """The registries of head offices.

        For the sandbox it is not the imported month: its providers answer about more companies.
        """
        return {"live": self.snapshots["live"], "test": FictitiousMonth()}

    def circuits(self) -> Mapping[tuple[str, str, str], str]:
        """Return the state of each live circuit by source, subject and UF."""
        return {(one.name, one.subject, one.uf): one.circuit_state for one in self._live}

    def now(self, mode: Mode, lines: Collection[SourceLine]) -> Mapping[SourceLine, SourceStatus]:
        """Return the current status of sources, by line (a `StatusReader`)."""
        circuits = self.circuits() if mode == "live" else {}
        now_ms = self.now_ms()
        found = {}
        for line in lines:
            seen = self.health.line(mode, line, now_ms, circuits.get(line, ""))
            found[line] = SourceStatus(standing(seen), seen.p50_ms)
        return found

    def sources(
        self, mode: Mode, settings: Settings, cache: Cache, clock: "SandboxClock | None" = None
    ) -> SourceRouter:
        """Return the sources of one mode, in their order. `cache`: their earlier answers.

        `clock`: of the test portfolio that they are for alone. They are not measured.
        """
        now = self._now if clock is None else clock.now
        transport = self._transport(mode) if clock is None else clock.transport()
        keeper = self._receipt_keeper(settings, transport, lasting=clock is None)
        available: dict[str, Source] = {SNAPSHOT: SnapshotSource(self.snapshots[mode])}
        for provider in configured.configured(settings, self._now()):
            upstream_for = self._upstream_for(provider, mode, transport, measured=clock is None)
            source = _source(provider, upstream_for, keeper, now)
            available[provider.name] = self.spans.source(source) if self.spans else source
        order = {
            subject: [available[name] for name in names if name in available]
            for subject, names in configured.order(settings).items()
        }
        return SourceRouter(
            order,
            source_timeout_seconds=self.settings.source_timeout_seconds,
            observe=partial(self._observe, mode) if clock is None else _unmeasured,
            head_office_of=HeadOffices(self._months[mode], cache).head_office_of,
        )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.now_ms() / 1000, UTC)

    def _observe(self, mode: Mode, call: SourceCall) -> None:
        line, seconds = (call.source, call.subject, call.uf), call.durations
        self.metrics.source_calls(*line, call.outcome, seconds)
        cost_micros = call.cost_micros if mode == "live" else 0  # the sandbox's are fictitious
        if cost_micros:
            self.metrics.source_cost(*line, cost_micros)
        at_ms = self.now_ms()
        self.count(mode, call, at_ms)
        if call.counts:
            self.health.note(mode, *line, outcome=call.outcome, seconds=seconds, at_ms=at_ms)
            self.health.spend(mode, *line, cost_micros)
        self.source_log.note(
            mode,
            call.source,
            call.outcome,
            call.detail,
            call.seconds,
            subject=call.subject,
            uf=call.uf,
        )

    def _transport(self, mode: Mode) -> httpx2.AsyncBaseTransport | None:
        return self.live_transport if mode == "live" else SimulatorTransport(self._simulated)

    def _upstream_for(
        self,
        provider: EnabledSource,
        mode: Mode,
        transport: httpx2.AsyncBaseTransport | None,
        *,
        measured: bool,
    ) -> UpstreamFor:
        settings = self.settings
        # Some documents of the sandbox fail on purpose, which must not open its circuits.
        breaker = BreakerSettings(settings.breaker_failures, settings.breaker_seconds)
        opened: dict[tuple[Subject, str], Upstream] = {}

        def find(inquiry: Inquiry) -> Upstream:
            line = (inquiry.subject, inquiry.uf or "")
            if line not in opened:
                address = provider.address_for(inquiry)
                opened[line] = Upstream(
                    provider.name,
                    address,
                    timeout_seconds=_patience_seconds(settings, inquiry.subject),
                    answer_bytes_max=settings.source_answer_bytes_max,
                    breaker_settings=None if mode == "test" else breaker,
                    observe=partial(self._observe, mode) if measured else _unmeasured,
                    subject=inquiry.subject,
                    uf=inquiry.uf or "",
                    wrap_attempt=self.spans.around(provider.name, address) if self.spans else None,
                    transport=transport,
                    tls=provider.tls or self._usual_tls,
                )
                if measured:  # the others have no connection
                    self.upstreams.append(opened[line])
                if mode == "live":
                    self._live.append(opened[line])
            return opened[line]

        return find

    def _receipt_keeper(
        self, settings: Settings, transport: httpx2.AsyncBaseTransport | None, *, lasting: bool
    ) -> ReceiptKeeping:
        origins = [
            origin
            for _, own in configured.with_settings(settings)
            for origin in own.allowed_receipt_origins
        ]
        upstream = Upstream(
            "comprovante",
            "",
            timeout_seconds=RECEIPT_SECONDS,
            answer_bytes_max=RECEIPT_BYTES_MAX,
            subject="federal_certificate",
            origins=origins,
            transport=transport,
            tls=self._usual_tls,
        )
        if lasting:
            self.upstreams.append(upstream)
        return ReceiptKeeping(
            self.blobs, fetch=partial(fetch_receipt, upstream), inspect=_inspect_receipt
        )


def _unmeasured(call: SourceCall) -> None:
    """Count nothing: the call is not of the present."""


def _inspect_receipt(content: bytes) -> MediaType:
    from balcao.storage.receipts.check import checked_media_type  # noqa: PLC0415 - slow to import

    return checked_media_type(content)


def _patience_seconds(settings: Settings, subject: Subject) -> float:
    """Return the longest time limit of a lookup of this subject, in seconds."""
    if OPERATIONS[subject].issues:
        return settings.longest_lookup_seconds
    return settings.source_deadline_seconds


def _source(
    provider: EnabledSource,
    upstream_for: UpstreamFor,
    receipts: ReceiptStorage,
    now: Callable[[], datetime],
) -> OnlineSource:
    adapter = provider.adapter
    if isinstance(adapter, CertificateAdapter):
        return CertificateSource(
            provider.name,
            adapter,
            upstream_for,
            now=now,
            receipts=receipts,
            layer=provider.layer,
        )
    if isinstance(adapter, MultiUfAdapter):
        return MultiUfSource(provider.name, adapter, upstream_for, now=now)
    return AdapterSource(provider.name, adapter, upstream_for, now=now, layer=provider.layer)


@dataclass(slots=True)
class SandboxClock:
    """The clock of a test portfolio, as the simulated providers see it."""

    first_day: date  # of its move
    at_ms: int

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at_ms / 1000, UTC)

    def transport(self) -> SimulatorTransport:
        """Return a transport to providers of their own, that never let it wait."""
        simulated = simulated_providers(
            clock=self.now, never_seconds=_HURRIED_SECONDS, slow_seconds=_HURRIED_SECONDS
        )
        return SimulatorTransport(
            simulated, lambda: PassedDays(self.first_day, civil_day(self.at_ms))
        )


class FictitiousMonth:
    """The establishments of the sandbox, as a `HeadOfficeRegistry`."""

    def is_head_office(self, cnpj: Cnpj) -> bool | None:
        return establishment_of(cnpj.text).head_office

    def has_company(self, root: str) -> bool:
        return True

    def find_head_office(self, root: str) -> Cnpj | None:
        return Cnpj(head_office_of(root))


def sandboxed(settings: Settings) -> Settings:
    """Return a copy of the settings with every provider simulated (sandbox.md)."""
    return settings.model_copy(
        update={
            **{
                name: field.default
                for name, field in type(settings).model_fields.items()
                if name.endswith("_sources")
            },
            **{
                provider.name: provider.settings_class.simulated(SANDBOX_URL)
                for provider in PROVIDERS
            },
        }
    )
