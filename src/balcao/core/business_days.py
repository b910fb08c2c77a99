"""Business days in Brazil: no weekends, no national holidays."""

from datetime import date, timedelta
from functools import cache

_SATURDAY = 5


def is_business_day(day: date) -> bool:
    """Return whether a day is neither of a weekend nor a national holiday."""
    return day.weekday() < _SATURDAY and day not in _holidays(day.year)


def business_day_from(day: date) -> date:
    """Return the first business day that is not before a day."""
    while not is_business_day(day):
        day += timedelta(days=1)
    return day


def business_day_until(day: date) -> date:
    """Return the last business day that is not after a day."""
    while not is_business_day(day):
        day -= timedelta(days=1)
    return day


def load_holidays(year: int) -> None:
    """Load what the other functions need for this year and the next: half a second at first."""
    for each in (year, year + 1):
        _holidays(each)


@cache
def _holidays(year: int) -> frozenset[date]:
    from holidays import country_holidays  # noqa: PLC0415 - slow to import, and few processes do

    return frozenset(country_holidays("BR", years=year))
