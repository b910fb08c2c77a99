"""Reading requests: sizes as sent, repeated headers."""

from typing import Any

import pytest

from balcao.core.errors import RequestTooLarge
from balcao.http.read import read


def scope(**changes: Any) -> dict[str, Any]:
    return {
        "method": "GET",
        "path": "/a",
        "raw_path": b"/a",
        "query_string": b"",
        "headers": [],
    } | changes


def test_a_path_of_escapes_counts_as_it_was_sent() -> None:
    """7.4: request line and headers; `%31` is three characters of it."""
    read(scope(path="1" * 100, raw_path=b"%31" * 100), 300)
    with pytest.raises(RequestTooLarge):
        read(scope(path="1" * 100, raw_path=b"%31" * 101), 300)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (None, b"application/json"),
        (b"", b"application/json"),
        (b"*/*", b"application/json"),
        (b"text/csv", b"text/csv"),
        (b"TEXT/CSV; charset=utf-8", b"text/csv"),
        (b"text/*", b"text/csv"),
        (b"text/csv, */*", b"text/csv"),  # named outright
        (b"*/*, text/csv", b"text/csv"),
        (b"text/csv, application/json", b"application/json"),
        (b"text/csv;q=0.9, application/json;q=0.8", b"text/csv"),
        (b"text/csv;q=0.8, application/json;q=0.9", b"application/json"),
        (b"text/csv; q=0.8 ,application/json ; q=0.801", b"application/json"),
        (b"text/csv;header=present;q=0.1, */*;q=0.2", b"application/json"),
        (b"application/json;q=0, */*", b"text/csv"),
        (b"application/*;q=0.5, text/csv;q=0.4", b"application/json"),
        (b"text/csv;q=0", b"application/json"),
        (b"text/csv;q=0, application/json;q=0", b"application/json"),
        (b"text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8",
         b"application/json"),
        (b"application/json, text/plain, */*", b"application/json"),
        (b"image/png", b"application/json"),
        (b"text/csvx, text", b"application/json"),
        (b"text/csv;q=nan, application/json;q=0.9", b"text/csv"),
        (b",;, ;q=1,text/csv;;q=", b"text/csv"),
        (b"\xff/\xff, text/csv", b"text/csv"),
    ],
)  # fmt: skip
def test_the_preferred_media_type_is_sent(accept: bytes | None, wanted: bytes) -> None:
    """RFC 9110, 12.5.1; the first that is offered unless another one is preferred."""
    headers = [] if accept is None else [(b"accept", accept)]
    request = read(scope(headers=headers), 1000)
    assert request.preferred([b"application/json", b"text/csv"]) == wanted


def test_repeated_headers_are_listed() -> None:
    request = read(scope(headers=[(b"cache", b"3"), (b"a", b"1"), (b"cache", b"5")]), 300)
    assert request.repeated == (b"cache",)
    assert request.headers[b"cache"] == b"3"


@pytest.mark.parametrize("headers", [[(b"content-length", b"1")], [(b"transfer-encoding", b"x")]])
def test_a_body_is_not_read(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(RequestTooLarge):
        read(scope(headers=headers), 300)


def test_an_empty_body_is_accepted() -> None:
    read(scope(headers=[(b"content-length", b"0")]), 300)
