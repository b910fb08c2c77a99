"""Periodic work of a process beside the requests, and how each piece of it went.

Work that must survive the death of its process is a durable job (`service/jobs/durable.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from math import inf

import structlog

from balcao.core.errors import StorageFailed

log = structlog.get_logger()

# After a failure, twice as long each time, and never longer than until the next time anyhow: what
# is done every second goes on so, what is done once a day is not put off by a day.
AGAIN_SECONDS = 60
_DOUBLED_MAX = 16


def quietly(error: Exception) -> bool:
    """The next time, then: whoever else needs the storage tells of it."""
    return isinstance(error, StorageFailed)


def warning(event: str) -> Callable[[Exception], bool]:
    """A line in the log, by what the storage says of itself."""

    def complain(error: Exception) -> bool:
        if isinstance(error, StorageFailed):
            log.warning(event, detail=error.detail)
        return isinstance(error, StorageFailed)

    return complain


@dataclass(frozen=True, slots=True)
class Periodic:
    """One piece of work. May be cut short anywhere, by whoever stops the service."""

    name: str
    # Returns after how many seconds it wants to go on; None: as usual.
    work: Callable[[], Awaitable[float | None]]
    every_seconds: float
    first_seconds: float = 0.0  # not in the hurry of a start
    # Tells of a failure that was to be expected. False: it is none, but a bug.
    complain: Callable[[Exception], bool] = quietly
    again_seconds: int = AGAIN_SECONDS  # after the first failure
    during_stop: bool = False  # goes on until the others have ended


@dataclass(slots=True)
class WorkSeen:
    """How it went. Instants in milliseconds since 1970. None: not since the process began."""

    last_success_ms: int | None = None
    last_failure_ms: int | None = None
    failures: int = 0  # since the last success


class Runner:
    """Does all of it, each in its own time, from `start` to `stop`. The only place that waits.

    A bug in one is told, and tried again like any failure; the others do not notice.
    """

    def __init__(
        self,
        works: Iterable[Periodic],
        now_ms: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._works = tuple(works)
        self._now_ms = now_ms
        self._sleep = sleep
        self.seen = {each.name: WorkSeen() for each in self._works}
        self._tasks: list[tuple[Periodic, asyncio.Task[None]]] = []

    def start(self) -> None:
        """Begin. On the event loop."""
        self._tasks = [(each, asyncio.create_task(self._run(each))) for each in self._works]

    async def stop(self, until: float = inf) -> None:
        """Cancel all works and wait for their ends, until an instant of the event loop's clock.

        Those with `during_stop` are cancelled last.
        """
        for last in (False, True):
            ending = [task for each, task in self._tasks if each.during_stop is last]
            for task in ending:
                task.cancel()
            if ending:
                left = max(0.0, until - asyncio.get_running_loop().time())
                await asyncio.wait(ending, timeout=None if left == inf else left)

    async def _run(self, each: Periodic) -> None:
        wait = each.first_seconds
        while True:
            await self._sleep(wait)
            wait = await self.turn(each)

    async def turn(self, each: Periodic) -> float:
        """Do it once. In how many seconds again."""
        seen = self.seen[each.name]
        try:
            again = await each.work()
        except Exception as error:
            if not each.complain(error):
                log.exception("job.bug", job=each.name)
            seen.last_failure_ms, doubled = self._now_ms(), min(seen.failures, _DOUBLED_MAX)
            seen.failures += 1
            return min(each.every_seconds, each.again_seconds << doubled)
        seen.last_success_ms, seen.failures = self._now_ms(), 0
        return each.every_seconds if again is None else again
