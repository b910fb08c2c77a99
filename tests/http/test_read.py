"""Taking a request apart: sizes as they came over the wire, headers that came twice."""

from typing import Any

import pytest

from balcao.errors import RequestTooLarge
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


def test_headers_that_came_twice_are_told() -> None:
    request = read(scope(headers=[(b"cache", b"3"), (b"a", b"1"), (b"cache", b"5")]), 300)
    assert request.repeated == (b"cache",)
    assert request.headers[b"cache"] == b"3"


@pytest.mark.parametrize("headers", [[(b"content-length", b"1")], [(b"transfer-encoding", b"x")]])
def test_a_body_is_not_read(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(RequestTooLarge):
        read(scope(headers=headers), 300)


def test_an_empty_body_is_none() -> None:
    read(scope(headers=[(b"content-length", b"0")]), 300)
