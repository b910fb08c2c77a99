"""The bare address, and addresses where nothing is: pages for people, JSON for machines."""

import json

import pytest

from balcao.operations import OPERATIONS
from tests.service import Service
from tests.web.browser import Browser

AS_BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_the_bare_address_is_a_page_that_leads_on(house: Service) -> None:
    said = Browser(house).get("/", **AS_BROWSER)
    assert said.status == 200
    assert {each.strip() for each in said.headers["vary"].split(",")} == {
        "accept",
        "accept-encoding",
    }
    hrefs = {*said.tree.xpath("//main//@href")}
    assert {"/app", "/docs", "/status"} <= hrefs
    assert {f"/docs/operacoes/{each.path}" for each in OPERATIONS.values()} <= hrefs
    first = said.tree.xpath("string(//main//pre)")
    assert first.startswith("export BALCAO_KEY=")
    assert "curl" in first
    assert "x-api-key: $BALCAO_KEY" in first


def test_machines_are_told_where_everything_is(house: Service) -> None:
    said = house.request("GET", "/", None)
    assert said.headers["content-type"] == "application/json"
    told = json.loads(said.body)
    for name in ("openapi", "documentacao", "situacao"):
        path = told[name].partition("://")[2].partition("/")[2]
        assert house.request("GET", f"/{path}", None).status == 200


@pytest.mark.parametrize("path", ["/nada", "/nada/disso", "/favicon.ico"])
def test_who_is_lost_is_told_so_in_the_own_way(house: Service, path: str) -> None:
    person, machine = Browser(house).get(path, **AS_BROWSER), house.request("GET", path, None)
    assert (person.status, machine.status) == (404, 404)
    assert person.tree.xpath("//main//a[@href='/app']")
    assert json.loads(machine.body)["error"]


@pytest.mark.parametrize("path", ["/consultas/v2/nada", "/consultas/nada", "/lotes/v2"])
def test_below_the_api_everybody_is_told_in_its_form(house: Service, path: str) -> None:
    said = house.request("GET", path, None, accept=AS_BROWSER["accept"])
    assert said.status == 404
    assert json.loads(said.body)["error"]
