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
from balcao.providers.simulation.faults import SLOW_SECONDS, FaultInjector
from balcao.providers.simulation.messages import ConnectionCut, Endpoint, Simulator


def _now() -> datetime:
    return datetime.now(UTC)


def simulated_providers(
    *,
    clock: Callable[[], datetime] = _now,
    delay_seconds: float = 0.0,
    never_seconds: float = 3600,
    slow_seconds: float = SLOW_SECONDS,
    providers: Sequence[Provider] = PROVIDERS,
) -> Mapping[str, Simulator]:
    """Create all simulated providers, by path prefix.

    `clock` returns aware times. `delay_seconds` delays every reply, `never_seconds` is how long
    "never answers" lasts, and `slow_seconds` the delay of "well after 3 s" (`Misbehaviour`). Their
    only state is the set of documents requested so far; each call starts with an empty one.
    """
    faults = FaultInjector(
        delay_seconds=delay_seconds, never_seconds=never_seconds, slow_seconds=slow_seconds
    )
    return {
        prefix: simulated
        for each in providers
        for prefix, simulated in each.simulators(faults, clock).items()
    }


def create_app(
    *,
    clock: Callable[[], datetime] = _now,
    delay_seconds: float = 0.0,
    never_seconds: float = 3600,
    slow_seconds: float = SLOW_SECONDS,
    providers: Sequence[Provider] = PROVIDERS,
) -> ASGIApp:
    """Create the simulator for an ASGI client in this process; see `simulated_providers`."""
    simulated = simulated_providers(
        clock=clock,
        delay_seconds=delay_seconds,
        never_seconds=never_seconds,
        slow_seconds=slow_seconds,
        providers=providers,
    )
    endpoints = {prefix: Endpoint(prefix, each) for prefix, each in simulated.items()}

    async def index(_: Request) -> JSONResponse:
        return JSONResponse({"simulator": "balcao", "providers": sorted(endpoints)})

    return Router(
        [
            Route("/", index),
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
    """Create the simulator for a server such as uvicorn; see `create_app`.

    To cut a connection, the application returns before the announced body is complete, and the
    server closes it. An exception would be logged as a bug.
    """
    app = create_app(delay_seconds=delay_seconds, never_seconds=never_seconds, providers=providers)

    async def cut(scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(ConnectionCut, ClientDisconnect):
            await app(scope, receive, send)

    return cut
