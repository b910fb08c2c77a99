"""Parsers of arguments and options: words of a list, dates of the Brasília calendar."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import MAXYEAR, date, datetime, timedelta

from balcao.core.calendar import BRASILIA, day_starts_ms, to_ms
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation


def one_of(known: Sequence[str]) -> Callable[[str], str]:
    """Return a parser that accepts these words, since typer has no option for a list of them.

    The parser raises `ValueError` with a message for the operator.
    """

    def read(text: str) -> str:
        found = next((word for word in known if word.casefold() == text.casefold()), None)
        if found is None:
            raise ValueError(f"'{text}' não é um destes: {', '.join(known)}.")
        return found

    return read


def find_operation(text: object) -> Operation | None:
    """Return the operation with this path, or with this name in page addresses."""
    return next((each for each in OPERATIONS.values() if text in (each.path, each.form.slug)), None)


def parse_day(text: str) -> date:
    """Parse `AAAA-MM-DD`. Raises `ValueError` with a message for the operator."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} não é uma data; use AAAA-MM-DD, como 2026-12-31.") from None
    return _reject_last_year(day)


def parse_expiry(text: str) -> int:
    """Parse an expiry date and return the first instant after it.

    A date includes its whole civil day in Brasília; a date-time without a zone is Brasília time.
    Raises `ValueError` with a message for the operator.
    """
    with suppress(ValueError):
        return day_after_starts_ms(parse_day(text))
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text!r} não é uma data; use AAAA-MM-DD, ou data e hora como"
            " 2026-12-31T18:00:00-03:00."
        ) from None
    _reject_last_year(at.date())
    return to_ms(at if at.tzinfo is not None else at.replace(tzinfo=BRASILIA))


def day_after_starts_ms(day: date) -> int:
    """Return the first instant after a civil day."""
    return day_starts_ms(day + timedelta(days=1))


def _reject_last_year(day: date) -> date:
    """Return the day; reject the calendar's last year, since time zones may need a day after."""
    if day.year == MAXYEAR:
        raise ValueError("a data é tarde demais.")
    return day
