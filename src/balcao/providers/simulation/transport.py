"""An httpx2 transport to the simulator in this process, without ASGI.

The sandbox of every installation uses it. Through an ASGI application (`app.py`) each call would
cost half as much again, on the event loop that also serves live lookups.
"""

import asyncio
from collections.abc import Callable, Mapping
from urllib.parse import parse_qsl

import httpx2
from starlette.types import Message

from balcao.fiction.days import PassedDays, passing
from balcao.providers.simulation.messages import (
    PLAIN,
    SimulatedReply,
    SimulatedRequest,
    Simulator,
    cut,
)


class SimulatorTransport(httpx2.AsyncBaseTransport):
    """A transport to simulated providers by path prefix; hosts are ignored."""

    def __init__(
        self, simulated: Mapping[str, Simulator], days: Callable[[], PassedDays] | None = None
    ) -> None:
        """`days`: those of a portfolio's clock, which the answers count; None: of no clock."""
        self._simulated = simulated
        self._days = days

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request. Raises `ConnectionCut` if the provider cuts its reply."""
        reply = await self._reply(request)
        if reply.cut:
            raise cut()
        headers = {
            "content-type": reply.content_type,
            "content-length": str(len(reply.body)),
            **reply.headers,
        }
        return httpx2.Response(reply.status, headers=headers, stream=httpx2.ByteStream(reply.body))

    async def _reply(self, request: httpx2.Request) -> SimulatedReply:
        path = request.url.path
        for prefix, simulated in self._simulated.items():
            if path == prefix or path.startswith(f"{prefix}/"):
                translated = SimulatedRequest(
                    method=request.method,
                    path=path.removeprefix(prefix),
                    query=dict(parse_qsl(request.url.query.decode(), keep_blank_values=True)),
                    headers=request.headers,
                    body=await request.aread(),
                    scheme=request.url.scheme,
                )
                with passing(None if self._days is None else self._days()):
                    return await simulated.answer(translated, _never_disconnects)
        return SimulatedReply(404, b"Not Found", PLAIN)


async def _never_disconnects() -> Message:
    """Wait forever: a client in this process disconnects by cancelling the call."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("never resolved")
