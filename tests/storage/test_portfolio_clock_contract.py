"""Clocks of test portfolios on every engine (contract 20.8)."""

import asyncio
import json
from typing import Any

import pytest

from balcao.core.access import Account
from balcao.core.certificates import CertificateSummary
from balcao.core.errors import ClockMoving, InvalidParameter
from balcao.core.freshness import DAY_MS
from balcao.core.observations import Observation, ObservedCertificate
from balcao.core.papers import paper_key
from balcao.core.portfolio_clock import PortfolioClock
from balcao.storage.desk.desk import Desk
from tests.records import CNPJ
from tests.storage.engines import Engine
from tests.storage.world import NOW, a_charge
from tests.watching import a_paper, an_item

UNTIL = NOW + 20 * DAY_MS


def move(desk: Desk, account: Account, until_ms: int = UNTIL) -> PortfolioClock:
    return asyncio.run(desk.portfolio_clocks.move(account.account_id, until_ms, NOW))


def arrive(engine: Engine, desk: Desk, account: Account) -> None:
    """Stop the clock at its end, as its job does."""
    clock = asyncio.run(desk.portfolio_clocks.find(account.account_id))
    assert clock is not None
    asyncio.run(desk.portfolio_clocks.arrive(clock))
    engine.sql("UPDATE job SET state = 'done'")


def give_up(desk: Desk, account: Account) -> None:
    asyncio.run(desk.portfolio_clocks.give_up(account.account_id))


def told(desk: Desk, account: Account) -> list[tuple[str, Any, int]]:
    events = desk.events.after(account.account_id, 0, 100)
    return [(each.kind, json.loads(each.body), each.at_ms) for each in events]


def watch(engine: Engine, account: Account, item_id: str) -> str:
    return an_item(
        lambda sql, values: engine.sql(sql, *values),
        account.account_id,
        CNPJ,
        "certidao_federal",
        item_id=item_id,
        client=item_id,
        checked={"suframa": 7},
    )


def paper(engine: Engine, account: Account, *items: str, **columns: Any) -> str:
    return a_paper(
        lambda sql, values: engine.sql(sql, *values),
        account.account_id,
        "certidao_federal",
        *items,
        subject=CNPJ[:8],
        **columns,
    )


def brought(account: Account, request: str, validity: str, run: int | None) -> Observation:
    """Return the observation of a lookup, by the clock's run or in real time."""
    summary = CertificateSummary("CND", validity, None, None, None, "2026-08-05")
    key = paper_key("certidao_federal", "", CNPJ, None)
    answer = ObservedCertificate(key, "fonte", NOW + 1, summary, None, 2, None, None)
    return Observation(
        account.account_id, "test", request, "federal_certificate", CNPJ, None, (),
        NOW + DAY_MS, answer, run,
    )  # fmt: skip


def validity(engine: Engine, paper_id: str) -> Any:
    sql = f"SELECT validity, purchases, next_ms FROM wallet_paper WHERE paper_id = '{paper_id}'"
    (row,) = engine.sql(sql)
    return tuple(row)


def test_a_clock_moves_forward_and_arrives(engine: Engine, desk: Desk, ana: Account) -> None:
    clock = move(desk, ana)
    assert (clock.run, clock.from_ms, clock.now_ms, clock.until_ms) == (1, NOW, NOW, UNTIL)
    with pytest.raises(ClockMoving):
        move(desk, ana)
    with pytest.raises(ClockMoving):
        give_up(desk, ana)
    asyncio.run(desk.portfolio_clocks.advance(clock, NOW + DAY_MS))
    asyncio.run(desk.portfolio_clocks.advance(clock, NOW + 2 * DAY_MS))  # of another process
    found = asyncio.run(desk.portfolio_clocks.find(ana.account_id))
    assert found is not None
    assert found.now_ms == NOW + DAY_MS
    asyncio.run(desk.portfolio_clocks.arrive(found))
    arrive_again = found
    asyncio.run(desk.portfolio_clocks.arrive(arrive_again))
    assert [(kind, at_ms) for kind, _, at_ms in told(desk, ana)] == [("carteira.relogio", UNTIL)]
    for until_ms in (UNTIL - 1, UNTIL, UNTIL + 401 * DAY_MS):
        with pytest.raises(InvalidParameter):
            move(desk, ana, until_ms)
    assert move(desk, ana, UNTIL + 400 * DAY_MS).run == 1


def test_giving_it_up_forgets_what_it_brought(engine: Engine, desk: Desk, ana: Account) -> None:
    mine = paper(engine, ana, watch(engine, ana, "i1"), verdict="CND", validity="2026-08-20")
    move(desk, ana)
    late = watch(engine, ana, "i2")
    engine.sql(f"INSERT INTO wallet_item_paper (item_id, paper_id) VALUES ('{late}', '{mine}')")
    engine.commit(desk, a_charge(ana, "q1"), brought(ana, "q1", "2027-02-01", 1))
    engine.sql("UPDATE wallet_paper SET purchases = 1, next_ms = 5")
    engine.sql("UPDATE wallet_item SET checked = NULL, suframa = '{\"codigo\": 1}'")
    assert [(kind, at_ms) for kind, _, at_ms in told(desk, ana)] == [("certidao.renovada", NOW)] * 2
    # A process that died for good does not keep the portfolio.
    engine.sql("UPDATE job SET state = 'failed'")
    give_up(desk, ana)
    assert told(desk, ana) == []
    assert validity(engine, mine) == ("2026-08-20", 0, 0)
    items = engine.sql("SELECT checked, suframa, sequence FROM wallet_item ORDER BY item_id")
    assert [tuple(row) for row in items] == [
        ('{"suframa": {"data_ms": 7}}', None, 1),
        (None, None, 1),
    ]
    assert asyncio.run(desk.portfolio_clocks.find(ana.account_id)) is None
    give_up(desk, ana)  # again: nothing happens
    engine.commit(desk, a_charge(ana, "q2"), brought(ana, "q2", "2027-03-01", None))
    assert [body["sequencia"] for _, body, _ in told(desk, ana)] == [2, 2]
    assert move(desk, ana).run == 2


def test_copies_go_with_their_items(engine: Engine, desk: Desk, ana: Account) -> None:
    item = watch(engine, ana, "i1")
    paper(engine, ana, item, verdict="CND", validity="2026-08-20")
    move(desk, ana)
    for statement in ("wallet_item_paper", "wallet_item", "wallet_paper"):
        engine.sql(f"DELETE FROM {statement}")
    for copies in ("wallet_item_before", "wallet_paper_before"):
        assert [tuple(row) for row in engine.sql(f"SELECT count(*) FROM {copies}")] == [(0,)]


def test_lookups_in_real_time_do_not_touch_a_portfolio_that_is_ahead(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    mine = paper(engine, ana, watch(engine, ana, "i1"), verdict="CND", validity="2026-08-20")
    engine.commit(desk, brought(ana, "q0", "2026-09-01", 1))  # of no clock
    move(desk, ana)
    engine.commit(desk, a_charge(ana, "q1"), brought(ana, "q1", "2027-02-01", None))
    engine.commit(desk, brought(ana, "q2", "2027-02-02", 2))  # of another run
    assert validity(engine, mine)[0] == "2026-08-20"
    assert told(desk, ana) == []
    engine.commit(desk, a_charge(ana, "q3"), brought(ana, "q3", "2027-02-03", 1))
    assert validity(engine, mine)[0] == "2027-02-03"
