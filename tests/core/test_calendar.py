"""Civil time in Brasília follows the zone data, with and without summer time."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balcao.core.calendar import civil_day, civil_month, day_starts_ms, from_ms, to_ms


def utc(text: str) -> int:
    return to_ms(datetime.fromisoformat(text).replace(tzinfo=UTC))


@pytest.mark.parametrize(
    ("instant", "wall", "offset_hours"),
    [
        ("2026-08-05 16:15:30", "2026-08-05T13:15:30", -3),
        ("2026-08-01 02:59:59", "2026-07-31T23:59:59", -3),
        ("2026-08-01 03:00:00", "2026-08-01T00:00:00", -3),
        ("2027-01-01 02:00:00", "2026-12-31T23:00:00", -3),  # no summer time any more
        ("2018-12-31 02:00:00", "2018-12-31T00:00:00", -2),  # when there was
    ],
)
def test_the_wall_clock_of_brasilia(instant: str, wall: str, offset_hours: int) -> None:
    local = from_ms(utc(instant))
    assert local.replace(tzinfo=None) == datetime.fromisoformat(wall)
    assert local.utcoffset() == timedelta(hours=offset_hours)
    assert civil_day(utc(instant)) == date.fromisoformat(wall[:10])
    assert civil_month(utc(instant)) == wall[:7]


@pytest.mark.parametrize(
    ("day", "start"),
    [
        (date(2026, 8, 1), "2026-08-01 03:00:00"),
        (date(2018, 11, 4), "2018-11-04 03:00:00"),  # the clock went from 00:00 to 01:00
        (date(2018, 2, 18), "2018-02-18 03:00:00"),  # 23:00 of the 17th came twice
    ],
)
def test_a_day_starts_with_its_first_instant(day: date, start: str) -> None:
    assert day_starts_ms(day) == utc(start)
    assert civil_day(utc(start)) == day
    assert civil_day(utc(start) - 1) == day - timedelta(days=1)


@given(st.dates(date(1990, 1, 1), date(2100, 12, 31)))
def test_every_day_begins_where_the_day_before_ends(day: date) -> None:
    start = day_starts_ms(day)
    assert civil_day(start) == day
    assert civil_day(start - 1) == day - timedelta(days=1)
    assert day_starts_ms(day + timedelta(days=1)) - start in {h * 3_600_000 for h in (23, 24, 25)}


@given(st.integers(0, 4_102_444_800_000))
def test_an_instant_comes_back_to_the_millisecond(at_ms: int) -> None:
    assert to_ms(from_ms(at_ms)) == at_ms


def test_a_time_without_its_zone_is_not_an_instant() -> None:
    with pytest.raises(AssertionError):
        to_ms(datetime(2026, 8, 5))  # noqa: DTZ001
