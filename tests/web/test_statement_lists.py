"""Each figure of the statement links to the requests that add up to it (contract 15.3)."""

import asyncio
import csv
import io
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from balcao.core.ledger import Charge, TopUp
from balcao.service.clock import system_now_ms
from balcao.storage.desk.desk import Desk
from tests.service import Client, Service
from tests.storage.test_totals import drawn
from tests.web.browser import Browser, signed_in
from tests.web.test_statement import days_ago

DAY_MS = 86_400_000
GROUPS = ("operacao", "chave", "pessoa", "uf", "cliente", "origem", "dia")


@pytest.fixture(scope="module")
def busy(house: Service) -> Client:
    """Return an account with recent charges of all kinds, some of them folded."""
    import random

    who = house.account("movimentada", credits=0)
    desk, now = house.desk, system_now_ms()
    desk.commit_now([TopUp(who.account_id, 5_000, "pedido 1", now - 9 * DAY_MS)])
    account, chance = house.balance(who), random.Random(50)
    for n in range(80):
        lists, _ = drawn(chance, account, n, now - chance.randrange(8 * DAY_MS))
        for changes in lists:
            assert desk.commit_now(changes) is None
    search = Charge(
        who.account_id, who.key_id, str(uuid.uuid4()), "busca-de-empresas", 3, "search/found",
        "cache", now - DAY_MS,
    )  # fmt: skip
    assert desk.commit_now([search]) is None
    fold(desk, now - 3 * DAY_MS)
    return who


def fold(desk: Desk, until_ms: int) -> None:
    # The service has its own loop: run the writer there, and wait here.
    asyncio.run(desk.totals.fold(until_ms))


def numbers(answer: Any) -> Sequence[tuple[str, int]]:
    """Return each linked figure with its address."""
    return [
        (str(link.get("href")), int(link.text_content().replace(".", "")))
        for link in answer.tree.xpath(
            "//main//table/*[self::tbody or self::tfoot]//a | //main//dl[@class='stats']//a"
        )
    ]


def sum_of(browser: Browser, address: str) -> tuple[int, int]:
    """Return count and cost of a list of requests, from its file."""
    path, _, query = address.partition("?")
    text = browser.get(f"{path}.csv?{query}").text.removeprefix("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text), delimiter=";"))
    return len(rows), sum(int(row["creditos"]) for row in rows)


@pytest.mark.parametrize("group", GROUPS)
def test_every_figure_links_to_requests_that_add_up_to_it(
    house: Service, busy: Client, group: str
) -> None:
    browser = signed_in(house, busy)
    for more in ("", "&por_dia=1", "&operacao=sintegra&cliente=(sem)"):
        answer = browser.get(f"/app/extrato?de={days_ago(7)}&agrupar={group}{more}")
        found = numbers(answer)
        assert len(found) > 4
        for href, number in {*found[:5], *found[-3:]}:
            assert number in sum_of(browser, href), href
        href, number = found[-1]  # the total, on the page itself
        assert "cobradas=1" in href
        requests, credits = sum_of(browser, href)
        words = browser.get(href).words
        assert f"{requests} consulta" in words
        assert f"{credits} crédito" in words
        assert number == credits


def test_searches_are_listed_without_details(house: Service, busy: Client) -> None:
    browser = signed_in(house, busy)
    found = dict(numbers(browser.get(f"/app/extrato?de={days_ago(7)}&operacao=busca-de-empresas")))
    href = next(href for href, number in found.items() if number == 3)
    page = browser.get(href)
    assert "1 consulta, 3 créditos" in page.words
    (link,) = page.tree.xpath("//tbody//th/a/@href")
    assert browser.get(str(link)).status == 200


def test_operators_have_the_same_lists(house: Service, busy: Client) -> None:
    operator = signed_in(house, role="operator")
    base = f"/app/operador/contas/{busy.account_id}"
    answer = operator.get(f"{base}/extrato?de={days_ago(7)}&agrupar=cliente")
    own = signed_in(house, busy).get(f"/app/extrato?de={days_ago(7)}&agrupar=cliente")
    assert [number for _, number in numbers(answer)] == [number for _, number in numbers(own)]
    for href, number in numbers(answer):
        assert href.startswith(f"{base}/historico?")
        text = operator.get(href).words
        assert f"{number} consulta" in text or f"{number} crédito" in text
    for file in ("csv", "xlsx"):
        assert operator.get(f"{base}/extrato.{file}?de={days_ago(7)}").status == 200


def test_without_details_there_is_no_list_by_them(house: Service, busy: Client) -> None:
    browser, long_ago = signed_in(house, busy), days_ago(300)
    for group, is_linked in (("pessoa", False), ("uf", False), ("cliente", True)):
        answer = browser.get(f"/app/extrato?de={long_ago}&agrupar={group}")
        assert bool(answer.tree.xpath("//main//tbody//a")) is is_linked


def test_top_ups_are_listed_with_reason_and_author(house: Service, busy: Client) -> None:
    answer = signed_in(house, busy).get(f"/app/extrato?de={days_ago(20)}")
    rows = answer.tree.xpath("//table[caption='Créditos acrescentados']/tbody/tr")
    cells = [[cell.text_content().strip() for cell in row] for row in rows]
    assert [row[1:] for row in cells] == [["pedido 1", "operação, no terminal", "+5.000"]]
