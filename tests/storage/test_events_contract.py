"""Events and their numbers, on every engine (contract 19.1)."""

import json
from collections.abc import Sequence
from threading import Thread
from typing import Any

import pytest

from balcao.core.access import Account
from balcao.core.event_feed import FeedFilter
from balcao.core.events import NewEvent, event_id, event_number
from balcao.core.item_events import ItemEvent, ItemHead
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.events import write_events
from balcao.storage.desk.item_events import HEAD_COLUMNS, head_of, write_item_events
from tests.storage.engines import Engine
from tests.storage.world import NOW

CNPJ = "11222333000181"


def an_event(account: Account, cause: str | None = None, **more: Any) -> NewEvent:
    return NewEvent(account.account_id, "saldo.baixo", NOW, "{}", cause, **more)


def test_a_cause_has_one_event(engine: Engine, desk: Desk, ana: Account, bruno: Account) -> None:
    engine.commit(desk, an_event(ana, "c"), an_event(bruno, "c"), an_event(ana))
    engine.commit(desk, an_event(ana, "c"), an_event(ana), an_event(ana, "d", silent=True))
    assert [one.silent for one in desk.events.after(ana.account_id, 0, 10)] == [0, 0, 0, 1]
    assert len(desk.events.after(bruno.account_id, 0, 10)) == 1

    def again(connection: SqlConnection) -> Any:
        with connection.transaction():
            return write_events(connection, [an_event(ana, "c"), an_event(ana, "e")])

    known, new = engine.run(desk.engine.run_in_writer(again))
    assert known is None
    assert desk.events.after(ana.account_id, 0, 10)[-1].number == new
    assert event_number(event_id(new)) == new
    assert event_number("evt_x") is None


def test_the_last_number_outlives_its_event(engine: Engine, desk: Desk, ana: Account) -> None:
    assert engine.run(desk.events.last_number()) == 0
    engine.commit(desk, an_event(ana), an_event(ana))
    engine.run(desk.events.purge(NOW + 1))
    assert (engine.run(desk.events.last()), engine.run(desk.events.last_number())) == (0, 2)


def test_events_never_change(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, an_event(ana))
    for change in ("kind = 'x'", "body = 'x'", "at_ms = 1"):
        with pytest.raises(Exception, match="stays so"):
            engine.sql(f"UPDATE event SET {change}")
    engine.sql("UPDATE event SET body = '{\"apagado\":true}'")


def _an_item(connection: SqlConnection, account: Account) -> ItemHead:
    connection.execute(
        "INSERT INTO wallet_item (item_id, account_id, document, root, client, reference, tags,"
        " watched, registrations, handled_ms, created_ms)"
        " VALUES ('i', ?, ?, ?, '', 'r1', '[\"a\"]', '[]', '[]', 1, 1)",
        (account.account_id, CNPJ, CNPJ[:8]),
    )
    sql = f"SELECT {', '.join(HEAD_COLUMNS)} FROM wallet_item"
    return head_of(connection.execute(sql).fetchone())


def test_events_of_an_item_are_numbered_without_holes(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    def write(causes: str) -> Any:
        events = [ItemEvent("empresa.nome", cause, NOW, "x", {"de": "A"}) for cause in causes]

        def work(connection: SqlConnection) -> Any:
            with connection.transaction():
                return write_item_events(connection, head, events)

        return engine.run(desk.engine.run_in_writer(work))

    head = engine.run(desk.engine.run_in_writer(lambda connection: _an_item(connection, ana)))
    assert engine.sql("SELECT watched FROM account WHERE name = 'ana'") == [(1,)]
    assert [len(write(causes)) for causes in ("ab", "bc", "abc", "d")] == [2, 1, 0, 1]
    bodies = [json.loads(one.body) for one in desk.events.after(ana.account_id, 0, 10)]
    assert [body["sequencia"] for body in bodies] == [1, 2, 3, 4]
    assert bodies[0] == {
        "item": {"id": "i", "ref": "r1", "cliente": None, "etiquetas": ["a"]},
        "cnpj": CNPJ, "pessoa": False, "fonte": "x", "dados_de": None, "competencia": None,
        "sequencia": 1, "de": "A",
    }  # fmt: skip
    assert engine.sql("SELECT sequence, handled_ms FROM wallet_item") == [(4, None)]
    engine.sql("UPDATE wallet_item SET ended_ms = 5")
    assert write("z") == ()
    assert engine.sql("SELECT watched FROM account WHERE name = 'ana'") == [(0,)]


def test_no_page_shows_an_event_before_an_earlier_one(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    """A commit that is delayed holds back later events of its account, of other processes too."""
    other = engine.open()

    def read(after: int) -> Sequence[int]:
        page = engine.run(desk.events.page(ana.account_id, after, 9, 0, FeedFilter()))
        return [event.number for event in page.events]

    def write_later() -> None:
        with other.engine.write_in_place() as here, here.transaction():
            write_events(here, [an_event(ana)])

    later = Thread(target=write_later)
    with desk.engine.write_in_place() as here, here.transaction():
        (first,) = write_events(here, [an_event(ana)])
        later.start()
        later.join(0.1)  # without the lock it would be done by now
        assert read(0) == []
    later.join()
    numbers = read(0)
    assert (len(numbers), numbers[0], numbers == sorted(numbers)) == (2, first, True)
    assert read(numbers[0]) == numbers[1:]
    other.close()
