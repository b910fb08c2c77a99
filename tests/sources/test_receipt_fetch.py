"""Receipts are fetched only from listed origins."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.sources.certificates import fetch_receipt
from balcao.sources.upstream import Upstream
from tests.sources.adapters import an_upstream

ORIGIN = "https://storage.example.com"
KEY = "0001-secret"
URL = f"{ORIGIN}/receipts/{KEY}.pdf?signature=abc"
PDF = b"%PDF-1.4 fictitious"


def an_origin(
    answer: Callable[[httpx2.Request], Any] | None = None,
    *,
    origins: frozenset[str] = frozenset({ORIGIN}),
    timeout_seconds: float = 5.0,
    bytes_max: int = 1000,
) -> Upstream:
    return an_upstream(
        answer or (lambda _: httpx2.Response(200, content=PDF)),
        timeout_seconds=timeout_seconds,
        answer_bytes_max=bytes_max,
        base_url="",
        name="comprovante",
        origins=origins,
    )


def get(url: str = URL, answer: Callable[[httpx2.Request], Any] | None = None, **how: Any) -> bytes:
    return asyncio.run(fetch_receipt(an_origin(answer, **how), url))


def failing(
    url: str = URL, answer: Callable[[httpx2.Request], Any] | None = None, **how: Any
) -> str:
    with pytest.raises(SourceError) as caught:
        get(url, answer, **how)
    error = caught.value
    assert type(error) in (SourceFailed, SourceUnavailable)
    assert error.detail.startswith("comprovante: ")
    assert KEY not in str(error)
    assert "example" not in str(error)
    assert error.__suppress_context__ or error.__context__ is None
    return error.detail


def test_request_bytes() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.method == "GET"
        assert str(request.url) == URL
        assert request.headers["accept"] == "application/pdf, text/html"
        assert request.headers["accept-encoding"] == "identity"
        assert "cookie" not in request.headers
        assert "authorization" not in request.headers
        return httpx2.Response(200, content=PDF)

    assert get(answer=answer) == PDF


def test_cookies_are_neither_kept_nor_sent() -> None:
    async def scenario() -> None:
        def answer(request: httpx2.Request) -> httpx2.Response:
            assert "cookie" not in request.headers
            return httpx2.Response(200, content=PDF, headers={"set-cookie": "a=b"})

        origin = an_origin(answer)
        for _ in range(2):
            assert await fetch_receipt(origin, URL) == PDF

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://storage.example.com/a", ORIGIN),
        ("https://STORAGE.example.com:443/a", ORIGIN),
        ("https://storage.example.com/a", "https://Storage.Example.com/"),
        ("https://storage.example.com:8443/a", "https://storage.example.com:8443"),
        ("http://127.0.0.1:9000/a", "http://127.0.0.1:9000"),
        ("http://localhost/a", "http://localhost:80"),
        ("https://[::1]/a", "https://[::1]"),
        ("https://xn--certido-2wa.example.com/a", "https://certidão.example.com"),
    ],
)
def test_listed_origins(url: str, origin: str) -> None:
    assert get(url, origins=frozenset({origin})) == PDF


@pytest.mark.parametrize(
    "url",
    [
        "http://storage.example.com/a",
        "https://storage.example.com:8443/a",
        "https://example.com/a",
        "https://evil.storage.example.com/a",
        "https://storage.example.com.evil.test/a",
        "https://storage.example.com@evil.test/a",
        "https://user:pass@storage.example.com/a",
        "https://user@storage.example.com/a",
        "https://evil.test/https://storage.example.com/a",
        "https://evil.test#@storage.example.com/a",
        "https://evil.test\\@storage.example.com/a",
        "https://storage.example.com\\.evil.test/a",
        "https://storage.example.com\t.evil.test/a",
        "https://storage.example.com./a",
        "https://127.0.0.1/a",
        "https://169.254.169.254/latest",
        "https://[::1]/a",
        "https://[::1/a",
        "file:///etc/passwd",
        "ftp://storage.example.com/a",
        "javascript:alert(1)",
        "data:text/html,x",
        "//storage.example.com/a",
        "storage.example.com/a",
        "/a",
        "https:///a",
        "https://storage.example.com:99999/a",
        "https://storage.example.com/\x00",
        "",
        " ",
        "a" * 100_000,
    ],
)
def test_other_origins_are_not_requested(url: str) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError("it was asked")

    with pytest.raises(SourceFailed, match="endereço"):
        get(url, answer)


def test_no_origin_is_allowed_by_default() -> None:
    assert "permitidos" in failing(origins=frozenset())


@pytest.mark.parametrize(
    "origin",
    ["storage.example.com", "ftp://a.test", "https://", "https://a.test/path", "https://u@a.test"],
)
def test_invalid_origins(origin: str) -> None:
    with pytest.raises(ValueError, match=r"origin|https|scheme"):
        an_origin(origins=frozenset({origin}))


@pytest.mark.parametrize(
    "status", [201, 204, 206, 301, 302, 307, 308, 401, 403, 404, 410, 500, 503]
)
def test_only_200_has_a_receipt(status: int) -> None:
    calls = 0

    def answer(request: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        calls += 1
        return httpx2.Response(status, content=PDF, headers={"location": f"{ORIGIN}/other"})

    assert f"HTTP {status}" in failing(answer=answer)
    assert calls == 1


def test_the_size_limit_announced_or_not() -> None:
    async def stream() -> AsyncIterator[bytes]:
        for _ in range(1000):
            yield b"x" * 10
        raise AssertionError("it was read to its end")

    def announced(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=b"x" * 101)

    def flowing(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=stream())

    for answer in (announced, flowing):
        assert "grande demais" in failing(answer=answer, bytes_max=100)
    assert get(answer=lambda _: httpx2.Response(200, content=b"x" * 100), bytes_max=100)


def test_empty_reply_is_no_receipt() -> None:
    assert "vazio" in failing(answer=lambda _: httpx2.Response(200))


def test_unrequested_compression() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            200, headers={"content-encoding": "br"}, stream=httpx2.ByteStream(PDF)
        )

    assert "codificação desconhecida" in failing(answer=answer)


@pytest.mark.parametrize(
    "error", [httpx2.ConnectError(URL), httpx2.ReadError(URL), ValueError(URL), OSError(URL)]
)
def test_transport_errors(error: Exception) -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise error

    assert type(error).__name__ in failing(answer=answer)


async def never(request: httpx2.Request) -> httpx2.Response:
    await asyncio.sleep(60)
    raise AssertionError


def test_the_time_limit() -> None:
    assert "tempo esgotado" in failing(answer=never, timeout_seconds=0.05)


def test_deadline_may_be_shorter_than_the_timeout() -> None:
    async def scenario() -> None:
        deadline = asyncio.get_running_loop().time() + 0.05
        with pytest.raises(SourceFailed, match="tempo esgotado"):
            await fetch_receipt(an_origin(never, timeout_seconds=60.0), URL, deadline)

    asyncio.run(asyncio.wait_for(scenario(), 30))
