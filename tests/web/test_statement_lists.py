"""Each number of the statement leads to the list of requests that sums to it (contract 15.3)."""

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
    """An account with charges of all kinds in the last days, some of them folded."""
    import random

    who = house.account("movimentada", credits=0)
    desk, now = house.desk, system_now_ms()
    desk.commit_now([TopUp(who.account_id, 5_000, "pedido 1", now - 9 * DAY_MS)])
    account, chance = house.purse(who), random.Random(50)
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
    # The house has its own loop: the writer's turn is taken there, and waited for here.
    asyncio.run(desk.totals.fold(until_ms))


def numbers(said: Any) -> Sequence[tuple[str, int]]:
    """Where each linked number leads, and the number."""
    return [
        (str(link.get("href")), int(link.text_content().replace(".", "")))
        for link in said.tree.xpath("//main//table//a | //main//dl[@class='stats']//a")
    ]


def sum_of(browser: Browser, address: str) -> tuple[int, int]:
    """How many requests a list has, and what they cost, by its file."""
    path, _, query = address.partition("?")
    text = browser.get(f"{path}.csv?{query}").text.removeprefix("\ufeff")
    rows = list(csv.DictReader(io.StringIO(text), delimiter=";"))
    return len(rows), sum(int(row["creditos"]) for row in rows)


@pytest.mark.parametrize("group", GROUPS)
def test_every_number_leads_to_a_list_that_sums_to_it(
    house: Service, busy: Client, group: str
) -> None:
    browser = signed_in(house, busy)
    for more in ("", "&por_dia=1", "&operacao=sintegra&cliente=(sem)"):
        said = browser.get(f"/app/extrato?de={days_ago(7)}&agrupar={group}{more}")
        found = numbers(said)
        assert len(found) > 4
        for href, number in {*found[:14], *found[-6:]}:
            assert number in sum_of(browser, href), href
        href, number = found[-1]  # of all, on the page itself
        assert "cobradas=1" in href
        requests, credits = sum_of(browser, href)
        words = browser.get(href).words
        assert f"{requests} consulta" in words
        assert f"{credits} crédito" in words
        assert number == credits


def test_a_search_is_in_the_list_though_it_leaves_no_details(house: Service, busy: Client) -> None:
    browser = signed_in(house, busy)
    found = dict(numbers(browser.get(f"/app/extrato?de={days_ago(7)}&operacao=busca-de-empresas")))
    href = next(href for href, number in found.items() if number == 3)
    page = browser.get(href)
    assert "1 consulta, 3 créditos" in page.words
    (link,) = page.tree.xpath("//tbody//th/a/@href")
    assert browser.get(str(link)).status == 200


def test_an_operator_has_the_same_lists(house: Service, busy: Client) -> None:
    operator = signed_in(house, role="operator")
    base = f"/app/operador/contas/{busy.account_id}"
    said = operator.get(f"{base}/extrato?de={days_ago(7)}&agrupar=cliente")
    own = signed_in(house, busy).get(f"/app/extrato?de={days_ago(7)}&agrupar=cliente")
    assert [number for _, number in numbers(said)] == [number for _, number in numbers(own)]
    for href, number in numbers(said):
        assert href.startswith(f"{base}/historico?")
        told = operator.get(href).words
        assert f"{number} consulta" in told or f"{number} crédito" in told
    for file in ("csv", "xlsx"):
        assert operator.get(f"{base}/extrato.{file}?de={days_ago(7)}").status == 200


def test_where_details_are_gone_there_is_no_list_by_them(house: Service, busy: Client) -> None:
    browser, long_ago = signed_in(house, busy), days_ago(300)
    for group, is_linked in (("pessoa", False), ("uf", False), ("cliente", True)):
        said = browser.get(f"/app/extrato?de={long_ago}&agrupar={group}")
        assert bool(said.tree.xpath("//main//tbody//a")) is is_linked


def test_what_was_given_is_listed_with_why_and_by_whom(house: Service, busy: Client) -> None:
    said = signed_in(house, busy).get(f"/app/extrato?de={days_ago(20)}")
    rows = said.tree.xpath("//table[caption='Créditos acrescentados']/tbody/tr")
    cells = [[cell.text_content().strip() for cell in row] for row in rows]
    assert [row[1:] for row in cells] == [["pedido 1", "operação, no terminal", "+5.000"]]
