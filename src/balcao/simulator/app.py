"""The simulator as one application: providers by path prefix."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Protocol

from balcao.simulator.cnpja import Cnpja
from balcao.simulator.exchange import (
    PLAIN,
    ASGIApp,
    ConnectionCut,
    Message,
    Receive,
    Reply,
    Request,
    Send,
    json_reply,
    read,
    write,
)
from balcao.simulator.infosimples import Infosimples
from balcao.simulator.minha_receita import BrasilApi, MinhaReceita
from balcao.simulator.sefaz import Sefaz
from balcao.simulator.serpro import Serpro
from balcao.simulator.staging import SLOW_SECONDS, Stage


class Provider(Protocol):
    """Somebody who is asked over HTTP."""

    async def answer(self, request: Request, receive: Receive) -> Reply:
        """One request; `receive` tells when nobody listens any more."""
        ...


def _now() -> datetime:
    return datetime.now(UTC)


def create_app(
    *,
    clock: Callable[[], datetime] = _now,
    delay_seconds: float = 0.0,
    never_seconds: float = 3600,
    slow_seconds: float = SLOW_SECONDS,
    cnpja_types_of_2025: bool = False,
) -> ASGIApp:
    """The simulator for a client within the process.

    `clock` returns aware times. `delay_seconds` is the time every answer takes, `never_seconds`
    how long "never answers" lasts, `slow_seconds` what "well after 3 s" is.
    `cnpja_types_of_2025`: see `Cnpja`. The application remembers only which documents were asked
    once, so each one starts afresh.
    """
    stage = Stage(
        delay_seconds=delay_seconds, never_seconds=never_seconds, slow_seconds=slow_seconds
    )
    providers: dict[str, Provider] = {
        "/minha-receita": MinhaReceita(stage, clock),
        "/brasilapi": BrasilApi(stage),
        "/cnpja": Cnpja(stage, clock, types_of_2025=cnpja_types_of_2025),
        "/infosimples": Infosimples(stage, clock),
        "/serpro": Serpro(stage, clock),
        "/sefaz": Sefaz(stage, clock),
    }

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        path: str = scope["path"]
        prefix = "/" + path.removeprefix("/").partition("/")[0]
        provider = providers.get(prefix)
        if provider is not None:
            request = await read(scope, receive, prefix)
            reply = await provider.answer(request, receive)
        elif path == "/":
            reply = json_reply(200, {"simulator": "balcao", "providers": sorted(providers)})
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
