"""Text is compressed for browsers that accept it (contract 1.9), and its size reveals no secret."""

import pytest

from tests.service import Service
from tests.web.browser import Browser


def addresses(browser: Browser) -> list[str]:
    """Return a page, and each file that it names."""
    tree = browser.get("/app").tree
    files = {*tree.xpath("//link[@rel='stylesheet']/@href"), *tree.xpath("//script/@src")}
    assert any(".css" in file for file in files)
    assert any(".js" in file for file in files)
    return ["/app", "/status", *sorted(files)]


def test_text_is_compressed_if_accepted(browser: Browser) -> None:
    for address in addresses(browser):
        plain = browser.get(address, accept_encoding="identity")
        packed = browser.get(address, accept_encoding="gzip, br")
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip", address
        for answer in (plain, packed):
            assert answer.headers["vary"] == "accept-encoding", address
        assert int(packed.headers["content-length"]) < 0.5 * len(plain.content), address
        if address.startswith("/app/arquivos/"):
            assert packed.content == plain.content
        assert (
            browser.get(address, accept_encoding="gzip;q=0").headers.get("content-encoding") is None
        )


def test_a_first_visit_is_small(house: Service) -> None:
    """Everything that a new browser loads for the sign-in page, as transferred."""
    stranger = Browser(house)
    page = stranger.get("/app/entrar", accept_encoding="gzip")
    files = {*page.tree.xpath("//link[@rel='stylesheet']/@href"), *page.tree.xpath("//script/@src")}
    assert len(files) >= 3
    packed = [page, *(stranger.get(file, accept_encoding="gzip") for file in files)]
    assert sum(int(answer.headers["content-length"]) for answer in packed) < 31_000


@pytest.mark.parametrize("page", ["/app", "/docs"])
def test_files_are_cached_forever_and_revalidated(browser: Browser, page: str) -> None:
    """The application's and the documentation's files: they are served by one handler."""
    tree = browser.get(page).tree
    for file in {*tree.xpath("//link[@rel='stylesheet']/@href"), *tree.xpath("//script/@src")}:
        answer = browser.get(file)
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable", file
        again = browser.get(file, if_none_match=answer.headers["etag"])
        assert (again.status, again.content) == (304, b""), file
        assert browser.get(file, if_none_match='W/"another"').status == 200


def test_a_form_s_token_differs_each_time_and_is_accepted(browser: Browser) -> None:
    tokens = [browser.get("/app/eu").field("csrf") for _ in range(2)]
    assert tokens[0] != tokens[1]
    for token in tokens:
        answer = browser.post("/app/eu/senha", {"csrf": token, "atual": "x"}, sec_fetch_site="")
        assert answer.status == 422, answer.words
    for wrong in (
        "",
        tokens[0][:-1],
        tokens[0][:16],
        tokens[0][:-1] + ("0" if tokens[0][-1] != "0" else "1"),
    ):
        answer = browser.post("/app/eu/senha", {"csrf": wrong, "atual": "x"}, sec_fetch_site="")
        assert answer.status == 403
