"""All outcomes of a call to an upstream."""

import ast
import asyncio
import gzip
import socket
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import pytest

import balcao
from balcao.core.breaker import BreakerSettings
from balcao.core.company import Company
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.sources.contract import Exchange, HttpReply, HttpRequest
from balcao.sources.upstream import ROUNDS_MAX, Upstream
from tests.sources.adapters import CNPJ, Clock, Measured, a_company, an_upstream

Message: TypeAlias = MutableMapping[str, Any]
AsgiApp: TypeAlias = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[Message]],
        Callable[[Message], Awaitable[None]],
    ],
    Awaitable[None],
]

FOREVER = 60.0  # never elapses in these tests


def asking(method: str = "GET", *, rounds: int = 1) -> Exchange[Company]:
    """Ask about a company: found if the last reply is a 200, else absent."""
    reply = HttpReply(0, {}, b"")
    for _ in range(rounds):
        reply = yield HttpRequest(method, f"/office/{CNPJ}", {"document": CNPJ})
    return a_company() if reply.status == 200 else None


def run(upstream: Upstream, conversation: Exchange[Company] | None = None) -> Company | None:
    return asyncio.run(upstream.run(conversation or asking()))


def failing(upstream: Upstream, conversation: Exchange[Company] | None = None) -> SourceError:
    """Run a conversation and return its error, which must not contain the document."""
    with pytest.raises(SourceError) as caught:
        run(upstream, conversation)
    error = caught.value
    assert type(error) in (SourceUnavailable, SourceFailed)
    assert error.detail.startswith("acme: ")
    assert CNPJ not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    return error


def test_found_and_absent_are_measured() -> None:
    measured = Measured()
    replies = iter([200, 404])
    clock = Clock()

    def upstream(request: httpx2.Request) -> httpx2.Response:
        clock.now += 0.25
        return httpx2.Response(next(replies), content=b"{}")

    acme = an_upstream(upstream, observe=measured.append, clock=clock)
    assert run(acme) == a_company()
    assert run(acme) is None
    assert measured.outcomes == ["found", "absent"]
    assert {call.detail for call in measured} == {""}
    assert [call.seconds for call in measured] == [0.25, 0.25]
    assert {call.source for call in measured} == {"acme"}


def test_request_bytes() -> None:
    def upstream(request: httpx2.Request) -> httpx2.Response:
        assert str(request.url) == f"http://upstream.test/prefix/office/{CNPJ}?document={CNPJ}"
        assert request.headers["user-agent"].startswith("Mozilla/5.0 (compatible; Balcao/")
        assert request.headers["accept-encoding"] == "identity"
        assert request.headers["accept"] == "application/json"
        assert "authorization" not in request.headers
        return httpx2.Response(200)

    assert run(an_upstream(upstream)) == a_company()


def test_a_conversation_of_several_rounds_sees_status_headers_and_body() -> None:
    def conversation() -> Exchange[Company]:
        reply = yield HttpRequest("POST", "/login", {}, {"x-a": "b"}, b"me")
        assert (reply.status, reply.headers["x-session"], reply.body) == (201, "s1", b"me")
        reply = yield HttpRequest("GET", "/record", {"session": reply.headers["x-session"]})
        return a_company() if reply.body == b"session=s1" else None

    def upstream(request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            return httpx2.Response(
                201,
                content=request.content,
                headers={"X-Session": "s1", "Set-Cookie": "a=b"},
            )
        assert "cookie" not in request.headers, "nothing is remembered between requests"
        return httpx2.Response(200, content=request.url.query)

    assert run(an_upstream(upstream), conversation()) == a_company()


def test_a_conversation_has_an_end() -> None:
    calls = 0

    def upstream(request: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        calls += 1
        return httpx2.Response(200)

    assert run(an_upstream(upstream), asking(rounds=ROUNDS_MAX)) == a_company()
    calls = 0
    error = failing(an_upstream(upstream), asking(rounds=ROUNDS_MAX + 1))
    assert isinstance(error, SourceFailed)
    assert calls == ROUNDS_MAX


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    calls = 0

    def upstream(request: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        calls += 1
        return httpx2.Response(status, headers={"location": "http://elsewhere.test/"})

    assert run(an_upstream(upstream)) is None, "the adapter is shown the redirect itself"
    assert calls == 1


# Errors of the client: (error, our error, attempts of a GET, of other methods).
CLIENT_ERRORS = [
    (httpx2.ConnectError, SourceUnavailable, 2, 1),
    (httpx2.ConnectTimeout, SourceUnavailable, 2, 1),
    (httpx2.ProxyError, SourceUnavailable, 2, 1),
    (httpx2.PoolTimeout, SourceUnavailable, 1, 1),
    (httpx2.UnsupportedProtocol, SourceUnavailable, 1, 1),
    (httpx2.ReadTimeout, SourceFailed, 1, 1),
    (httpx2.WriteTimeout, SourceFailed, 1, 1),
    (httpx2.ReadError, SourceFailed, 1, 1),
    (httpx2.WriteError, SourceFailed, 1, 1),
    (httpx2.CloseError, SourceFailed, 1, 1),
    (httpx2.RemoteProtocolError, SourceFailed, 1, 1),
    (httpx2.LocalProtocolError, SourceFailed, 1, 1),
    (httpx2.DecodingError, SourceFailed, 1, 1),
    (OSError, SourceFailed, 1, 1),
    (TimeoutError, SourceFailed, 1, 1),
    (RuntimeError, SourceFailed, 1, 1),
]


@pytest.mark.parametrize(("error", "ours", "reads", "others"), CLIENT_ERRORS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_client_errors(
    error: type[Exception], ours: type[SourceError], reads: int, others: int, method: str
) -> None:
    calls = 0
    measured = Measured()

    def upstream(request: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        calls += 1
        raise error(f"something about {request.url}")

    acme = an_upstream(upstream, observe=measured.append)
    result = failing(acme, asking(method))
    assert type(result) is ours
    assert [call.detail for call in measured] == [result.detail]
    assert calls == (reads if method == "GET" else others)
    assert measured.outcomes == ["unavailable" if ours is SourceUnavailable else "failed"]


def test_the_second_attempt_may_succeed() -> None:
    calls = 0

    def upstream(request: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise httpx2.ConnectError("connection refused")
        return httpx2.Response(200)

    assert run(an_upstream(upstream)) == a_company()


def test_closed_port_and_invalid_host() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))  # bound and not listening: refused
        port = reserved.getsockname()[1]
        for base_url in (f"http://127.0.0.1:{port}", "http://nowhere.invalid", "ftp://x", "junk"):
            acme = an_upstream(httpx2.AsyncHTTPTransport(), base_url=base_url)
            assert isinstance(failing(acme), SourceUnavailable), base_url


class Chunks(httpx2.AsyncByteStream):
    def __init__(self, chunks: list[bytes], then: Exception | None = None) -> None:
        self.chunks = chunks
        self.then = then
        self.read = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            self.read += 1
            yield chunk
        if self.then is not None:
            raise self.then

    async def aclose(self) -> None:
        self.closed = True


def answering(body: Chunks) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda request: httpx2.Response(200, stream=body)


def test_body_of_maximum_size_and_one_byte_more() -> None:
    for chunks, well in (([b"x" * 60, b"x" * 40], True), ([b"x" * 60, b"x" * 41, b"x"], False)):
        body = Chunks(chunks)
        acme = an_upstream(answering(body), answer_bytes_max=100)
        if well:
            assert run(acme) == a_company()
        else:
            assert isinstance(failing(acme), SourceFailed)
            assert body.read == 2, "no more is read than it takes to know"
        assert body.closed


def test_a_body_announced_as_too_large_is_not_read() -> None:
    body = Chunks([b"x"])
    headers = {"content-length": "101"}
    acme = an_upstream(
        lambda request: httpx2.Response(200, headers=headers, stream=body), answer_bytes_max=100
    )
    assert isinstance(failing(acme), SourceFailed)
    assert body.read == 0
    assert body.closed


def raw_deflate(data: bytes) -> bytes:
    """Compress without the zlib frame, which the standard requires and some servers omit."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("identity", bytes),
        ("", bytes),
    ],
)
def test_a_body_that_comes_compressed_unasked(coding: str, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(b'{"a": "' + b"b" * 500 + b'"}')
    chunks = Chunks([packed[at : at + 10] for at in range(0, len(packed), 10)])
    headers = {"content-encoding": coding}
    acme = an_upstream(lambda request: httpx2.Response(200, headers=headers, stream=chunks))
    seen: list[HttpReply] = []

    def conversation() -> Exchange[Company]:
        seen.append((yield HttpRequest("GET", "/")))
        return None

    assert asyncio.run(acme.run(conversation())) is None
    assert seen[0].body == b'{"a": "' + b"b" * 500 + b'"}'


@pytest.mark.parametrize(
    "coding", ["br", "zstd", "compress", "gzip, gzip", "gzip, deflate", "utf-8"]
)
def test_unsupported_coding_is_rejected(coding: str) -> None:
    body = Chunks([b"x"])
    headers = {"content-encoding": coding}
    acme = an_upstream(lambda request: httpx2.Response(200, headers=headers, stream=body))
    assert isinstance(failing(acme), SourceFailed)
    assert body.read == 0


@pytest.mark.parametrize("body", [b'{"cnpj": "1"}', b"\x1f\x8b\x08 and so on"])
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_body_not_in_the_declared_coding(coding: str, body: bytes) -> None:
    headers = {"content-encoding": coding}
    chunks = Chunks([body])
    acme = an_upstream(lambda request: httpx2.Response(200, headers=headers, stream=chunks))
    assert isinstance(failing(acme), SourceFailed)
    assert chunks.closed


@pytest.mark.parametrize("pack", [gzip.compress, raw_deflate])
def test_bomb_is_stopped_at_the_limit(pack: Callable[[bytes], bytes]) -> None:
    """64 MB of zeros, sent as 64 kB at once, are never in memory as a whole."""
    packed = pack(bytes(64_000_000))
    assert len(packed) < 70_000
    coding = "gzip" if pack is gzip.compress else "deflate"
    body = Chunks([packed, packed])
    headers = {"content-encoding": coding}
    acme = an_upstream(
        lambda request: httpx2.Response(200, headers=headers, stream=body),
        answer_bytes_max=100_000,
    )
    tracemalloc.start()
    try:
        assert isinstance(failing(acme), SourceFailed)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 16_000_000
    assert body.read == 1
    assert body.closed


def test_a_connection_closed_in_the_middle_of_the_body() -> None:
    body = Chunks([b"{"], then=httpx2.ReadError(f"about {CNPJ}"))
    acme = an_upstream(lambda request: httpx2.Response(200, stream=body))
    assert isinstance(failing(acme), SourceFailed)
    assert body.closed


def test_bug_of_an_adapter_names_its_place_only() -> None:
    def conversation() -> Exchange[Company]:
        yield HttpRequest("GET", "/")
        raise ValueError(f"no idea what {CNPJ} is")

    error = failing(an_upstream(lambda request: httpx2.Response(200)), conversation())
    assert isinstance(error, SourceFailed)
    assert "ValueError, test_upstream.py:" in error.detail


def test_error_of_the_adapter_reaches_the_caller() -> None:
    def conversation() -> Exchange[Company]:
        yield HttpRequest("GET", "/")
        raise SourceUnavailable("acme: em manutenção", 77)

    error = failing(an_upstream(lambda request: httpx2.Response(200)), conversation())
    assert isinstance(error, SourceUnavailable)
    assert (error.detail, error.retry_in_seconds) == ("acme: em manutenção", 77)


# --- ASGI applications -------------------------------------------------------------------------


def asgi(app: AsgiApp, **settings: Any) -> Upstream:
    return an_upstream(httpx2.ASGITransport(app), **settings)


async def start(send: Callable[[Message], Awaitable[None]], status: int = 200) -> None:
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})


def test_an_application_within_the_process() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["path"] == f"/prefix/office/{CNPJ}"
        await start(send)
        await send({"type": "http.response.body", "body": b"{}"})

    assert run(asgi(app)) == a_company()


def test_application_fails_before_during_and_after_its_reply() -> None:
    async def at_once(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError(f"about {CNPJ}")

    async def in_the_middle(scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
        raise ConnectionResetError(f"about {CNPJ}")

    async def silently(scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        await send({"type": "http.response.body", "body": b"{", "more_body": True})

    async def without_an_answer(scope: Any, receive: Any, send: Any) -> None:
        return

    for app in (at_once, in_the_middle, silently, without_an_answer):
        assert isinstance(failing(asgi(app)), SourceFailed), app.__name__


def test_a_huge_answer_of_an_application() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await start(send)
        for _ in range(20):
            await send({"type": "http.response.body", "body": b"x" * 10_000, "more_body": True})
        await send({"type": "http.response.body"})

    assert isinstance(failing(asgi(app)), SourceFailed)


async def never(scope: Any, receive: Any, send: Any) -> None:
    await start(send)
    await asyncio.sleep(FOREVER)


def test_timeout_applies_to_transports_without_timeouts() -> None:
    error = failing(asgi(never, timeout_seconds=0.05))
    assert isinstance(error, SourceFailed)
    assert "tempo esgotado" in error.detail


def test_the_time_is_for_the_whole_conversation() -> None:
    """Each round is within the limit, but not all together."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.03)
        await start(send)
        await send({"type": "http.response.body", "body": b"{}"})

    error = failing(asgi(app, timeout_seconds=0.1), asking(rounds=ROUNDS_MAX))
    assert "tempo esgotado" in error.detail


def test_deadline_may_be_shorter_than_the_timeout() -> None:
    async def scenario() -> None:
        deadline = asyncio.get_running_loop().time() + 0.05
        with pytest.raises(SourceFailed, match="tempo esgotado"):
            await asgi(never, timeout_seconds=FOREVER).run(asking(), deadline)

    asyncio.run(asyncio.wait_for(scenario(), FOREVER / 2))


def test_a_slow_server_on_a_real_connection() -> None:
    """Connected but without a reply: the request was sent, so it is `SourceFailed`."""

    async def scenario() -> None:
        left = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()  # until the client gives up
            writer.close()
            await writer.wait_closed()
            left.set()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            acme = an_upstream(
                httpx2.AsyncHTTPTransport(),
                base_url=f"http://127.0.0.1:{port}",
                # a third of it is for connecting, which must not fail on a busy machine
                timeout_seconds=1.5,
            )
            with pytest.raises(SourceFailed, match="tempo esgotado"):
                await acme.run(asking())
            await left.wait()

    asyncio.run(scenario())


def test_cancellation_is_propagated() -> None:
    async def scenario() -> None:
        measured = Measured()
        settings = BreakerSettings(failures=1)
        was_asked = asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            was_asked.set()
            await never(scope, receive, send)

        acme = asgi(app, observe=measured.append, breaker_settings=settings)
        task = asyncio.create_task(acme.run(asking()))
        await was_asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert measured.outcomes == ["failed"]
        assert acme.circuit_state == "closed", "a cancelled call does not count against the source"

    asyncio.run(scenario())


def test_conversation_is_always_closed() -> None:
    closed = 0

    def conversation() -> Exchange[Company]:
        nonlocal closed
        try:
            yield HttpRequest("GET", "/")
        finally:
            closed += 1
        return None

    def broken(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadError("")

    failing(an_upstream(broken), conversation())
    assert run(an_upstream(lambda request: httpx2.Response(200)), conversation()) is None
    assert closed == 2


# --- the circuit -------------------------------------------------------------------------------


class Switchable:
    """An upstream that fails unless `well` is set."""

    def __init__(self) -> None:
        self.calls = 0
        self.well = False

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.calls += 1
        if not self.well:
            raise httpx2.ReadError("")
        return httpx2.Response(200)


def in_maintenance(seconds: int) -> Exchange[Company]:
    yield HttpRequest("GET", "/")
    raise SourceUnavailable("acme: em manutenção", seconds)


def test_retry_time_includes_the_open_circuit() -> None:
    """The source states one second, after which the circuit would still refuse (contract 1.8)."""
    clock = Clock()
    acme = an_upstream(
        lambda request: httpx2.Response(503), clock=clock, breaker_settings=BreakerSettings()
    )
    waits = []
    for _ in range(5):
        error = failing(acme, in_maintenance(1))
        assert isinstance(error, SourceUnavailable)
        waits.append(error.retry_in_seconds)
    assert waits == [1, 1, 1, 1, 15]

    clock.now += 15
    probe = failing(acme, in_maintenance(1))
    assert isinstance(probe, SourceUnavailable)
    assert probe.retry_in_seconds == 15

    clock.now += 15
    longer = failing(acme, in_maintenance(77))
    assert isinstance(longer, SourceUnavailable)
    assert longer.retry_in_seconds == 77


def test_the_circuit_opens_after_five_failures_and_closes_after_recovery() -> None:
    upstream, clock, measured = Switchable(), Clock(), Measured()
    acme = an_upstream(
        upstream, clock=clock, observe=measured.append, breaker_settings=BreakerSettings()
    )
    for _ in range(5):
        assert isinstance(failing(acme), SourceFailed)
    assert acme.circuit_state == "open"

    refused = failing(acme)
    assert isinstance(refused, SourceUnavailable)
    assert refused.retry_in_seconds == 15
    assert upstream.calls == 5, "it is left alone"
    assert measured.outcomes == ["failed"] * 5 + ["unavailable"]

    clock.now += 15
    assert isinstance(failing(acme), SourceFailed)
    assert isinstance(failing(acme), SourceUnavailable)
    assert upstream.calls == 6, "one probe"

    upstream.well = True
    clock.now += 15
    assert run(acme) == a_company()
    assert run(acme) == a_company(), "closed again"


def test_without_settings_there_is_no_circuit() -> None:
    upstream = Switchable()
    acme = an_upstream(upstream, breaker_settings=None)
    for _ in range(20):
        assert isinstance(failing(acme), SourceFailed)
    assert upstream.calls == 20


def test_our_own_busy_pool_does_not_open_the_circuit() -> None:
    def upstream(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.PoolTimeout("")

    acme = an_upstream(upstream, breaker_settings=BreakerSettings(failures=1))
    assert isinstance(failing(acme), SourceUnavailable)
    assert acme.circuit_state == "closed"


def test_unusable_record_fails_without_affecting_the_circuit() -> None:
    def check(record: Company) -> Company:
        raise SourceFailed("acme: respondeu sobre outro documento")

    async def scenario() -> None:
        measured = Measured()
        acme = an_upstream(
            lambda request: httpx2.Response(200),
            observe=measured.append,
            breaker_settings=BreakerSettings(failures=1),
        )
        with pytest.raises(SourceFailed, match="outro documento"):
            await acme.run(asking(), check=check)
        assert measured.outcomes == ["failed"]
        assert acme.circuit_state == "closed"

    asyncio.run(scenario())


def test_layer_between_conversation_and_network() -> None:
    async def layer(
        request: HttpRequest, send: Callable[[HttpRequest], Awaitable[HttpReply]]
    ) -> HttpReply:
        assert (await send(HttpRequest("GET", "/before"))).status == 200
        return await send(request)

    paths: list[str] = []

    def upstream(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path)
        return httpx2.Response(200)

    assert asyncio.run(an_upstream(upstream).run(asking(), layer=layer)) == a_company()
    assert paths == ["/prefix/before", f"/prefix/office/{CNPJ}"]


# --- no other module sends requests --------------------------------------------------------------

SENDERS = {
    "AsyncClient", "AsyncHTTPTransport", "Client", "HTTPTransport", "delete", "get", "head",
    "options", "patch", "post", "put", "request", "stream",
}  # fmt: skip
OTHER_CLIENTS = {"aiohttp", "http.client", "httpx", "niquests", "requests", "urllib3"}
# `doctor` asks the server of this machine whether it is alive; a month is fetched from its
# publisher, outside of lookups; `consultar` asks a Balcão.
ALLOWED = {
    "cli/service_client.py",
    "sources/upstream.py",
    "examination/service.py",
    "opendata/fetching/share_client.py",
    "opendata/fetching/story.py",
}


def sends(file: Path) -> Iterator[str]:
    """Yield the names of HTTP clients with which a file could send requests."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ({each.name for each in names} & OTHER_CLIENTS)
                yield from (each.asname for each in names if each.name == "httpx2" and each.asname)
            case ast.ImportFrom(module="httpx2" | "urllib.request" as module, names=names):
                yield from (f"{module}.{each.name}" for each in names if each.name in SENDERS)
                yield from (f"{module}.urlopen" for each in names if each.name == "urlopen")
            case ast.ImportFrom(module=str(module)) if module in OTHER_CLIENTS:
                yield module
            case ast.Attribute(value=ast.Name(id="httpx2"), attr=name) if name in SENDERS:
                yield f"httpx2.{name}"


def test_only_allowed_modules_send_requests() -> None:
    source = Path(balcao.__file__).parent
    found = {
        str(file.relative_to(source)): names
        for file in sorted(source.rglob("*.py"))
        # sample programs are texts that are not run here
        if file.parent.name != "programs" and (names := set(sends(file)))
    }
    assert set(found) == ALLOWED, f"hand it to an `Upstream`: {found}"
