"""`DirectTransport` behaves like httpx2's own transport, reply by reply."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.sources.contract import Exchange, HttpReply, HttpRequest
from balcao.sources.direct import DirectTransport, _Connection
from balcao.sources.upstream import Upstream

ANSWER_BYTES_MAX = 200_000

OK = b"HTTP/1.1 200 OK\r\n"
WHOLE = OK + b"Content-Length: 2\r\n\r\n{}"


@dataclass
class Script:
    """A server that sends fixed pieces in reply to each request."""

    pieces: Sequence[bytes]
    closes: bool = False
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    async def wait_for_requests(self, number: int) -> None:
        """Wait until a number of requests have arrived."""
        while len(self.requests) < number:  # noqa: ASYNC110  # they arrive at once
            await asyncio.sleep(0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = [
                    line.partition(b":")[2]
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                ]
                self.requests.append(
                    head + await reader.readexactly(int(length[0]) if length else 0)
                )
                for piece in self.pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0)
                if self.closes:
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[Script]:
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.port = server.sockets[0].getsockname()[1]
    try:
        yield script
    finally:
        server.close()


def direct() -> httpx2.AsyncBaseTransport:
    return DirectTransport(None, connections_max=100, keepalive_seconds=15)


def httpx2_default() -> httpx2.AsyncBaseTransport:
    return httpx2.AsyncHTTPTransport()


def upstream_at(port: int, transport: httpx2.AsyncBaseTransport) -> Upstream:
    return Upstream(
        "acme",
        f"http://127.0.0.1:{port}/base",
        timeout_seconds=2,
        answer_bytes_max=ANSWER_BYTES_MAX,
        transport=transport,
    )


def conversation(
    path: str = "/x", method: str = "GET", body: bytes | None = None
) -> Exchange[tuple[int, dict[str, str], bytes]]:
    reply: HttpReply = yield HttpRequest(method, path, {"a": "ção &"}, {"x-own": "1"}, body)
    return reply.status, dict(reply.headers), reply.body


async def outcome_of(upstream: Upstream, **request: Any) -> object:
    """Return the reply, or type and detail of the error."""
    try:
        return await upstream.run(conversation(**request))
    except SourceError as error:
        return type(error), error.detail


@dataclass(frozen=True)
class Exchanges:
    """Outcomes of two equal requests, the bytes received, and the number of connections."""

    outcomes: Sequence[Any]
    requests: Sequence[bytes]
    connections: int


def ask_twice(
    script: Script, make: Callable[[], httpx2.AsyncBaseTransport], **request: Any
) -> Exchanges:
    async def ask() -> Sequence[object]:
        script.requests.clear()
        script.connections = 0
        async with serving(script):
            upstream = upstream_at(script.port, make())
            outcomes = [await outcome_of(upstream, **request) for _ in range(2)]
            await upstream.close()
        return outcomes

    outcomes = asyncio.run(ask())
    port = str(script.port).encode()
    return Exchanges(
        outcomes, [sent.replace(port, b"PORT") for sent in script.requests], script.connections
    )


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

# Valid replies, with whether the server closes the connection after them.
GOOD: dict[str, tuple[bytes, bool]] = {
    "whole": (WHOLE, False),
    "closing announced": (OK + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}", True),
    "of HTTP/1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", True),
    "until it is closed": (OK + b"\r\n{}", True),
    "in chunks": (CHUNKED + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", False),
    "in chunks, extended, with trailers": (
        CHUNKED + b"1;a=b\r\n{\r\n1;c\r\n}\r\n0\r\nX-Late: 1\r\n\r\n",
        False,
    ),
    "empty": (OK + b"Content-Length: 0\r\n\r\n", False),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", False),
    "304": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", False),
    "404": (b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}", False),
    "500": (b"HTTP/1.1 500 \r\nContent-Length: 2\r\n\r\n{}", False),
    "a redirect": (b"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n", False),
    "a cookie": (OK + b"Set-Cookie: a=b\r\nContent-Length: 2\r\n\r\n{}", False),
    "after others": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + WHOLE,
        False,
    ),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}", False),
    "headers twice": (OK + b"X-A: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\n{}", False),
    "an empty header": (OK + b"X-A:\r\nContent-Length:2\r\n\r\n{}", False),
    "blanks around values": (OK + b"X-A:  \t b c \r\nContent-Length: 2 \r\n\r\n{}", False),
    "a folded header": (OK + b"X-A: b\r\n c\r\nContent-Length: 2\r\n\r\n{}", False),
    "UTF-8 in a header": (OK + "X-A: ção\r\nContent-Length: 2\r\n\r\n{}".encode(), False),
    "Latin-1 in a header": (OK + b"X-A: \xe7\r\nContent-Length: 2\r\n\r\n{}", False),
    "lines that end in LF": (b"HTTP/1.1 200 OK\nX-A: b\nContent-Length: 2\n\n{}", False),
    "compressed": (
        OK
        + b"Content-Encoding: gzip\r\nContent-Length: 22\r\n\r\n"
        + gzip.compress(b"{}", mtime=0),
        False,
    ),
    "largest": (
        OK + b"Content-Length: %d\r\n\r\n" % ANSWER_BYTES_MAX + b"x" * ANSWER_BYTES_MAX,
        False,
    ),
}
BAD: dict[str, tuple[bytes, bool]] = {
    "nothing": (b"", True),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-", True),
    "half a body": (OK + b"Content-Length: 9\r\n\r\n{}", True),
    "half a chunk": (CHUNKED + b"9\r\n{}", True),
    "no last chunk": (CHUNKED + b"2\r\n{}\r\n", True),
    "a chunk of no size": (CHUNKED + b"x\r\n{}\r\n0\r\n\r\n", True),
    "no HTTP": (b"220 mail.example ESMTP\r\n\r\n", True),
    "TLS": (b"\x15\x03\x01\x00\x02\x02\x46", True),
    "no version": (b"HTTP 200 OK\r\nContent-Length: 2\r\n\r\n{}", True),
    "no length": (OK + b"Content-Length: x\r\n\r\n{}", True),
    "a length below nothing": (OK + b"Content-Length: -2\r\n\r\n{}", True),
    "two lengths": (OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", True),
    "a header of no name": (OK + b": b\r\nContent-Length: 2\r\n\r\n{}", True),
    "a line that is no header": (OK + b"nonsense\r\nContent-Length: 2\r\n\r\n{}", True),
    "NUL in a header": (OK + b"X-A: a\0b\r\nContent-Length: 2\r\n\r\n{}", True),
    "another protocol": (
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        True,
    ),
    "an endless head": (OK + b"X-A: b\r\n" * 60_000, True),
    "an unknown coding": (
        OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\n{}",
        False,
    ),
    "announced as too large": (OK + b"Content-Length: 200001\r\n\r\n{}", False),
    "too large": (CHUNKED + b"30d41\r\n" + b"x" * 200_001 + b"\r\n0\r\n\r\n", False),
    "a compression bomb": (
        OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(10_000_000)),
        True,
    ),
    "not in the declared coding": (
        OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        False,
    ),
}


@pytest.mark.parametrize("reply", GOOD)
@pytest.mark.parametrize("split", ["at once", "byte by byte"])
def test_valid_replies(reply: str, split: str) -> None:
    pieces, closes = GOOD[reply]
    if split == "byte by byte" and len(pieces) > 1_000:
        pytest.skip("long")
    script = Script([pieces] if split == "at once" else [bytes([one]) for one in pieces], closes)
    ours = ask_twice(script, direct)
    assert ours == ask_twice(script, httpx2_default)
    assert ours.outcomes[0] == ours.outcomes[1]
    assert isinstance(ours.outcomes[0][0], int), ours.outcomes


@pytest.mark.parametrize("reply", BAD)
def test_invalid_replies(reply: str) -> None:
    pieces, closes = BAD[reply]
    ours, theirs = (ask_twice(Script([pieces], closes), make) for make in (direct, httpx2_default))
    assert (ours.outcomes, ours.requests) == (theirs.outcomes, theirs.requests)
    assert [kind for kind, _ in ours.outcomes] == [SourceFailed, SourceFailed]


@pytest.mark.parametrize("more", [b"more", WHOLE])
def test_unrequested_data_is_no_reply_to_the_next_request(more: bytes) -> None:
    ours = ask_twice(Script([WHOLE + more]), direct)
    assert ours.outcomes == [(200, {"content-length": "2"}, b"{}")] * 2
    assert ours.connections == 2


@pytest.mark.parametrize(("method", "body"), [("POST", b"{}"), ("POST", None), ("GET", None)])
def test_request_bytes(method: str, body: bytes | None) -> None:
    ours, theirs = (
        ask_twice(Script([WHOLE]), make, method=method, body=body)
        for make in (direct, httpx2_default)
    )
    assert ours == theirs
    assert ours.requests[0].startswith(f"{method} /base/x?a=".encode())


def test_no_header_injection() -> None:
    """Line breaks in header values or addresses cannot add headers."""

    def smuggling() -> Exchange[int]:
        reply = yield HttpRequest("GET", "/x", headers={"x-own": "1\r\nx-other: 2"})
        return reply.status

    async def ask() -> None:
        async with serving(Script([WHOLE])) as script:
            upstream = upstream_at(script.port, direct())
            with pytest.raises(SourceFailed):
                await upstream.run(smuggling())
            await outcome_of(upstream, path="/y\r\nx-other: 2")
            await upstream.close()
            assert not any(b"\nx-other" in sent for sent in script.requests)

    asyncio.run(ask())


def test_closed_connection_is_not_reused() -> None:
    """Not even if the event loop has not noticed the close."""

    async def ask() -> None:
        async with serving(Script([WHOLE], closes=True)) as script:
            upstream = upstream_at(script.port, direct())
            for number in range(1, 4):
                assert (await outcome_of(upstream))[0] == 200  # type: ignore[index]
                await asyncio.sleep(0.05)
                assert script.connections == number
            await upstream.close()

    asyncio.run(ask())


def test_idle_connection_expires() -> None:
    async def ask(keepalive_seconds: float) -> int:
        async with serving(Script([WHOLE])) as script:
            transport = DirectTransport(
                None, connections_max=1, keepalive_seconds=keepalive_seconds
            )
            upstream = upstream_at(script.port, transport)
            for _ in range(3):
                await outcome_of(upstream)
            await upstream.close()
            return script.connections

    assert asyncio.run(ask(15)) == 1
    assert asyncio.run(ask(0)) == 3


def test_number_of_connections_is_limited() -> None:
    """Without a free one in time, `PoolTimeout` is raised; cancelled requests free theirs."""

    async def ask() -> None:
        async with serving(Script([])) as script:  # never answers
            transport = DirectTransport(None, connections_max=1, keepalive_seconds=15)
            request = httpx2.Request(
                "GET",
                f"http://127.0.0.1:{script.port}/",
                extensions={"timeout": {"connect": 5.0, "pool": 0.01}},
            )
            first = asyncio.create_task(transport.handle_async_request(request))
            await script.wait_for_requests(1)
            with pytest.raises(httpx2.PoolTimeout):
                await transport.handle_async_request(request)
            first.cancel()
            await asyncio.wait([first])
            second = asyncio.create_task(transport.handle_async_request(request))
            await script.wait_for_requests(2)
            second.cancel()
            await asyncio.wait([second])
            assert script.connections == 2, "one that was given up is not used again"
            await transport.aclose()

    asyncio.run(ask())


def test_endless_trailer() -> None:
    """The parser buffers the whole trailer, so its size is limited."""
    begins = OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx-trailer: "
    script = Script([begins, *[b"a" * 65_536] * 100, b"\r\n\r\n"])
    ours = ask_twice(script, direct)
    assert [kind for kind, _ in ours.outcomes] == [SourceFailed, SourceFailed]
    assert ours.connections == 2


def test_unread_body_has_backpressure() -> None:
    """An unread body is held back by the sender, not buffered in our memory."""
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK + b"\r\n")
        while True:
            writer.write(bytes(65_536))
            sent += 65_536
            await writer.drain()

    async def ask() -> None:
        server = await asyncio.start_server(flood, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        transport = direct()
        reply = await transport.handle_async_request(
            httpx2.Request("GET", f"http://127.0.0.1:{port}/")
        )
        before = -1
        while before < sent:
            before = sent
            await asyncio.sleep(0.2)
        taken = 0
        async for chunk in reply.aiter_bytes():
            taken += len(chunk)
            if taken > 2 * before:  # reading resumed
                break
        await reply.aclose()
        assert before < 20_000_000
        server.close()

    asyncio.run(ask())


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/", "http://nobody.invalid/"])
def test_unreachable_host(address: str) -> None:
    async def by(transport: httpx2.AsyncBaseTransport) -> object:
        upstream = Upstream(
            "acme", address, timeout_seconds=5, answer_bytes_max=100, transport=transport
        )
        outcomes = await outcome_of(upstream)
        await upstream.close()
        return outcomes

    ours = asyncio.run(by(direct()))
    assert ours == asyncio.run(by(httpx2_default()))
    assert ours == (SourceUnavailable, "acme: sem conexão (ConnectError)")


def test_host_that_accepts_no_connections() -> None:
    async def ask() -> None:
        transport = direct()
        request = httpx2.Request(
            "GET",
            "http://192.0.2.1/",  # reserved for documentation: unreachable
            extensions={"timeout": {"connect": 0.05, "pool": 1.0}},
        )
        with pytest.raises((httpx2.ConnectTimeout, httpx2.ConnectError)):
            await transport.handle_async_request(request)

    asyncio.run(ask())


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_environment_proxy_is_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> None:
        async with serving(Script([WHOLE])) as proxy:
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv("NO_PROXY", "other.test")
            upstream = Upstream(
                "acme", "http://source.test", timeout_seconds=5, answer_bytes_max=100
            )
            outcomes = await outcome_of(upstream)
            await upstream.close()
            if name == "https_proxy":  # does not apply to this address
                assert outcomes == (SourceUnavailable, "acme: sem conexão (ConnectError)")
            else:
                assert proxy.requests[0].startswith(b"GET http://source.test/x?a=")

    asyncio.run(ask())


def test_lost_connection_raises_before_sending() -> None:
    """It raises at once, as an error before sending, so that the request may be retried."""

    async def scenario() -> None:
        connection = _Connection(asyncio.get_running_loop())
        connection.connection_lost(None)
        with pytest.raises(httpx2.ConnectError):
            await asyncio.wait_for(connection.send(b"GET / HTTP/1.1\r\n\r\n"), 60)

    asyncio.run(scenario())
