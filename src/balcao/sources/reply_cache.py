"""A layer that caches a reply which is the same for all inquiries, such as the date of the data.

Concurrent conversations share one fetch, and wait for it only briefly: no lookup may fail over
it. While fetches fail, conversations get the last good reply, or at once an error if there is none.
"""

import asyncio
from collections.abc import Callable

import httpx2

from balcao.core.errors import SourceError, SourceUnavailable
from balcao.sources.contract import HttpReply, HttpRequest
from balcao.sources.single_flight import SingleFlight
from balcao.sources.upstream import Send

# The data change once a month; the provider's own cache headers allow a day.
KEEP_SECONDS = 3600.0
# While fetches fail, one lookup per minute waits for one, at most this long.
RETRY_SECONDS = 60.0
FETCH_SECONDS_MAX = 2.0


class ReplyCache:
    """A `Layer` (see `upstream.py`) that caches the reply of one path and passes others on."""

    def __init__(
        self, path: str, *, is_usable: Callable[[HttpReply], bool], clock: Callable[[], float]
    ) -> None:
        """`is_usable` returns whether a reply may be cached; `clock` counts seconds."""
        self._path = path
        self._is_usable = is_usable
        self._clock = clock
        self._last_good: HttpReply | None = None
        self._next_fetch_at = float("-inf")
        self._fetching: SingleFlight[None] = SingleFlight()

    async def __call__(self, request: HttpRequest, send: Send) -> HttpReply:
        """Send the request, or return the cached reply. Raises `SourceUnavailable` without one."""
        if request.path != self._path:
            return await send(request)
        if self._clock() >= self._next_fetch_at:
            await self._fetching.do(self._path, lambda: self._fetch(request, send))
        if self._last_good is None:
            wait = max(1, round(self._next_fetch_at - self._clock()))
            raise SourceUnavailable(f"{self._path}: sem resposta há pouco", wait)
        return self._last_good

    async def _fetch(self, request: HttpRequest, send: Send) -> None:
        self._next_fetch_at = self._clock() + RETRY_SECONDS
        try:
            async with asyncio.timeout(FETCH_SECONDS_MAX):
                reply = await send(request)
        except (SourceError, TimeoutError, httpx2.PoolTimeout):
            return
        if self._is_usable(reply):
            self._last_good = reply
            self._next_fetch_at = self._clock() + KEEP_SECONDS
