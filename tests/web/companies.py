"""What tests of the company's page share."""

from collections.abc import Mapping

from tests.service import CREDITS, Client, Service
from tests.web.browser import Browser, Said


def address(cnpj: str) -> str:
    return f"/app/empresas/{cnpj}"


def buttons(said: Said) -> Mapping[str, str]:
    """What each button sends, and its text."""
    return {
        each.get("value"): " ".join(each.text_content().split())
        for each in said.tree.xpath("//button[@name='o']")
    }


def of_form(said: Said, slug: str) -> tuple[str, str]:
    """The button of a register's own line."""
    ((value, text), *_) = [
        (value, text)
        for value, text in buttons(said).items()
        if value.startswith(f"{slug}.") and "?" not in value
    ]
    return value, text


def of_all(said: Said) -> tuple[str, str]:
    """The button for all that is missing; two empty texts: there is none."""
    found = [each for each in buttons(said).items() if each[0].startswith("falta")]
    return found[0] if found else ("", "")


def press(browser: Browser, cnpj: str, value: str, **more: str) -> Said:
    """Press a button, and come back to the page."""
    said = browser.post(f"{address(cnpj)}/consultar", {"o": value, **more})
    assert said.status == 303, said.text
    assert said.location.partition("?")[0] == address(cnpj)
    return browser.get(said.location)


def lines(said: Said) -> Mapping[str, str]:
    """What is said of each register, by its name."""
    return {
        " ".join(row.findtext("th").split()): " ".join(row.xpath("td[1]")[0].text_content().split())
        for row in said.tree.xpath("//table[contains(@class, 'registers')]/tbody/tr")
    }


def spent(house: Service, by: Client) -> int:
    credits, held = house.money(by)
    assert held == 0
    return CREDITS - credits
