"""Serve the simulator by uvicorn over HTTP/1.1, plain or with TLS 1.2 and newer.

The application gets a client's certificate in a header, as from a proxy.
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
from balcao.providers.simulation.messages import BODY_BYTES_MAX, CERTIFICATE_HEADER

# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, for which Python has no name.
_NO_CHECK_TIME = 0x200000

_PIECE_BYTES = 4_096

# It would log cut connections, which are intended.
_SILENT = logging.Logger("silent", logging.CRITICAL + 1)


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """Limits of one listener."""

    requests: int = 512  # concurrent ones; others wait
    header_bytes: int = 16_384
    body_bytes: int = BODY_BYTES_MAX
    handshake_seconds: float = 10
    request_seconds: float = 30  # for sending a whole one, and between two on a connection
    shutdown_seconds: float = 2


def server_context(providers: Iterable[MutualTls]) -> ssl.SSLContext:
    """Return a TLS context that requires client certificates of the providers' authorities.

    Expired ones are accepted: the application rejects them with an answer.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VerifyFlags(_NO_CHECK_TIME)
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
    """Serve until the block ends, then close all connections; yields the port.

    `context`: TLS with client certificates; None: no TLS. `app` returns early to cut a
    connection: see `create_server_app`.
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
    slots = asyncio.Semaphore(limits.requests)
    tls: dict[str, Any] = {}
    if context is not None:
        tls = {
            "ssl": context,
            "ssl_handshake_timeout": limits.handshake_seconds,
            "ssl_shutdown_timeout": limits.shutdown_seconds,
        }
    server = await asyncio.get_running_loop().create_server(
        lambda: _Connection(config, state, limits, slots),
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
            # a connection that is shutting down may have lost its TLS object
            with contextlib.suppress(AttributeError):
                connection.transport.abort()
        for task in list(state.tasks):
            task.cancel()
        if state.tasks:
            await asyncio.wait(list(state.tasks))


class _Connection(H11Protocol):
    """A client's connection, with one request at a time."""

    def __init__(
        self, config: Config, state: ServerState, limits: ListenerLimits, slots: asyncio.Semaphore
    ) -> None:
        super().__init__(config, state, {})
        self.logger = _SILENT
        self._limits = limits
        self._slots = slots
        self._inner, self.app = self.app, self._buffered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        certificate = None if tls is None else tls.getpeercert(binary_form=True)
        self._certificate = None if certificate is None else base64.b64encode(certificate)
        self._idle_timer = self.loop.call_later(self._limits.request_seconds, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle_timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        # in small pieces, so that h11 checks its limits in time
        for start in range(0, len(data), _PIECE_BYTES):
            if not self.transport.is_closing():
                super().data_received(data[start : start + _PIECE_BYTES])

    def send_400_response(self, msg: str) -> None:
        # called while uvicorn handles an error of h11, which has a more specific status
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            refusal = h11.Response(
                status_code=getattr(sys.exception(), "error_status_hint", 400),
                headers=[("content-length", "0"), ("connection", "close")],
            )
            for event in (refusal, h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    async def _buffered(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on once it is complete, with the client's certificate."""
        self._idle_timer.cancel()
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
        forwarded = {**scope, "headers": headers}
        whole = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Any:
            return whole.pop() if whole else await receive()

        async with self._slots:
            await self._inner(forwarded, replay, send)
