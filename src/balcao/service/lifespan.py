"""What runs beside the requests: recovery at start, purging now and then, a graceful end."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from balcao.backup.schedule import FIRST_SECONDS, LOOK_SECONDS_MAX, Schedule
from balcao.core.clock import Heard
from balcao.core.errors import StorageFailed
from balcao.lookup.context import Parts
from balcao.observability.requests import RequestLog
from balcao.service.clock import Clock
from balcao.service.fetching import MonthFetching
from balcao.service.jobs.durable import JobWorker
from balcao.service.jobs.periodic import Periodic, Runner, warning
from balcao.service.months import Finishing
from balcao.service.retention import Retention
from balcao.service.server import SETTLE_SECONDS
from balcao.sources.upstream import Upstream
from balcao.storage.desk.desk import Desk

log = structlog.get_logger()

# Holds of other nodes that died are given back after this long, or twice that.
RECOVER_EVERY_SECONDS = 10.0

# Months that another process began by a wrong clock: to find them all accounts are walked through.
MONTHS_EVERY_SECONDS = 3600.0

# A clock that was set is found out after this long; until then nothing goes by it.
CLOCK_EVERY_SECONDS = 2.0


@dataclass(slots=True)
class Life:
    """What runs beside the requests, from the first event-loop turn to the last."""

    parts: Parts
    desk: Desk
    retention: Retention
    upstreams: Sequence[Upstream]
    request_log: RequestLog
    backups: Schedule
    worker: JobWorker
    longest_lookup_seconds: float
    clock: Clock
    months: Finishing | None = None
    beside: Sequence[Periodic] = ()  # what others have to do now and then
    # What is written once nothing is asked any more.
    at_end: Callable[[], Awaitable[None]] | None = None
    fetching: MonthFetching | None = None
    # The clock was: limits and months are to begin anew as soon as they can.
    set_back: bool = False
    runner: Runner = field(init=False)

    def __post_init__(self) -> None:
        works = [
            *self.retention.works(),
            *self.worker.works(),
            *self.beside,
            Periodic(
                "holds",
                self._recover_others,
                RECOVER_EVERY_SECONDS,
                RECOVER_EVERY_SECONDS,
                warning("recovery.failed"),
            ),
            Periodic(
                "account_months",
                self._turn_months_back,
                MONTHS_EVERY_SECONDS,
                MONTHS_EVERY_SECONDS,
                warning("months.failed"),
            ),
            Periodic("clock", self.look_at_clock, CLOCK_EVERY_SECONDS, CLOCK_EVERY_SECONDS),
        ]
        if self.months is not None:
            works.append(self.months.work())
        if self.fetching is not None:
            works.append(self.fetching.work())
        if self.backups.wanted:
            look, complain = self.backups.look, self.backups.complain
            every = LOOK_SECONDS_MAX
            works.append(Periodic("backup", look, every, FIRST_SECONDS, complain, every))
        self.runner = Runner(works, self.clock.now_ms)

    async def start(self) -> None:
        """Give back what dead processes held, then begin what runs now and then."""
        await self._begin_clock()
        await self._keep_room()
        given_back = self.desk.recover(self.clock.now_ms())
        if given_back:
            log.warning("holds.given_back", holds=given_back)
        self.runner.start()

    async def stop(self) -> None:
        """Let lookups under way settle, then close the connections to the sources.

        No lookup begins after this, so all of them are over within the time of the longest one.
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
        for task in self.parts.releasing:  # the next start gives those holds back
            task.cancel()
        if self.at_end is not None:
            await self.at_end()
        for environment in self.parts.environments.values():
            await environment.sources.close()
        for upstream in self.upstreams:
            await upstream.close()
        self.request_log.flush()

    async def look_at_clock(self) -> None:
        """Read the clock again; limits and months of a time that never was begin anew."""
        database: Heard | None = None
        try:
            database = await self.desk.database_clock(self.clock.steady_ms)
        finally:  # the system's can be read in any case
            self.set_back = self.clock.look(database) or self.set_back
            self._doubt()
        if self.set_back:
            await self.desk.forget_limits(self.clock.now_ms())
            await self._turn_months_back()
            self.set_back = False

    async def _begin_clock(self) -> None:
        database = await self.desk.database_clock(self.clock.steady_ms)
        behind_books = self.clock.begin(database, self.desk.latest_instant())
        self._doubt()
        if behind_books:
            await self.desk.forget_limits(self.clock.now_ms())
        await self._turn_months_back()

    def _doubt(self) -> None:
        self.desk.doubt(max(0, -self.clock.state().books_ahead_ms))

    async def _turn_months_back(self) -> None:
        """Mend what was written by a clock that is not believed here."""
        accounts = await self.desk.turn_months_back(self.clock.now_ms())
        if accounts:
            log.warning("months.turned_back", accounts=accounts)

    async def _keep_room(self) -> None:
        with contextlib.suppress(StorageFailed):  # a full disk is told of by whoever writes
            await self.desk.keep_room()

    async def _recover_others(self) -> None:
        """Give back what other nodes hold that died; where there can be none, this does nothing."""
        given_back = await self.desk.recover_others(self.clock.now_ms())
        await self._keep_room()
        if given_back:
            log.warning("holds.given_back", holds=given_back)
