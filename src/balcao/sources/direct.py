"""Connections to an origin without anybody in between: HTTP/1.1, as much of it as sources speak.

A transport for whom httpx2's own costs too much: its layers take ten times the processor time of
the call itself, and a dozen turns of the event loop (ADR 0040). The parser is the one that
reads our own clients' requests. Requests go out whole, one at a time on a connection; what comes
back is handed on as it arrives, and not read faster than it is taken. What is too large, too slow
or not to be sent at all is judged by `upstream.py`, as with any other transport.
"""

import asyncio
import re
import select
import ssl
from collections import deque
from collections.abc import AsyncIterator

import httptools
import httpx2

# Of the head of a reply, its interim ones included; and of what is no content behind it, at a time:
# the parser keeps a trailer until it ends.
HEAD_BYTES_MAX = 100_000

# What may wait to be taken; then the other side has to.
WAITING_BYTES_MAX = 256_000

# Where a name has several addresses, the next one is tried after this long.
NEXT_ADDRESS_SECONDS = 0.25

# What old servers write and every client reads: lines that end in LF, and folded headers.
LENIENT = {"lenient_headers": True, "lenient_optional_cr_before_lf": True}

_UNREADABLE = re.compile(rb"[\0\r\n]")

_Origin = tuple[str, str, int]
_PORTS = {"http": 80, "https": 443}


class DirectTransport(httpx2.AsyncBaseTransport):
    """Connections that are used again, for the event loop that they were made on.

    `tls` of None: the usual one. Of the timeouts of a request `connect` and `pool` hold; the
    whole conversation's limit is its caller's. Raises what httpx2's own transport raises.
    """

    def __init__(
        self, tls: ssl.SSLContext | None, *, connections_max: int, keepalive_seconds: float
    ) -> None:
        self._tls = tls
        self._keepalive_seconds = keepalive_seconds
        self._idle: dict[_Origin, list[_Connection]] = {}
        self._places = asyncio.Semaphore(connections_max)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send it, and return with the head of the reply; its stream must be closed."""
        url, timeouts = request.url, request.extensions.get("timeout", {})
        if url.scheme not in _PORTS or not url.host:
            raise httpx2.UnsupportedProtocol("neither http nor https")
        origin = url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme]
        sending = _written(request)
        await self._take_place(timeouts.get("pool"))
        connection: _Connection | None = None
        try:
            connection = self._idle_one(origin) or await self._connected(
                origin, timeouts.get("connect")
            )
            status, headers = await connection.ask(sending)
        except BaseException:
            self._places.release()
            if connection is not None:
                connection.drop()
            raise
        return httpx2.Response(status, headers=headers, stream=_Body(connection, origin, self))

    async def aclose(self) -> None:
        """Close what is idle. What is in use ends with its reply."""
        for connections in self._idle.values():
            for connection in connections:
                connection.drop()
        self._idle.clear()

    def _take_back(self, connection: "_Connection", origin: _Origin) -> None:
        """Nobody uses it any more: keep it for the next one, if it is as good as new."""
        self._places.release()
        if not connection.is_reusable:
            connection.drop()
            return
        connection.idle_since = connection.loop.time()
        self._idle.setdefault(origin, []).append(connection)

    async def _take_place(self, seconds: float | None) -> None:
        if not self._places.locked():  # at once, then
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(seconds):
                await self._places.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout("all connections are busy") from None

    def _idle_one(self, origin: _Origin) -> "_Connection | None":
        """The one used last, if the other side is not about to close it."""
        idle, loop = self._idle.get(origin), asyncio.get_running_loop()
        while idle:
            connection = idle.pop()
            late = loop.time() - connection.idle_since >= self._keepalive_seconds
            if connection.loop is loop and connection.is_reusable:
                if not late and connection.is_silent:
                    return connection
                connection.drop()
        return None

    async def _connected(self, origin: _Origin, seconds: float | None) -> "_Connection":
        scheme, host, port = origin
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: _Connection(loop),
                    host,
                    port,
                    ssl=self._context() if scheme == "https" else None,
                    happy_eyeballs_delay=NEXT_ADDRESS_SECONDS,
                )
        except TimeoutError as error:
            raise httpx2.ConnectTimeout("no connection in time") from error
        except (OSError, UnicodeError) as error:  # those of TLS are among them
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
        self._parser: httptools.HttpResponseParser | None = None  # None: nothing is asked
        self._head: asyncio.Future[None] | None = None
        self._more: asyncio.Future[None] | None = None
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._head_bytes = 0  # since the last content
        self._in_body = self._complete = self._lost = self._keeps = False
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._paused = False
        self._error: httpx2.TransportError | None = None

    @property
    def is_reusable(self) -> bool:
        """Whether its last reply ended well, and another may follow."""
        if not self._complete or self._waiting:
            return False
        return self._keeps and not self._lost and self._error is None

    @property
    def is_silent(self) -> bool:
        """Whether the other side has said nothing of late, nor closed it: the loop may not know."""
        assert self._transport is not None
        said = select.poll()
        said.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return not said.poll(0)

    async def ask(self, sending: bytes) -> tuple[int, list[tuple[bytes, bytes]]]:
        """Send a request; status and headers of its reply."""
        if self._lost:  # or nobody would ever wake us
            raise httpx2.ConnectError("gone before anything was sent")
        assert self._transport is not None
        self._parser = httptools.HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(**LENIENT)
        self._headers, self._head_bytes = [], 0
        self._in_body = self._complete = self._keeps = False
        self._head = self.loop.create_future()
        self._transport.write(sending)
        await self._head
        return self._status, self._headers

    async def body(self) -> AsyncIterator[bytes]:
        """The content as it arrives, still in its coding."""
        while True:
            while self._waiting:
                chunk = self._waiting.popleft()
                self._waiting_bytes -= len(chunk)
                if self._paused and self._waiting_bytes <= WAITING_BYTES_MAX // 2:
                    self._read_on()
                yield chunk
            if self._complete:
                return
            if self._error is not None:
                raise self._error
            self._more = self.loop.create_future()
            await self._more

    def drop(self) -> None:
        """End it, whatever is under way."""
        self._lost = True
        if self._transport is not None and not self.loop.is_closed():
            self._transport.abort()

    # What asyncio tells.

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
            # Nothing follows a complete reply: we ask one thing at a time.
            self._fail(httpx2.RemoteProtocolError("no reply of HTTP/1.1"))
            return
        if self._head_bytes > HEAD_BYTES_MAX:
            self._fail(httpx2.RemoteProtocolError("a head or a trailer too large"))
            return
        if self._waiting_bytes > WAITING_BYTES_MAX and not self._paused:
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

    # What the parser tells.

    def on_message_begin(self) -> None:
        if self._complete:
            raise ValueError("a second reply")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # trailers are of no use
            if not name or _UNREADABLE.search(value):
                raise ValueError("no header")
            self._headers.append((name, value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        self._status = self._parser.get_status_code()
        self._in_body = self._status >= 200  # before it come others, of which nothing follows
        if self._in_body and self._head is not None and not self._head.done():
            self._head.set_result(None)

    def on_body(self, chunk: bytes) -> None:
        self._head_bytes = 0
        self._waiting.append(chunk)
        self._waiting_bytes += len(chunk)

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if self._in_body:
            self._complete, self._keeps = True, self._parser.should_keep_alive()
        else:
            self._headers.clear()

    def _read_on(self) -> None:
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
        if self._more is not None and not self._more.done():
            self._more.set_result(None)


class _Body(httpx2.AsyncByteStream):
    """The content of one reply; closing it gives its connection back."""

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
        """Once, however often it is called."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport._take_back(self._connection, self._origin)


def _written(request: httpx2.Request) -> bytes:
    """A request as it goes over the line. Raises `LocalProtocolError` where that cannot be."""
    headers = request.headers.raw
    lines = [b"%b: %b\r\n" % header for header in headers]
    target = request.url.raw_path
    head = b"%b %b HTTP/1.1\r\n%b\r\n" % (request.method.encode(), target, b"".join(lines))
    # A value with a line of its own would say something that nobody meant.
    if head.count(b"\n") != len(lines) + 2 or head.count(b"\r") != len(lines) + 2 or b"\0" in head:
        raise httpx2.LocalProtocolError("not to be written in one line")
    return head + request.content


def _ends_with_its_connection(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether nothing else says where a reply ends."""
    return not any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in headers)
