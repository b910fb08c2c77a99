"""A bare answer of a given size behind the same server with the same settings as ours."""

import asyncio
import sys
from types import SimpleNamespace
from typing import Any

from balcao import server
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
    house = SimpleNamespace(settings=Settings(port=port), app=app_of(size))
    asyncio.run(server.run(house))  # type: ignore[arg-type]
