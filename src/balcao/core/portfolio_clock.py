"""The clock of a test account's portfolio: how far it may move, and where it stops (contract 20.8).

Its first day is the real day of its first move. The sandbox answers the portfolio by the clock's
day, and publishes a month on each first day that it passes.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final

import msgspec

from balcao.core.calendar import HOUR_MS, civil_day, civil_month, day_starts_ms, next_month_ms
from balcao.core.errors import InvalidParameter

DAYS_MAX: Final = 400  # of one move
_DAY_MS = 24 * HOUR_MS
_NOTICE_HOUR = 6  # of a day's notices, before purchases begin


class PortfolioClock(msgspec.Struct, frozen=True, gc=False):
    """The clock of a portfolio that has left the real time."""

    account_id: int
    run: int  # counts the departures from the real time
    from_ms: int  # of its first move
    now_ms: int
    until_ms: int | None  # it is moving there

    @property
    def first_day(self) -> date:
        """The day that the sandbox's promises are counted from."""
        return civil_day(self.from_ms)

    @property
    def is_at_notices(self) -> bool:
        """Whether it stands at the hour of a day's notices."""
        return self.now_ms == _notices_ms(civil_day(self.now_ms))

    @property
    def new_month(self) -> int | None:
        """The number of the month that is published now, from 1 on; None: none is."""
        passed = months_passed(self.from_ms, self.now_ms)
        if not passed or self.now_ms != day_starts_ms(civil_day(self.now_ms).replace(day=1)):
            return None
        return passed

    def next_stop_ms(self, due: Iterable[int | None]) -> int | None:
        """Return the next instant at which something happens; None: nothing before its end.

        `due`: instants of purchases, those of the past among them.
        """
        assert self.until_ms is not None, "it is moving"
        now_ms, today = self.now_ms, civil_day(self.now_ms)
        notices = (_notices_ms(today), _notices_ms(today + timedelta(days=1)))
        stops = (*notices, next_month_ms(now_ms), *due)
        later = [at for at in stops if at is not None and now_ms < at <= self.until_ms]
        return min(later, default=None)


def check_move(now_ms: int, until_ms: int) -> None:
    """Raise `InvalidParameter` if a clock cannot move so far."""
    if until_ms <= now_ms:
        raise InvalidParameter("ate: o relógio só avança; envie um momento depois de agora.")
    if until_ms - now_ms > DAYS_MAX * _DAY_MS:
        raise InvalidParameter(f"ate: no máximo {DAYS_MAX} dias depois de agora.")


def months_passed(from_ms: int, at_ms: int) -> int:
    """Return how many first days of months lie between two instants."""
    return _ordinal(civil_month(at_ms)) - _ordinal(civil_month(from_ms))


def month_after(month: str, count: int) -> str:
    """Return the month (YYYY-MM) so many months later."""
    year, number = divmod(_ordinal(month) + count, 12)
    return f"{year:04d}-{number + 1:02d}"


def day_after(day: str, count: int) -> str:
    """Return the day (YYYY-MM-DD) so many months later; the 28th if it is a later one."""
    return f"{month_after(day[:7], count)}-{min(int(day[8:]), 28):02d}"


def _ordinal(month: str) -> int:
    return int(month[:4]) * 12 + int(month[5:7]) - 1


def _notices_ms(day: date) -> int:
    return day_starts_ms(day) + _NOTICE_HOUR * HOUR_MS
