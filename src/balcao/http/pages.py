"""Addresses that are not lookups: health, measurements, the OpenAPI document."""

import asyncio
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from balcao import __version__
from balcao.core.addresses import Whereabouts, is_local, is_loopback
from balcao.core.clock import ClockState
from balcao.core.errors import ClockOff, RouteNotFound, StorageFailed
from balcao.core.questions import Mode, Subject
from balcao.http.assets import ASK_AGAIN, Asset
from balcao.http.openapi import document as openapi
from balcao.http.read import Request
from balcao.http.routes import Handler, Route
from balcao.http.write import Headers
from balcao.observability.metrics import Metrics
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation
from balcao.providers.opendata.adapter import ImportedRegistry
from balcao.settings import Settings
from balcao.storage.desk.desk import Desk

_JSON: Headers = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"cache-control", b"no-store"),
]

CLOCK_RIGHT = "certo"

# Asked every few seconds by machines: their events would bury the others.
PROBES = frozenset({"/livez", "/readyz", "/metrics"})

VERDICT_MS = 1_000  # how long it is believed that the desk can, or cannot, write
STATE_SECONDS_MAX = 2.0  # a scraper waits for the rest of the measurements

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class MetricsAccess:
    """Access to `/metrics`: for this machine, and for callers with the token or, if none is set,
    for private networks.
    """

    whereabouts: Whereabouts = field(default_factory=Whereabouts)
    token: str = ""

    def admits(self, request: Request) -> bool:
        """Return whether this request may read them.

        A request by a proxy comes from the address that the proxy reports if `trusted_proxies`
        names it, and otherwise from an unknown one.
        """
        sent = request.headers.get(b"authorization", b"")
        if self.token and hmac.compare_digest(sent, b"Bearer " + self.token.encode()):
            return True
        client = request.client
        if not _FORWARDED.isdisjoint(request.headers):
            forwarded = request.headers.get(b"x-forwarded-for", b"").decode("latin-1")
            if b"x-forwarded-for" in request.repeated:
                return False
            client = self.whereabouts.address_of(client, [forwarded] if forwarded else [])
            if client == request.client:  # nobody named that proxy
                return False
        if is_loopback(client) or (client and client == request.server):
            return True
        return not self.token and is_local(client)


_FORWARDED = frozenset({b"x-forwarded-for", b"forwarded", b"x-real-ip"})


@dataclass(slots=True)
class Probes:
    """How the service is, for machines (`PROBES`)."""

    metrics: Metrics
    desk: Desk
    snapshots: Mapping[Mode, ImportedRegistry]
    now_ms: Callable[[], int]
    clock: Callable[[], ClockState] = ClockState
    access: MetricsAccess = field(default_factory=MetricsAccess)
    _heart: "_Heart" = field(init=False)
    _state_ms: int | None = None  # when the database was asked last

    def __post_init__(self) -> None:
        self._heart = _Heart(self.desk, self.now_ms)

    def routes(self) -> Sequence[Route]:
        """What the front serves."""
        asked = {"/livez": self.alive, "/readyz": self.ready, "/metrics": self.measurements}
        return [
            Route(path, path, handler, of_api=False, level="debug")
            for path, handler in asked.items()
        ]

    async def alive(self, request: Request) -> tuple[int, Headers, bytes]:
        """The process answers. Says nothing about what it depends on."""
        return 200, _JSON, b'{"status":"ok"}'

    async def ready(self, request: Request) -> tuple[int, Headers, bytes]:
        """Whether requests may be sent here: the desk must be able to write, or it is a 503.

        So must the clock be the database's. One that jumped is told of, and does no harm.
        """
        if (seen := self.clock()).is_off:
            raise ClockOff(f"{seen.system_ahead_ms // 1000} s")
        if (complaint := await self._heart.complaint()) is not None:
            raise StorageFailed(complaint)
        months = {
            mode: None if snapshot.extraction_date is None else snapshot.extraction_date.isoformat()
            for mode, snapshot in self.snapshots.items()
        }
        said = _of_clock(seen)
        body = {"status": "ok", "gravação": True, "relógio": said, "dados_abertos": months}
        return 200, _JSON, _encode(body)

    async def measurements(self, request: Request) -> tuple[int, Headers, bytes]:
        """Prometheus' text format. Of a database that is away only its own families are missing.

        Raises `RouteNotFound` for whoever may not read it.
        """
        if not self.access.admits(request):
            raise RouteNotFound
        now = self.now_ms()
        if self._state_ms is None or abs(now - self._state_ms) >= VERDICT_MS:
            self._state_ms = now
            self.metrics.database = await self._database()
        headers = [
            (b"content-type", self.metrics.content_type.encode()),
            (b"cache-control", b"no-store"),
        ]
        return 200, headers, self.metrics.exposition()

    async def _database(self) -> tuple[bool, int | None] | None:
        """Return whether the database can be used, and how many commits wait for a standby."""
        try:
            state = await asyncio.wait_for(self.desk.state(), STATE_SECONDS_MAX)
        except (StorageFailed, TimeoutError):
            return False, None
        return None if state is None else (state.writable, state.waiting_commits)


def _of_clock(seen: ClockState) -> str:
    """What `/readyz` says of the clock; `balcao doctor` hands it on."""
    if seen.jump_ms:
        return (
            f"saltou {_seconds(seen.jump_ms)}; vale a hora de antes, até que o salto seja desfeito"
            " ou dure uma hora"
        )
    if seen.books_ahead_ms:
        return (
            f"no início estava {_seconds(-seen.books_ahead_ms)} em relação ao último lançamento;"
            " nada vence em definitivo antes de uma hora"
        )
    return CLOCK_RIGHT


def _seconds(apart_ms: int) -> str:
    return f"{apart_ms // 1000:+d} s"


@dataclass(slots=True)
class _Heart:
    """Whether the desk can write, found out by writing. A verdict holds for a second, so that
    nobody can make us write all the time by asking."""

    desk: Desk
    now_ms: Callable[[], int]
    _beating: asyncio.Lock = field(default_factory=asyncio.Lock)
    _asked_ms: int | None = None
    _complaint: str | None = None

    async def complaint(self) -> str | None:
        """What kept it from writing, or None."""
        async with self._beating:
            now = self.now_ms()
            if self._asked_ms is None or abs(now - self._asked_ms) >= VERDICT_MS:
                self._complaint = await self._beat(now)
                self._asked_ms = now
            return self._complaint

    async def _beat(self, now: int) -> str | None:
        try:
            await self.desk.heartbeat(now)
        except Exception as error:
            return type(error).__name__
        return None


# The document of the API.

_SECURE: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]


def described(
    settings: Settings, operations: Mapping[Subject, Operation] = OPERATIONS
) -> Mapping[str, Any]:
    """The OpenAPI document of this service."""
    return openapi.document(
        __version__,
        settings.address,
        settings.idempotency_hours,
        operations,
        public=bool(settings.public_url),
    )


def documentation(document: Mapping[str, Any]) -> Sequence[Route]:
    """`/openapi.json`."""
    served: dict[str, Handler] = {
        "/openapi.json": Asset(
            _encode(document),
            b"application/json; charset=utf-8",
            ASK_AGAIN,
            [*_SECURE, (b"access-control-allow-origin", b"*")],
        ),
    }
    return [Route(path, path, handler, of_api=False) for path, handler in served.items()]
