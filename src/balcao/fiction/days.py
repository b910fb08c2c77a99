"""Days that promised outcomes count from (`docs/sandbox.md`).

A row such as "valid for 15 days more" is counted from today. Under the clock of a test portfolio it
is counted from the clock's first day instead, so that its certificates age.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date
from typing import NamedTuple


class PassedDays(NamedTuple):
    """The first day of a portfolio's clock, and the day that it shows."""

    first: date
    today: date


# Around a simulator's answer, as its clock is: a real provider has no such parameter.
_PASSED: ContextVar[PassedDays | None] = ContextVar("passed_days", default=None)


@contextmanager
def passing(days: PassedDays | None) -> Iterator[None]:
    """Count from a clock's first day; None: from today."""
    token = _PASSED.set(days)
    try:
        yield
    finally:
        _PASSED.reset(token)


def first_day(today: date) -> date:
    """Return the day from which a promise is counted."""
    days = _PASSED.get()
    return today if days is None else min(days.first, today)


def day_reached(after_days: int) -> date | None:
    """Return the day that comes so many days after the first; None: it is still to come."""
    days = _PASSED.get()
    if days is None or (days.today - days.first).days < after_days:
        return None
    return date.fromordinal(days.first.toordinal() + after_days)
