"""Queries of requests' charges and of consumption, on every engine."""

import asyncio

import pytest

from balcao.core.access import Account
from balcao.core.ledger import Charge, Hold
from balcao.storage.contract import Consultation, ConsumptionRow
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.world import (
    NOW,
    OPERATION,
    a_charge,
    a_hold,
    a_settle,
    a_top_up,
    account_of,
    balance,
    brasilia,
    consumption,
    entries,
    open_account,
)

# One request.


def test_an_available_answer_is_charged_at_once(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_charge(ana, "r1", 3))
    assert desk.operation(ana.account_id, "r1") == Consultation(
        request_id="r1",
        operation=OPERATION,
        key_id=ana.account_id,
        state="charged",
        held_credits=0,
        charged_credits=3,
        rule="consulta",
        origin="cache",
        opened_ms=NOW,
        settled_ms=NOW,
    )


def test_a_request_to_a_source_is_running_and_then_charged(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    number = ana.account_id
    engine.commit(desk, a_hold(ana, "r1", 3))
    assert desk.operation(number, "r1") == Consultation(
        request_id="r1",
        operation=OPERATION,
        key_id=number,
        state="running",
        held_credits=3,
        charged_credits=0,
        rule=None,
        origin=None,
        opened_ms=NOW,
        settled_ms=None,
    )

    engine.commit(desk, a_settle(ana, "r1", 2, at_ms=NOW + 900))
    assert desk.operation(number, "r1") == Consultation(
        request_id="r1",
        operation=OPERATION,
        key_id=number,
        state="charged",
        held_credits=0,
        charged_credits=2,
        rule="consulta",
        origin="online",
        opened_ms=NOW,
        settled_ms=NOW + 900,
    )


def test_a_request_that_failed_was_free(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_hold(ana, "r1", 3))
    engine.commit(desk, a_settle(ana, "r1", 0, at_ms=NOW + 900))
    said = desk.operation(ana.account_id, "r1")
    assert said is not None
    assert (said.state, said.held_credits, said.charged_credits) == ("free", 0, 0)
    assert (said.rule, said.origin, said.settled_ms) == ("error", None, NOW + 900)


def test_a_request_that_died_with_its_process_was_free(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    engine.commit(desk, a_hold(ana, "r1", 3))
    engine.kill(desk)
    next_one = engine.open()
    next_one.recover(NOW + 5)
    said = next_one.operation(ana.account_id, "r1")
    assert said is not None
    assert (said.state, said.charged_credits, said.settled_ms) == ("free", 0, NOW + 5)
    assert said.rule == "interrupted"


@pytest.mark.parametrize("paid", ["charge", "hold", "post"])
def test_requests_of_other_accounts_are_hidden(
    engine: Engine, desk: Desk, ana: Account, bruno: Account, paid: str
) -> None:
    if paid == "charge":
        engine.commit(desk, a_charge(ana, "r1"))
    else:
        engine.commit(desk, a_hold(ana, "r1"))
    if paid == "post":
        engine.commit(desk, a_settle(ana, "r1", 1))

    assert desk.operation(ana.account_id, "r1") is not None
    assert desk.operation(bruno.account_id, "r1") is None
    assert desk.operation(4711, "r1") is None


def test_a_request_that_was_never_paid_is_absent(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_charge(ana, "refused", 11))
    assert desk.operation(ana.account_id, "refused") is None
    assert desk.operation(ana.account_id, "unheard of") is None


# A period.

EARLY = brasilia("2026-08-05 00:00:00")
NOON = brasilia("2026-08-05 12:00:00")
LATE = brasilia("2026-08-05 23:59:59.999")
NEXT_DAY = brasilia("2026-08-06 00:00:00")


def test_consumption_is_grouped_by_day_operation_key_and_origin(
    engine: Engine, desk: Desk, ana: Account, bruno: Account
) -> None:
    number, key = ana.account_id, ana.account_id
    engine.commit(desk, a_charge(ana, "r1", 1, at_ms=EARLY))
    engine.commit(desk, a_charge(ana, "r2", 2, at_ms=LATE))
    engine.commit(desk, a_charge(ana, "r3", 1, at_ms=NEXT_DAY))
    engine.commit(desk, a_hold(ana, "r4", 3, at_ms=EARLY))
    engine.commit(desk, a_settle(ana, "r4", 2, at_ms=NOON))
    engine.commit(desk, a_hold(ana, "free", 1, at_ms=NOON), a_top_up(ana, 5, at_ms=NOON))
    engine.commit(desk, a_settle(ana, "free", 0, at_ms=NOON), a_hold(ana, "open", 1, at_ms=NOON))
    engine.commit(desk, a_charge(bruno, "r5", 5, at_ms=NOON))
    other = Charge(number, 99, "r6", "a-operation", 1, "consulta", "cache", NOON)
    engine.commit(desk, other)

    assert consumption(desk, number) == [
        ConsumptionRow("2026-08-05", "a-operation", 99, "cache", 1, 1),
        ConsumptionRow("2026-08-05", OPERATION, key, "cache", 2, 3),
        ConsumptionRow("2026-08-05", OPERATION, key, "online", 1, 2),
        ConsumptionRow("2026-08-06", OPERATION, key, "cache", 1, 1),
    ]


def test_a_day_need_not_have_24_hours(engine: Engine, desk: Desk, ana: Account) -> None:
    """The clock was last set forward on 4 November 2018, a day that began at one, and back on
    18 February 2018, a day after one of 25 hours."""
    instants = {
        "r1": ("2018-11-03 23:59:59", "2018-11-03"),
        "r2": ("2018-11-04 01:00:00", "2018-11-04"),
        "r3": ("2018-11-04 23:59:59", "2018-11-04"),
        "r4": ("2018-11-05 00:00:00", "2018-11-05"),
        "r5": ("2018-02-17 22:30:00", "2018-02-17"),
        "r6": ("2018-02-18 00:00:00", "2018-02-18"),
    }
    expected: dict[str, int] = {}
    for request, (wall, day) in instants.items():
        engine.commit(desk, a_charge(ana, request, at_ms=brasilia(wall)))
        expected[day] = expected.get(day, 0) + 1
    # The 25th hour of 17 February: 23:30 for the second time.
    engine.commit(desk, a_charge(ana, "r7", at_ms=brasilia("2018-02-18 00:00:00") - 1_800_000))
    expected["2018-02-17"] += 1

    found = consumption(desk, ana.account_id, "2018-01-01", "2018-12-31")
    assert {row.day: row.requests for row in found} == expected
    assert [row.day for row in found] == sorted(expected)


def test_consumption_adds_up_to_the_ledger(engine: Engine, desk: Desk) -> None:
    ana = open_account(engine, desk, "ana", credits=5_000)
    for turn in range(60):
        at_ms = NOW + turn * 3_333_333
        operation = f"operation-{turn % 3}"
        if turn % 2:
            number, key, request = ana.account_id, turn % 5, f"r{turn}"
            charge = Charge(number, key, request, operation, turn + 1, "x", "cache", at_ms)
            engine.commit(desk, charge)
        else:
            engine.commit(desk, Hold(ana.account_id, 7, f"r{turn}", operation, 90, at_ms))
            engine.commit(desk, a_settle(ana, f"r{turn}", turn, at_ms=at_ms))

    rows = consumption(desk, ana.account_id)
    posted = [entry for entry in entries(desk, ana) if entry.kind in ("charge", "post")]
    assert sum(row.credits for row in rows) == -sum(entry.credits for entry in posted)
    assert sum(row.requests for row in rows) == len(posted)
    assert sum(row.credits for row in rows) == 5_000 - balance(desk, ana).credits
    assert len({(row.day, row.operation, row.key_id, row.origin) for row in rows}) == len(rows)


def test_consumption_can_be_read_in_a_thread(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_charge(ana, "r1"))
    reading = asyncio.to_thread(consumption, desk, ana.account_id)
    assert [row.requests for row in engine.run(reading)] == [1]


# One account.


def test_an_account_is_read_in_its_present_state(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_charge(ana, "r1", 2))
    engine.commit(desk, a_hold(ana, "r2", 3))
    now = desk.account(ana.account_id)
    assert now == account_of(desk, ana)
    assert (now.balance_credits, now.held_credits, now.month_credits) == (8, 3, 2)
    with pytest.raises(LookupError):
        desk.account(4711)
