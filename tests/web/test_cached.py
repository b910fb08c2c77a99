"""Work that is done once for all concurrent callers."""

import asyncio
from functools import cache
from types import SimpleNamespace
from typing import Any, cast

from balcao.web.kit.cached import Cached
from balcao.web.kit.tools import Tools

FOR_MS = 3_000


class House:
    """A minimal application with its own clock."""

    def __init__(self) -> None:
        self.now_ms = 0
        once = cache(lambda make: make(self.tools))
        self.tools = cast(Tools, SimpleNamespace(once=once, now_ms=lambda: self.now_ms))


def test_slow_work_is_done_once_for_all_waiting_callers() -> None:
    """A locked file takes ten seconds to detect: not ten for each visitor."""
    house, times = House(), 0

    async def work(_: Any) -> int:
        nonlocal times
        times += 1
        house.now_ms += 10_000
        await asyncio.sleep(0)
        return times

    cached = Cached(work, FOR_MS)

    async def story() -> None:
        waiting = (cached.of(house.tools) for _ in range(4))
        assert await asyncio.gather(*waiting) == [1, 1, 1, 1]
        house.now_ms += FOR_MS - 1
        assert await cached.of(house.tools) == 1
        house.now_ms += 1
        assert await cached.of(house.tools) == 2

    asyncio.run(story())
