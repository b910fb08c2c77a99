"""The only place where the real parts are put together. Tests call it with fakes.

Importing this module opens nothing; `open_house` does.
"""

import math
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import IO

import httpx2
import structlog
import uuid_utils
from pydantic import SecretStr

from balcao import providers
from balcao.clock import system_now_ms
from balcao.core.breaker import BreakerSettings
from balcao.core.calendar import civil_day
from balcao.core.questions import Inquiry, Mode, Subject
from balcao.core.receipts import RECEIPT_BYTES_MAX, Numbering
from balcao.gate import Gate
from balcao.home import Home
from balcao.http import receipts
from balcao.http.account import Books
from balcao.http.doorkeeper import Doorkeeper
from balcao.http.front import Front
from balcao.http.pages import build_pages
from balcao.life import Life
from balcao.observability import logs
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestLog
from balcao.observability.source_log import SourceLog
from balcao.opendata.snapshot import CurrentSnapshot
from balcao.parts import Parts, World
from balcao.providers import Provider
from balcao.receipt_check import inspected
from balcao.receipt_keeping import ReceiptKeeping
from balcao.settings import Cnpja, Infosimples, MinhaReceita, Sefaz, Serpro, Settings
from balcao.simulator.app import create_app
from balcao.sources.asking import Source, Sources
from balcao.sources.call import SourceCall, Upstream, new_client
from balcao.sources.certifying import CertificateAdapter, Certifying
from balcao.sources.contract import ReceiptKeeper
from balcao.sources.online import Online, UpstreamFor
from balcao.sources.opendata import Snapshot
from balcao.sources.receipt_fetch import ReceiptFetch
from balcao.sources.together import Together, TogetherAdapter
from balcao.storage.blobs import open_blobs
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.subjects import operations

log = structlog.get_logger()

# One account may fill a quarter of the places for lookups that wait for a source.
ACCOUNT_SHARE = 4

MODES: tuple[Mode, ...] = ("live", "test")

# The sandbox is configured like an operator's own sources, at an address that is this process.
SANDBOX_URL = "http://sandbox.invalid"

# A receipt is a file of some kilobytes, and the certificate waits for it.
RECEIPT_SECONDS = 10.0


def new_request_id() -> str:
    """A UUID version 7 (decisions 1.3)."""
    return str(uuid_utils.uuid7())


@dataclass(slots=True)
class House:
    """Everything that one server process holds open."""

    settings: Settings
    front: Front
    desk: SqliteDesk
    snapshots: Mapping[Mode, CurrentSnapshot]
    _closing: Sequence[Callable[[], None]]
    _lock: IO[bytes]

    def close(self) -> None:
        """Let go of all files."""
        for close in self._closing:
            close()
        self._lock.close()


def open_house(
    settings: Settings,
    *,
    now_ms: Callable[[], int] = system_now_ms,
    new_id: Callable[[], str] = new_request_id,
    live_transport: httpx2.AsyncBaseTransport | None = None,
) -> House:
    """Open the data folder and put the service together. Raises `HomeInUse`, `StorageFailed`.

    `live_transport` stands in for the network in tests.
    """
    home = Home(settings.home)
    home.create()
    lock = home.lock()
    pepper = home.pepper()
    metrics = Metrics()
    request_log = RequestLog(as_json=logs.is_json(settings.log_format), level=settings.log_level)
    source_log = SourceLog(time.monotonic)
    desk = SqliteDesk(home.desk, observe_batch=metrics.batch)
    caches = {mode: SqliteCache(home.cache(mode)) for mode in MODES}
    snapshots = {mode: CurrentSnapshot(home.opendata(mode), time.monotonic) for mode in MODES}
    blobs = open_blobs(settings.receipts or home.receipts)
    clients: list[httpx2.AsyncClient] = []
    simulator = create_app()

    usual_tls = httpx2.create_ssl_context()  # one for all: making it takes milliseconds

    def client(mode: Mode, tls: ssl.SSLContext | None) -> httpx2.AsyncClient:
        # One for each upstream: a provider that hangs must not use up the others' connections.
        transport = live_transport if mode == "live" else httpx2.ASGITransport(app=simulator)
        clients.append(new_client(transport, tls=tls or usual_tls))
        return clients[-1]

    live_upstreams: list[Upstream] = []
    metrics.watch_circuits(
        lambda: {(one.name, one.subject, one.uf): one.circuit_state for one in live_upstreams}
    )

    def observe(mode: Mode, call: SourceCall) -> None:
        metrics.source_call(call.source, call.subject, call.uf, call.outcome, call.seconds)
        source_log.note(
            mode,
            call.source,
            call.outcome,
            call.detail,
            call.seconds,
            subject=call.subject,
            uf=call.uf,
        )

    def upstream_for(provider: Provider, mode: Mode) -> UpstreamFor:
        # Misbehaving documents of the sandbox fail on purpose and for everybody who tries
        # them: they must not close the sandbox for all the others.
        breaker = BreakerSettings(settings.breaker_failures, settings.breaker_seconds)
        opened: dict[tuple[Subject, str], Upstream] = {}

        def find(inquiry: Inquiry) -> Upstream:
            line = (inquiry.subject, inquiry.uf or "")
            if line not in opened:
                opened[line] = Upstream(
                    provider.name,
                    provider.address_for(inquiry),
                    client(mode, provider.tls),
                    timeout_seconds=settings.source_deadline_seconds,
                    answer_bytes_max=settings.source_answer_bytes_max,
                    breaker_settings=None if mode == "test" else breaker,
                    clock=time.monotonic,
                    observe=partial(observe, mode),
                    subject=inquiry.subject,
                    uf=inquiry.uf or "",
                )
                if mode == "live":
                    live_upstreams.append(opened[line])
            return opened[line]

        return find

    def receipt_keeper(mode: Mode, configured: Settings) -> ReceiptKeeping:
        origins = configured.infosimples.receipt_origins if configured.infosimples else ()
        fetch = ReceiptFetch(
            client(mode, None), frozenset(origins), RECEIPT_SECONDS, RECEIPT_BYTES_MAX
        )
        return ReceiptKeeping(blobs, fetch=fetch.get, inspect=inspected)

    def sources(mode: Mode, configured: Settings) -> Sources:
        keeper = receipt_keeper(mode, configured)
        available: dict[str, Source] = {"snapshot": Snapshot(snapshots[mode])}
        for provider in providers.configured(configured, _now()):
            available[provider.name] = _source(provider, upstream_for(provider, mode), keeper)
        order = {
            subject: [available[name] for name in names if name in available]
            for subject, names in providers.order(configured).items()
        }
        return Sources(
            order,
            deadline_seconds=settings.source_deadline_seconds,
            source_timeout_seconds=settings.source_timeout_seconds,
            observe=partial(observe, mode),
        )

    worlds: Mapping[Mode, World] = {
        "live": World(caches["live"], sources("live", settings)),
        "test": World(caches["test"], sources("test", _sandboxed(settings))),
    }
    parts = Parts(
        desk,
        worlds,
        now_ms,
        settings.idempotency_hours,
        round(settings.source_deadline_seconds * 1000),
        Gate(
            settings.requests_max,
            max(1, settings.requests_max // ACCOUNT_SHARE),
            math.ceil(settings.source_deadline_seconds) + 1,
        ),
        operations(
            settings.state_registration_ufs,
            settings.rural_producer_ufs,
            lambda: civil_day(now_ms()),
        ),
        Numbering(pepper, settings.public_url.rstrip("/")),
    )
    limits = {
        "gratuito": settings.limits_gratuito,
        "pre_pago": settings.limits_pre_pago,
        "pos_pago": settings.limits_pos_pago,
    }
    life = Life(
        parts,
        desk,
        blobs,
        clients,
        request_log,
        patience_seconds=settings.source_deadline_seconds,
        receipt_days=settings.receipt_days,
    )
    front = Front(
        parts=parts,
        doorkeeper=Doorkeeper(desk, pepper, limits),  # type: ignore[arg-type]
        metrics=metrics,
        request_log=request_log,
        new_id=new_id,
        pages=build_pages(metrics, desk, snapshots, settings, now_ms, operations=parts.operations),
        header_bytes_max=settings.header_bytes_max,
        windows=[*receipts.windows(desk, blobs), *Books(desk, now_ms).windows()],
        start=life.start,
        stop=life.stop,
    )
    closing = [
        desk.close,
        *(c.close for c in caches.values()),
        *(s.close for s in snapshots.values()),
    ]
    return House(settings, front, desk, snapshots, closing, lock)


def _source(provider: Provider, upstream_for: UpstreamFor, receipts: ReceiptKeeper) -> Source:
    adapter = provider.adapter
    if isinstance(adapter, CertificateAdapter):
        return Certifying(
            provider.name,
            adapter,
            upstream_for,
            now=_now,
            receipts=receipts,
            through=provider.layer,
        )
    if isinstance(adapter, TogetherAdapter):
        return Together(provider.name, adapter, upstream_for, now=_now)
    return Online(provider.name, adapter, upstream_for, now=_now, through=provider.layer)


def _now() -> datetime:
    return datetime.now(UTC)


def _sandboxed(settings: Settings) -> Settings:
    """The same service with every provider simulated (sandbox.md)."""
    return settings.model_copy(
        update={
            "company_sources": ("snapshot", "minha_receita", "cnpja", "serpro"),
            "state_registration_sources": ("cnpja", "sefaz", "infosimples"),
            "rural_producer_sources": ("cnpja", "sefaz", "infosimples"),
            "suframa_sources": ("cnpja",),
            "federal_certificate_sources": ("infosimples", "serpro_cnd"),
            "state_certificate_sources": ("infosimples",),
            "minha_receita": MinhaReceita(url=f"{SANDBOX_URL}/minha-receita"),
            "cnpja": Cnpja(
                url=f"{SANDBOX_URL}/cnpja", key=SecretStr("sandbox"), accepts_alphanumeric=True
            ),
            "serpro": Serpro(
                url=f"{SANDBOX_URL}/serpro",
                consumer_key=SecretStr("sandbox"),
                consumer_secret=SecretStr("sandbox"),
                full_partners=True,
                cnd=True,
            ),
            "sefaz": Sefaz(url=f"{SANDBOX_URL}/sefaz"),
            "infosimples": Infosimples(
                url=f"{SANDBOX_URL}/infosimples",
                token=SecretStr("sandbox"),
                accepts_alphanumeric=True,
                receipt_origins=(SANDBOX_URL,),
            ),
        }
    )
