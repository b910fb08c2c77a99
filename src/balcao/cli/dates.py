"""Dates and instants on the command line, by the Brasília calendar."""

from contextlib import suppress
from datetime import MAXYEAR, date, datetime, timedelta

from balcao.core.calendar import BRASILIA, day_starts_ms, to_ms


def civil_date(text: str) -> date:
    """`AAAA-MM-DD`. Raises `ValueError` with a sentence for the operator."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} não é uma data; use AAAA-MM-DD, como 2026-12-31.") from None
    return _with_a_day_after(day)


def end_of(text: str) -> int:
    """The first instant at which something valid until `text` is not valid any more.

    A date is valid to the end of its civil day in Brasília; a date-time without a zone is
    Brasília time. Raises `ValueError` with a sentence for the operator.
    """
    with suppress(ValueError):
        return day_after_starts_ms(civil_date(text))
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} não é uma data; use AAAA-MM-DD, ou data e hora como"
            " 2026-12-31T18:00:00-03:00."
        ) from None
    _with_a_day_after(at.date())
    return to_ms(at if at.tzinfo is not None else at.replace(tzinfo=BRASILIA))


def day_after_starts_ms(day: date) -> int:
    """The end of a civil day."""
    return day_starts_ms(day + timedelta(days=1))


def _with_a_day_after(day: date) -> date:
    """Calendars end with the year 9999, and time zones reach beyond a day."""
    if day.year == MAXYEAR:
        raise ValueError("a data é tarde demais.")
    return day
