"""The clock of a test account's portfolio, as its settings show it."""

from typing import NamedTuple

from balcao.core.portfolio_clock import DAYS_MAX
from balcao.web.kit.context import PageContext


class ShownClock(NamedTuple):
    """A clock. `until_ms`: it is moving there; `real`: the portfolio has the real time."""

    now_ms: int
    until_ms: int | None
    real: bool
    days_max: int = DAYS_MAX


async def clock_shown(context: PageContext) -> ShownClock | None:
    """Return the clock of the account's portfolio; None: a live account has none."""
    if context.account.mode != "test":
        return None
    clock = await context.desk.portfolio_clocks.find(context.account.account_id)
    if clock is None:
        return ShownClock(context.now_ms(), None, real=True)
    return ShownClock(clock.now_ms, clock.until_ms, real=False)
