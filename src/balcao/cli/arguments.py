"""Parsers of arguments and options: a word of a list, a date by the Brasília calendar."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import MAXYEAR, date, datetime, timedelta

from balcao.core.calendar import BRASILIA, day_starts_ms, to_ms
from balcao.operations import OPERATIONS
from balcao.operations.contract import Operation


def one_of(known: Sequence[str]) -> Callable[[str], str]:
    """Return a parser of these words, since typer takes no list of literals.

    The parser raises `ValueError` with a sentence for the operator.
    """

    def read(text: str) -> str:
        found = next((word for word in known if word.casefold() == text.casefold()), None)
        if found is None:
            raise ValueError(f"'{text}' não é um destes: {', '.join(known)}.")
        return found

    return read


def operation_called(text: object) -> Operation | None:
    """Return the operation with this path, or with this name in addresses of pages."""
    return next((each for each in OPERATIONS.values() if text in (each.path, each.form.slug)), None)


def civil_date(text: str) -> date:
    """Parse `AAAA-MM-DD`. Raises `ValueError` with a sentence for the operator."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} não é uma data; use AAAA-MM-DD, como 2026-12-31.") from None
    return _with_a_day_after(day)


def end_of(text: str) -> int:
    """Return the first instant after the validity of something valid until `text`.

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
    """Return the end of a civil day."""
    return day_starts_ms(day + timedelta(days=1))


def _with_a_day_after(day: date) -> date:
    """Reject year 9999, the last of the calendar: time zones reach beyond a day."""
    if day.year == MAXYEAR:
        raise ValueError("a data é tarde demais.")
    return day
