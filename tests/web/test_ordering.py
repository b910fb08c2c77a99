"""Lists ordered by the links in their headings, over the whole list and not one page."""

from collections.abc import Sequence

import pytest

from balcao.core.people import Signature
from balcao.service.clock import system_now_ms
from balcao.storage.people import NewUser
from balcao.web.pages.operator.accounts import PER_PAGE
from tests.service import Service
from tests.web.browser import PageResponse, signed_in


def row_heads(answer: PageResponse) -> Sequence[str]:
    """Return the first line of each row's head."""
    heads = answer.tree.xpath("//table[contains(@class, 'rows')]/tbody/tr/th[@scope='row']")
    return [str(head.xpath("string(.//a | self::*[not(.//a)])")).strip() for head in heads]


def sorted_columns(answer: PageResponse) -> Sequence[tuple[str, str]]:
    """Return the headings with `aria-sort`, and its value."""
    heads = answer.tree.xpath("//thead//th[@aria-sort]")
    return [(head.text_content(), head.get("aria-sort")) for head in heads]


def pressed(answer: PageResponse, heading: str) -> str:
    """Return the address that a heading leads to."""
    (address,) = answer.tree.xpath(f"//thead//a[text()='{heading}']/@href")
    return str(address)


def test_accounts_are_ordered_over_all_pages_and_keep_their_filters(house: Service) -> None:
    names = [f"ordem {n:03}" for n in range(PER_PAGE + 5)]
    for n, name in enumerate(reversed(names)):
        house.account(name, credits=1000 + n)
    browser = signed_in(house, role="operator")
    answer = browser.get("/app/operador/contas?nome=ordem&estado=ativa")
    assert sorted_columns(answer) == [("Nº", "ascending")]
    answer = browser.get(pressed(answer, "Nome"))
    assert sorted_columns(answer) == [("Nome", "ascending")]
    assert row_heads(answer) == names[:PER_PAGE]
    assert answer.field("ordem") == "nome"
    (following,) = answer.tree.xpath("//a[@rel='next']/@href")
    assert row_heads(browser.get(following)) == names[PER_PAGE:]
    turned = browser.get(pressed(browser.get(following), "Nome"))
    assert sorted_columns(turned) == [("Nome", "descending")]
    assert row_heads(turned) == names[::-1][:PER_PAGE]
    assert (turned.field("nome"), "de=" in turned.text) == ("ordem", True)
    assert row_heads(browser.get(pressed(turned, "Saldo")))[0] == names[-1]


def test_rows_without_a_value_come_last_in_both_directions(house: Service) -> None:
    who = house.account("gente", credits=0)
    browser = signed_in(house, who)
    new = NewUser("nunca@balcao.test", "Nunca Entrou", "consultant", who.account_id)
    house.run(house.desk.people.add_user(new, Signature("cli"), system_now_ms()))
    for order in ("acesso", "-acesso"):
        heads = row_heads(browser.get(f"/app/usuarios?ordem={order}"))
        assert heads[-1] == "Nunca Entrou", order


@pytest.mark.parametrize("order", ["", "nada", "--nome", "-"])
def test_an_unknown_order_is_the_usual_one(house: Service, order: str) -> None:
    browser = signed_in(house)
    answer = browser.get(f"/app/usuarios?ordem={order}")
    assert sorted_columns(answer) == [("Nome", "ascending")]
