"""A cache for results of slow or public work."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from balcao.web.kit.tools import Tools

T = TypeVar("T")


class _Entry(Generic[T]):
    """A result, and the lock under which it is computed."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.result: tuple[int, T] | None = None


class Cached(Generic[T]):
    """A cached result with a time to live; concurrent callers share one computation.

    Cached per application; only tests have several in one process.
    """

    def __init__(self, work: Callable[[Tools], Awaitable[T]], for_ms: int) -> None:
        self._work = work
        self._for_ms = for_ms

    def _entry(self, _: Tools) -> _Entry[T]:
        return _Entry()

    async def of(self, tools: Tools) -> T:
        """Return the result, at most `for_ms` old. Raises what the work raises."""
        entry = tools.once(self._entry)
        async with entry.lock:
            now = tools.now_ms()
            if entry.result is None or not 0 <= now - entry.result[0] < self._for_ms:
                made = await self._work(tools)
                # The time of its end: work may take longer than its result is kept, when a file is
                # locked, and every waiting caller would repeat it in turn.
                entry.result = (tools.now_ms(), made)
            return entry.result[1]
