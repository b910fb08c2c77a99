"""Budgets on every engine: exact with every kind of charge, period and crash."""

import json
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from balcao.core.access import Account, KeyRestrictions
from balcao.core.budgets import Budget, OverBudget, owners_of
from balcao.core.compat_apis import compat_operation
from balcao.core.errors import (
    BudgetBoundToOwner,
    BudgetNotFound,
    InvalidParameter,
    StillRunning,
    TooManyBudgets,
)
from balcao.core.idempotency import RecordedAnswer
from balcao.core.ledger import Change, Finish, InsufficientFunds
from balcao.core.people import AT_THE_TERMINAL
from balcao.storage.contract import NewKey
from balcao.storage.desk.budgets import BudgetNow
from balcao.storage.desk.desk import Desk
from balcao.storage.numbers import least_number
from tests.storage.engines import Engine
from tests.storage.people import a_trace, together
from tests.storage.world import (
    DAY_MS,
    KEPT_MS,
    NOW,
    OPERATION,
    a_charge,
    a_hold,
    a_settle,
    brasilia,
    open_account,
)

FIRST = "0198f2d4-0000-7000-8000-000000000001"
Make = Callable[..., Budget]


@pytest.fixture
def rich(engine: Engine, desk: Desk) -> Account:
    return open_account(engine, desk, "rica", credits=1_000)


@pytest.fixture
def make(engine: Engine, desk: Desk, rich: Account) -> Make:
    """Create a budget of the account's key, of ten credits a month by default."""
    numbers = iter(range(1, 100))

    def made(**fields: object) -> Budget:
        usual = Budget(
            0, rich.account_id, f"{FIRST[:-2]}{next(numbers):02d}", "da chave", "chave",
            str(rich.account_id), "mes", 10, None, None, 80, NOW,
        )  # fmt: skip
        return engine.run(desk.budgets.make(replace(usual, **fields), AT_THE_TERMINAL))

    return made


def now(desk: Desk, budget: Budget, at_ms: int = NOW) -> tuple[int, int, int]:
    """Return credits spent, credits held and calls."""
    use = desk.budgets.one(budget.account_id, budget.number, at_ms).use
    return use.spent_credits, use.held_credits, use.calls


def charged_lookup(account: Account, number: int, credits: int = 1) -> list[Change]:
    """Return a charge with its trace, as a charged lookup."""
    request = f"{least_number(NOW + number)}-7abc-8000-000000000000"
    charge = a_charge(account, request, credits, at_ms=NOW + number)
    return [together(charge, a_trace(account, request, credits=credits, opened_ms=NOW + number))]


def kinds_told(desk: Desk, account: Account) -> list[str]:
    return [event.kind for event in desk.events.after(account.account_id, 0, 100)]


def test_charges_holds_and_charged_lookups_count_to_the_last_credit(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    budget = make()
    assert engine.commit(desk, a_charge(rich, "r1", 2)) is None
    assert engine.commit(desk, *charged_lookup(rich, 1, 3)) is None
    assert engine.commit(desk, a_hold(rich, "r2", 4)) is None
    assert now(desk, budget) == (5, 4, 3)
    again = brasilia("2026-09-01 00:00:00")
    refused = OverBudget("chave", 10, 5, 4, 2, again)
    for too_much in (
        [a_charge(rich, "r3", 2)],
        charged_lookup(rich, 2, 2),
        [a_hold(rich, "r4", 2)],
    ):
        assert engine.commit(desk, *too_much) == refused
    assert engine.commit(desk, *charged_lookup(rich, 3, 1)) is None
    assert engine.commit(desk, a_settle(rich, "r2", 2)) is None
    assert now(desk, budget) == (8, 0, 4)
    assert engine.commit(desk, *charged_lookup(rich, 4, 2)) is None
    assert engine.commit(desk, *charged_lookup(rich, 5, 1)) == OverBudget(
        "chave", 10, 10, 0, 1, again
    )
    assert not desk.check().complaints
    assert desk.check().budgets == 1


def test_lists_of_one_commit_are_decided_one_after_another(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    budget = make()
    outcomes = engine.together(desk, *[charged_lookup(rich, number, 3) for number in range(5)])
    assert [outcome is None for outcome in outcomes] == [True, True, True, False, False]
    assert now(desk, budget) == (9, 0, 3)
    assert not desk.check().complaints


def test_a_voided_hold_releases_everything(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    budget = make(credits_max=None, calls_max=1)
    assert engine.commit(desk, a_hold(rich, "r1", 5)) is None
    assert now(desk, budget) == (0, 5, 1)
    refused = engine.commit(desk, a_charge(rich, "r2"))
    assert refused == OverBudget("chave", 1, 1, 0, 1, brasilia("2026-09-01 00:00:00"), "calls")
    assert engine.commit(desk, a_settle(rich, "r1", 0)) is None
    assert now(desk, budget) == (0, 0, 0)
    assert engine.commit(desk, a_charge(rich, "r3")) is None
    assert not desk.check().complaints


def test_holds_of_a_dead_process_are_released(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    monthly, daily = make(), make(period="dia")
    assert engine.commit(desk, a_hold(rich, "r1", 4), a_hold(rich, "r2", 3)) is None
    assert engine.commit(desk, a_charge(rich, "r3", 1)) is None
    engine.kill(desk)
    desk = engine.open()
    assert desk.recover(NOW + DAY_MS) == 2
    assert now(desk, monthly) == now(desk, daily) == (1, 0, 1)
    assert not desk.check().complaints


def test_a_hold_counts_in_the_period_it_was_opened_in(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    daily = make(period="dia")
    late, early = brasilia("2026-08-05 23:59:59"), brasilia("2026-08-06 00:00:01")
    assert engine.commit(desk, a_hold(rich, "r1", 10, at_ms=late)) is None
    assert engine.commit(desk, a_charge(rich, "r2", 10, at_ms=early)) is None
    assert engine.commit(desk, a_settle(rich, "r1", 7, at_ms=early)) is None
    assert (now(desk, daily, late), now(desk, daily, early)) == ((7, 0, 1), (10, 0, 1))
    # A clock that was set back counts in the former day again.
    assert engine.commit(desk, a_charge(rich, "r3", 3, at_ms=late)) is None
    assert engine.commit(desk, a_charge(rich, "r4", 1, at_ms=late)) is not None
    assert not desk.check().complaints


def test_budgets_that_cover_an_operation(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    key = make(credits_max=100)
    client = make(owner_kind="cliente", owner="acme", period="uma_vez")
    batch = make(owner_kind="lote", owner="0198", period="uma_vez", operations=(OPERATION,))
    marked = replace(a_charge(rich, "r1", 2), client="acme", batch_id="0198")
    assert engine.commit(desk, marked) is None
    assert engine.commit(desk, replace(a_charge(rich, "r2", 3), client="outro")) is None
    assert engine.commit(desk, replace(a_charge(rich, "r3", 4), key_id=None)) is None
    elsewhere = replace(a_charge(rich, "r4", 5), batch_id="0198", operation="suframa")
    assert engine.commit(desk, elsewhere) is None
    assert [now(desk, each)[0] for each in (key, client, batch)] == [10, 2, 2]
    found = desk.budgets.covering(
        rich.account_id, owners_of(rich.account_id, "acme", "0198"), OPERATION, NOW
    )
    assert [each.budget.number for each in found] == [key.number, batch.number, client.number]
    refused = engine.commit(desk, replace(marked, request_id="r5", credits=9))
    assert isinstance(refused, OverBudget)
    assert (refused.owner_kind, refused.next_period_ms) == ("lote", None)
    assert not desk.check().complaints


def test_the_account_comes_before_its_budgets(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    make()
    assert engine.commit(desk, a_charge(rich, "r1", 1_001)) == InsufficientFunds(1_001, 1_000)


def test_each_threshold_has_one_event_in_the_commit_of_its_cause(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    make(period="dia")
    assert engine.commit(desk, *charged_lookup(rich, 1, 7)) is None
    assert kinds_told(desk, rich) == []
    assert engine.commit(desk, *charged_lookup(rich, 2, 1)) is None
    assert engine.commit(desk, *charged_lookup(rich, 3, 1)) is None
    assert kinds_told(desk, rich) == ["teto.aviso"]
    for number in (4, 5):
        assert engine.commit(desk, *charged_lookup(rich, number, 2)) is not None
    assert kinds_told(desk, rich) == ["teto.aviso", "teto.atingido"]
    assert engine.commit(desk, *charged_lookup(rich, 6, 1)) is None
    tomorrow = NOW + DAY_MS
    assert engine.commit(desk, a_hold(rich, "r1", 10, at_ms=tomorrow)) is None
    assert len(kinds_told(desk, rich)) == 2
    assert engine.commit(desk, a_settle(rich, "r1", 10, at_ms=tomorrow)) is None
    assert kinds_told(desk, rich)[2:] == ["teto.aviso", "teto.atingido"]
    told, *_ = desk.events.after(rich.account_id, 0, 1)
    assert json.loads(told.body)["usado_creditos"] == 8
    assert len(desk.events.after(rich.account_id, told.number, 10)) == 3
    assert engine.run(desk.events.purge(tomorrow)) == 2


def test_a_change_is_in_force_at_once_and_a_ceiling_below_the_use_refuses_all(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    budget = make()
    assert engine.commit(desk, *charged_lookup(rich, 1, 8)) is None

    def change(**fields: object) -> BudgetNow:
        return engine.run(
            desk.budgets.change(
                rich.account_id,
                budget.number,
                lambda before: replace(before, **fields),
                AT_THE_TERMINAL,
                NOW,
            )
        )

    assert change(credits_max=5, name="menor").use.spent_credits == 8
    assert engine.commit(desk, *charged_lookup(rich, 2, 1)) is not None
    checked = desk.check()
    assert not checked.complaints
    assert len(checked.remarks) == 1
    assert kinds_told(desk, rich) == ["teto.aviso", "teto.atingido"]
    assert change(credits_max=20).use.warned_percent == 0  # below the threshold again
    assert engine.commit(desk, *charged_lookup(rich, 3, 8)) is None
    assert kinds_told(desk, rich)[2:] == ["teto.aviso"]
    deeds = [entry.action for entry in desk.people.audit(10) if entry.action.startswith("budget")]
    assert deeds == ["budget.change", "budget.change", "budget.create"]


def test_an_ended_budget_covers_nothing_and_is_not_found(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    budget = make()
    assert engine.commit(desk, a_hold(rich, "r1", 9)) is None
    engine.run(desk.budgets.end(rich.account_id, budget.number, AT_THE_TERMINAL, NOW))
    with pytest.raises(BudgetNotFound):
        desk.budgets.one(rich.account_id, budget.number, NOW)
    assert desk.budgets.of_account(rich.account_id, NOW) == []
    assert engine.commit(desk, *charged_lookup(rich, 1, 9)) is None
    assert engine.commit(desk, a_settle(rich, "r1", 9)) is None
    assert kinds_told(desk, rich) == []
    assert not desk.check().complaints


def test_budgets_that_an_owner_can_have(
    engine: Engine, desk: Desk, ana: Account, make: Make
) -> None:
    make(), make(period="dia")
    with pytest.raises(TooManyBudgets):
        make(period="uma_vez")
    for nobody in (str(ana.account_id), "999", "x"):
        with pytest.raises(InvalidParameter):
            make(owner=nobody)
    assert engine.run(_page(desk, make)) == 2


async def _page(desk: Desk, make: Make) -> int:
    (account_id,) = {
        each.account_id for each in desk.accounts() if desk.budgets.of_account(each.account_id, NOW)
    }
    first = desk.budgets.of_account(account_id, NOW, limit=1)
    rest = desk.budgets.of_account(account_id, NOW, after=first[0].budget.budget_id)
    return len(first) + len(rest)


def test_charged_lookups_keep_their_budgets_when_they_become_entries(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    make()
    assert engine.commit(desk, *charged_lookup(rich, 1, 3)) is None
    engine.sql("DELETE FROM charged_lookup")
    assert desk.check().entries == 2
    assert not desk.check().complaints


def test_an_answer_is_recorded_in_the_commit_that_creates(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    recorded = RecordedAnswer("r1", 201, b"{}")
    kept = Finish(rich.account_id, "digest", "f", recorded, NOW, NOW + KEPT_MS)
    usual = make()
    new = replace(usual, number=f"{FIRST}-", period="dia")
    engine.run(desk.budgets.make(new, AT_THE_TERMINAL, lambda made: kept))
    attempt = engine.run(desk.find_attempt(rich.account_id, "digest", NOW))
    assert attempt is not None
    assert attempt.recorded == recorded
    engine.run(desk.budgets.end(rich.account_id, usual.number, AT_THE_TERMINAL, NOW))
    again = replace(new, number=f"{FIRST}x", period="uma_vez")
    with pytest.raises(StillRunning):
        engine.run(desk.budgets.make(again, AT_THE_TERMINAL, lambda made: kept))
    assert len(desk.budgets.of_account(rich.account_id, NOW)) == 1


def test_the_constraints_of_the_schema(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    make()
    assert engine.commit(desk, *charged_lookup(rich, 1, 8)) is None
    for statement in (
        "UPDATE budget_use SET spent_credits = 11",
        "UPDATE budget_use SET held_credits = -1",
        "UPDATE budget SET owner = 'x'",
        "DELETE FROM budget",
        "UPDATE event SET kind = 'x'",
    ):
        with pytest.raises(engine.wall):
            engine.sql(statement)
    engine.sql("UPDATE budget SET ended_ms = 1")
    with pytest.raises(engine.wall):
        engine.sql("UPDATE budget SET ended_ms = 2")


def test_a_face_key_keeps_a_daily_ceiling_as_long_as_it_is_in_force(
    engine: Engine, desk: Desk, rich: Account, make: Make
) -> None:
    """Contract 16.4."""
    restrictions = KeyRestrictions(("10.0.0.0/8",), (compat_operation("brasilapi"),))
    key = desk.create_key(
        NewKey(rich.account_id, "face", "p", b"f" * 32, restrictions=restrictions), NOW
    )

    def end(budget: Budget) -> None:
        engine.run(desk.budgets.end(rich.account_id, budget.number, AT_THE_TERMINAL, NOW))

    def narrow(budget: Budget) -> None:
        engine.run(
            desk.budgets.change(
                rich.account_id,
                budget.number,
                lambda before: replace(before, operations=(OPERATION,)),
                AT_THE_TERMINAL,
                NOW,
            )
        )

    daily = make(owner=str(key.key_id), period="dia")
    monthly = make(owner=str(key.key_id))
    end(monthly)
    for deed in (end, narrow):
        with pytest.raises(BudgetBoundToOwner):
            deed(daily)
    assert now(desk, daily) == (0, 0, 0)
    another = make(owner=str(key.key_id), period="dia", credits_max=5)
    end(daily)
    with pytest.raises(BudgetBoundToOwner):
        end(another)
    desk.revoke_key(key.key_id, NOW)
    end(another)
    usual = make(period="dia")  # of a key that is no face key
    narrow(usual)
    end(usual)
