"""Days as small numbers: the generator makes millions of dates and must not compute each one.

Day 0 is 1966-01-01, before which next to no company of the registry was opened.
"""

from datetime import date

FIRST_DAY = date(1966, 1, 1)

# Fiction stops here, so that a month generated with a later extraction date has no future in it.
LAST_DAY = date(2026, 7, 31)

_first = FIRST_DAY.toordinal()
LAST = LAST_DAY.toordinal() - _first

# To the end of the last year: exclusions from Simples may lie ahead.
DAYS = tuple(date.fromordinal(_first + n) for n in range(LAST + 160))


def number_of(day: date) -> int:
    """The index of a day in DAYS."""
    return day.toordinal() - _first


def year_end(day_number: int) -> date:
    """31 December of the year of a day."""
    return date(DAYS[day_number].year, 12, 31)
