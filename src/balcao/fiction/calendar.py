"""Days as small numbers, since the generator must not compute each of millions of dates.

Day 0 is 1966-01-01; hardly any company of the registry is older.
"""

from datetime import date

FIRST_DAY = date(1966, 1, 1)

# The last fictitious day, so that months with a later extraction date have no future days.
LAST_DAY = date(2026, 7, 31)

_first = FIRST_DAY.toordinal()
LAST = LAST_DAY.toordinal() - _first

# To the end of the last year: exclusions from Simples may be in the future.
DAYS = tuple(date.fromordinal(_first + n) for n in range(LAST + 160))


def number_of(day: date) -> int:
    """Return the index of a day in `DAYS`."""
    return day.toordinal() - _first


def year_end(day_number: int) -> date:
    """Return 31 December of the year of a day."""
    return date(DAYS[day_number].year, 12, 31)
