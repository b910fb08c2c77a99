"""Calendars of certificates and what they last sent, on every engine (contract 20.7)."""

from typing import Any

import pytest

from balcao.core.access import Account
from balcao.core.calendar_feed import FeedEvent, entries_after
from balcao.core.errors import CalendarNotFound
from balcao.storage.data_subjects import HeldItem
from balcao.storage.desk.data_subjects import _forget_items
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.wallet.calendars import CalendarFilter, NewCalendar, StoredCalendar
from tests.storage.engines import Engine
from tests.storage.world import NOW
from tests.watching import a_paper, an_item


def event(paper_id: str, last_day: str) -> FeedEvent:
    return FeedEvent(paper_id, last_day, "Vence", "Válida", "https://x.test", "outra")


def test_a_calendar_remembers_its_events(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    stored, number = desk.calendars, ana.account_id

    def execute(sql: str, values: tuple[Any, ...]) -> None:
        engine.sql(sql, *values)

    chosen = CalendarFilter("loja-7", None, ("a_vencer",))
    calendar = StoredCalendar("c", number, None, "Loja", chosen, NOW)
    assert engine.run(stored.add(NewCalendar(calendar, b"hash"))) == calendar
    assert stored.of_account(number) == [calendar]
    assert stored.of_account(bruno.account_id) == []
    assert engine.run(stored.by_token(b"other")) is None
    first = entries_after({}, [event("p", "2027-01-01"), event("q", "2027-01-01")], NOW)
    engine.run(stored.write_entries("c", first))
    found = engine.run(stored.by_token(b"hash"))
    assert found == (calendar, first.entries)
    # An older reading that ends later changes nothing.
    moved = entries_after(first.entries, [event("p", "2027-06-01"), event("q", "2027-01-01")], NOW)
    engine.run(stored.write_entries("c", moved))
    engine.run(stored.write_entries("c", first))
    _, entries = engine.run(stored.by_token(b"hash")) or (None, {})
    assert entries["p"].last_day == "2027-06-01"

    # Erasing a person deletes the entries of their certificates.
    an_item(execute, number, "***.000.001-**", "produtor:SP", item_id="i", person=b"h")
    a_paper(
        execute, number, "outra", "i", paper_id="p", name="Alvará", validity="2027-06-01"
    )  # fmt: skip
    engine.run(desk.engine.run_in_writer(_forget_items([HeldItem(number, "i", 1)], NOW)))
    assert engine.sql("SELECT paper_id FROM wallet_calendar_entry") == [("q",)]
    with pytest.raises(CalendarNotFound):
        engine.run(stored.remove(bruno.account_id, "c"))
    engine.run(stored.remove(number, "c"))
    assert engine.sql("SELECT count(*) FROM wallet_calendar_entry") == [(0,)]
