"""Decisions about budgets: owner, period, amount, and events."""

import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from balcao.core.budgets import (
    COVERING_MAX,
    OWNED_MAX,
    PERIOD_KINDS,
    Budget,
    BudgetUse,
    OverBudget,
    PeriodKind,
    event_body,
    exceeds_limits,
    excess,
    next_period_ms,
    owners_of,
    percent_used,
    period_of,
    threshold_reached,
    validated,
    warnings_due,
)
from balcao.core.calendar import BRASILIA, to_ms
from balcao.core.errors import InvalidParameter

COMPANY, FEDERAL = "cnpj-receita-federal", "certidao-negativa-de-debitos-federal"
PATHS = (COMPANY, FEDERAL, "suframa")
MONTHLY = Budget(
    1, 7, "0198f2d4", "Chave 3", "chave", "3", "mes", 100, None, None, 80, created_ms=0
)


def brasilia(text: str) -> int:
    return to_ms(datetime.fromisoformat(text).replace(tzinfo=BRASILIA))


@pytest.mark.parametrize(
    ("at", "day", "month", "day_ends", "month_ends"),
    [
        ("2026-11-30 23:59:59", "2026-11-30", "2026-11", "2026-12-01", "2026-12-01"),
        ("2026-12-01 00:00:00", "2026-12-01", "2026-12", "2026-12-02", "2027-01-01"),
        ("2026-12-31 23:59:59", "2026-12-31", "2026-12", "2027-01-01", "2027-01-01"),
        ("2028-02-29 12:00:00", "2028-02-29", "2028-02", "2028-03-01", "2028-03-01"),
        # Summer time began: that day has no midnight, and begins at one o'clock.
        ("2018-11-03 12:00:00", "2018-11-03", "2018-11", "2018-11-04 01:00", "2018-12-01"),
    ],
)
def test_a_period_is_a_civil_one_of_brasilia(
    at: str, day: str, month: str, day_ends: str, month_ends: str
) -> None:
    instant = brasilia(at)
    assert [period_of(kind, instant) for kind in PERIOD_KINDS] == ["", day, month]
    assert next_period_ms("") is None
    assert next_period_ms(day) == brasilia(day_ends)
    assert next_period_ms(month) == brasilia(month_ends)


@given(st.sampled_from(["dia", "mes"]), st.integers(1_500_000_000_000, 2_000_000_000_000))
def test_a_period_begins_when_the_one_before_ends(kind: PeriodKind, at_ms: int) -> None:
    ends_ms = next_period_ms(period_of(kind, at_ms))
    assert ends_ms is not None
    assert at_ms < ends_ms
    assert period_of(kind, ends_ms - 1) == period_of(kind, at_ms) < period_of(kind, ends_ms)


def test_owners_are_judged_key_batch_client() -> None:
    assert owners_of(3, "acme", "0198") == [("chave", "3"), ("lote", "0198"), ("cliente", "acme")]
    assert owners_of(None, None, None) == []


@pytest.mark.parametrize(
    ("use", "credits", "refused"),
    [
        (BudgetUse(), 100, None),
        (BudgetUse(spent_credits=98), 2, None),
        (BudgetUse(spent_credits=99), 2, (99, 0)),
        (BudgetUse(spent_credits=50, held_credits=49), 1, None),
        (BudgetUse(spent_credits=50, held_credits=49), 2, (50, 49)),
        (BudgetUse(held_credits=100), 1, (0, 100)),
        (BudgetUse(spent_credits=120), 1, (120, 0)),  # the ceiling was lowered
    ],
)
def test_spent_and_held_never_pass_the_ceiling(
    use: BudgetUse, credits: int, refused: tuple[int, int] | None
) -> None:
    told = excess(MONTHLY, use, "2026-11", credits)
    if refused is None:
        assert told is None
    else:
        again = brasilia("2026-12-01 00:00:00")
        assert told == OverBudget("chave", 100, *refused, credits, again)


def test_operations_are_counted_where_they_have_a_ceiling() -> None:
    three = replace(MONTHLY, credits_max=None, calls_max=3, period="uma_vez")
    assert excess(three, BudgetUse(calls=2), "", 999) is None
    assert excess(three, BudgetUse(calls=3), "", 1) == OverBudget(
        "chave", 3, 3, 0, 1, None, "calls"
    )
    assert excess(replace(three, calls_max=0), BudgetUse(), "", 1) is not None


@pytest.mark.parametrize(
    ("spent", "told_before", "refused", "due", "reached"),
    [
        (79, 0, False, [], 0),
        (80, 0, False, ["teto.aviso"], 80),
        (99, 80, False, [], 80),
        (100, 80, False, ["teto.atingido"], 100),
        (100, 0, False, ["teto.aviso", "teto.atingido"], 100),
        (100, 100, True, [], 100),
        (10, 0, True, ["teto.atingido"], 100),  # the request needed more than was left
        (90, 100, True, [], 100),
    ],
)
def test_a_threshold_is_told_once(
    spent: int, told_before: int, refused: bool, due: list[str], reached: int
) -> None:
    use = BudgetUse(spent_credits=spent, warned_percent=told_before)
    assert warnings_due(MONTHLY, use, refused=refused) == due
    assert threshold_reached(MONTHLY, use, refused=refused) == reached


def test_at_a_hundred_percent_there_is_one_warning() -> None:
    late = replace(MONTHLY, warn_percent=100)
    assert warnings_due(late, BudgetUse(spent_credits=100)) == ["teto.atingido"]


def test_the_nearer_of_two_ceilings_is_what_is_used() -> None:
    both = replace(MONTHLY, calls_max=10)
    assert percent_used(both, BudgetUse(spent_credits=20, calls=9)) == 90
    assert percent_used(replace(MONTHLY, credits_max=0), BudgetUse()) == 0


@given(st.lists(st.tuples(st.integers(1, 30), st.booleans()), max_size=60), st.integers(1, 99))
def test_whatever_is_charged_each_threshold_is_told_once(
    charges: list[tuple[int, bool]], warn: int
) -> None:
    budget, use, told = replace(MONTHLY, warn_percent=warn), BudgetUse(), list[str]()
    for credits, _ in charges:
        refused = excess(budget, use, "2026-11", credits) is not None
        if not refused:
            use.spent_credits += credits
        told += warnings_due(budget, use, refused=refused)
        reached = threshold_reached(budget, use, refused=refused)
        use.warned_percent = max(use.warned_percent, reached)
        assert use.spent_credits <= 100
    assert len(told) == len(set(told))
    if use.spent_credits >= warn and "teto.atingido" not in told:
        assert told == ["teto.aviso"]


def test_an_event_says_the_numbers_and_no_more() -> None:
    use = BudgetUse(spent_credits=80, held_credits=4, calls=42)
    body = json.loads(event_body(MONTHLY, use, "2026-11"))
    assert body["de"] == {"tipo": "chave", "id": "3"}
    assert (body["usado_creditos"], body["reservado_creditos"], body["percentual"]) == (80, 4, 80)
    assert body["volta_em"] == "2026-12-01T00:00:00.000-03:00"


@pytest.mark.parametrize(
    ("new", "others", "crowded"),
    [
        (None, [None], False),
        (None, [None, None], True),
        ([COMPANY], [None, [COMPANY]], True),
        ([FEDERAL], [None, [COMPANY]], False),
        (None, [[COMPANY], [FEDERAL]], False),
        (None, [[COMPANY, FEDERAL], [FEDERAL]], True),
    ],
)
def test_an_operation_is_covered_by_so_many_budgets_at_most(
    new: list[str] | None, others: list[list[str] | None], crowded: bool
) -> None:
    beside = [
        replace(MONTHLY, operations=None if scope is None else tuple(scope)) for scope in others
    ]
    assert exceeds_limits("chave", new, beside) is crowded


def test_all_owners_together_cover_it_four_times_at_most() -> None:
    assert COVERING_MAX["chave"] + COVERING_MAX["cliente"] + COVERING_MAX["lote"] == 4
    assert COVERING_MAX["carteira"] == COVERING_MAX["lote"]
    many = [replace(MONTHLY, operations=(f"operacao-{number}",)) for number in range(OWNED_MAX)]
    assert exceeds_limits("chave", ["outra"], many)


@pytest.mark.parametrize(
    ("wrong", "member"),
    [
        ({"name": " "}, "nome"),
        ({"name": "x" * 81}, "nome"),
        ({"credits_max": None}, "teto_creditos"),
        ({"credits_max": -1}, "teto_creditos"),
        ({"calls_max": 10**12}, "teto_consultas"),
        ({"warn_percent": 0}, "aviso_percentual"),
        ({"warn_percent": 101}, "aviso_percentual"),
        ({"operations": ()}, "operacoes"),
        ({"operations": ("nada",)}, "operacoes"),
    ],
)
def test_what_does_not_fit_is_told_by_its_member(wrong: dict[str, object], member: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        validated(replace(MONTHLY, **wrong), PATHS)
    assert refused.value.detail.startswith(f"{member}:")


def test_operations_come_in_their_usual_order_each_once() -> None:
    mixed = replace(MONTHLY, operations=("suframa", COMPANY, "suframa"))
    assert validated(mixed, PATHS).operations == (COMPANY, "suframa")
