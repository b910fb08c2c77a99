"""Serving: the house behind Granian, in one process."""

import asyncio
import contextlib
import gc
import signal
from typing import TYPE_CHECKING

from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.embed import Server

if TYPE_CHECKING:
    from balcao.compose import House

# A client that takes longer to send its request head is not served (slow-loris).
HEADER_READ_TIMEOUT_MS = 10_000

# Our limit on the head answers with our own body; the server's is a wall behind it.
HEAD_BUFFER_TIMES = 4

# Requests leave few reference cycles behind; collect rarely.
GC_THRESHOLDS = (50_000, 20, 50)


def serve(house: "House") -> None:
    """Serve until SIGINT or SIGTERM; requests under way are finished."""
    # What lives as long as the process need not be looked at again and again: full collections
    # took tens of milliseconds, in the middle of somebody's request.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    asyncio.run(run(house))


async def run(house: "House") -> None:
    """The same on a running event loop."""
    settings = house.settings
    server = Server(
        house.app,
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        http=HTTPModes.auto,
        websockets=False,
        backlog=max(1024, settings.requests_max),
        # The gate refuses with a clear answer those who would wait for a source; what is at
        # hand takes no place there, so there must be room for it behind them.
        backpressure=settings.requests_max * 4,
        http1_settings=HTTP1Settings(
            header_read_timeout=HEADER_READ_TIMEOUT_MS,
            max_buffer_size=max(8192, settings.header_bytes_max) * HEAD_BUFFER_TIMES,
        ),
        log_level=LogLevels.error,
        ssl_cert=settings.tls_certificate,
        ssl_key=settings.tls_key,
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, server.stop)
    with contextlib.suppress(asyncio.CancelledError):
        await server.serve()
