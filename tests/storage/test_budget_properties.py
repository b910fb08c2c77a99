"""Random charges, holds, settlements and changes by two processes: budgets equal a model.

`BALCAO_TEST_EXAMPLES` is the number of accounts on SQLite, and a third of it on PostgreSQL.
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from balcao.core.access import Account
from balcao.core.budgets import Budget, BudgetUse, OverBudget, excess, owners_of, period_of
from balcao.core.ledger import Change, Charge, Hold
from balcao.core.people import AT_THE_TERMINAL
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine, SqliteEngine
from tests.storage.world import a_charge, a_hold, a_settle, brasilia, open_account

EXAMPLES = int(os.environ.get("BALCAO_TEST_EXAMPLES", "12"))
DAYS = [brasilia(f"2026-{day} 12:00:00") for day in ("08-30", "08-31", "09-01")]
CLIENTS, BATCH = ("loja-7", "outro"), "0198f2d4-0000-7000-8000-000000000001"

CEILINGS = st.one_of(st.none(), st.integers(0, 14))
MARKS = st.tuples(st.sampled_from([*CLIENTS, None]), st.sampled_from([BATCH, None]))
SPENDING = st.tuples(
    st.sampled_from(["charge", "hold"]), st.integers(1, 4), st.sampled_from(DAYS), MARKS
)
SETTLING = st.tuples(st.just("settle"), st.integers(0, 9), st.integers(0, 4), st.none())
CHANGING = st.tuples(st.just("change"), st.integers(0, 4), CEILINGS, CEILINGS)
TOGETHER = st.lists(SPENDING, min_size=2, max_size=4)
# Each step is one commit of one of two processes.
STEPS = st.lists(
    st.tuples(st.integers(0, 1), st.one_of(SPENDING, SETTLING, CHANGING, TOGETHER)),
    min_size=8,
    max_size=20,
)


@dataclass
class Plain:
    """The model: acknowledged changes, counted one by one."""

    budgets: list[Budget]
    uses: dict[tuple[int, str], BudgetUse] = field(default_factory=dict)
    holds: list[tuple[str, int, list[tuple[int, str]]]] = field(default_factory=list)
    changes: Counter[str] = field(default_factory=Counter)

    def spend(self, change: Charge | Hold) -> OverBudget | None:
        """Return the expected outcome of a change."""
        owners = owners_of(change.key_id, change.client, change.batch_id)
        covering = [b for owner in owners for b in self.budgets if (b.owner_kind, b.owner) == owner]
        named = [(b.budget_id, period_of(b.period, change.at_ms)) for b in covering]
        for budget, name in zip(covering, named, strict=True):
            use = self.uses.setdefault(name, BudgetUse())
            if (refused := excess(budget, use, name[1], change.credits)) is not None:
                return refused
        for name in named:
            use = self.uses[name]
            use.calls += 1
            if isinstance(change, Hold):
                use.held_credits += change.credits
            else:
                use.spent_credits += change.credits
        if isinstance(change, Hold):
            self.holds.append((change.request_id, change.credits, named))
        return None

    def settle(self, which: int, credits: int) -> tuple[str, int]:
        """Remove a random hold; return its number and the credits to charge."""
        request, held, named = self.holds.pop(which % len(self.holds))
        charged = min(credits, held)
        for name in named:
            use = self.uses[name]
            use.held_credits -= held
            use.spent_credits += charged
            use.calls -= not charged
        return request, charged


def _budgets(account: Account, ceilings: Sequence[tuple[int | None, int | None]]) -> list[Budget]:
    number = account.account_id
    whose = [
        ("chave", str(number), "dia"), ("chave", str(number), "uma_vez"),
        ("lote", BATCH, "uma_vez"), ("cliente", CLIENTS[0], "mes"), ("cliente", CLIENTS[1], "dia"),
    ]  # fmt: skip
    return [
        Budget(
            0, number, f"{number}-{place}", "x", kind, owner, period,  # type: ignore[arg-type]
            credits if credits is not None or calls is not None else 9, calls, None, 80, DAYS[0],
        )
        for place, ((kind, owner, period), (credits, calls)) in enumerate(
            zip(whose, ceilings, strict=True)
        )
    ]  # fmt: skip


def test_budgets_equal_the_acknowledged_changes(engine: Engine, desk: Desk) -> None:
    desks, names, requests = (desk, engine.open()), count(), count()

    @settings(
        max_examples=EXAMPLES if type(engine) is SqliteEngine else max(1, EXAMPLES // 3),
        deadline=None,
        suppress_health_check=[*HealthCheck],
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
    )
    @given(st.lists(st.tuples(CEILINGS, CEILINGS), min_size=5, max_size=5), STEPS)
    def play(
        ceilings: list[tuple[int | None, int | None]], steps: list[tuple[int, object]]
    ) -> None:
        account = open_account(engine, desk, f"conta-{next(names)}", credits=10_000)
        made = [
            engine.run(desk.budgets.make(each, AT_THE_TERMINAL))
            for each in _budgets(account, ceilings)
        ]
        plain = Plain(made)
        for which, step in steps:
            _step(engine, desks[which], account, plain, step, requests)
        _compare(desks[0], account, plain)
        assert not desk.check().complaints
        while plain.holds:  # leaves nothing open for the next account
            request, credits = plain.settle(0, 0)
            assert engine.commit(desks[1], a_settle(account, request, credits)) is None
        _compare(desks[1], account, plain)

    play()


def _step(  # noqa: PLR0917 - of one place
    engine: Engine, desk: Desk, account: Account, plain: Plain, step: object, numbers: "count[int]"
) -> None:
    def spending(one: Any) -> Charge | Hold:
        what, credits, at_ms, (client, batch) = one
        make = a_charge if what == "charge" else a_hold
        change = make(account, f"{account.account_id}-{next(numbers)}", credits, at_ms=at_ms)
        return replace(change, client=client, batch_id=batch)

    match step:
        case list():
            lists: list[list[Change]] = []
            expected = []
            for one in step:
                change = spending(one)
                lists.append([change])
                expected.append(plain.spend(change))
            assert list(engine.together(desk, *lists)) == expected
        case ("settle", int() as which, int() as credits, _):
            if plain.holds:
                request, charged = plain.settle(which, credits)
                assert engine.commit(desk, a_settle(account, request, charged)) is None
        case ("change", int() as which, credits, calls):
            if (credits, calls) != (None, None):
                _change(engine, desk, plain, which, credits, calls)
        case (str(), int(), int(), tuple()):
            change = spending(step)
            assert engine.commit(desk, change) == plain.spend(change)


def _change(  # noqa: PLR0917 - of one place
    engine: Engine, desk: Desk, plain: Plain, which: int, credits: object, calls: object
) -> None:
    before = plain.budgets[which]
    after = replace(before, credits_max=credits, calls_max=calls)
    work = desk.budgets.change(
        before.account_id,
        before.number,
        lambda now: replace(now, credits_max=credits, calls_max=calls),
        AT_THE_TERMINAL,
        DAYS[-1],
    )
    engine.run(work)
    plain.budgets[which] = after
    plain.changes[before.number] += 1


def _compare(desk: Desk, account: Account, plain: Plain) -> None:
    for budget in plain.budgets:
        for at_ms in DAYS:
            now = desk.budgets.one(account.account_id, budget.number, at_ms)
            assert now.budget == budget
            use = plain.uses.get((budget.budget_id, now.period), BudgetUse())
            assert replace(now.use, warned_percent=0) == use
            if not plain.changes[budget.number]:
                assert budget.credits_max is None or (
                    use.spent_credits + use.held_credits <= budget.credits_max
                )
                assert budget.calls_max is None or use.calls <= budget.calls_max
    told = Counter(
        (event.kind, body["orcamento"], body["quando"])
        for event in desk.events.after(account.account_id, 0, 1_000)
        for body in [json.loads(event.body)]
    )
    for (_, number, _), times in told.items():
        assert times <= 1 + plain.changes[number]  # a change may be followed by another event
