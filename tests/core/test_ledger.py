"""A purse says whether credits can be spent now, and nothing is spent that is not there."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from balcao.core.ledger import Purse, Short, available_credits, spent_credits

AUGUST, SEPTEMBER = "2026-08", "2026-09"
PREPAID = Purse("pre_pago", 10, 4, None, AUGUST, 0)
POSTPAID = Purse("pos_pago", -90, 2, 20, AUGUST, 10)


def test_prepaid_credits_that_are_held_are_not_available() -> None:
    assert PREPAID.short_of(6, AUGUST) is None
    assert PREPAID.short_of(7, AUGUST) == Short(7, 6)


def test_a_free_plan_is_prepaid_too() -> None:
    assert replace(PREPAID, plan="gratuito").short_of(7, AUGUST) == Short(7, 6)


def test_post_paid_without_a_ceiling_has_no_end() -> None:
    assert replace(POSTPAID, ceiling_credits=None).short_of(10**9, AUGUST) is None


def test_a_ceiling_counts_what_was_posted_this_month_and_what_is_held() -> None:
    assert POSTPAID.short_of(8, AUGUST) is None
    assert POSTPAID.short_of(9, AUGUST) == Short(9, 8)
    assert POSTPAID.short_of(18, SEPTEMBER) is None
    assert POSTPAID.short_of(19, SEPTEMBER) == Short(19, 18)


def test_what_comes_late_counts_in_the_month_that_has_begun() -> None:
    purse = replace(POSTPAID)
    purse.post(5, SEPTEMBER)
    assert (purse.month, purse.month_credits) == (SEPTEMBER, 5)
    purse.post(3, AUGUST)
    assert (purse.month, purse.month_credits) == (SEPTEMBER, 8)
    assert purse.short_of(11, AUGUST) == Short(11, 10)


def test_a_hold_turns_the_month_as_a_charge_does() -> None:
    purse = replace(POSTPAID)
    purse.hold(18, SEPTEMBER)
    assert (purse.month, purse.month_credits, purse.held_credits) == (SEPTEMBER, 0, 20)
    assert purse.short_of(1, SEPTEMBER) == Short(1, 0)


def test_a_ceiling_that_was_passed_says_zero_and_not_less() -> None:
    assert replace(POSTPAID, ceiling_credits=5).short_of(1, AUGUST) == Short(1, 0)


def test_an_operator_takes_back_what_is_there_and_corrects_any_debt() -> None:
    assert PREPAID.short_to_take_back(6) is None
    assert PREPAID.short_to_take_back(7) == Short(7, 6)
    assert replace(PREPAID, plan="gratuito").short_to_take_back(7) == Short(7, 6)
    assert POSTPAID.short_to_take_back(10**9) is None


def test_available_credits_of_every_plan() -> None:
    assert available_credits(PREPAID, AUGUST) == available_credits(PREPAID, SEPTEMBER) == 6
    assert available_credits(POSTPAID, AUGUST) == 8
    assert available_credits(POSTPAID, SEPTEMBER) == 18
    assert available_credits(replace(POSTPAID, ceiling_credits=None), AUGUST) is None


def test_a_new_month_has_spent_nothing() -> None:
    assert spent_credits(POSTPAID, AUGUST) == 10
    assert spent_credits(POSTPAID, SEPTEMBER) == 0
    assert spent_credits(replace(POSTPAID, month=""), AUGUST) == 0


@given(
    st.sampled_from([PREPAID, POSTPAID]),
    st.lists(
        st.tuples(
            st.sampled_from(["post", "hold", "free"]),
            st.integers(1, 12),
            st.sampled_from([AUGUST, SEPTEMBER, "2027-01"]),
        )
    ),
)
def test_who_asks_first_never_overdraws(start: Purse, moves: list[tuple[str, int, str]]) -> None:
    purse = replace(start)
    held: list[int] = []
    for kind, credits, month in moves:
        if kind == "free" and held:
            purse.hold(-held.pop(), month)
        elif kind != "free" and purse.short_of(credits, month) is None:
            if kind == "post":
                purse.post(credits, month)
            else:
                purse.hold(credits, month)
                held.append(credits)
        if purse.plan == "pre_pago":
            assert 0 <= purse.held_credits <= purse.balance_credits
        elif purse.ceiling_credits is not None:
            assert purse.month_credits + purse.held_credits <= purse.ceiling_credits
