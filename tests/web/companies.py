"""Helpers for tests of the company's page."""

from collections.abc import Mapping

from tests.service import CREDITS, Client, Service
from tests.web.browser import Browser, PageResponse


def address(cnpj: str) -> str:
    return f"/app/empresas/{cnpj}"


def buttons(answer: PageResponse) -> Mapping[str, str]:
    """Return the value and the text of each button."""
    return {
        each.get("value"): " ".join(each.text_content().split())
        for each in answer.tree.xpath("//button[@name='o']")
    }


def of_form(answer: PageResponse, slug: str) -> tuple[str, str]:
    """Return the button of a register's own line."""
    ((value, text), *_) = [
        (value, text)
        for value, text in buttons(answer).items()
        if value.startswith(f"{slug}.") and "?" not in value
    ]
    return value, text


def of_all(answer: PageResponse) -> tuple[str, str]:
    """Return the button for everything missing, as value and text; both empty without it."""
    found = [each for each in buttons(answer).items() if each[0].startswith("falta")]
    return found[0] if found else ("", "")


def press(browser: Browser, cnpj: str, value: str, **more: str) -> PageResponse:
    """Press a button, and return to the page."""
    answer = browser.post(f"{address(cnpj)}/consultar", {"o": value, **more})
    assert answer.status == 303, answer.text
    assert answer.location.partition("?")[0] == address(cnpj)
    return browser.get(answer.location)


def lines(answer: PageResponse) -> Mapping[str, str]:
    """Return the text of each register's line, by the register's name."""
    return {
        " ".join(row.findtext("th").split()): " ".join(row.xpath("td[1]")[0].text_content().split())
        for row in answer.tree.xpath("//table[contains(@class, 'registers')]/tbody/tr")
    }


def spent(house: Service, by: Client) -> int:
    credits, held = house.money(by)
    assert held == 0
    return CREDITS - credits
