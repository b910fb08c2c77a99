"""Checks of a page that is open in a browser: accessibility rules, width, duplicate ids.

A page is loaded once and checked twice: light in a wide window, and dark in a narrow one.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.web.live import NARROW, WIDE

BYTES_MAX = 110_000


@cache
def _axe() -> str:
    return str(Axe().axe_script)


def violations(page: Page) -> Iterator[str]:
    """Yield axe's findings on the page in its present state."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_axe())
    found: Any = page.evaluate(
        "axe.run({resultTypes: ['violations']}).then(results => results.violations)"
    )
    for violation in found:
        where = "; ".join(str(node["target"]) for node in violation["nodes"][:3])
        yield f"{violation['id']}: {violation['help']} ({where})"


def complaints(page: Page) -> list[str]:
    """Return the faults of the open page, light and wide as well as dark and narrow.

    Leaves it light and wide.
    """
    twice: Any = page.evaluate(
        "[...document.querySelectorAll('[id]')].map(e => e.id)"
        ".filter((id, at, all) => all.indexOf(id) < at)"
    )
    found = [f"the same id twice: {twice}"] if twice else []
    for scheme, window in (("dark", NARROW), ("light", WIDE)):
        # Without motion, no colour is caught in transition.
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        page.set_viewport_size(window)  # type: ignore[arg-type]
        wide: Any = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        if wide > 0:
            found.append(f"{scheme}: {wide} px wider than the window")
        found += [f"{scheme}: {text}" for text in violations(page)]
    return [f"{page.url}: {text}" for text in found]


def complaints_of(page: Page, path: str) -> list[str]:
    """Open a page and return its faults, including its size and console output."""
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    answer = page.goto(path)
    assert answer is not None
    assert answer.status in (200, 404), path
    size = len(answer.body())
    found = [f"{path}: {size} bytes"] if size > BYTES_MAX else []
    found += complaints(page)
    return found + [
        f"{path}: {text}" for text in messages if "404" not in text and "Failed to load" not in text
    ]
