"""Serve the application over HTTP/1.1 (`http/wire`), in one process."""

import asyncio
import contextlib
import gc
import resource
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from balcao.home import Home
from balcao.http.fast_path import LookupFastPath
from balcao.http.wire.limits import ConnectionLimits
from balcao.http.wire.server import Server

if TYPE_CHECKING:
    from balcao.http.front import ASGIApp
    from balcao.service.compose import Application
    from balcao.settings import Settings

log = structlog.get_logger()

# Requests leave few reference cycles behind; collect rarely.
GC_THRESHOLDS = (50_000, 20, 50)

# Open files for databases, receipts and sources; the rest is for clients.
RESERVED_FILES = 512
CONNECTIONS_MAX = 16_384
CONNECTIONS_MIN = 64
# With fewer, silent connections are closed early.
CONNECTIONS_WARNED_BELOW = 4_096

LOOPBACK = "127.0.0.1"

# For sending the last answers, after the running lookups.
CLOSE_SECONDS = 2.0

# For the commit of a lookup, after its last source has answered or timed out.
SETTLE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Supervised:
    """A worker's side of its supervisor (`service/supervisor.py`).

    `control`: closed at the other end to stop the worker. `own_port`: on the loopback, for
    `/metrics` of this worker alone.
    """

    control: socket.socket
    own_port: int


def serve(application: "Application", supervised: Supervised | None = None) -> None:
    """Serve until SIGINT or SIGTERM, or until the supervisor stops us; finish requests first."""
    # Objects that live as long as the process are excluded from collections: full ones took tens
    # of milliseconds, in the middle of a request.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    if supervised is not None:
        asyncio.run(run(application, supervised))
        return
    with recorded_address(application.settings):
        asyncio.run(run(application))


@contextlib.contextmanager
def recorded_address(settings: "Settings") -> Iterator[None]:
    """Record the service's address in the data folder meanwhile, for `balcao doctor`."""
    note = Home(settings.home).serving
    with contextlib.suppress(OSError):  # such as a full disk, which does not prevent serving
        note.write_text(settings.own_address, "utf-8")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            note.unlink()


async def run(application: "Application", supervised: Supervised | None = None) -> None:
    """Like `serve`, on a running event loop."""
    settings = application.settings
    stopping = asyncio.Event()
    if supervised is None:
        on_signals(stopping.set)
    else:
        on_closed(supervised.control, stopping.set)
    metrics = application.front.metrics
    async with lifespan(application.app):
        fast_path = LookupFastPath(application.front) if has_fast_path(settings) else None
        wire = Server(
            application.app,
            application.front.refuse,
            connection_limits(settings, connections_max()),
            fast_path=fast_path,
            observe=metrics.connection_closed,
            tls=tls_context(settings),
            common_headers=common_headers(settings),
        )
        metrics.connections = lambda: len(wire.connections)
        try:
            if supervised is None:
                wire.listen(settings.host, settings.port)
            else:
                wire.listen(settings.host, settings.port, shared=True)
                wire.listen(LOOPBACK, supervised.own_port)
                supervised.control.send(b"!")
            await stopping.wait()
        finally:
            await wire.close(settings.source_deadline_seconds + CLOSE_SECONDS)


def has_fast_path(settings: "Settings") -> bool:
    """Return whether to use the fast path; it bypasses the functions that make spans."""
    return settings.fast_path and not settings.otel


def connection_limits(settings: "Settings", connections: int) -> ConnectionLimits:
    """Return the limits of connections by the settings."""
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
    """Raise the limit on open files as far as possible; return the connections it allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # some systems have another, lower limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
    files = CONNECTIONS_MAX + RESERVED_FILES if soft == resource.RLIM_INFINITY else soft
    found = max(CONNECTIONS_MIN, min(CONNECTIONS_MAX, files - RESERVED_FILES))
    if found < CONNECTIONS_WARNED_BELOW:
        log.warning("connections.few", connections=found, open_files=files)
    return found


def on_closed(control: socket.socket, stop: Callable[[], object]) -> None:
    """Call `stop` once when the other end is closed."""
    loop = asyncio.get_running_loop()

    def closed() -> None:
        loop.remove_reader(control)  # it stays readable
        stop()

    loop.add_reader(control, closed)


def on_signals(stop: Callable[[], object]) -> None:
    """Call `stop` on SIGINT and SIGTERM."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)


def common_headers(settings: "Settings") -> Sequence[tuple[bytes, bytes]]:
    """Return the headers of every answer: under TLS, of ours or of a proxy, HSTS for a year."""
    secure = settings.tls_certificate is not None or settings.public_url.startswith("https:")
    return [(b"strict-transport-security", b"max-age=31536000")] if secure else []


def tls_context(settings: "Settings") -> ssl.SSLContext | None:
    """Return the TLS context, if the settings name a certificate."""
    if settings.tls_certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(settings.tls_certificate, settings.tls_key)
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextlib.asynccontextmanager
async def lifespan(app: "ASGIApp") -> AsyncIterator[None]:
    """Run the application's lifespan (ASGI). Raises the errors of its start and shutdown."""
    to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}}
    running = asyncio.ensure_future(app(scope, to_app.get, from_app.put))

    async def until(phase: str) -> None:
        to_app.put_nowait({"type": f"lifespan.{phase}"})
        answer = asyncio.create_task(from_app.get())
        await asyncio.wait({running, answer}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            await running
            raise RuntimeError(f"the application ended at its {phase}")

    await until("startup")
    try:
        yield
    finally:
        await until("shutdown")
        await running
