"""An httpx2 transport with direct HTTP/1.1 connections, without a proxy.

It replaces httpx2's own: those layers take ten times the processor time of the call itself and a
dozen turns of the event loop (ADR 0040). The parser is the one that reads our clients' requests.
A connection carries one whole request at a time; replies are streamed with backpressure.
`upstream.py` enforces limits of size and time, as with any other transport.
"""

import asyncio
import re
import select
import ssl
from collections import deque
from collections.abc import AsyncIterator

import httptools
import httpx2

# Bytes of a reply's head, with its interim ones; and bytes without content after it, such as a
# trailer, which the parser buffers until it ends.
HEAD_BYTES_MAX = 100_000

# Reading pauses when more than this is buffered.
BUFFERED_BYTES_MAX = 256_000

# Delay before the next address of a host is tried.
NEXT_ADDRESS_SECONDS = 0.25

# Forms of old servers that every client accepts: lines that end in LF, and folded headers.
LENIENT = {"lenient_headers": True, "lenient_optional_cr_before_lf": True}

_FORBIDDEN_IN_HEADER = re.compile(rb"[\0\r\n]")

_Origin = tuple[str, str, int]
_PORTS = {"http": 80, "https": 443}


class DirectTransport(httpx2.AsyncBaseTransport):
    """A pool of keep-alive connections, each bound to its event loop.

    `tls`: None for the default context. Only the timeouts `connect` and `pool` of a request apply;
    the caller limits the whole conversation. Raises the same errors as httpx2's own transport.
    """

    def __init__(
        self,
        tls: ssl.SSLContext | None,
        *,
        connections_max: int,
        keepalive_seconds: float,
        address: str | None = None,
    ) -> None:
        """`address`: connect to this one, whatever the names of hosts resolve to."""
        self._tls = tls
        self._address = address
        self._keepalive_seconds = keepalive_seconds
        self._idle: dict[_Origin, list[_Connection]] = {}
        self._slots = asyncio.Semaphore(connections_max)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request and return the reply once its head is read; close its stream."""
        url, timeouts = request.url, request.extensions.get("timeout", {})
        if url.scheme not in _PORTS or not url.host:
            raise httpx2.UnsupportedProtocol("neither http nor https")
        origin = url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
        data = _serialised(request)
        await self._acquire_slot(timeouts.get("pool"))
        connection: _Connection | None = None
        try:
            connection = self._idle_connection(origin) or await self._connect(
                origin, timeouts.get("connect")
            )
            status, headers = await connection.send(data)
        except BaseException:
            self._slots.release()
            if connection is not None:
                connection.drop()
            raise
        return httpx2.Response(status, headers=headers, stream=_Body(connection, origin, self))

    async def aclose(self) -> None:
        """Close idle connections. Those in use are closed after their reply."""
        for connections in self._idle.values():
            for connection in connections:
                connection.drop()
        self._idle.clear()

    def _release(self, connection: "_Connection", origin: _Origin) -> None:
        """Return a connection to the pool, or close it if it cannot be reused."""
        self._slots.release()
        if not connection.is_reusable:
            connection.drop()
            return
        connection.idle_since = connection.loop.time()
        self._idle.setdefault(origin, []).append(connection)

    async def _acquire_slot(self, seconds: float | None) -> None:
        if not self._slots.locked():  # free: no timeout needed
            await self._slots.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._slots.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout("all connections are busy") from None

    def _idle_connection(self, origin: _Origin) -> "_Connection | None":
        """Return the most recently used connection that is still usable, or None."""
        idle, loop = self._idle.get(origin), asyncio.get_running_loop()
        while idle:
            connection = idle.pop()
            late = loop.time() - connection.idle_since >= self._keepalive_seconds
            if connection.loop is loop and connection.is_reusable:
                if not late and connection.has_no_pending_input:
                    return connection
                connection.drop()
        return None

    async def _connect(self, origin: _Origin, seconds: float | None) -> "_Connection":
        scheme, host, port = origin
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: _Connection(loop),
                    self._address or host,
                    port,
                    ssl=self._context() if scheme == "https" else None,
                    server_hostname=host if scheme == "https" else None,
                    happy_eyeballs_delay=NEXT_ADDRESS_SECONDS,
                )
        except TimeoutError as error:
            raise httpx2.ConnectTimeout("no connection in time") from error
        except (OSError, UnicodeError) as error:  # includes TLS errors
            raise httpx2.ConnectError("no connection") from error
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = httpx2.create_ssl_context()
        self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


class _Connection(asyncio.Protocol):
    """One connection, with at most one request on it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None  # None: no request was sent
        self._head: asyncio.Future[None] | None = None
        self._chunk_ready: asyncio.Future[None] | None = None
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._head_bytes = 0  # since the last content
        self._in_body = self._complete = self._lost = self._keep_alive = False
        self._chunks: deque[bytes] = deque()
        self._chunk_bytes = 0
        self._paused = False
        self._error: httpx2.TransportError | None = None

    @property
    def is_reusable(self) -> bool:
        """Whether its last reply was complete and another request may follow."""
        if not self._complete or self._chunks:
            return False
        return self._keep_alive and not self._lost and self._error is None

    @property
    def has_no_pending_input(self) -> bool:
        """Whether the socket has neither data nor an end to read, seen by the loop or not."""
        assert self._transport is not None
        poller = select.poll()
        poller.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return not poller.poll(0)

    async def send(self, data: bytes) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Send a request; return status and headers of its reply."""
        if self._lost:  # no callback would follow
            raise httpx2.ConnectError("gone before anything was sent")
        assert self._transport is not None
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(**LENIENT)
        self._headers, self._head_bytes = [], 0
        self._in_body = self._complete = self._keep_alive = False
        self._head = self.loop.create_future()
        self._transport.write(data)
        await self._head
        return self._status, self._headers

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the content as it arrives, still encoded."""
        while True:
            while self._chunks:
                chunk = self._chunks.popleft()
                self._chunk_bytes -= len(chunk)
                if self._paused and self._chunk_bytes <= BUFFERED_BYTES_MAX // 2:
                    self._resume_reading()
                yield chunk
            if self._complete:
                return
            if self._error is not None:
                raise self._error
            self._chunk_ready = self.loop.create_future()
            await self._chunk_ready

    def drop(self) -> None:
        """Abort the connection."""
        self._lost = True
        if self._transport is not None and not self.loop.is_closed():
            self._transport.abort()

    # Callbacks of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._complete:
            self._fail(httpx2.RemoteProtocolError("it speaks unasked"))
            return
        self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            # nothing may follow a complete reply: requests are not pipelined
            self._fail(httpx2.RemoteProtocolError("no reply of HTTP/1.1"))
            return
        if self._head_bytes > HEAD_BYTES_MAX:
            self._fail(httpx2.RemoteProtocolError("a head or a trailer too large"))
            return
        if self._chunk_bytes > BUFFERED_BYTES_MAX and not self._paused:
            self._paused = True
            assert self._transport is not None
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        if self._parser is None or self._complete:
            return
        if error is not None:
            self._fail(httpx2.ReadError("the connection broke"))
        elif self._in_body and _ends_with_its_connection(self._headers):
            self._complete = True
            self._wake()
        else:
            self._fail(httpx2.RemoteProtocolError("closed before its reply was whole"))

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        if self._complete:
            raise ValueError("a second reply")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # trailers are ignored
            if not name or _FORBIDDEN_IN_HEADER.search(value):
                raise ValueError("no header")
            self._headers.append((name, value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        self._status = self._parser.get_status_code()
        self._in_body = self._status >= 200  # an interim reply has no body
        if self._in_body and self._head is not None and not self._head.done():
            self._head.set_result(None)

    def on_body(self, chunk: bytes) -> None:
        self._head_bytes = 0
        self._chunks.append(chunk)
        self._chunk_bytes += len(chunk)

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if self._in_body:
            self._complete, self._keep_alive = True, self._parser.should_keep_alive()
        else:
            self._headers.clear()

    def _resume_reading(self) -> None:
        self._paused = False
        if not self._lost:
            assert self._transport is not None
            self._transport.resume_reading()

    def _fail(self, error: httpx2.TransportError) -> None:
        if self._error is None:
            self._error = error
        if self._head is not None and not self._head.done():
            self._head.set_exception(self._error)
        self._wake()
        self.drop()

    def _wake(self) -> None:
        if self._chunk_ready is not None and not self._chunk_ready.done():
            self._chunk_ready.set_result(None)


class _Body(httpx2.AsyncByteStream):
    """The content of one reply; closing it returns its connection to the pool."""

    def __init__(
        self, connection: _Connection, origin: _Origin, transport: DirectTransport
    ) -> None:
        self._connection = connection
        self._origin = origin
        self._transport: DirectTransport | None = transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._connection.body():
            yield chunk

    async def aclose(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport._release(self._connection, self._origin)


def _serialised(request: httpx2.Request) -> bytes:
    """Return the bytes of a request. Raises `LocalProtocolError` for a header injection."""
    headers = request.headers.raw
    lines = [b"%b: %b\r\n" % header for header in headers]
    target = request.url.raw_path
    head = b"%b %b HTTP/1.1\r\n%b\r\n" % (request.method.encode(), target, b"".join(lines))
    # a value with a line break would add headers
    if head.count(b"\n") != len(lines) + 2 or head.count(b"\r") != len(lines) + 2 or b"\0" in head:
        raise httpx2.LocalProtocolError("not to be written in one line")
    return head + request.content


def _ends_with_its_connection(headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether only the end of the connection marks the end of the reply."""
    return not any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in headers)
