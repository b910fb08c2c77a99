"""The simulator as one application: providers by path prefix."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from balcao.providers import PROVIDERS
from balcao.providers.contract import Provider
from balcao.providers.simulation.exchange import ConnectionCut, Endpoint, Simulated
from balcao.providers.simulation.staging import SLOW_SECONDS, Stage


def _now() -> datetime:
    return datetime.now(UTC)


def simulated_providers(
    *,
    clock: Callable[[], datetime] = _now,
    delay_seconds: float = 0.0,
    never_seconds: float = 3600,
    slow_seconds: float = SLOW_SECONDS,
    providers: Sequence[Provider] = PROVIDERS,
) -> Mapping[str, Simulated]:
    """All of them, each by its path prefix.

    `clock` returns aware times. `delay_seconds` is the time every answer takes, `never_seconds`
    how long "never answers" lasts, `slow_seconds` what "well after 3 s" is. They remember only
    which documents were asked once, so each call of this starts afresh.
    """
    stage = Stage(
        delay_seconds=delay_seconds, never_seconds=never_seconds, slow_seconds=slow_seconds
    )
    return {
        prefix: simulated
        for each in providers
        for prefix, simulated in each.simulators(stage, clock).items()
    }


def create_app(
    *,
    clock: Callable[[], datetime] = _now,
    delay_seconds: float = 0.0,
    never_seconds: float = 3600,
    slow_seconds: float = SLOW_SECONDS,
    providers: Sequence[Provider] = PROVIDERS,
) -> ASGIApp:
    """The simulator for an ASGI client within the process; see `simulated_providers`."""
    simulated = simulated_providers(
        clock=clock,
        delay_seconds=delay_seconds,
        never_seconds=never_seconds,
        slow_seconds=slow_seconds,
        providers=providers,
    )
    endpoints = {prefix: Endpoint(prefix, each) for prefix, each in simulated.items()}

    async def who_is_here(_: Request) -> JSONResponse:
        return JSONResponse({"simulator": "balcao", "providers": sorted(endpoints)})

    return Router(
        [
            Route("/", who_is_here),
            *(Route(prefix, endpoint) for prefix, endpoint in endpoints.items()),
            *(Mount(prefix, endpoint) for prefix, endpoint in endpoints.items()),
        ],
        redirect_slashes=False,
    )


def create_server_app(
    *,
    delay_seconds: float = 0.0,
    never_seconds: float = 3600,
    providers: Sequence[Provider] = PROVIDERS,
) -> ASGIApp:
    """The simulator for a server such as uvicorn; see `create_app`.

    An application that returns without having sent the announced body makes the server close
    the connection, which is what the client shall see. An error would be logged as a bug too.
    """
    app = create_app(delay_seconds=delay_seconds, never_seconds=never_seconds, providers=providers)

    async def cut(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ConnectionCut, ClientDisconnect):
            await app(scope, receive, send)

    return cut
