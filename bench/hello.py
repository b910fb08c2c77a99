"""A bare answer of a given size behind Granian, a well-known server written in Rust."""

import asyncio
import sys
from typing import Any

from balcao.service import server
from balcao.settings import Settings


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
    asyncio.run(server.run_granian(app_of(size), Settings(port=port)))
