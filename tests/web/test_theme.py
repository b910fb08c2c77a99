"""Light, dark, or the system's theme: chosen once, written into every page."""

import pytest

from tests.service import Service
from tests.web.browser import Browser

THEME = "/app/tema"


def shown(browser: Browser, path: str = "/app/eu") -> str | None:
    theme: str | None = browser.get(path).tree.get("data-theme")
    return theme


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_chosen_theme_stays(browser: Browser, theme: str) -> None:
    assert shown(browser) is None
    answer = browser.post(THEME, {"tema": theme, "para": "/app/historico?de=2026-11-01"})
    assert (answer.status, answer.location) == (303, "/app/historico?de=2026-11-01")
    cookie = answer.headers["set-cookie"]
    assert "httponly" in cookie.lower()
    assert "max-age=31536000" in cookie.lower()
    for path in ("/app/eu", "/app", "/app/nada", "/status"):
        assert shown(browser, path) == theme
    page = browser.get("/app/eu")
    pressed = page.tree.xpath("//button[@name='tema'][@aria-pressed='true']/@value")
    assert pressed == [theme]
    browser.post(THEME, {"tema": "", "para": "/app"})
    assert shown(browser) is None


def test_nothing_else_is_a_theme(browser: Browser) -> None:
    browser.post(THEME, {"tema": '"><script>', "para": "https://evil.test/"})
    assert shown(browser) is None
    assert browser.post(THEME, {"tema": "dark", "para": "//evil.test"}).location == "/app"
    browser.cookies["balcao-tema"] = "x onload=1"
    assert shown(browser) is None


def test_it_requires_signing_in(house: Service) -> None:
    stranger = Browser(house)
    assert stranger.post(THEME, {"tema": "dark"}).location.startswith("/app/entrar")
    assert not stranger.get("/app/entrar").tree.xpath("//button[@name='tema']")


def test_the_return_address_of_a_posted_page(browser: Browser) -> None:
    answer = browser.post("/app/procurar", {"procurar": "90010000100"})
    assert answer.tree.xpath("//input[@name='para']/@value") == ["/app"]
