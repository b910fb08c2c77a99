"""Schedules and stops of portfolios' lookups, on every engine (contract 20.4)."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from balcao.core.access import Account
from balcao.core.data_subject import DataSubject
from balcao.core.documents import Cpf
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.wallet import Recheck
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.data_subjects import _forget_items
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.purchases import oldest_due
from balcao.storage.desk.rechecks import RECHECK
from tests.records import CNPJ, CPF, OTHER_CNPJ
from tests.storage.engines import Engine
from tests.storage.world import DAY_MS, NOW
from tests.watching import an_item


def test_schedules_and_stops(engine: Engine, desk: Desk, ana: Account) -> None:
    number, stored = ana.account_id, desk.rechecks

    def execute(sql: str, values: tuple[Any, ...]) -> None:
        engine.sql(sql, *values)

    def settings(ceiling: int, recheck: Recheck | None) -> None:
        engine.run(
            desk.wallets.change_settings(
                number,
                lambda before: msgspec.structs.replace(before, recheck=recheck),
                ceiling,
                lambda: "orcamento",
                AT_THE_TERMINAL,
                NOW,
            )
        )

    def due() -> list[tuple[Any, ...]]:
        return engine.sql(
            "SELECT item_id FROM wallet_item WHERE recheck_ms IS NOT NULL ORDER BY item_id"
        )

    settings(0, Recheck(7))
    an_item(execute, number, CNPJ, "suframa", item_id="a", recheck_ms=0)
    an_item(execute, number, OTHER_CNPJ, "cadastro", item_id="b", recheck_ms=0)
    assert engine.run(stored.plan(NOW)) == 2
    assert due() == []
    settings(5, Recheck(7))
    assert engine.run(stored.plan(NOW)) == 2
    assert due() == [("a",)]
    assert engine.run(stored.plan(NOW)) == 0
    assert engine.run(stored.enqueue_due(NOW)) == 0
    later = NOW + DAY_MS
    engine.run(desk.purchases.stop(number, "saldo", later, None))
    engine.run(desk.purchases.stop(number, "teto", later, None))
    assert engine.run(stored.enqueue_due(later)) == 0
    assert oldest_due(desk.engine.connection, later).recheck_ms is None
    (stopped,) = engine.run(desk.purchases.stopped())
    assert stopped.reason == "saldo"
    engine.run(desk.purchases.resume(stopped, later))
    engine.run(desk.purchases.resume(stopped, later))
    engine.run(desk.purchases.stop(number, "saldo", later + 1, None))
    (again,) = engine.run(desk.purchases.stopped())
    engine.run(desk.purchases.resume(stopped, later))
    assert engine.run(desk.purchases.stopped()) == [again]
    engine.run(desk.purchases.resume(again, later))
    events = desk.events.after(number, 0, 10)
    assert [each.kind for each in events] == ["carteira.parada", "carteira.retomada"]
    assert msgspec.json.decode(events[0].body) == {
        "motivo": "saldo", "atingidos": 1, "volta_em": None,
    }  # fmt: skip
    oldest = oldest_due(desk.engine.connection, later).recheck_ms
    assert oldest is not None
    assert NOW < oldest <= later
    assert engine.run(stored.enqueue_due(later)) == 1
    assert engine.run(stored.enqueue_due(later)) == 0
    assert engine.sql("SELECT kind, about FROM job") == [(RECHECK, "a")]
    item = engine.run(stored.item("a"))
    assert item is not None
    assert (item.may_buy, item.recheck_ms, item.attempts) == (True, oldest, 0)
    engine.run(stored.note_asked("a", ["suframa"], later))
    noted = engine.run(stored.item("a"))
    assert noted is not None
    engine.run(stored.finish(item, noted.next_ms(later), 0))
    assert oldest_due(desk.engine.connection, later).recheck_ms is None
    assert oldest_due(desk.engine.connection, later + 8 * DAY_MS).recheck_ms == oldest + 8 * DAY_MS
    engine.run(stored.finish(item, None, 3))  # of an earlier schedule
    assert due() == [("a",)]


class _Noted:
    """A connection that notes which table each statement changes."""

    def __init__(self, connection: SqlConnection, tables: list[str]) -> None:
        self._connection, self._tables = connection, tables

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, sql: str, values: tuple[Any, ...] = ()) -> Any:
        verb, *words = sql.split()
        if verb in {"UPDATE", "DELETE"}:
            self._tables.append(words[0] if verb == "UPDATE" else words[1])
        return self._connection.execute(sql, values)


def test_an_account_is_locked_before_its_items(
    engine: Engine, desk: Desk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of own lookups, which change the same rows in transactions of their own."""
    tables: list[str] = []

    async def noted(work: Callable[[SqlConnection], Any]) -> Any:
        tables.clear()
        return await desk.engine.run_in_writer(
            lambda connection: work(_Noted(connection, tables))  # type: ignore[arg-type]
        )

    def execute(sql: str, values: tuple[Any, ...]) -> None:
        engine.sql(sql, *values)

    monkeypatch.setattr(desk.rechecks, "_run_in_writer", noted)
    person = DataSubject(Cpf(CPF), b"p" * 16, "e")
    an_item(
        execute, ana.account_id, "***100001**", "produtor:SP", person=b"p" * 16, item_id="a",
        recheck_ms=0,
    )  # fmt: skip
    engine.run(
        desk.wallets.change_settings(
            ana.account_id, lambda before: before, 5, lambda: "orcamento", AT_THE_TERMINAL, NOW
        )
    )
    assert engine.run(desk.rechecks.plan(NOW)) == 1
    assert tables == ["account", "wallet_item"]
    engine.run(desk.rechecks.note_asked("a", ["produtor:SP"], NOW))
    assert tables == ["account", "wallet_item"]
    held = desk.data_subjects.held(person)
    engine.run(noted(_forget_items(held.items, NOW)))
    assert tables == ["account", "event", "wallet_item_paper", "wallet_tag", "wallet_item"]
