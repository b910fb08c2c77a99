"""Serve the simulator over HTTP/1.1 by uvicorn, in the clear or by TLS 1.2 and newer.

Clients with a certificate: the application gets it in a header, as from a proxy.
"""

import asyncio
import base64
import contextlib
import logging
import ssl
import sys
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any, cast

import h11
from starlette.responses import Response
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from balcao.providers.contract import MutualTls
from balcao.providers.simulation.exchange import BODY_BYTES_MAX, CERTIFICATE_HEADER

# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, for which Python has no name.
_TAKE_EXPIRED_ONES = 0x200000

_PIECE_BYTES = 4_096

# What it would tell of is what clients are promised: connections that are cut.
_SILENT = logging.Logger("silent", logging.CRITICAL + 1)


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """What one listener puts up with."""

    requests: int = 512  # that are answered at a time; others wait
    header_bytes: int = 16_384
    body_bytes: int = BODY_BYTES_MAX
    handshake_seconds: float = 10
    request_seconds: float = 30  # to send a whole one, and between two of a connection
    goodbye_seconds: float = 2


def server_context(providers: Iterable[MutualTls]) -> ssl.SSLContext:
    """TLS with clients of the providers' authorities only.

    Expired certificates are let through: what is said of them is an answer.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VerifyFlags(_TAKE_EXPIRED_ONES)
    for each in providers:
        context.load_cert_chain(each.server)
        context.load_verify_locations(each.authority)
    return context


@contextlib.asynccontextmanager
async def listening(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    context: ssl.SSLContext | None = None,
    limits: ListenerLimits | None = None,
) -> AsyncIterator[int]:
    """Serve until the block ends; yield the port. Connections do not outlive the block.

    `context`: ask clients for a certificate; None: no TLS. `app` returns early where a
    connection is to be cut: see `create_server_app`.
    """
    limits = limits or ListenerLimits()
    config = Config(
        app,
        interface="asgi3",
        proxy_headers=False,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        h11_max_incomplete_event_size=limits.header_bytes,
        timeout_keep_alive=cast("int", limits.request_seconds),
    )
    config.load()
    state = ServerState()
    places = asyncio.Semaphore(limits.requests)
    tls: dict[str, Any] = {}
    if context is not None:
        tls = {
            "ssl": context,
            "ssl_handshake_timeout": limits.handshake_seconds,
            "ssl_shutdown_timeout": limits.goodbye_seconds,
        }
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(config, state, limits, places),
        host,
        port,
        backlog=limits.requests,
        **tls,
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for connection in list(state.connections):
            # One that was closed twice, and is still saying goodbye, knows its TLS no more.
            with contextlib.suppress(AttributeError):
                connection.transport.abort()
        for task in list(state.tasks):
            task.cancel()
        if state.tasks:
            await asyncio.wait(list(state.tasks))


class _Connection(H11Protocol):
    """A client, one request after the other."""

    def __init__(
        self, config: Config, state: ServerState, limits: ListenerLimits, places: asyncio.Semaphore
    ) -> None:
        super().__init__(config, state, {})
        self.logger = _SILENT
        self._limits = limits
        self._places = places
        self._behind, self.app = self.app, self._admitted

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        shown = None if tls is None else tls.getpeercert(binary_form=True)
        self._certificate = None if shown is None else base64.b64encode(shown)
        self._silence = self.loop.call_later(self._limits.request_seconds, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._silence.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """In small pieces, or limits are overrun before they are looked at."""
        for start in range(0, len(data), _PIECE_BYTES):
            if not self.transport.is_closing():
                super().data_received(data[start : start + _PIECE_BYTES])

    def send_400_response(self, msg: str) -> None:
        """Uvicorn calls it while it handles what h11 raised, which knows the better status."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            refusal = h11.Response(
                status_code=getattr(sys.exception(), "error_status_hint", 400),
                headers=[("content-length", "0"), ("connection", "close")],
            )
            for event in (refusal, h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    async def _admitted(self, scope: Any, receive: Any, send: Any) -> None:
        """Hand a request on once it is whole, with the certificate of who sent it."""
        self._silence.cancel()
        body = b""
        more = True
        try:
            async with asyncio.timeout(self._limits.request_seconds):
                while more and len(body) <= self._limits.body_bytes:
                    message = await receive()
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError:
            self.transport.close()
            return
        if len(body) > self._limits.body_bytes:
            await Response(status_code=413, headers={"connection": "close"})(scope, receive, send)
            return
        header = CERTIFICATE_HEADER.encode()
        headers = [(name, value) for name, value in scope["headers"] if name != header]
        if self._certificate is not None:
            headers.append((header, self._certificate))
        told = {**scope, "headers": headers}
        whole = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Any:
            return whole.pop() if whole else await receive()

        async with self._places:
            await self._behind(told, again, send)
