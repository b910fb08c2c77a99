"""Correction after a clock that was ahead, on every engine (ADR 0025)."""

import pytest

from balcao.core.access import Account
from balcao.core.ledger import InsufficientFunds
from balcao.core.rate_limit import Limit
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.world import (
    DAY_MS,
    NOW,
    a_charge,
    a_hash,
    a_hold,
    a_settle,
    brasilia,
    open_account,
)

SEPTEMBER = NOW + 30 * DAY_MS
DAILY = Limit("dia", 3, DAY_MS)


def account_now(desk: Desk, account: Account) -> tuple[str, int]:
    now = desk.account(account.account_id)
    return now.month, now.month_credits


def test_a_future_month_is_corrected(engine: Engine, desk: Desk) -> None:
    lia = open_account(engine, desk, "lia", plan="pos_pago", ceiling_credits=10)
    july = brasilia("2026-07-30 12:00:00")
    assert engine.commit(desk, a_charge(lia, "r0", 3, at_ms=july)) is None
    assert engine.commit(desk, a_charge(lia, "r1", 4)) is None
    assert engine.commit(desk, a_hold(lia, "r2", 2)) is None
    assert engine.commit(desk, a_settle(lia, "r2", 2)) is None
    assert engine.commit(desk, a_charge(lia, "r3", 1, at_ms=SEPTEMBER)) is None
    assert account_now(desk, lia) == ("2026-09", 1)

    assert engine.run(desk.correct_future_months(NOW)) == 1
    assert account_now(desk, lia) == ("2026-08", 6)
    assert engine.run(desk.correct_future_months(NOW)) == 0
    assert engine.commit(desk, a_charge(lia, "r4", 5)) == InsufficientFunds(5, 4)
    assert engine.commit(desk, a_charge(lia, "r4", 4)) is None
    assert account_now(desk, lia) == ("2026-08", 10)
    assert not desk.check().complaints


def test_the_present_month_is_not_changed(engine: Engine, desk: Desk) -> None:
    lia = open_account(engine, desk, "lia", plan="pos_pago", ceiling_credits=10)
    turn = brasilia("2026-09-01 00:00:00")
    # A node with a clock slightly ahead is in the new month already.
    assert engine.commit(desk, a_charge(lia, "r1", 4, at_ms=turn)) is None
    assert engine.run(desk.correct_future_months(turn - 50)) == 0
    assert account_now(desk, lia) == ("2026-09", 4)


def test_holds_made_meanwhile_keep_the_ceiling(engine: Engine, desk: Desk) -> None:
    lia = open_account(engine, desk, "lia", plan="pos_pago", ceiling_credits=10)
    assert engine.commit(desk, a_charge(lia, "r1", 8)) is None
    assert engine.commit(desk, a_hold(lia, "r2", 9, at_ms=SEPTEMBER)) is None
    assert engine.run(desk.correct_future_months(NOW)) == 1
    assert account_now(desk, lia) == ("2026-08", 1)
    assert engine.commit(desk, a_charge(lia, "r3", 1)) == InsufficientFunds(1, 0)


def admitted(engine: Engine, desk: Desk, now_ms: int, of: int = 5) -> int:
    caller = engine.run(desk.caller(a_hash("ana"), now_ms))
    assert caller is not None
    verdicts = [engine.run(desk.spend(caller, [DAILY], now_ms)) for _ in range(of)]
    return sum(verdict.allowed for (verdict,) in verdicts)


@pytest.mark.parametrize("ahead_ms", [DAY_MS // 2, DAY_MS, 90 * DAY_MS])
def test_limits_counted_in_the_future_are_reset(
    engine: Engine, desk: Desk, ana: Account, ahead_ms: int
) -> None:
    assert admitted(engine, desk, NOW + ahead_ms) == 3
    engine.run(desk.forget_limits(NOW))
    assert admitted(engine, desk, NOW) == 3
    assert admitted(engine, desk, NOW) == 0


def test_the_books_have_the_latest_instant(engine: Engine) -> None:
    first = engine.open()
    first.recover(NOW)
    lia = open_account(engine, first, "ana", plan="pos_pago")
    assert admitted(engine, first, NOW + 7_000, of=1) == 1
    assert engine.commit(first, a_charge(lia, "r1", at_ms=NOW + 7_000)) is None
    engine.run(first.recover_others(NOW + 7_000))
    assert engine.open().latest_instant() == NOW + 7_000


def test_an_unconfirmed_clock_is_not_in_the_books(engine: Engine) -> None:
    """The second process to start must not trust a wrong clock because of the first."""
    first = engine.open()
    first.recover(NOW)
    lia = open_account(engine, first, "ana", plan="pos_pago")
    first.set_clock_doubt(30 * DAY_MS)
    later = NOW + 30 * DAY_MS + 7_000
    assert admitted(engine, first, later, of=1) == 1
    assert engine.commit(first, a_charge(lia, "r1", at_ms=later)) is None
    engine.run(first.recover_others(later))
    engine.run(first.heartbeat(later))
    assert engine.open().latest_instant() == NOW + 7_000
