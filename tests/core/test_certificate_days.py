"""No expired certificate is served and none still valid is refused, on any day.

Contract 4.6 to 4.8.
The oracle is in `bench/certificate_days.py` and shares nothing with the service's calendar.
`BALCAO_CERTIFICATE_CASES=100000` draws that many cases instead of a few thousand.
"""

import dataclasses
import os
from datetime import date

import pytest
from bench.certificate_days import (
    EDGES,
    EPOCH,
    FIRST,
    HOUR_MS,
    LAST,
    SUMMERS,
    Case,
    brasilia_day,
    expected,
    expected_of_state,
    seen,
    seen_of_state,
    wrong,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st

from balcao.core.calendar import civil_day, civil_day_text, day_starts_ms
from balcao.core.certificates import FederalCertificate
from balcao.core.questions import Strategy

CASES = int(os.environ.get("BALCAO_CERTIFICATE_CASES", "5000"))
DAY_MS = 24 * HOUR_MS

days = st.one_of(st.sampled_from(EDGES), st.integers(FIRST + 400, LAST - 400))
# Mostly within a few milliseconds or hours of a midnight, of summer time or not.
offsets = st.one_of(
    st.integers(-3, 3),
    st.integers(-3 * HOUR_MS, 3 * HOUR_MS),
    st.integers(0, DAY_MS - 1),
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    midnight = (draw(days) - EPOCH) * DAY_MS + draw(st.sampled_from((2, 3))) * HOUR_MS
    now_ms = midnight + draw(offsets)
    near = st.integers(-3, 4).map(lambda shift: brasilia_day(now_ms) + shift)
    return Case(
        draw(st.sampled_from(("CND", "CPEND", "CPD", None))),
        draw(st.booleans()),
        draw(st.none() | near),
        draw(st.none() | near),
        now_ms - draw(st.integers(0, 2 * HOUR_MS) | st.integers(0, 200 * DAY_MS)),
        now_ms,
        draw(st.sampled_from(list(Strategy))),
        draw(st.sampled_from(("", "refresh", "reissue"))),
    )


@settings(max_examples=250, deadline=None)
@given(cases())
def test_no_expired_one_is_served_and_no_valid_one_refused(case: Case) -> None:
    """The decision about an entry agrees with the oracle's calendar."""
    assert seen(case) == expected(case)
    assert seen_of_state(case) == expected_of_state(case)


def test_thousands_of_drawn_cases() -> None:
    """The decisions also agree on the cases of `python -m bench.certificate_days`."""
    assert list(wrong(CASES)) == []


@settings(max_examples=250, deadline=None)
@given(days, offsets)
@example(date(2018, 11, 4).toordinal(), 0)
@example(date(2018, 2, 18).toordinal(), -1)
def test_the_two_calendars_agree(day: int, offset: int) -> None:
    """The service's civil day, as a date and as text, is the oracle's."""
    at_ms = (day - EPOCH) * DAY_MS + 3 * HOUR_MS + offset
    due = date.fromordinal(brasilia_day(at_ms))
    assert civil_day(at_ms) == due
    assert civil_day_text(at_ms) == due.isoformat()


@pytest.mark.parametrize("first", [day for summer in SUMMERS[1:] for day in summer])
def test_days_on_which_the_clock_was_changed(first: str) -> None:
    """An entry ends with the first instant of its validity date, in summer time or out of it."""
    validity = date.fromisoformat(first)
    start = day_starts_ms(validity)
    case = Case(
        "CND", True, validity.toordinal(), None, start - DAY_MS, start, Strategy.SO_CACHE, ""
    )
    assert seen(case) == "ask"
    assert seen(dataclasses.replace(case, now_ms=start - 1)) == "serve"


@given(st.lists(st.dates(date(2001, 1, 1), date(2100, 12, 31)), min_size=2, max_size=2))
def test_days_as_text_sort_like_days(both: list[date]) -> None:
    """`effective_validity` compares text."""
    one, other = both
    certificate = FederalCertificate(
        "90010001000100", validity=one.isoformat(), extended_validity=other.isoformat()
    )
    assert certificate.effective_validity == max(one, other).isoformat()
