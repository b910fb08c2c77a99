"""`/app/chaves/orcamentos`: a budget is created, shown, changed, removed and enforced."""

import re
from collections import Counter

import pytest

from balcao.core.errors import InvalidParameter
from balcao.service.event_counter import EventCounter
from balcao.web.pages.keys import budgets
from tests.http.test_clock import measured
from tests.records import company
from tests.service import Client, Service
from tests.web.batches import BatchUser
from tests.web.browser import Browser, PageResponse, signed_in

CNPJ = "90010001000100"
PATH = "/app/chaves/orcamentos"


def create(browser: Browser, **fields: str) -> PageResponse:
    form_id = browser.get(PATH).field("form_id")
    usual = {"periodo": "mes", "teto_creditos": "1", "form_id": form_id}
    return browser.post(PATH, usual | fields)


def test_lifecycle_of_a_budget(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    assert create(browser, chave=str(who.key_id), nome="Da loja").status == 303
    assert house.get(company(CNPJ), who).status == 200
    refused = house.get(company(CNPJ), who)
    assert (refused.status, refused.code) == (402, "TETO_DA_CHAVE")
    listed = browser.get(PATH)
    assert "1 de 1 créditos" in listed.words
    assert "Da loja" in listed.words
    (budget,) = house.desk.budgets.of_account(who.account_id, 4_000_000_000_000)
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


def test_the_operations_that_count_are_ticked(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    assert create(browser, chave=str(who.key_id), op_suframa="1").status == 303
    assert measured(house, "balcao_budgets") == 1
    (made,) = house.desk.budgets.of_account(who.account_id, 0)
    assert made.budget.operations == ("suframa",)
    for _ in range(2):
        assert house.get(company(CNPJ), who).status == 200
    one = f"{PATH}/{made.budget.number}"
    page = browser.get(one)
    assert page.field("op_suframa") == "1"
    every = {"nome": "Todas", "teto_creditos": "1", "form_id": page.field("form_id")}
    assert browser.post(one, every).status == 303
    (changed,) = house.desk.budgets.of_account(who.account_id, 0)
    assert changed.budget.operations is None


@pytest.mark.parametrize(
    ("fields", "field", "text"),
    [
        ({"cliente": "loja 7"}, "cliente", "de 1 a 64 caracteres: letras"),
        ({"cliente": ""}, "cliente", "Escolha uma chave ou informe um cliente"),
        ({"cliente": "loja", "periodo": "ano"}, "periodo", "Escolha o período"),
        ({"cliente": "loja", "teto_creditos": ""}, "teto_creditos", "em consultas ou os dois"),
        ({"cliente": "loja", "teto_creditos": "-1"}, "teto_creditos", "número inteiro"),
        ({"cliente": "loja", "nome": "900.100.001-00 Fulana"}, "nome", "pode ter um CPF"),
        ({"cliente": "loja-90010000100"}, "cliente", "pode ter um CPF"),
        ({"cliente": "loja", "aviso_percentual": "101"}, "aviso_percentual", "de 1 a 100"),
    ],
)
def test_errors_are_shown_at_their_field(
    house: Service, who: Client, fields: dict[str, str], field: str, text: str
) -> None:
    answer = create(signed_in(house, who), **fields)
    assert answer.status == 422
    (shown,) = answer.tree.xpath(f"//*[@id='{field}-error']")
    assert text in shown.text_content()
    assert "teto_" not in shown.text_content()
    assert house.desk.budgets.of_account(who.account_id, 0) == []


def test_a_change_without_a_ceiling_is_refused_at_its_field(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    assert create(browser, cliente="loja").status == 303
    (made,) = house.desk.budgets.of_account(who.account_id, 0)
    one = f"{PATH}/{made.budget.number}"
    form_id = browser.get(one).field("form_id")
    answer = browser.post(one, {"nome": "Da loja", "form_id": form_id})
    (shown,) = answer.tree.xpath("//*[@id='teto_creditos-error']")
    assert "em consultas ou os dois" in shown.text_content()


@pytest.mark.parametrize("detail", ["operacoes: os caminhos.", "X-Cliente não serve: veja.", ""])
def test_errors_without_a_field_are_alerts(detail: str) -> None:
    shown = budgets._refusal(InvalidParameter(detail))
    assert set(shown) == {"alert"}
    assert shown["alert"]


def test_people_see_the_budgets_that_limit_them_read_only(house: Service, who: Client) -> None:
    manager = signed_in(house, who)
    consultant = Browser(house)
    consultant.sign_in_as("consultant", who.account_id)
    assert "/app/tetos" not in consultant.get("/app").text
    assert "Nenhum orçamento" in consultant.get("/app/tetos").words
    assert create(manager, chave=str(who.key_id), nome="Da chave").status == 303
    assert create(manager, cliente="loja-7", nome="Da loja").status == 303
    seen = consultant.get("/app/tetos")
    assert "Da loja" in seen.words
    assert "0 de 1 créditos" in seen.words
    assert "Da chave" not in seen.words
    assert "/app/chaves" not in seen.text
    assert "1 orçamento em vigor" in consultant.get("/app").words
    assert consultant.get(PATH).status in {403, 404}
    assert "Da chave" in manager.get("/app/tetos").words
    assert "2 orçamentos em vigor" in manager.get("/app").words


def test_people_see_the_budgets_of_their_own_batches(house: Service, who: Client) -> None:
    first, second = BatchUser(Browser(house)), Browser(house)
    first.browser.sign_in_as("consultant", who.account_id)
    second.sign_in_as("consultant", who.account_id)
    address = first.open({"lista": "90010001000100\n90010002000154"})
    assert first.confirm(address, 0).status == 303
    first.until(address, "pausado")
    seen = first.browser.get("/app/tetos")
    assert f'href="{address}"' in seen.text
    assert "0 de 0 créditos" in seen.words
    assert "Nenhum orçamento" in second.get("/app/tetos").words


def test_refusals_and_warnings_of_budgets_are_measured(house: Service, who: Client) -> None:
    counts = Counter[str]()

    def count(kind: str, more: int) -> None:
        counts[kind] += more

    # Each node counts them, whichever node wrote them.
    events = EventCounter(house.desk.events, count)
    house.run(events.poll())
    before = _refusals(house)
    assert create(signed_in(house, who), chave=str(who.key_id)).status == 303
    assert [house.get(company(CNPJ), who).status for _ in range(3)] == [200, 402, 402]
    assert _refusals(house) == before + 2
    for _ in range(2):
        house.run(events.poll())
    assert counts == {"teto.aviso": 1, "teto.atingido": 1}
    # Two nodes commit at once, and the smaller number appears later.
    last = house.run(house.desk.events.last())
    for number in (last + 2, last + 1):
        with house.desk.engine.write_in_place() as here:
            here.execute(
                "INSERT INTO event (event_id, account_id, kind, at_ms, body)"
                " VALUES (?, ?, 'chave.nova', 0, '{}')",
                (number, who.account_id),
            )
        house.run(events.poll())
    for _ in range(3):
        house.run(events.poll())
    assert counts["chave.nova"] == 2


def _refusals(house: Service) -> float:
    page = house.get("/metrics").body.decode()
    found = re.search(r'^balcao_budget_refusals_total\{owner="chave"\} (\S+)$', page, re.MULTILINE)
    return float(found[1]) if found else 0.0
