"""The simulator as a transport of a client within the process: values in, values out, no ASGI.

The sandbox of every installation is asked this way, and by way of an application (`app.py`) each
call would cost half as much again, on the event loop that serves live lookups too.
"""

import asyncio
from collections.abc import Mapping
from urllib.parse import parse_qsl

import httpx2
from starlette.types import Message

from balcao.providers.simulation.exchange import (
    PLAIN,
    Simulated,
    SimulatedReply,
    SimulatedRequest,
    cut,
)


class SimulatorTransport(httpx2.AsyncBaseTransport):
    """Simulated providers by path prefix (`simulated_providers`); no host is ever looked up."""

    def __init__(self, simulated: Mapping[str, Simulated]) -> None:
        self._simulated = simulated

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request. Raises `ConnectionCut` where the provider cuts its answer short."""
        reply = await self._asked(request)
        if reply.cut:
            raise cut()
        headers = {
            "content-type": reply.content_type,
            "content-length": str(len(reply.body)),
            **reply.headers,
        }
        return httpx2.Response(reply.status, headers=headers, stream=httpx2.ByteStream(reply.body))

    async def _asked(self, request: httpx2.Request) -> SimulatedReply:
        path = request.url.path
        for prefix, simulated in self._simulated.items():
            if path == prefix or path.startswith(f"{prefix}/"):
                asked = SimulatedRequest(
                    method=request.method,
                    path=path.removeprefix(prefix),
                    query=dict(parse_qsl(request.url.query.decode(), keep_blank_values=True)),
                    headers=request.headers,
                    body=await request.aread(),
                    scheme=request.url.scheme,
                )
                return await simulated.answer(asked, _still_listening)
        return SimulatedReply(404, b"Not Found", PLAIN)


async def _still_listening() -> Message:
    """Whoever stops listening cancels the call, and does not have to tell."""
    await asyncio.get_running_loop().create_future()
    raise AssertionError("nobody ends it")
