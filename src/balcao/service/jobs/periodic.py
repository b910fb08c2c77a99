"""Periodic background work of a process, and the status of its runs.

Work that must survive the death of its process is a durable job (`service/jobs/durable.py`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from math import inf

import structlog

from balcao.core.errors import StorageFailed

log = structlog.get_logger()

# The first delay after a failure; doubled each time, up to the usual interval.
RETRY_SECONDS = 60
_DOUBLED_MAX = 16


def ignore_storage_failure(error: Exception) -> bool:
    """Ignore a storage failure: the next run retries, and requests report it."""
    return isinstance(error, StorageFailed)


def warn_on_storage_failure(event: str) -> Callable[[Exception], bool]:
    """Return a failure handler that logs storage failures as this event."""

    def on_failure(error: Exception) -> bool:
        if isinstance(error, StorageFailed):
            log.warning(event, detail=error.detail)
        return isinstance(error, StorageFailed)

    return on_failure


@dataclass(frozen=True, slots=True)
class Periodic:
    """One kind of periodic work. Stopping the service may cancel it anywhere."""

    name: str
    # Returns the seconds until its next run; None: as usual.
    work: Callable[[], Awaitable[float | None]]
    every_seconds: float
    first_seconds: float = 0.0  # delays the first run beyond the start
    # Reports an expected failure; returns False for a bug.
    on_failure: Callable[[Exception], bool] = ignore_storage_failure
    retry_seconds: int = RETRY_SECONDS  # after the first failure
    during_stop: bool = False  # continues until the others have ended


@dataclass(slots=True)
class RunStatus:
    """Outcome of the latest runs. Instants in milliseconds since 1970; None: none yet."""

    last_success_ms: int | None = None
    last_failure_ms: int | None = None
    failures: int = 0  # since the last success


class Runner:
    """Runs all periodic work, from `start` to `stop`. The only place that sleeps.

    A bug in one is logged and retried like any failure; the others are not affected.
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
        self.statuses = {each.name: RunStatus() for each in self._works}
        self._tasks: list[tuple[Periodic, asyncio.Task[None]]] = []

    def start(self) -> None:
        """Start the work. Called on the event loop."""
        self._tasks = [(each, asyncio.create_task(self._run(each))) for each in self._works]

    async def stop(self, until: float = inf) -> None:
        """Cancel all work and wait for its end, until an instant of the event loop's clock.

        Work with `during_stop` is cancelled last.
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
            wait = await self.run_once(each)

    async def run_once(self, each: Periodic) -> float:
        """Run it once. Return the seconds until the next run."""
        status = self.statuses[each.name]
        try:
            again = await each.work()
        except Exception as error:
            if not each.on_failure(error):
                log.exception("job.bug", job=each.name)
            status.last_failure_ms, doubled = self._now_ms(), min(status.failures, _DOUBLED_MAX)
            status.failures += 1
            return min(each.every_seconds, each.retry_seconds << doubled)
        status.last_success_ms, status.failures = self._now_ms(), 0
        return each.every_seconds if again is None else again
