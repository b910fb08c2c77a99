"""Our own connections to sources behave as httpx2's do, reply by reply."""

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
    """A server that reads a request and says what stands here, to each connection anew."""

    says: Sequence[bytes]
    closes: bool = False
    heard: list[bytes] = field(default_factory=list)
    connections: int = 0
    port: int = 0

    async def heard_one(self, number: int) -> None:
        """Wait for so many requests."""
        while len(self.heard) < number:  # noqa: ASYNC110  # of a test: it comes at once
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
                self.heard.append(head + await reader.readexactly(int(length[0]) if length else 0))
                for piece in self.says:
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


def httpx2_s_own() -> httpx2.AsyncBaseTransport:
    return httpx2.AsyncHTTPTransport()


def upstream_at(port: int, transport: httpx2.AsyncBaseTransport) -> Upstream:
    return Upstream(
        "acme",
        f"http://127.0.0.1:{port}/base",
        timeout_seconds=2,
        answer_bytes_max=ANSWER_BYTES_MAX,
        transport=transport,
    )


def asking(
    path: str = "/x", method: str = "GET", body: bytes | None = None
) -> Exchange[tuple[int, dict[str, str], bytes]]:
    reply: HttpReply = yield HttpRequest(method, path, {"a": "ção &"}, {"x-own": "1"}, body)
    return reply.status, dict(reply.headers), reply.body


async def told(upstream: Upstream, **request: Any) -> object:
    """What comes of it: the reply, or which error with which words."""
    try:
        return await upstream.hold(asking(**request))
    except SourceError as error:
        return type(error), error.detail


@dataclass(frozen=True)
class Heard:
    """What came of asking the same twice, what the server heard, and on how many connections."""

    said: Sequence[Any]
    heard: Sequence[bytes]
    connections: int


def ask_twice(
    script: Script, make: Callable[[], httpx2.AsyncBaseTransport], **request: Any
) -> Heard:
    async def ask() -> Sequence[object]:
        script.heard.clear()
        script.connections = 0
        async with serving(script):
            upstream = upstream_at(script.port, make())
            said = [await told(upstream, **request) for _ in range(2)]
            await upstream.close()
        return said

    said = asyncio.run(ask())
    port = str(script.port).encode()
    return Heard(said, [sent.replace(port, b"PORT") for sent in script.heard], script.connections)


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"

# Replies, and whether the connection is closed after them.
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
    "a coding that nobody knows": (
        OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\n{}",
        False,
    ),
    "announced as too large": (OK + b"Content-Length: 200001\r\n\r\n{}", False),
    "too large": (CHUNKED + b"30d41\r\n" + b"x" * 200_001 + b"\r\n0\r\n\r\n", False),
    "what swells": (
        OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(10_000_000)),
        True,
    ),
    "not what it is said to be in": (
        OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        False,
    ),
}


@pytest.mark.parametrize("reply", GOOD)
@pytest.mark.parametrize("pieces", ["at once", "byte by byte"])
def test_what_is_read(reply: str, pieces: str) -> None:
    says, closes = GOOD[reply]
    if pieces == "byte by byte" and len(says) > 1_000:
        pytest.skip("long")
    script = Script([says] if pieces == "at once" else [bytes([one]) for one in says], closes)
    ours = ask_twice(script, direct)
    assert ours == ask_twice(script, httpx2_s_own)
    assert ours.said[0] == ours.said[1]
    assert isinstance(ours.said[0][0], int), ours.said


@pytest.mark.parametrize("reply", BAD)
def test_what_is_a_failure(reply: str) -> None:
    says, closes = BAD[reply]
    ours, theirs = (ask_twice(Script([says], closes), make) for make in (direct, httpx2_s_own))
    assert (ours.said, ours.heard) == (theirs.said, theirs.heard)
    assert [kind for kind, _ in ours.said] == [SourceFailed, SourceFailed]


@pytest.mark.parametrize("more", [b"more", WHOLE])
def test_what_nobody_asked_for_is_no_answer_to_the_next(more: bytes) -> None:
    ours = ask_twice(Script([WHOLE + more]), direct)
    assert ours.said == [(200, {"content-length": "2"}, b"{}")] * 2
    assert ours.connections == 2


@pytest.mark.parametrize(("method", "body"), [("POST", b"{}"), ("POST", None), ("GET", None)])
def test_what_is_sent(method: str, body: bytes | None) -> None:
    ours, theirs = (
        ask_twice(Script([WHOLE]), make, method=method, body=body)
        for make in (direct, httpx2_s_own)
    )
    assert ours == theirs
    assert ours.heard[0].startswith(f"{method} /base/x?a=".encode())


def test_no_line_is_smuggled_in() -> None:
    """Neither by a header's value nor by an address."""

    def smuggling() -> Exchange[int]:
        reply = yield HttpRequest("GET", "/x", headers={"x-own": "1\r\nx-other: 2"})
        return reply.status

    async def ask() -> None:
        async with serving(Script([WHOLE])) as script:
            upstream = upstream_at(script.port, direct())
            with pytest.raises(SourceFailed):
                await upstream.hold(smuggling())
            await told(upstream, path="/y\r\nx-other: 2")
            await upstream.close()
            assert not any(b"\nx-other" in sent for sent in script.heard)

    asyncio.run(ask())


def test_a_connection_that_was_closed_meanwhile_is_not_used() -> None:
    """Not even where the event loop had no time to see it."""

    async def ask() -> None:
        async with serving(Script([WHOLE], closes=True)) as script:
            upstream = upstream_at(script.port, direct())
            for number in range(1, 4):
                assert (await told(upstream))[0] == 200  # type: ignore[index]
                await asyncio.sleep(0.05)
                assert script.connections == number
            await upstream.close()

    asyncio.run(ask())


def test_an_idle_connection_is_not_kept_for_long() -> None:
    async def ask(keepalive_seconds: float) -> int:
        async with serving(Script([WHOLE])) as script:
            transport = DirectTransport(
                None, connections_max=1, keepalive_seconds=keepalive_seconds
            )
            upstream = upstream_at(script.port, transport)
            for _ in range(3):
                await told(upstream)
            await upstream.close()
            return script.connections

    assert asyncio.run(ask(15)) == 1
    assert asyncio.run(ask(0)) == 3


def test_no_more_connections_than_there_may_be() -> None:
    """Who finds none free in time is told so, and the place is given back, however it ends."""

    async def ask() -> None:
        async with serving(Script([])) as script:  # it never answers
            transport = DirectTransport(None, connections_max=1, keepalive_seconds=15)
            request = httpx2.Request(
                "GET",
                f"http://127.0.0.1:{script.port}/",
                extensions={"timeout": {"connect": 5.0, "pool": 0.01}},
            )
            first = asyncio.create_task(transport.handle_async_request(request))
            await script.heard_one(1)
            with pytest.raises(httpx2.PoolTimeout):
                await transport.handle_async_request(request)
            first.cancel()
            await asyncio.wait([first])
            second = asyncio.create_task(transport.handle_async_request(request))
            await script.heard_one(2)
            second.cancel()
            await asyncio.wait([second])
            assert script.connections == 2, "one that was given up is not used again"
            await transport.aclose()

    asyncio.run(ask())


def test_a_trailer_without_end() -> None:
    """The parser keeps all of it until it ends: so it must not be endless."""
    begins = OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nx-trailer: "
    script = Script([begins, *[b"a" * 65_536] * 100, b"\r\n\r\n"])
    ours = ask_twice(script, direct)
    assert [kind for kind, _ in ours.said] == [SourceFailed, SourceFailed]
    assert ours.connections == 2


def test_what_is_not_taken_is_not_read() -> None:
    """A flood waits at the other side, not in our memory."""
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
            if taken > 2 * before:  # it went on where it was
                break
        await reply.aclose()
        assert before < 20_000_000
        server.close()

    asyncio.run(ask())


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/", "http://nobody.invalid/"])
def test_nobody_there(address: str) -> None:
    async def by(transport: httpx2.AsyncBaseTransport) -> object:
        upstream = Upstream(
            "acme", address, timeout_seconds=5, answer_bytes_max=100, transport=transport
        )
        said = await told(upstream)
        await upstream.close()
        return said

    ours = asyncio.run(by(direct()))
    assert ours == asyncio.run(by(httpx2_s_own()))
    assert ours == (SourceUnavailable, "acme: sem conexão (ConnectError)")


def test_a_host_that_does_not_take_connections() -> None:
    async def ask() -> None:
        transport = direct()
        request = httpx2.Request(
            "GET",
            "http://192.0.2.1/",  # reserved for documents: nobody is there
            extensions={"timeout": {"connect": 0.05, "pool": 1.0}},
        )
        with pytest.raises((httpx2.ConnectTimeout, httpx2.ConnectError)):
            await transport.handle_async_request(request)

    asyncio.run(ask())


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> None:
        async with serving(Script([WHOLE])) as proxy:
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv("NO_PROXY", "other.test")
            upstream = Upstream(
                "acme", "http://source.test", timeout_seconds=5, answer_bytes_max=100
            )
            said = await told(upstream)
            await upstream.close()
            if name == "https_proxy":  # which says nothing of this address
                assert said == (SourceUnavailable, "acme: sem conexão (ConnectError)")
            else:
                assert proxy.heard[0].startswith(b"GET http://source.test/x?a=")

    asyncio.run(ask())


def test_a_connection_that_is_gone_before_it_is_used_says_so() -> None:
    """Nothing was sent, so it may be tried once more; and nobody waits for a reply."""

    async def story() -> None:
        connection = _Connection(asyncio.get_running_loop())
        connection.connection_lost(None)
        with pytest.raises(httpx2.ConnectError):
            await asyncio.wait_for(connection.ask(b"GET / HTTP/1.1\r\n\r\n"), 60)

    asyncio.run(story())
