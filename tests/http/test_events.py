"""The feed of events: `/eventos/v1` (contract 19.2)."""

import json
from typing import Any

import msgspec
import pytest

from balcao.core.access import KeyRestrictions
from balcao.core.budgets import Budget, BudgetUse, event_body, event_cause
from balcao.core.event_types import EVENT_TYPES
from balcao.core.events import NewEvent, event_id
from balcao.core.freshness import DAY_MS
from balcao.service.expiring_keys import ExpiringKeys
from tests.service import Client, Service, assert_refused

ALL = "/eventos/v1"


def write(world: Service, *kinds: str, of: Client | None = None, **more: Any) -> None:
    account_id, now = (of or world.client).account_id, world.clock()
    events = [
        NewEvent(account_id, kind, now, f'{{"de":{i}}}', **more) for i, kind in enumerate(kinds)
    ]
    assert world.desk.commit_now(events) is None


def page(world: Service, query: str = "", by: Client | None = None) -> tuple[list[str], str]:
    answer = world.get(f"{ALL}?{query}", by or world.client)
    assert (answer.status, answer.credits) == (200, 0), answer.body
    assert answer.json["request_id"] == answer.headers["x-request-id"]
    return [each["tipo"] for each in answer.json["itens"]], answer.json["cursor"]


def test_pages_follow_each_other(world: Service) -> None:
    kinds = ["lote.cotado", "teto.aviso", "lote.concluido", "saldo.baixo", "chave.vence"]
    write(world, *kinds)
    write(world, "balcao.ping", webhook_id="w")
    write(world, "saldo.baixo", of=world.account("outra"))
    read, cursor = page(world, "limite=2")
    for _ in range(4):
        more, cursor = page(world, f"limite=2&depois={cursor}")
        read += more
    assert read == kinds
    write(world, "teto.atingido", silent=True)
    assert page(world, f"depois={cursor}")[0] == ["teto.atingido"]
    first = world.get(ALL).json["itens"][0]
    assert first["id"] == event_id(1)
    assert first["em"].startswith("20")
    assert first["dados"] == {"de": 0}


def test_an_empty_page_goes_on_after_events_of_other_types(world: Service) -> None:
    write(world, "lote.cotado", "lote.concluido")
    read, cursor = page(world, "tipo=certidao.*,teto.aviso")
    assert (read, page(world, "depois=agora")) == ([], ([], cursor))
    write(world, "certidao.vencida", "saldo.baixo", "teto.aviso")
    wanted = ["certidao.vencida", "teto.aviso"]
    assert page(world, f"tipo=certidao.*,teto.aviso&depois={cursor}")[0] == wanted
    assert page(world, f"depois={cursor}")[0] == ["certidao.vencida", "saldo.baixo", "teto.aviso"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("tipo=lote", "PARAMETRO_INVALIDO"),
        ("tipo=lote.cotado,", "PARAMETRO_INVALIDO"),
        ("tipo=nada.*", "PARAMETRO_INVALIDO"),
        ("cliente=90010000100", "MARCA_COM_CPF"),
        ("depois=ontem", "CURSOR_INVALIDO"),
        ("depois=1-2-3", "CURSOR_INVALIDO"),
        ("depois=", "CURSOR_INVALIDO"),
        ("depois=%D9%A1-1", "CURSOR_INVALIDO"),
        ("depois=1-1800000000000", "CURSOR_INVALIDO"),  # ahead of all events
        ("item=%00", "PARAMETRO_INVALIDO"),
        ("cliente=loja%00", "PARAMETRO_INVALIDO"),
    ],
)
def test_refusals(world: Service, query: str, code: str) -> None:
    assert_refused(world.get(f"{ALL}?{query}"), 400, code)


def test_cursors_expire_with_the_first_event_after_them(world: Service) -> None:
    write(world, "lote.cotado", "lote.pausado")
    world.clock.advance(days=1)
    write(world, "lote.concluido")
    _, first = page(world, "limite=1")
    _, second = page(world, f"limite=1&depois={first}")
    _, last = page(world)
    world.clock.advance(days=89, seconds=1)
    for deleted in (False, True):
        if deleted:
            world.run(world.desk.events.purge(world.clock() - 90 * DAY_MS))
        refused = world.get(f"{ALL}?depois={first}")
        assert_refused(refused, 410, "CURSOR_VENCIDO")
        oldest = refused.json["cursor_mais_antigo"]
        for known in ("", f"depois={oldest}", f"depois={second}"):
            assert page(world, known)[0] == ["lote.concluido"]
        # A reader that was up to date has lost nothing.
        assert page(world, f"depois={last}")[0] == []


def test_unchanged_pages_are_not_sent_again(world: Service) -> None:
    write(world, "lote.cotado")
    etag = world.get(ALL).headers["etag"]
    again = world.get(ALL, if_none_match=etag)
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
    assert again.headers["x-creditos-cobrados"] == "0"
    write(world, "lote.concluido")
    assert world.get(ALL, if_none_match=etag).status == 200


def test_a_key_that_names_its_client_sees_that_client_alone(world: Service) -> None:
    key = world.another_key(world.client, restrictions=KeyRestrictions(client_required=True))
    write(world, "empresa.nome", item_id="i", client="sul")
    write(world, "empresa.porte", item_id="j", client="norte")
    write(world, "saldo.baixo")
    assert_refused(world.get(ALL, key), 400, "CLIENTE_OBRIGATORIO")
    assert page(world, "cliente=sul", key)[0] == ["empresa.nome"]
    assert [e["tipo"] for e in world.get(ALL, key, x_cliente="norte").json["itens"]] == [
        "empresa.porte"
    ]
    assert_refused(
        world.get(f"{ALL}?cliente=sul", key, x_cliente="norte"), 400, "PARAMETRO_INVALIDO"
    )
    assert page(world, "item=j")[0] == ["empresa.porte"]
    assert len(page(world)[0]) == 3


def test_the_types_are_listed(world: Service) -> None:
    listed = world.get(f"{ALL}/tipos").json["itens"]
    assert [each["tipo"] for each in listed] == [*EVENT_TYPES]
    assert listed[0]["pagina"] == "/docs/eventos/empresa.situacao"


def test_a_keys_expiry_is_announced_once(world: Service) -> None:
    world.another_key(world.client, expires_in_seconds=20 * 86_400)
    keys = ExpiringKeys(world.desk, world.clock)
    read: list[int] = []
    for days in (0, 7, 0, 12, 0.5):  # at 20, 13, 13, 1 and half a day
        world.clock.advance(days=days)
        world.run(keys.poll())
        found = world.get(f"{ALL}?tipo=chave.*").json["itens"]
        read = [each["dados"]["dias"] for each in found]
    assert read == [14, 1]


def test_data_are_as_in_the_catalogue(world: Service) -> None:
    """Of the events that this part of the service writes."""
    budget, use = a_budget(), BudgetUse(spent_credits=80, calls=9)
    found = json.loads(event_body(budget, use, "2026-08"))
    msgspec.convert(found, type(EVENT_TYPES["teto.aviso"].example))
    assert (found["usado"], found["teto"], found["unidade"]) == (9, 10, "consultas")
    assert event_cause(budget, "2026-08", "teto.aviso") != event_cause(
        budget, "2026-08", "teto.atingido"
    )


def a_budget() -> Budget:
    return Budget(1, 1, "n", "nome", "chave", "3", "mes", 100, 10, None, 80, 0)


def test_changes_of_the_portfolio_are_the_events_about_its_items(world: Service) -> None:
    changes = "/carteira/v1/mudancas"
    write(world, "lote.cotado", "carteira.comparada")
    for month, kind in (("2026-06", "empresa.nome"), ("2026-07", "empresa.porte")):
        body = f'{{"competencia":"{month}","para":"\\"competencia\\":\\"2026-05\\""}}'
        event = NewEvent(world.client.account_id, kind, world.clock(), body, item_id="i")
        assert world.desk.commit_now([event]) is None
    first = world.get(f"{changes}?limite=1")
    assert [each["tipo"] for each in first.json["itens"]] == ["empresa.nome"]
    rest = world.get(f"{changes}?depois={first.json['cursor']}")
    assert [each["tipo"] for each in rest.json["itens"]] == ["empresa.porte"]
    assert page(world, f"depois={rest.json['cursor']}")[0] == []
    for month, found in (("2026-07", ["empresa.porte"]), ("2026-05", [])):
        only = world.get(f"{changes}?competencia={month}").json["itens"]
        assert [each["tipo"] for each in only] == found
    etag = first.headers["etag"]
    assert world.get(f"{changes}?limite=1", if_none_match=etag).status == 304
    for query, code in (
        ("competencia=2026-13", "PARAMETRO_INVALIDO"),
        ("depois=x", "CURSOR_INVALIDO"),
    ):
        assert_refused(world.get(f"{changes}?{query}"), 400, code)
