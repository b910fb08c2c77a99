"""Fronts as processes: started, watched, started again, and ended with us (decision 0046)."""

import asyncio
import time

import structlog

from balcao.http.fronts.house import FrontBelow, Fronts
from balcao.service import processes

log = structlog.get_logger()

# One that ends sooner than this is not started again at once.
_QUICK_SECONDS = 5.0
_AGAIN_SECONDS = 1.0
START_SECONDS_MAX = 30.0
# A clock that is believed anew is known to all after this long.
TIME_SECONDS = 1.0


class FrontProcesses:
    """So many of them, always. On the event loop."""

    def __init__(self, fronts: Fronts, count: int) -> None:
        self._fronts = fronts
        self._stopping = False
        self._telling = asyncio.create_task(self._tell_time())
        self._tasks = [asyncio.create_task(self._keep_one()) for _ in range(count)]

    async def ready(self) -> None:
        """Wait until all of them can take clients, or some time: until then the house does."""
        try:
            async with asyncio.timeout(START_SECONDS_MAX):
                while len(self._fronts.below) < len(self._tasks):
                    await self._fronts.changed()
        except TimeoutError:
            log.warning("fronts.late", ready=len(self._fronts.below))

    async def stop(self, patience_seconds: float) -> None:
        """Have all of them finish what is under way, and end."""
        self._stopping = True
        await self._fronts.end(patience_seconds)
        for below in [*self._fronts.begun]:  # who is not at its end yet will not come to it
            below.end()
        self._telling.cancel()
        for task in self._tasks:  # one may be about to start another
            task.cancel()
        await asyncio.gather(self._telling, *self._tasks, return_exceptions=True)

    async def _tell_time(self) -> None:
        while True:
            await asyncio.sleep(TIME_SECONDS)
            self._fronts.tell_time()

    async def _keep_one(self) -> None:
        while not self._stopping:
            began = time.monotonic()
            await self._one()
            if self._stopping:
                return
            if time.monotonic() - began < _QUICK_SECONDS:
                await asyncio.sleep(_AGAIN_SECONDS)

    async def _one(self) -> None:
        """One process, from its start to its end."""
        process, ours = processes.begin("balcao.service.front")  # some milliseconds
        below: FrontBelow = self._fronts.begin(ours)
        try:
            await below.ended.wait()
        finally:
            below.end()  # which is its end, if it is still there
            process.kill()
            code = process.wait()  # a moment: it is killed
        if not self._stopping:
            log.error("front.ended", code=code)
