"""The simulator as one application: providers by path prefix."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

from balcao.providers import PROVIDERS
from balcao.providers.simulation.exchange import (
    PLAIN,
    ASGIApp,
    ConnectionCut,
    Message,
    Receive,
    Reply,
    Send,
    Simulated,
    json_reply,
    read,
    write,
)
from balcao.providers.simulation.staging import SLOW_SECONDS, Stage


def _now() -> datetime:
    return datetime.now(UTC)


def create_app(
    *,
    clock: Callable[[], datetime] = _now,
    delay_seconds: float = 0.0,
    never_seconds: float = 3600,
    slow_seconds: float = SLOW_SECONDS,
) -> ASGIApp:
    """The simulator for a client within the process.

    `clock` returns aware times. `delay_seconds` is the time every answer takes, `never_seconds`
    how long "never answers" lasts, `slow_seconds` what "well after 3 s" is. The application
    remembers only which documents were asked once, so each one starts afresh.
    """
    stage = Stage(
        delay_seconds=delay_seconds, never_seconds=never_seconds, slow_seconds=slow_seconds
    )
    simulators: dict[str, Simulated] = {}
    for each in PROVIDERS:
        simulators |= each.simulators(stage, clock)

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        path: str = scope["path"]
        prefix = "/" + path.removeprefix("/").partition("/")[0]
        provider = simulators.get(prefix)
        if provider is not None:
            request = await read(scope, receive, prefix)
            reply = await provider.answer(request, receive)
        elif path == "/":
            reply = json_reply(200, {"simulator": "balcao", "providers": sorted(simulators)})
        else:
            reply = Reply(404, b"Not Found", PLAIN)
        await write(send, reply)

    return app


def create_server_app(*, delay_seconds: float = 0.0, never_seconds: float = 3600) -> ASGIApp:
    """The simulator for a server such as Granian; see `create_app`.

    An application that returns without having sent the announced body makes the server close
    the connection, which is what the client shall see. An error would be logged as a bug too.
    """
    app = create_app(delay_seconds=delay_seconds, never_seconds=never_seconds)

    async def cut(scope: Message, receive: Receive, send: Send) -> None:
        with suppress(ConnectionCut):
            await app(scope, receive, send)

    return cut


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
