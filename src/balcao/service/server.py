"""Serving: the application on the network, in one process.

HTTP/1.1 is ours (`http/wire`). Where the setting `http2` asks for HTTP/2, Granian stands at the
door instead; it knows nothing of our bounds on connections and unread answers (ADR 0022).
"""

import asyncio
import contextlib
import dataclasses
import gc
import resource
import signal
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

import structlog

from balcao.home import Home
from balcao.http.fronts.house import Fronts
from balcao.http.lane import Lane
from balcao.http.wire.door import Door
from balcao.http.wire.limits import ConnectionLimits
from balcao.service.fronts import FrontProcesses

if TYPE_CHECKING:
    from balcao.http.front import ASGIApp
    from balcao.service.compose import Application
    from balcao.settings import Settings

log = structlog.get_logger()

# Requests leave few reference cycles behind; collect rarely.
GC_THRESHOLDS = (50_000, 20, 50)

# Of open files, for databases, receipts and sources; the rest is for clients.
FILES_APART = 512
CONNECTIONS_MAX = 16_384
CONNECTIONS_MIN = 64
# With fewer, silent connections are given up sooner than they need be.
CONNECTIONS_ENOUGH = 4_096

# What is said last of all, after the lookups under way are answered.
GOODBYE_SECONDS = 2.0


def serve(application: "Application") -> None:
    """Serve until SIGINT or SIGTERM; requests under way are finished."""
    # What lives as long as the process need not be looked at again and again: full collections
    # took tens of milliseconds, in the middle of somebody's request.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    with _findable(application.settings):
        asyncio.run(run(application))


@contextlib.contextmanager
def _findable(settings: "Settings") -> Iterator[None]:
    """The address stands in the data folder meanwhile, for `balcao doctor`."""
    note = Home(settings.home).serving
    with contextlib.suppress(OSError):  # a full disk, say: no reason not to serve
        note.write_text(settings.own_address, "utf-8")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            note.unlink()


async def run(application: "Application") -> None:
    """The same on a running event loop."""
    settings = application.settings
    if settings.http2:
        await run_granian(application.app, settings)
        return
    stopping = asyncio.Event()
    _on_signals(stopping.set)
    metrics = application.front.metrics
    async with living(application.app):
        lane = Lane(application.front) if has_lane(settings) else None
        fronts = fronts_of(application, lane)
        limits = limits_of(settings, connections_max())
        if fronts is not None:  # theirs is the other half (`limits_of_front`)
            limits = dataclasses.replace(limits, unread_bytes=limits.unread_bytes // 2)
        door = Door(
            application.app,
            application.front.refuse,
            limits,
            lane=lane,
            observe=metrics.connection_closed,
            tls=tls_context(settings),
            fronts=fronts,
        )
        metrics.connections = lambda: len(door.connections) + (fronts.clients if fronts else 0)
        processes = None
        if fronts is not None:
            fronts.door = door
            processes = FrontProcesses(fronts, settings.fronts - 1)  # the first are we
        try:
            if processes is not None:
                await either(processes.ready(), stopping.wait())
            door.open(settings.host, settings.port)
            await stopping.wait()
        finally:
            await _finish(door, processes, settings.source_deadline_seconds + GOODBYE_SECONDS)


async def either(*awaited: Coroutine[None, None, object]) -> None:
    """Wait for the first of them, and give up the others."""
    tasks = [asyncio.create_task(each) for each in awaited]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()


async def _finish(door: Door, processes: FrontProcesses | None, patience_seconds: float) -> None:
    """Take nobody any more, and answer what is under way, wherever that is."""
    until = asyncio.get_running_loop().time() + patience_seconds
    if processes is not None:
        await asyncio.gather(processes.stop(patience_seconds), door.close(patience_seconds))
    # What fronts handed over at the last moment, too.
    await door.close(max(0.0, until - asyncio.get_running_loop().time()))


def fronts_of(application: "Application", lane: Lane | None) -> Fronts | None:
    """The fronts that are wanted, told of erasures; None: one process (decision 0046)."""
    if application.settings.fronts == 1 or lane is None or tls_context(application.settings):
        return None
    fronts = Fronts(application.front, lane, application.clock.offset_ms)
    application.retention.forget = fronts.forget
    return fronts


def has_lane(settings: "Settings") -> bool:
    """Spans stand around the parts that the lane goes past."""
    return settings.lane and not settings.otel


def limits_of_front(settings: "Settings", connections: int) -> ConnectionLimits:
    """The share of one front. Half of the room for answers stays with the house, who has the long
    ones; addresses are counted there.
    """
    ours, fronts = limits_of(settings, connections), max(1, settings.fronts - 1)
    return dataclasses.replace(
        ours, connections=connections // fronts, unread_bytes=ours.unread_bytes // (2 * fronts)
    )


def limits_of(settings: "Settings", connections: int) -> ConnectionLimits:
    """What clients may take of us, as the operator wants it."""
    return ConnectionLimits(
        head_bytes=settings.header_bytes_max,
        idle_seconds=settings.keep_alive_seconds,
        per_address=settings.connections_per_address_max,
        trusted=settings.trusted_proxies,
        connections=connections,
        unread_bytes=settings.unread_bytes_max,
        large_at_once=settings.large_answers_max,
    )


def connections_max() -> int:
    """How many connections the system's limit on open files leaves room for.

    Raises the soft limit to the hard one before.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # some systems have a lower one besides
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    files = CONNECTIONS_MAX + FILES_APART if soft == resource.RLIM_INFINITY else soft
    found = max(CONNECTIONS_MIN, min(CONNECTIONS_MAX, files - FILES_APART))
    if found < CONNECTIONS_ENOUGH:
        log.warning("connections.few", connections=found, open_files=files)
    return found


def _on_signals(stop: Callable[[], object]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)


def tls_context(settings: "Settings") -> ssl.SSLContext | None:
    """For HTTP/1.1 by TLS, where the settings name a certificate."""
    if settings.tls_certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(settings.tls_certificate, settings.tls_key)
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextlib.asynccontextmanager
async def living(app: "ASGIApp") -> AsyncIterator[None]:
    """The application's lifespan (ASGI). Raises what keeps it from starting or ending well."""
    said: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}}
    life = asyncio.ensure_future(app(scope, said.get, heard.put))

    async def until(phase: str) -> None:
        said.put_nowait({"type": f"lifespan.{phase}"})
        answer = asyncio.create_task(heard.get())
        await asyncio.wait({life, answer}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            await life
            raise RuntimeError(f"the application ended at its {phase}")

    await until("startup")
    try:
        yield
    finally:
        await until("shutdown")
        await life


async def run_granian(app: "ASGIApp", settings: "Settings") -> None:
    """HTTP/1.1 and, by ALPN, HTTP/2, without our bounds."""
    from granian.constants import HTTPModes, Interfaces  # noqa: PLC0415 - seldom wanted
    from granian.http import HTTP1Settings  # noqa: PLC0415
    from granian.log import LogLevels  # noqa: PLC0415
    from granian.server.embed import Server  # noqa: PLC0415

    limits = limits_of(settings, 0)
    server = Server(
        app,
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        http=HTTPModes.auto,
        websockets=False,
        backlog=max(1024, settings.requests_max),
        # The gate refuses with a clear answer those who would wait for a source; what is at
        # hand takes no place there, so there must be room for it behind them.
        backpressure=settings.requests_max * 4,
        http1_settings=HTTP1Settings(
            header_read_timeout=round(limits.head_seconds * 1000),
            max_buffer_size=max(8192, settings.header_bytes_max) * 4,
        ),
        log_level=LogLevels.error,
        ssl_cert=settings.tls_certificate,
        ssl_key=settings.tls_key,
    )
    _on_signals(server.stop)
    with contextlib.suppress(asyncio.CancelledError):
        await server.serve()
