"""Text comes compressed to whoever takes it (contract 1.9), and tells no secret by its size."""

import pytest

from tests.service import Service
from tests.web.browser import Browser


def addresses(browser: Browser) -> list[str]:
    """A page, and each file that it names."""
    tree = browser.get("/app").tree
    files = {*tree.xpath("//link[@rel='stylesheet']/@href"), *tree.xpath("//script/@src")}
    assert any(".css" in file for file in files)
    assert any(".js" in file for file in files)
    return ["/app", "/status", *sorted(files)]


def test_text_is_compressed_where_it_is_taken(browser: Browser) -> None:
    for address in addresses(browser):
        plain = browser.get(address, accept_encoding="identity")
        packed = browser.get(address, accept_encoding="gzip, br")
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip", address
        for said in (plain, packed):
            assert said.headers["vary"] == "accept-encoding", address
        assert int(packed.headers["content-length"]) < 0.5 * len(plain.content), address
        if address.startswith("/app/arquivos/"):
            assert packed.content == plain.content
        assert (
            browser.get(address, accept_encoding="gzip;q=0").headers.get("content-encoding") is None
        )


def test_a_first_visit_is_small(house: Service) -> None:
    """All that a stranger's browser loads of the page where everybody begins, on the wire."""
    stranger = Browser(house)
    page = stranger.get("/app/entrar", accept_encoding="gzip")
    files = {*page.tree.xpath("//link[@rel='stylesheet']/@href"), *page.tree.xpath("//script/@src")}
    assert len(files) >= 3
    packed = [page, *(stranger.get(file, accept_encoding="gzip") for file in files)]
    assert sum(int(said.headers["content-length"]) for said in packed) < 30_000


@pytest.mark.parametrize("page", ["/app", "/docs"])
def test_files_are_kept_for_ever_and_known_again(browser: Browser, page: str) -> None:
    """The application's and the documentation's alike: they come from one place."""
    tree = browser.get(page).tree
    for file in {*tree.xpath("//link[@rel='stylesheet']/@href"), *tree.xpath("//script/@src")}:
        said = browser.get(file)
        assert said.headers["cache-control"] == "public, max-age=31536000, immutable", file
        again = browser.get(file, if_none_match=said.headers["etag"])
        assert (again.status, again.content) == (304, b""), file
        assert browser.get(file, if_none_match='W/"another"').status == 200


def test_a_forms_token_is_another_each_time_and_always_taken(browser: Browser) -> None:
    tokens = [browser.get("/app/eu").field("csrf") for _ in range(2)]
    assert tokens[0] != tokens[1]
    for token in tokens:
        said = browser.post("/app/eu/senha", {"csrf": token, "atual": "x"}, sec_fetch_site="")
        assert said.status == 422, said.words
    for wrong in (
        "",
        tokens[0][:-1],
        tokens[0][:16],
        tokens[0][:-1] + ("0" if tokens[0][-1] != "0" else "1"),
    ):
        said = browser.post("/app/eu/senha", {"csrf": wrong, "atual": "x"}, sec_fetch_site="")
        assert said.status == 403
