"""Example programs: with the new key on the page that shows it, and without a key later."""

import re

from balcao.web.kit.snippets import KEY, SNIPPETS, written
from tests.service import Client, Service
from tests.web.browser import Browser, PageResponse, signed_in

A_KEY = r"balcao_test_[0-9A-Za-z]{49}"


def programs(answer: PageResponse) -> list[str]:
    return [str(code.text_content()) for code in answer.tree.xpath("//details//pre/code")]


def test_all_programs_with_this_services_address_and_no_key(house: Service) -> None:
    answer = Browser(house).get("/docs/programas")
    assert answer.status == 200
    address = house.settings.address
    assert programs(answer) == [written(name, address) for name in SNIPPETS]
    assert all(KEY in program for program in programs(answer))
    assert not re.search(A_KEY, answer.text)


def test_a_new_key_is_in_the_programs_on_its_page(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    form_id = browser.get("/app/chaves").field("form_id")
    answer = browser.post("/app/chaves", {"nome": "ERP", "form_id": form_id})
    (key,) = set(re.findall(A_KEY, answer.text))
    address = house.settings.address
    assert programs(answer) == [written(name, address, key) for name in SNIPPETS]
    assert not any(KEY in program for program in programs(answer))


def test_operators_get_no_programs_with_a_key(house: Service, operator: Browser) -> None:
    keys = f"/app/operador/contas/{house.client.account_id}/chaves"
    form_id = operator.get(keys).field("form_id")
    answer = operator.post(keys, {"nome": "ERP", "form_id": form_id})
    assert answer.status == 201
    assert programs(answer) == []
