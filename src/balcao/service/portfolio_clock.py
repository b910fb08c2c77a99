"""The job that moves the clock of a test portfolio from one due instant to the next (20.8).

Every step may be repeated: purchases have idempotency keys, events have causes.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from balcao.core.portfolio_clock import PortfolioClock
from balcao.service.clock_months import PassingMonths
from balcao.service.jobs.durable import JobKind
from balcao.storage.desk.wallet.clock import CLOCK, PortfolioClocks

log = structlog.get_logger()

POLL_SECONDS = 1.0
AT_ONCE = 2  # portfolios of one process
SLICE_SECONDS = 5.0  # a step of the job, which counts as progress


@dataclass(slots=True)
class ClockMoves:
    """Moves clocks, and does what is due on their way."""

    clocks: PortfolioClocks
    months: PassingMonths
    steady: Callable[[], float] = time.monotonic

    def jobs(self) -> JobKind:
        return JobKind(CLOCK, self.run, AT_ONCE, poll_seconds=POLL_SECONDS)

    async def run(self, about: str) -> float | None:
        """Move the clock of an account for some seconds. Return 0 until it has arrived."""
        ends = self.steady() + SLICE_SECONDS
        while True:
            clock = await self.clocks.find(int(about))
            if clock is None or clock.until_ms is None:
                return None
            await self._do_due(clock)
            stop_ms = clock.next_stop_ms([])
            if stop_ms is None:
                await self.clocks.arrive(clock)
                log.info("portfolio_clock.arrived", account=clock.account_id, run=clock.run)
                return None
            await self.clocks.advance(clock, stop_ms)
            if self.steady() >= ends:
                return 0.0

    async def _do_due(self, clock: PortfolioClock) -> None:
        """Do what is due at the instant that a clock shows. Raises `StorageFailed`."""
        await self.months.compare(clock)
