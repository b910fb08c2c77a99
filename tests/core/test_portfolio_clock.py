"""The clock of a test portfolio: how far it moves, and where it stops (contract 20.8)."""

from datetime import datetime

import pytest

from balcao.core.calendar import BRASILIA, to_ms
from balcao.core.errors import InvalidParameter
from balcao.core.portfolio_clock import (
    PortfolioClock,
    check_move,
    day_after,
    month_after,
    months_passed,
)

DAY_MS = 86_400_000


def at(text: str) -> int:
    return to_ms(datetime.fromisoformat(text).replace(tzinfo=BRASILIA))


def clock(now: str, until: str | None = None, begun: str = "2026-11-28T10:00") -> PortfolioClock:
    return PortfolioClock(1, 1, at(begun), at(now), None if until is None else at(until))


@pytest.mark.parametrize(
    ("move_ms", "allowed"),
    [(1, True), (0, False), (-1, False), (400 * DAY_MS, True), (400 * DAY_MS + 1, False)],
)
def test_it_moves_forward_by_400_days_at_most(move_ms: int, allowed: bool) -> None:
    now_ms = at("2026-11-28T10:00")
    if allowed:
        check_move(now_ms, now_ms + move_ms)
    else:
        with pytest.raises(InvalidParameter):
            check_move(now_ms, now_ms + move_ms)


@pytest.mark.parametrize(
    ("now", "until", "due", "stop"),
    [
        ("2026-11-28T10:00", "2026-12-08T10:00", [], "2026-11-29T06:00"),
        ("2026-11-28T05:59", "2026-12-08T10:00", [], "2026-11-28T06:00"),
        ("2026-11-30T06:00", "2026-12-08T10:00", [], "2026-12-01T00:00"),
        ("2026-12-01T00:00", "2026-12-08T10:00", [], "2026-12-01T06:00"),
        ("2026-11-28T10:00", "2026-12-08T10:00", ["2026-11-28T10:20"], "2026-11-28T10:20"),
        # What is due already was tried.
        ("2026-11-28T10:00", "2026-12-08T10:00", ["2026-11-28T10:00", None], "2026-11-29T06:00"),
        ("2026-12-08T09:00", "2026-12-08T10:00", ["2026-12-08T11:00"], None),
        ("2026-12-08T09:00", "2026-12-08T10:00", ["2026-12-08T10:00"], "2026-12-08T10:00"),
    ],
)
def test_it_stops_at_what_happens_next(
    now: str, until: str, due: list[str | None], stop: str | None
) -> None:
    instants = [None if each is None else at(each) for each in due]
    found = clock(now, until).next_stop_ms(instants)
    assert found == (None if stop is None else at(stop))


def test_notices_are_at_one_hour_of_a_day() -> None:
    assert clock("2026-12-08T06:00").is_at_notices
    assert not clock("2026-12-08T06:01").is_at_notices


@pytest.mark.parametrize(
    ("now", "month"),
    [
        ("2026-11-28T10:00", None),
        ("2026-12-01T00:00", 1),
        ("2026-12-01T00:01", None),
        ("2027-01-01T00:00", 2),
        ("2027-12-01T00:00", 13),
    ],
)
def test_a_month_is_published_on_each_first_day(now: str, month: int | None) -> None:
    assert clock(now).new_month == month


def test_a_clock_that_begins_with_a_month_has_passed_none() -> None:
    assert clock("2026-12-01T00:00", begun="2026-12-01T00:00").new_month is None
    assert months_passed(at("2026-11-28T10:00"), at("2026-11-30T23:59")) == 0


def test_months_are_counted() -> None:
    assert [month_after("2026-08", count) for count in (0, 1, 4, 5, 17)] == [
        "2026-08", "2026-09", "2026-12", "2027-01", "2028-01",
    ]  # fmt: skip
    assert day_after("2026-08-31", 6) == "2027-02-28"
    assert day_after("2026-08-08", 1) == "2026-09-08"
