"""`/app/chaves/orcamentos`: a budget is made, seen, changed and removed; and it holds."""

import pytest

from tests.http.house import OpenHouse
from tests.http.test_clock import measured
from tests.web.browser import Browser, Said, signed_in
from tests.world import Client, company

CNPJ = "90010001000100"
PATH = "/app/chaves/orcamentos"


def create(browser: Browser, **fields: str) -> Said:
    form_id = browser.get(PATH).field("form_id")
    usual = {"periodo": "mes", "teto_creditos": "1", "form_id": form_id}
    return browser.post(PATH, usual | fields)


def test_a_budget_from_its_beginning_to_its_end(house: OpenHouse, who: Client) -> None:
    browser = signed_in(house, who)
    assert create(browser, chave=str(who.key_id), nome="Da loja").status == 303
    assert house.get(company(CNPJ), who).status == 200
    refused = house.get(company(CNPJ), who)
    assert (refused.status, refused.code) == (402, "TETO_DA_CHAVE")
    listed = browser.get(PATH)
    assert "1 de 1 créditos" in listed.words
    assert "Da loja" in listed.words
    (budget,) = house.house.desk.budgets.of_account(who.account_id, 4_000_000_000_000)
    one = f"{PATH}/{budget.budget.number}"
    page = browser.get(one)
    changed = {"nome": "Da loja", "teto_creditos": "5", "form_id": page.field("form_id")}
    assert browser.post(one, changed).status == 303
    assert browser.post(one, changed).headers["location"].endswith("feito=ja")
    assert house.get(company(CNPJ), who).status == 200
    removed = browser.post(f"{one}/remover", {"form_id": browser.get(one).field("form_id")})
    assert removed.status == 303
    assert browser.get(one).status == 404
    assert "Nenhum orçamento" in browser.get(PATH).words


def test_the_operations_that_count_are_ticked(house: OpenHouse, who: Client) -> None:
    browser = signed_in(house, who)
    assert create(browser, chave=str(who.key_id), op_suframa="1").status == 303
    assert measured(house, "balcao_budgets") == 1
    (made,) = house.house.desk.budgets.of_account(who.account_id, 0)
    assert made.budget.operations == ("suframa",)
    for _ in range(2):
        assert house.get(company(CNPJ), who).status == 200
    one = f"{PATH}/{made.budget.number}"
    page = browser.get(one)
    assert page.field("op_suframa") == "1"
    every = {"nome": "Todas", "teto_creditos": "1", "form_id": page.field("form_id")}
    assert browser.post(one, every).status == 303
    (changed,) = house.house.desk.budgets.of_account(who.account_id, 0)
    assert changed.budget.operations is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"cliente": "a b"}, "X-Cliente"),
        ({"cliente": ""}, "X-Cliente"),
        ({"cliente": "loja", "periodo": "ano"}, "Escolha o período"),
        ({"cliente": "loja", "teto_creditos": ""}, "teto_consultas ou os dois"),
        ({"cliente": "loja", "teto_creditos": "-1"}, "número inteiro"),
        ({"cliente": "loja", "aviso_percentual": "101"}, "de 1 a 100"),
    ],
)
def test_what_does_not_fit_is_told_beside_its_field(
    house: OpenHouse, who: Client, fields: dict[str, str], said: str
) -> None:
    answer = create(signed_in(house, who), **fields)
    assert answer.status == 422
    assert said in answer.words
    assert house.house.desk.budgets.of_account(who.account_id, 0) == []
