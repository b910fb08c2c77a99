"""A layer for what a provider says alike to everybody, such as the day of its data.

It is not worth a request in every conversation: the reply is remembered for a while, and whoever
finds none asks for all who wait. Nor is it worth a lookup: it is waited for briefly, and while it
fails the last good reply is said on, or every conversation is told of a failure at once.
"""

import asyncio
from collections.abc import Callable

import httpx2

from balcao.core.errors import SourceError, SourceUnavailable
from balcao.sources.contract import HttpReply, HttpRequest
from balcao.sources.flight import SingleFlight
from balcao.sources.upstream import Send

# Data that change once a month, and the provider's own word for its answers is a day.
KEEP_SECONDS = 3600.0
# As long as it fails: one lookup in a minute waits for it, for this long at the most.
RETRY_SECONDS = 60.0
PATIENCE_SECONDS = 2.0


class Remembering:
    """The `Layer` (see `upstream.py`) that asks for one path now and then, for others always."""

    def __init__(
        self, path: str, *, usable: Callable[[HttpReply], bool], clock: Callable[[], float]
    ) -> None:
        """`usable` tells a good reply; `clock` counts seconds."""
        self._path = path
        self._usable = usable
        self._clock = clock
        self._good: HttpReply | None = None
        self._again_at = float("-inf")
        self._asking: SingleFlight[None] = SingleFlight()

    async def __call__(self, request: HttpRequest, send: Send) -> HttpReply:
        """Send, or say what is remembered. Raises `SourceUnavailable` where that is nothing."""
        if request.path != self._path:
            return await send(request)
        if self._clock() >= self._again_at:
            await self._asking.do(self._path, lambda: self._ask(request, send))
        if self._good is None:
            wait = max(1, round(self._again_at - self._clock()))
            raise SourceUnavailable(f"{self._path}: sem resposta há pouco", wait)
        return self._good

    async def _ask(self, request: HttpRequest, send: Send) -> None:
        self._again_at = self._clock() + RETRY_SECONDS
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                reply = await send(request)
        except (SourceError, TimeoutError, httpx2.PoolTimeout):
            return
        if self._usable(reply):
            self._good = reply
            self._again_at = self._clock() + KEEP_SECONDS
