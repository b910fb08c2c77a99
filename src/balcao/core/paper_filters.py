"""Selections of a portfolio's certificates by their last days (contract 20.7)."""

from calendar import monthrange
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from balcao.core.papers import PaperState

# Days within which a certificate expires, the present month, or one that has expired.
Expiry: TypeAlias = Literal["7", "15", "30", "mes", "vencidas"]
EXPIRIES: Final[tuple[Expiry, ...]] = ("7", "15", "30", "mes", "vencidas")

# States without a certificate that is, or was, good.
WITHOUT: Final[tuple[PaperState, ...]] = ("nao_emitida", "nao_verificada", "sem_certidao")

FIRST_DAY: Final = "0001-01-01"


class DayRange(NamedTuple):
    """Last days from `first` to `last`, both included, as ISO texts."""

    first: str
    last: str


def day_ranges(today: date) -> Mapping[Expiry, DayRange]:
    """Return the last days of each selection. The month includes its days that are past."""
    first, last = month_of(today)
    ahead: tuple[tuple[Expiry, int], ...] = (("7", 7), ("15", 15), ("30", 30))
    return {
        **{name: _range(today, today + timedelta(days)) for name, days in ahead},
        "mes": DayRange(first, last),
        "vencidas": DayRange(FIRST_DAY, (today - timedelta(1)).isoformat()),
    }


def month_of(day: date) -> DayRange:
    """Return the first and the last day of a day's month."""
    return _range(day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1]))


def _range(first: date, last: date) -> DayRange:
    return DayRange(first.isoformat(), last.isoformat())
