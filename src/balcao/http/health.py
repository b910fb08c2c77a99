"""Health and measurements of the service: `/livez`, `/readyz`, `/metrics`."""

import asyncio
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Literal

import msgspec

from balcao.core.addresses import TrustedProxies, is_local, is_loopback
from balcao.core.clock import ClockState
from balcao.core.described import described, doc
from balcao.core.errors import ClockOff, RouteNotFound, StorageFailed
from balcao.core.questions import Mode
from balcao.http.contents import Json, Text
from balcao.http.read import Request
from balcao.http.routes import Route
from balcao.http.texts import TAG_SERVICE
from balcao.http.write import Headers
from balcao.observability.metrics import Metrics
from balcao.providers.opendata.adapter import ImportedRegistry
from balcao.storage.desk.desk import Desk

_JSON: Headers = [
    (b"content-type", b"application/json; charset=utf-8"),
    (b"cache-control", b"no-store"),
]

CLOCK_RIGHT = "certo"

# Programs request these every few seconds: their events are logged at the level `debug`.
PROBES = frozenset({"/livez", "/readyz", "/metrics"})

VERDICT_MS = 1_000  # how long a result of writing to the desk is reused
STATE_SECONDS_MAX = 2.0  # a scraper waits for the rest of the measurements

_encode = msgspec.json.Encoder().encode


@described("Vida", "O processo responde.")
class AliveAnswer(msgspec.Struct, frozen=True):
    """The answer of `/livez`."""

    status: Annotated[Literal["ok"], doc("Sempre `ok`.")]


@described("Prontidao", "O serviço pode receber requisições.")
class ReadyAnswer(msgspec.Struct, frozen=True):
    """The answer of `/readyz`."""

    status: Annotated[Literal["ok"], doc("Sempre `ok`.")]
    writes: Annotated[bool, doc("Sempre `true`: o banco de dados aceita gravações.")] = (
        msgspec.field(name="gravação")
    )
    clock: Annotated[
        str,
        doc("`certo` ou o problema do relógio. Um salto não muda a hora usada pelo serviço."),
    ] = msgspec.field(name="relógio")
    dados_abertos: Annotated[
        Mapping[str, Annotated[str | None, msgspec.Meta(extra_json_schema={"format": "date"})]],
        doc("Dia de extração da cópia do cadastro, por modo."),
    ]


_Probe = partial(Route, of_api=False, level="debug", tag=TAG_SERVICE)


@dataclass(frozen=True, slots=True)
class MetricsAccess:
    """Access to `/metrics`: for this machine, and for callers with the token or, if none is set,
    for private networks.
    """

    proxies: TrustedProxies = field(default_factory=TrustedProxies)
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
            client = self.proxies.client_address(client, [forwarded] if forwarded else [])
            if client == request.client:  # the proxy is not one of `trusted_proxies`
                return False
        if is_loopback(client) or (client and client == request.server):
            return True
        return not self.token and is_local(client)


_FORWARDED = frozenset({b"x-forwarded-for", b"forwarded", b"x-real-ip"})


@dataclass(slots=True)
class Probes:
    """The routes of `PROBES`."""

    metrics: Metrics
    desk: Desk
    snapshots: Mapping[Mode, ImportedRegistry]
    now_ms: Callable[[], int]
    clock: Callable[[], ClockState] = ClockState
    access: MetricsAccess = field(default_factory=MetricsAccess)
    _write_check: "_WriteCheck" = field(init=False)
    _state_ms: int | None = None  # when the database was asked last

    def __post_init__(self) -> None:
        self._write_check = _WriteCheck(self.desk, self.now_ms)

    @_Probe(
        "/livez",
        "/livez",
        id="livez",
        summary="O processo responde",
        text="Para supervisores que reiniciam o processo. Não verifica dependências.",
        gives=[Json(AliveAnswer("ok"))],
    )
    async def alive(self, request: Request) -> tuple[int, Headers, bytes]:
        """Answer without checking anything that the process depends on."""
        return 200, _JSON, b'{"status":"ok"}'

    @_Probe(
        "/readyz",
        "/readyz",
        id="readyz",
        summary="O serviço pode receber requisições",
        text=("Para balanceadores. Responde 503 se o banco de dados não aceita gravações."),
        gives=[Json(ReadyAnswer("ok", True, CLOCK_RIGHT, {"live": "2026-07-12", "test": None}))],
        problems=(StorageFailed,),
    )
    async def ready(self, request: Request) -> tuple[int, Headers, bytes]:
        """Return whether requests may be sent here; a 503 unless the desk can write.

        Also a 503 if the clock differs from the database's. A clock that jumped is reported and
        does no harm.
        """
        if (seen := self.clock()).is_off:
            raise ClockOff(f"{seen.system_ahead_ms // 1000} s")
        if (failure := await self._write_check.failure()) is not None:
            raise StorageFailed(failure)
        months = {
            str(mode): None if (day := snapshot.extraction_date) is None else day.isoformat()
            for mode, snapshot in self.snapshots.items()
        }
        return 200, _JSON, _encode(ReadyAnswer("ok", True, _of_clock(seen), months))

    @_Probe(
        "/metrics",
        "/metrics",
        id="metrics",
        summary="Medidas no formato de texto do Prometheus",
        text="Para o Prometheus e programas compatíveis, da própria máquina ou de uma rede"
        " privada.",
        gives=[Text("text/plain")],
        problems=(RouteNotFound,),
    )
    async def measurements(self, request: Request) -> tuple[int, Headers, bytes]:
        """Return the metrics in Prometheus' text format; without a database, all but its own.

        Raises `RouteNotFound` for callers without access.
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
    """Describe the clock, for `/readyz` and `balcao doctor`."""
    if seen.jump_ms:
        return (
            f"saltou {_seconds(seen.jump_ms)}; vale a hora de antes, até que o salto seja desfeito"
            " ou dure uma hora"
        )
    if seen.ledger_ahead_ms:
        return (
            f"no início estava {_seconds(-seen.ledger_ahead_ms)} em relação ao último lançamento;"
            " nada vence em definitivo antes de uma hora"
        )
    return CLOCK_RIGHT


def _seconds(difference_ms: int) -> str:
    return f"{difference_ms // 1000:+d} s"


@dataclass(slots=True)
class _WriteCheck:
    """A check of whether the desk can write, by writing.

    A result is reused for a second, so that many requests do not cause many writes.
    """

    desk: Desk
    now_ms: Callable[[], int]
    _checking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _asked_ms: int | None = None
    _failure: str | None = None

    async def failure(self) -> str | None:
        """Return why the desk could not write; None: it could."""
        async with self._checking:
            now = self.now_ms()
            if self._asked_ms is None or abs(now - self._asked_ms) >= VERDICT_MS:
                self._failure = await self._check(now)
                self._asked_ms = now
            return self._failure

    async def _check(self, now: int) -> str | None:
        try:
            await self.desk.heartbeat(now)
        except Exception as error:
            return type(error).__name__
        return None
