"""Programs on the pages: with the reader's key where it is made, and with none afterwards."""

import re

from balcao.web.kit.snippets import KEY, SNIPPETS, written
from tests.service import Client, Service
from tests.web.browser import Browser, Said, signed_in

A_KEY = r"balcao_test_[0-9A-Za-z]{49}"


def programs(said: Said) -> list[str]:
    return [str(code.text_content()) for code in said.tree.xpath("//details//pre/code")]


def test_all_programs_with_this_services_address_and_no_key(house: Service) -> None:
    said = Browser(house).get("/docs/programas")
    assert said.status == 200
    address = house.settings.address
    assert programs(said) == [written(name, address) for name in SNIPPETS]
    assert all(KEY in program for program in programs(said))
    assert not re.search(A_KEY, said.text)


def test_a_new_key_is_in_the_programs_beside_it(house: Service, who: Client) -> None:
    browser = signed_in(house, who)
    form_id = browser.get("/app/chaves").field("form_id")
    said = browser.post("/app/chaves", {"nome": "ERP", "form_id": form_id})
    (key,) = set(re.findall(A_KEY, said.text))
    address = house.settings.address
    assert programs(said) == [written(name, address, key) for name in SNIPPETS]
    assert not any(KEY in program for program in programs(said))


def test_operators_hand_a_key_on_without_programs(house: Service, operator: Browser) -> None:
    keys = f"/app/operador/contas/{house.client.account_id}/chaves"
    form_id = operator.get(keys).field("form_id")
    said = operator.post(keys, {"nome": "ERP", "form_id": form_id})
    assert said.status == 201
    assert programs(said) == []
