"""The front page, and unknown addresses: HTML for people, JSON for programs."""

import json

import pytest

from balcao.operations import OPERATIONS
from tests.service import Service
from tests.web.browser import Browser

AS_BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


def test_the_front_page_has_links(house: Service) -> None:
    answer = Browser(house).get("/", **AS_BROWSER)
    assert answer.status == 200
    assert {each.strip() for each in answer.headers["vary"].split(",")} == {
        "accept",
        "accept-encoding",
    }
    hrefs = {*answer.tree.xpath("//main//@href")}
    assert {"/app", "/docs", "/status"} <= hrefs
    assert {f"/docs/operacoes/{each.path}" for each in OPERATIONS.values()} <= hrefs
    first = answer.tree.xpath("string(//main//pre)")
    assert first.startswith("export BALCAO_KEY=")
    assert "curl" in first
    assert "x-api-key: $BALCAO_KEY" in first


def test_programs_get_the_addresses_as_json(house: Service) -> None:
    answer = house.request("GET", "/", None)
    assert answer.headers["content-type"] == "application/json"
    addresses = json.loads(answer.body)
    for name in ("openapi", "documentacao", "situacao"):
        path = addresses[name].partition("://")[2].partition("/")[2]
        assert house.request("GET", f"/{path}", None).status == 200


@pytest.mark.parametrize("path", ["/nada", "/nada/disso", "/favicon.ico"])
def test_unknown_addresses_are_answered_in_the_accepted_format(house: Service, path: str) -> None:
    person, machine = Browser(house).get(path, **AS_BROWSER), house.request("GET", path, None)
    assert (person.status, machine.status) == (404, 404)
    assert person.tree.xpath("//main//a[@href='/app']")
    assert json.loads(machine.body)["error"]


@pytest.mark.parametrize("path", ["/consultas/v2/nada", "/consultas/nada", "/lotes/v2"])
def test_unknown_api_addresses_are_answered_as_json(house: Service, path: str) -> None:
    answer = house.request("GET", path, None, accept=AS_BROWSER["accept"])
    assert answer.status == 404
    assert json.loads(answer.body)["error"]
