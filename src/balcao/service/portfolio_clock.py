"""The job that moves the clock of a test portfolio from one due instant to the next (20.8).

Every step may be repeated: purchases have idempotency keys, events have causes.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import structlog

from balcao.core.portfolio_clock import PortfolioClock
from balcao.service.clock_months import PassingMonths
from balcao.service.jobs.durable import JobKind
from balcao.service.paper_notices import ExpiringPapers
from balcao.service.portfolio_buying import PortfolioBuying
from balcao.service.portfolio_sandbox import PortfolioSandboxes
from balcao.storage.desk.wallet.clock import CLOCK, DuePurchases, PortfolioClocks

log = structlog.get_logger()

POLL_SECONDS = 1.0
AT_ONCE = 2  # portfolios of one process
SLICE_SECONDS = 5.0  # a step of the job, which counts as progress


@dataclass(slots=True)
class ClockMoves:
    """Moves clocks, and does what is due on their way."""

    clocks: PortfolioClocks
    sandboxes: PortfolioSandboxes
    months: PassingMonths
    buying: PortfolioBuying
    notices: ExpiringPapers
    steady: Callable[[], float] = time.monotonic

    def jobs(self) -> JobKind:
        return JobKind(CLOCK, self.run, AT_ONCE, poll_seconds=POLL_SECONDS)

    async def run(self, about: str) -> float | None:
        """Move the clock of an account for some seconds. Return the pause until it goes on.

        None: it has arrived. Raises `StorageFailed`.
        """
        ends = self.steady() + SLICE_SECONDS
        clock = await self.clocks.find(int(about))
        while clock is not None and clock.until_ms is not None:
            await self.months.compare(clock)
            purchases = await self._buy(clock)
            if isinstance(purchases, float):
                return purchases
            if clock.is_at_notices:
                await self.notices.run_account(clock.account_id, clock.now_ms)
            stop_ms = clock.next_stop_ms([purchases.next_ms])
            if stop_ms is None:
                await self.clocks.arrive(clock)
                log.info("portfolio_clock.arrived", run=clock.run)
                return None
            if not await self.clocks.advance(clock, stop_ms) or self.steady() >= ends:
                return 0.0
            clock = msgspec.structs.replace(clock, now_ms=stop_ms)
        return None

    async def _buy(self, clock: PortfolioClock) -> DuePurchases | float:
        """Buy what is due at the instant of a clock. Return what is next, or the pause before."""
        account_id, at = clock.account_id, self.sandboxes.time_of(clock)
        due = await self.clocks.due(clock)
        if due.stopped:
            await self.buying.purchasing.resume_one(account_id, at)
        if due.unplanned:
            await self.buying.plan_one(account_id, at.at_ms)
        if due.stopped or due.unplanned:
            due = await self.clocks.due(clock)
        if not due.items and not due.papers:
            return due
        for item_id in due.items:
            if (pause := await self.buying.rechecking.run_at(item_id, at)) is not None:
                return pause
        for paper_id in due.papers:
            if (pause := await self.buying.renewing.run_at(paper_id, at)) is not None:
                return pause
        await self.buying.plan_one(account_id, at.at_ms)
        return await self.clocks.due(clock)
