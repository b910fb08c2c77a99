"""A server with a small application behind it, in its own thread, and raw clients."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import h11

from balcao.core.outcomes import reply_of
from balcao.http.wire.limits import ConnectionLimits
from balcao.http.wire.server import Server
from balcao.http.write import lookup_headers
from balcao.operations import envelope

T = TypeVar("T")

REQUEST_ID = "01a202df-1184-73c1-a9c1-7cf196275f03"
PATIENCE_SECONDS = 20
HELLO = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
LARGE = 1_000_000


def refusal(error: Exception, path: str) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Return a refusal like the front's, with a fixed number."""
    reply = reply_of(REQUEST_ID, envelope.refusal(error))
    return reply.status, lookup_headers(reply, (), 0, deprecated=None), reply.body


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Serve `/hello`, `/echo`, `/large`, `/stream`, and failing paths."""

    async def say(body: bytes, *further: tuple[bytes, bytes], more: bool = False) -> None:
        """Send bytes on a new connection, and return everything received until its end."""
        headers = [(b"content-type", b"text/plain"), *further]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": more})

    match scope["path"]:
        case "/echo":
            body, more = b"", True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                body, more = body + message["body"], message["more_body"]
            await say(body)
        case "/large":
            await say(b"x" * LARGE)
        case "/stream":
            await say(b"x" * 1000, more=True)
            for _ in range(LARGE // 1000 - 1):
                await send({"type": "http.response.body", "body": b"x" * 1000, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        case "/cut":
            await say(b"x" * 1000, more=True)
            raise RuntimeError
        case "/short":
            await say(b"x", (b"content-length", b"2"), more=True)
            await send({"type": "http.response.body", "body": b""})
        case "/split":
            await say(b"x", (b"location", b"/a\r\nset-cookie: b=c"))
        case "/bug":
            raise ZeroDivisionError
        case "/silent":
            return
        case path:
            await say(f"{scope['method']} {path}".encode())


@dataclass
class Served:
    """A listening server."""

    loop: asyncio.AbstractEventLoop
    server: Server
    port: int
    reasons: list[str] = field(default_factory=list)
    clients: list[socket.socket] = field(default_factory=list)

    def call(self, what: Callable[[], T]) -> T:
        """Call a function on the server's thread."""

        async def done() -> T:
            return what()

        return self.run(done())

    def run(self, scenario: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the server's thread."""
        return asyncio.run_coroutine_threadsafe(scenario, self.loop).result(PATIENCE_SECONDS)

    def later(self, seconds: float) -> None:
        """Move the server's clock."""
        self.call(lambda: self.server.sweep(self.server.send_budget.now + seconds))

    def until(self, true: Callable[[], bool]) -> None:
        """Wait for a condition on the server's thread."""

        async def waiting() -> None:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not true():  # noqa: ASYNC110 - the code has no event to wait for
                    await asyncio.sleep(0.002)

        self.run(waiting())

    def connect(self, source: str = "127.0.0.1", *, receive_bytes: int = 0) -> socket.socket:
        """Connect a client at an address of the loopback network."""
        client = socket.socket()
        if receive_bytes:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        client.settimeout(PATIENCE_SECONDS)
        client.bind((source, 0))
        self.clients.append(client)
        client.connect(("127.0.0.1", self.port))
        return client

    def say(self, *pieces: bytes, end: bool = False) -> bytes:
        """Send bytes on a new connection; return everything received until its end."""
        with self.connect() as client:
            for piece in pieces:
                client.sendall(piece)
            if end:
                client.shutdown(socket.SHUT_WR)
            return heard(client)


@contextmanager
def served(app: Any = application, **limits: Any) -> Iterator[Served]:
    """Open a server whose clock moves only by `later`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    reasons: list[str] = []

    async def begin() -> tuple[Server, int]:
        server = Server(app, refusal, ConnectionLimits(**limits), observe=reasons.append)
        port = server.listen("127.0.0.1", 0)
        assert server.ticking is not None
        server.ticking.cancel()
        return server, port

    try:
        server, port = asyncio.run_coroutine_threadsafe(begin(), loop).result()
        here = Served(loop, server, port, reasons)
        try:
            yield here
        finally:
            for client in here.clients:
                client.close()
            here.run(server.close(0))
            here.until(lambda: not server.connections)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def heard(client: socket.socket) -> bytes:
    """Return everything until the end of the connection."""
    found = b""
    try:
        while piece := client.recv(65_536):
            found += piece
    except ConnectionResetError:
        pass
    return found


def answers_in(text: bytes, methods: list[str]) -> list[tuple[int, dict[str, str], bytes]]:
    """Parse complete answers to these methods, by another library than ours."""
    found = []
    rest = text
    for method in methods:
        if not rest:
            break
        parser = h11.Connection(h11.CLIENT)
        parser.send(h11.Request(method=method, target="/", headers=[("host", "a")]))
        parser.send(h11.EndOfMessage())
        parser.receive_data(rest)
        head, body = None, b""
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                parser.receive_data(b"")
                continue
            if isinstance(event, h11.InformationalResponse):
                continue
            if isinstance(event, h11.Response):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            else:
                assert isinstance(event, h11.EndOfMessage), event
                break
        assert head is not None
        headers = {name.decode(): value.decode() for name, value in head.headers}
        found.append((head.status_code, headers, body))
        rest = parser.trailing_data[0]
    assert not rest
    return found


def assert_refusal(text: bytes, status: int, code: str) -> None:
    """Check for one answer in the API's envelope, and the connection's end (contract 1.1)."""
    ((found, headers, body),) = answers_in(text, ["GET"])
    answer = json.loads(body)
    assert (found, answer["error_message"]["code"]) == (status, code)
    assert (answer["success"], answer["error"]) == (False, True)
    assert answer["message"] == answer["error_message"]["message"]
    assert answer["request_id"] == headers["x-request-id"] == REQUEST_ID
    assert headers["connection"] == "close"
    assert headers["access-control-allow-origin"] == "*"
    assert headers["date"]
    assert "server" not in headers
