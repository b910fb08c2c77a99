"""`/carteira/v1/relogio`: the clock of a test account's portfolio (contract 20.8)."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from balcao.core.calendar import next_month_ms
from balcao.home import Home
from balcao.service.clock_months import PassingMonths
from balcao.service.portfolio_clock import ClockMoves
from tests.service import Client, Reply, Service, open_service

WALLET, CLOCK, ITEMS = "/carteira/v1", "/carteira/v1/relogio", "/carteira/v1/itens"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with open_service(tmp_path_factory.mktemp("clock"), establishments=60) as house:
        yield house


def send(house: Service, method: str, path: str, body: object, by: Client, **headers: str) -> Reply:
    text = json.dumps(body).encode()
    named = {"content_type": "application/json", "content_length": str(len(text)), **headers}
    return house.request(method, path, by, body=text, **named)


def moves(house: Service) -> ClockMoves:
    return ClockMoves(
        house.desk.portfolio_clocks,
        PassingMonths(Home(house.folder).opendata("test"), house.desk.clock_months),
    )


def advance(house: Service, by: Client, days: float) -> str:
    """Move the clock by some days, as the job does. Return the time at the end."""
    now = datetime.fromisoformat(house.get(CLOCK, by).json["agora"])
    until = (now + timedelta(days=days)).isoformat()
    assert send(house, "POST", CLOCK, {"ate": until}, by).status == 202
    house.run(moves(house).run(str(by.account_id)))
    shown = house.get(CLOCK, by).json
    assert (shown["estado"], shown["real"]) == ("parado", False)
    return str(shown["agora"])


def told(house: Service, by: Client) -> list[Any]:
    events: list[Any] = house.get("/eventos/v1?limite=1000", by).json["itens"]
    return events


def test_the_clock_is_of_test_accounts_alone(house: Service) -> None:
    live = house.account("producao", mode="live")
    sent = send(house, "POST", CLOCK, {"ate": "2099-01-01T00:00:00-03:00"}, live)
    for refused in (sent, house.get(CLOCK, live), house.request("DELETE", CLOCK, live)):
        assert (refused.status, refused.code) == (404, "ROTA_NAO_ENCONTRADA")


def test_it_moves_forward_by_400_days_at_most(house: Service) -> None:
    by = house.account("limites")
    shown = house.get(CLOCK, by)
    assert (shown.credits, shown.json["estado"], shown.json["real"]) == (0, "parado", True)
    now = datetime.fromisoformat(shown.json["agora"])
    for days in (-1, 0, 401):
        refused = send(house, "POST", CLOCK, {"ate": (now + timedelta(days)).isoformat()}, by)
        assert (refused.status, refused.code) == (400, "PARAMETRO_INVALIDO"), days
    for body in ({}, {"ate": "amanha"}, {"ate": "2030-01-01T00:00:00"}, {"ate": None, "x": 1}):
        assert send(house, "POST", CLOCK, body, by).code == "PARAMETRO_INVALIDO", body
    until = (now + timedelta(399)).isoformat()
    key = {"idempotency_key": "relogio-0001"}
    moving = send(house, "POST", CLOCK, {"ate": until}, by, **key)
    assert (moving.status, moving.json["estado"], moving.json["real"]) == (202, "avancando", False)
    assert send(house, "POST", CLOCK, {"ate": until}, by, **key).body == moving.body
    later = {"ate": (now + timedelta(401)).isoformat()}
    assert send(house, "POST", CLOCK, later, by).code == "RELOGIO_AVANCANDO"
    assert house.request("DELETE", CLOCK, by).code == "RELOGIO_AVANCANDO"
    house.run(moves(house).run(str(by.account_id)))
    assert house.get(CLOCK, by).json["agora"] == moving_until(until)
    assert send(house, "POST", CLOCK, {"ate": until}, by).code == "PARAMETRO_INVALIDO"


def moving_until(until: str) -> str:
    return datetime.fromisoformat(until).isoformat(timespec="milliseconds")


def test_months_follow_each_other(house: Service) -> None:
    by = house.account("meses")
    watched = {"vigiar": ["cadastro", "socios", "simples", "filiais"]}
    for document in ("90030001000171", "90030007000149", "90030009000138", "90030006"):
        added = send(house, "POST", ITEMS, {"documento": document, **watched}, by)
        assert added.status == 201, added.body
    advance(house, by, 62)  # the first days of two months at least
    events = told(house, by)
    first, second = (
        [each for each in events if each["dados"].get("competencia") == month]
        for month in ("2026-09", "2026-10")
    )
    assert [each["tipo"] for each in first] == [
        "base.trocada", "empresa.situacao", "empresa.apareceu", "empresa.filial",
        "carteira.comparada",
    ]  # fmt: skip
    assert [each["tipo"] for each in second] == [
        "base.trocada", "empresa.situacao", "empresa.sumiu", "empresa.filial",
        "carteira.comparada",
    ]  # fmt: skip
    situation = [each["dados"]["para"] for each in (first[1], second[1])]
    assert situation == ["ATIVA", "INAPTA"]
    assert [each["dados"]["sequencia"] for each in (first[1], second[1])] == [1, 2]
    assert all(each["em"][8:] == "01T00:00:00.000-03:00" for each in (*first, *second))
    counts = {"itens": 4, "comparados": 4, "com_mudanca": 3, "nao_verificados": 0}
    assert first[-1]["dados"].items() >= counts.items()
    assert house.get(WALLET, by).json["ultima_comparacao"]["comparados"] == 4
    assert events[-1]["tipo"] == "carteira.relogio"
    (item,) = house.get(f"{ITEMS}?documento=90030001000171", by).json["itens"]
    assert item["cadastro"]["competencia"] >= "2026-10"

    assert house.request("DELETE", CLOCK, by).json["real"] is True
    assert told(house, by) == []
    (item,) = house.get(f"{ITEMS}?documento=90030001000171", by).json["itens"]
    assert (item["cadastro"]["situacao"], item["cadastro"]["competencia"]) == ("INAPTA", "2026-08")
    assert item["sequencia"] >= 2


def test_a_comparison_that_is_repeated_writes_nothing_twice(house: Service) -> None:
    by = house.account("de-novo")
    send(house, "POST", ITEMS, {"documento": "90030001000171"}, by)
    advance(house, by, 31)
    events = told(house, by)
    clocks, stored = house.desk.portfolio_clocks, house.desk.clock_months
    clock = house.run(clocks.find(by.account_id))
    assert clock is not None
    first = next_month_ms(clock.from_ms)
    again = msgspec.structs.replace(clock, now_ms=first, until_ms=first + 1)
    house.run(PassingMonths(Home(house.folder).opendata("test"), stored).compare(again))
    assert told(house, by) == events
