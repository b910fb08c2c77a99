"""The treasuries' listener: TLS 1.2 and newer, for clients with a certificate.

Granian does not tell an application whose certificate it saw. So this small HTTP/1.1 server
hands requests to the same application, with the certificate in a header as proxies do.
"""

import asyncio
import base64
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote

import h11
from starlette.types import ASGIApp, Message

from balcao.providers.contract import MutualTls
from balcao.providers.sefaz.simulator.requester import CERTIFICATE_HEADER
from balcao.providers.simulation.exchange import (
    BODY_BYTES_MAX,
)

PREFIX = "/sefaz/"

# OpenSSL's X509_V_FLAG_NO_CHECK_TIME, for which Python has no name.
_TAKE_EXPIRED_ONES = 0x200000

_READ_BYTES = 4_096  # and no more, or limits are overrun before they are looked at
_BACKLOG = 128
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """What one listener puts up with."""

    connections: int = 512
    header_bytes: int = 16_384
    body_bytes: int = BODY_BYTES_MAX
    handshake_seconds: float = 10
    request_seconds: float = 30  # to send a whole one, and between two of a connection
    write_seconds: float = 30
    goodbye_seconds: float = 2


def server_context(providers: Iterable[MutualTls]) -> ssl.SSLContext:
    """TLS with clients of the providers' authorities only.

    Expired certificates are let through: what a treasury says of them is an answer (281).
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
    app: ASGIApp, *, host: str, port: int, context: ssl.SSLContext, limits: Limits | None = None
) -> AsyncIterator[int]:
    """Serve until the block ends; gives the port. Connections do not outlive the block.

    `app` returns early where a connection is to be cut: see `create_server_app`.
    """
    listener = _Listener(app, context, limits or Limits())
    with socket.create_server((host, port), backlog=_BACKLOG) as door:
        door.setblocking(False)
        accepting = asyncio.create_task(listener.accept(door))
        try:
            yield door.getsockname()[1]
        finally:
            accepting.cancel()
            await asyncio.wait({accepting})
            await listener.close()


class _Listener:
    """Connections, from the handshake on."""

    def __init__(self, app: ASGIApp, context: ssl.SSLContext, limits: Limits) -> None:
        self._app = app
        self._context = context
        self._limits = limits
        self._places = asyncio.Semaphore(limits.connections)
        self._tasks: set[asyncio.Task[None]] = set()

    async def accept(self, door: socket.socket) -> None:
        """Take one after the other, as long as there are places."""
        loop = asyncio.get_running_loop()
        while True:
            await self._places.acquire()
            try:
                client, _ = await loop.sock_accept(door)
            except OSError:  # it left again, or there are too many open files
                self._places.release()
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            task = asyncio.create_task(self._talk(client))
            self._tasks.add(task)
            task.add_done_callback(partial(self._left, client))

    async def close(self) -> None:
        """End every connection, and wait until they are gone."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _left(self, client: socket.socket, task: asyncio.Task[None]) -> None:
        client.close()  # closed already, unless the task was cancelled before it began
        self._tasks.discard(task)
        self._places.release()

    async def _talk(self, client: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        try:
            # An answer is sent in pieces, and the second must not wait for news of the first.
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol,
                client,
                ssl=self._context,
                ssl_handshake_timeout=self._limits.handshake_seconds,
                ssl_shutdown_timeout=self._limits.goodbye_seconds,
            )
        except OSError:  # errors of TLS and time-outs among them: no certificate, or a stranger's
            return
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        await _Connection(self._app, reader, writer, self._limits).run()


class _Gone(Exception):
    """There is nobody to answer, or no way to."""


class _Connection:
    """A client, one request after the other."""

    def __init__(
        self,
        app: ASGIApp,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        limits: Limits,
    ) -> None:
        self._app = app
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.header_bytes)
        certificate = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        self._certificate = base64.b64encode(certificate)

    async def run(self) -> None:
        """Until either side has enough."""
        try:
            with contextlib.suppress(_Gone, TimeoutError, OSError):
                while True:
                    await self._exchange()
                    if self._http.our_state is not h11.DONE:
                        break
                    self._http.start_next_cycle()
            self._writer.close()
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(self._limits.goodbye_seconds):
                    await self._writer.wait_closed()
        finally:
            self._writer.transport.abort()

    async def _exchange(self) -> None:
        try:
            async with asyncio.timeout(self._limits.request_seconds):
                request = await self._next()
                if not isinstance(request, h11.Request):
                    raise _Gone
                body = await self._body()
        except h11.RemoteProtocolError as error:
            if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                await self._refuse(error.error_status_hint)
            raise _Gone from None
        if body is None:
            await self._refuse(413)
            raise _Gone
        if not request.target.startswith(PREFIX.encode()):
            await self._refuse(404)
            return
        await self._app(self._scope(request), self._receiver(body), self._sender())

    async def _body(self) -> bytes | None:
        """The whole body, or None if it is too long."""
        body = b""
        while isinstance(data := await self._next(), h11.Data):
            body += data.data
            if len(body) > self._limits.body_bytes:
                return None
        return body

    async def _next(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(_READ_BYTES))
        return event

    def _scope(self, request: h11.Request) -> Message:
        path, _, query = request.target.partition(b"?")
        headers = [
            (name, value)
            for name, value in request.headers
            if name.decode("latin-1") != CERTIFICATE_HEADER
        ]
        headers.append((CERTIFICATE_HEADER.encode(), self._certificate))
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": request.http_version.decode("ascii"),
            "method": request.method.decode("ascii"),
            "scheme": "https",
            "path": unquote(path.decode("ascii")),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": self._writer.get_extra_info("peername")[:2],
            "server": self._writer.get_extra_info("sockname")[:2],
        }

    def _receiver(self, body: bytes) -> Any:
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if messages:
                return messages.pop()
            # Whatever comes now belongs to the next request; that nothing more comes is news.
            while data := await self._reader.read(_READ_BYTES):
                self._http.receive_data(data)
                if len(self._http.trailing_data[0]) > self._limits.body_bytes:
                    break
            return {"type": "http.disconnect"}

        return receive

    def _sender(self) -> Any:
        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._send(
                    h11.Response(status_code=message["status"], headers=message["headers"])
                )
                return
            if data := message.get("body", b""):
                await self._send(h11.Data(data=data))
            if not message.get("more_body", False):
                await self._send(h11.EndOfMessage())

        return send

    async def _refuse(self, status: int) -> None:
        headers = [("content-length", "0")]
        if status != 404:
            headers.append(("connection", "close"))
        await self._send(h11.Response(status_code=status, headers=headers))
        await self._send(h11.EndOfMessage())

    async def _send(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            self._writer.write(data)
            async with asyncio.timeout(self._limits.write_seconds):
                await self._writer.drain()
