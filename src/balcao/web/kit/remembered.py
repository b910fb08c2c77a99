"""Results of slow or public work, remembered for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from balcao.web.kit.tools import Tools

T = TypeVar("T")


class _Kept(Generic[T]):
    """A result and the lock under which it is made."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.known: tuple[int, T] | None = None


class Remembered(Generic[T]):
    """The result of some work, for so many milliseconds after its end; who asks meanwhile waits.

    Kept apart for each application in the process, of which only tests have several.
    """

    def __init__(self, work: Callable[[Tools], Awaitable[T]], for_ms: int) -> None:
        self._work = work
        self._for_ms = for_ms

    def _kept(self, _: Tools) -> _Kept[T]:
        return _Kept()

    async def of(self, tools: Tools) -> T:
        """The result, found out this long ago at most. Raises what the work raises."""
        kept = tools.once(self._kept)
        async with kept.lock:
            now = tools.now_ms()
            if kept.known is None or not 0 <= now - kept.known[0] < self._for_ms:
                result = await self._work(tools)
                # Not of its beginning: work may take longer than it is remembered, when a file is
                # locked, and all who waited would do it again, one after another.
                kept.known = (tools.now_ms(), result)
            return kept.known[1]
