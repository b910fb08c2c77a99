"""Lifecycle of a serving process: recovery at start, background work, graceful stop."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from balcao.backup.schedule import FIRST_SECONDS, POLL_SECONDS_MAX, BackupSchedule
from balcao.core.clock import ClockReading
from balcao.core.errors import StorageFailed
from balcao.lookup.context import Parts
from balcao.observability.requests import RequestLog
from balcao.service.clock import Clock
from balcao.service.derived_data import DerivedDataBuilder
from balcao.service.fetching import MonthFetching
from balcao.service.jobs.durable import JobWorker
from balcao.service.jobs.periodic import Periodic, Runner, warn_on_storage_failure
from balcao.service.retention import Retention
from balcao.service.server import SETTLE_SECONDS
from balcao.sources.upstream import Upstream
from balcao.storage.desk.desk import Desk

log = structlog.get_logger()

# Holds of other nodes that died are released after this long, or twice that.
RECOVER_EVERY_SECONDS = 10.0

# Months that another process began by a wrong clock; finding them reads all accounts.
MONTHS_EVERY_SECONDS = 3600.0

# A clock that was set is detected after this long, and has no effect until then.
CLOCK_EVERY_SECONDS = 2.0


@dataclass(slots=True)
class Lifecycle:
    """Starts, runs and stops the background work of a process."""

    parts: Parts
    desk: Desk
    retention: Retention
    upstreams: Sequence[Upstream]
    request_log: RequestLog
    backups: BackupSchedule
    worker: JobWorker
    longest_lookup_seconds: float
    clock: Clock
    derived_data: DerivedDataBuilder | None = None
    other_work: Sequence[Periodic] = ()
    # Called after the last lookup.
    at_end: Callable[[], Awaitable[None]] | None = None
    fetching: MonthFetching | None = None
    # The clock was set back, and limits and months are still to be reset.
    set_back: bool = False
    runner: Runner = field(init=False)

    def __post_init__(self) -> None:
        works = [
            *self.retention.periodic_tasks(),
            *self.worker.periodic_tasks(),
            *self.other_work,
            Periodic(
                "holds",
                self._recover_others,
                RECOVER_EVERY_SECONDS,
                RECOVER_EVERY_SECONDS,
                warn_on_storage_failure("recovery.failed"),
            ),
            Periodic(
                "account_months",
                self._turn_months_back,
                MONTHS_EVERY_SECONDS,
                MONTHS_EVERY_SECONDS,
                warn_on_storage_failure("months.failed"),
            ),
            Periodic("clock", self.look_at_clock, CLOCK_EVERY_SECONDS, CLOCK_EVERY_SECONDS),
        ]
        if self.derived_data is not None:
            works.append(self.derived_data.periodic())
        if self.fetching is not None:
            works.append(self.fetching.periodic())
        if self.backups.enabled:
            run_backups, on_failure = self.backups.run, self.backups.on_failure
            every = POLL_SECONDS_MAX
            works.append(Periodic("backup", run_backups, every, FIRST_SECONDS, on_failure, every))
        self.runner = Runner(works, self.clock.now_ms)

    async def start(self) -> None:
        """Release the holds of dead processes, then start the periodic work."""
        await self._begin_clock()
        await self._keep_reserve()
        released = self.desk.recover(self.clock.now_ms())
        if released:
            log.warning("holds.given_back", holds=released)
        self.runner.start()

    async def stop(self) -> None:
        """Wait for running lookups to settle, then close the connections to the sources.

        No lookup begins after this call, so it takes at most the time of the longest one.
        """
        self.backups.stop()
        now = asyncio.get_running_loop().time
        until = now() + self.longest_lookup_seconds + SETTLE_SECONDS
        await self.runner.stop(until)
        await self.worker.release()
        if self.parts.running:
            await asyncio.wait(self.parts.running, timeout=max(0.0, until - now()))
        if self.parts.writing_traces:
            await asyncio.wait(self.parts.writing_traces, timeout=1)
        for task in self.parts.releasing:  # the next start releases those holds
            task.cancel()
        if self.at_end is not None:
            await self.at_end()
        for environment in self.parts.environments.values():
            await environment.sources.close()
        for upstream in self.upstreams:
            await upstream.close()
        self.request_log.flush()

    async def look_at_clock(self) -> None:
        """Read the clock; if it was set back, reset limits and months."""
        database: ClockReading | None = None
        try:
            database = await self.desk.database_clock(self.clock.steady_ms)
        finally:  # without the database, the system's clock is read
            self.set_back = self.clock.look(database) or self.set_back
            self._doubt()
        if self.set_back:
            await self.desk.forget_limits(self.clock.now_ms())
            await self._turn_months_back()
            self.set_back = False

    async def _begin_clock(self) -> None:
        database = await self.desk.database_clock(self.clock.steady_ms)
        behind_ledger = self.clock.begin(database, self.desk.latest_instant())
        self._doubt()
        if behind_ledger:
            await self.desk.forget_limits(self.clock.now_ms())
        await self._turn_months_back()

    def _doubt(self) -> None:
        self.desk.set_clock_doubt(max(0, -self.clock.state().ledger_ahead_ms))

    async def _turn_months_back(self) -> None:
        """Correct the current month of accounts if a wrong clock set it to a future one."""
        accounts = await self.desk.correct_future_months(self.clock.now_ms())
        if accounts:
            log.warning("months.turned_back", accounts=accounts)

    async def _keep_reserve(self) -> None:
        with contextlib.suppress(StorageFailed):  # writers report a full disk
            await self.desk.maintain_reserve()

    async def _recover_others(self) -> None:
        """Release the holds of other nodes that died; without other nodes, do nothing."""
        released = await self.desk.recover_others(self.clock.now_ms())
        await self._keep_reserve()
        if released:
            log.warning("holds.given_back", holds=released)
