"""Results: who may see them, what is shown of each operation, and where receipts are handed out."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.http.house import OpenHouse, opened
from tests.web.browser import Browser
from tests.web.consulting import *


@pytest.fixture
def house(tmp_path: Path) -> Iterator[OpenHouse]:
    with opened(tmp_path) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture
def browser(house: OpenHouse) -> Browser:
    return signed_in(house)


# ---- Who sees what ----


def test_results_are_for_those_who_asked_and_for_managers(house: OpenHouse) -> None:
    manager, consultant = signed_in(house), signed_in(house, "consultant")
    colleague = signed_in(house, "consultant")
    stranger = signed_in(house, account_id=house.account("outra").account_id)
    fields = by_cnpj(GOOD, form_id="who-sees-what-0123456789")
    result = consultant.post(FEDERAL, fields).location
    assert consultant.get(result).status == 200
    assert manager.get(result).status == 200
    assert colleague.get(result).status == 404
    assert stranger.get(result).status == 404
    assert (
        manager.get("/app/consultas/resultado/00000000-0000-7000-8000-000000000000").status == 404
    )


def test_requests_of_the_api_are_shown_to_managers(house: OpenHouse) -> None:
    kept = house.get(f"/consultas/v2/sintegra/{GOOD}?uf=SP", idempotency_key="api-0123456789")
    unkept = house.get(f"/consultas/v2/sintegra/{GOOD}?uf=SP")
    house.run(house.until(lambda: not house.house.front.parts.noting))
    path = "/app/consultas/resultado/"
    manager, consultant = signed_in(house), signed_in(house, "consultant")
    shown = manager.get(path + kept.json["request_id"])
    assert "1 inscrição ativa" in verdict(shown)
    gone = manager.get(path + unkept.json["request_id"])
    assert gone.status == 200
    assert "não está mais guardado" in verdict(gone)
    assert "Cobrado: 1 crédito." in verdict(gone)
    again = gone.tree.xpath("//a[contains(., 'Consultar de novo')]/@href")
    assert again == [f"{SINTEGRA}?de={unkept.json['request_id']}"]
    assert consultant.get(path + kept.json["request_id"]).status == 404


def test_receipts_belong_to_those_who_obtained_them(house: OpenHouse, browser: Browser) -> None:
    federal = asked(browser, FEDERAL, by_cnpj(GOOD))
    state = asked(browser, STATE, {"cnpj": GOOD, "uf": "SP"})
    stranger = signed_in(house, account_id=house.account("outra").account_id)
    for result, foreign in ((federal, 404), (state, 200)):
        shown, saved = result.tree.xpath("//a[contains(@href, '/app/comprovantes/')]/@href")
        assert saved == f"{shown}?baixar=1"
        said = browser.get(shown)
        assert said.status == 200
        assert said.content.startswith(b"%PDF-")
        assert said.headers["content-disposition"].startswith("inline;")
        assert said.headers["cache-control"] == "private, no-store"
        assert browser.get(saved).headers["content-disposition"].startswith("attachment;")
        assert stranger.get(shown).status == foreign
    assert Browser(house).get(shown).status == 303  # the state's too: this is the way by session
    assert browser.get("/app/comprovantes/nada").status == 404


def test_what_is_personal_stays_out_of_addresses_and_events(
    house: OpenHouse, browser: Browser
) -> None:
    addresses = []
    for path, fields in (
        (FEDERAL, by_cpf(FARMER)),
        (FEDERAL, by_cpf(FARMER, "02/01/1980")),
        (RURAL, {"cpf": FARMER, "uf": "SP"}),
    ):
        said = browser.post(path, {**fields, "form_id": f"personal-{len(addresses)}-0123"})
        addresses.append(said.location)
        page = browser.get(said.location)
        assert FARMER not in page.tree.findtext(".//title")
        assert "900.100.001-00" not in page.tree.findtext(".//title")
        addresses += page.tree.xpath("//@href | //@action")
    browser.post(FEDERAL, by_cpf(FARMER, "31/02/1980", form_id="personal-error-0123"))
    house.house.front.request_log.flush()
    told = " ".join(addresses) + house.logged.decode()
    assert "app:consultar" in told
    for secret in (FARMER, "900.100.001-00", "19800101", "01/01/1980", "1980-01-01"):
        assert secret not in told
