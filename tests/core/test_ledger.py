"""Checks of a balance: only available credits are spent."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from balcao.core.ledger import Balance, InsufficientFunds, available_credits, spent_credits

AUGUST, SEPTEMBER = "2026-08", "2026-09"
PREPAID = Balance("pre_pago", 10, 4, None, AUGUST, 0)
POSTPAID = Balance("pos_pago", -90, 2, 20, AUGUST, 10)


def test_prepaid_credits_that_are_held_are_not_available() -> None:
    assert PREPAID.shortfall(6, AUGUST) is None
    assert PREPAID.shortfall(7, AUGUST) == InsufficientFunds(7, 6)


def test_a_free_plan_is_prepaid_too() -> None:
    assert replace(PREPAID, plan="gratuito").shortfall(7, AUGUST) == InsufficientFunds(7, 6)


def test_post_paid_without_a_ceiling_has_no_end() -> None:
    assert replace(POSTPAID, ceiling_credits=None).shortfall(10**9, AUGUST) is None


def test_a_ceiling_counts_what_was_posted_this_month_and_what_is_held() -> None:
    assert POSTPAID.shortfall(8, AUGUST) is None
    assert POSTPAID.shortfall(9, AUGUST) == InsufficientFunds(9, 8)
    assert POSTPAID.shortfall(18, SEPTEMBER) is None
    assert POSTPAID.shortfall(19, SEPTEMBER) == InsufficientFunds(19, 18)


def test_what_comes_late_counts_in_the_month_that_has_begun() -> None:
    balance = replace(POSTPAID)
    balance.post(5, SEPTEMBER)
    assert (balance.month, balance.month_credits) == (SEPTEMBER, 5)
    balance.post(3, AUGUST)
    assert (balance.month, balance.month_credits) == (SEPTEMBER, 8)
    assert balance.shortfall(11, AUGUST) == InsufficientFunds(11, 10)


def test_a_hold_turns_the_month_as_a_charge_does() -> None:
    balance = replace(POSTPAID)
    balance.hold(18, SEPTEMBER)
    assert (balance.month, balance.month_credits, balance.held_credits) == (SEPTEMBER, 0, 20)
    assert balance.shortfall(1, SEPTEMBER) == InsufficientFunds(1, 0)


def test_a_ceiling_that_was_passed_says_zero_and_not_less() -> None:
    assert replace(POSTPAID, ceiling_credits=5).shortfall(1, AUGUST) == InsufficientFunds(1, 0)


def test_an_operator_takes_back_what_is_there_and_corrects_any_debt() -> None:
    assert PREPAID.shortfall_if_taken_back(6) is None
    assert PREPAID.shortfall_if_taken_back(7) == InsufficientFunds(7, 6)
    assert replace(PREPAID, plan="gratuito").shortfall_if_taken_back(7) == InsufficientFunds(7, 6)
    assert POSTPAID.shortfall_if_taken_back(10**9) is None


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
def test_who_asks_first_never_overdraws(start: Balance, moves: list[tuple[str, int, str]]) -> None:
    balance = replace(start)
    held: list[int] = []
    for kind, credits, month in moves:
        if kind == "free" and held:
            balance.hold(-held.pop(), month)
        elif kind != "free" and balance.shortfall(credits, month) is None:
            if kind == "post":
                balance.post(credits, month)
            else:
                balance.hold(credits, month)
                held.append(credits)
        if balance.plan == "pre_pago":
            assert 0 <= balance.held_credits <= balance.balance_credits
        elif balance.ceiling_credits is not None:
            assert balance.month_credits + balance.held_credits <= balance.ceiling_credits
