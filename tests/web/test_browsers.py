"""Readable names of browsers."""

import pytest

from balcao.web.pages.signing.browsers import name_of

_WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0",
            "Firefox em Linux",
        ),
        (
            f"Mozilla/5.0 (Windows NT 10.0) {_WEBKIT} Chrome/140.0 Safari/537.36",
            "Chrome em Windows",
        ),
        (
            f"Mozilla/5.0 (Windows NT 10.0) {_WEBKIT} Chrome/140.0 Safari/537.36 Edg/140.0",
            "Edge em Windows",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML,"
            " like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
            "Safari em iPhone",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 10; K) {_WEBKIT} Chrome/140.0 Safari/537.36",
            "Chrome em Android",
        ),
        ("curl/8.5.0", "curl"),
        ("", None),
        ("<script>", None),
    ],
)
def test_names(header: str, name: str | None) -> None:
    assert name_of(header) == name
