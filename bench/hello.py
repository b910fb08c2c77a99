"""A fixed answer of a given size served by Granian, a well-known server written in Rust."""

import asyncio
import contextlib
import sys
from typing import Any

from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server.embed import Server


def app_of(size: int) -> Any:
    body = b"x" * size
    headers = [
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-length", str(size).encode()),
    ]

    async def hello(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": body})

    return hello


if __name__ == "__main__":
    size, port = int(sys.argv[1]), int(sys.argv[2])
    hello = Server(
        app_of(size),
        address="127.0.0.1",
        port=port,
        interface=Interfaces.ASGI,
        http=HTTPModes.auto,
        websockets=False,
        backlog=1024,
        backpressure=4096,
        log_level=LogLevels.error,
    )
    with contextlib.suppress(asyncio.CancelledError):
        asyncio.run(hello.serve())
