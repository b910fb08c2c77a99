"""List of all routes of the service: methods, path, handler and largest body."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from balcao.service.compose import open_application
from balcao.settings import Settings
from balcao.web.kit.application import WebApplication


@dataclass(frozen=True, slots=True)
class ListedRoute:
    """One route of the API or the web application."""

    methods: str
    path: str
    handler: str  # module:function
    body_bytes_max: int  # 0: there must be no body


def list_routes() -> Iterator[ListedRoute]:
    """Return all routes of a service with default settings, by path.

    Builds a real service on an empty folder, so that the list cannot differ from it.
    """
    with TemporaryDirectory() as folder:
        application = open_application(Settings.model_construct(home=Path(folder)))
        application.close()
    front, site = application.front, application.front.web
    assert isinstance(site, WebApplication)
    found = [
        ListedRoute(
            ", ".join(route.methods),
            route.path,
            _name(route.handler),
            route.body.bytes_max if route.body else 0,
        )
        for route in front.routes.all
    ]
    for method, path, handler, body_bytes_max in site.addresses():
        methods = "GET, HEAD" if method == "GET" else method
        found.append(ListedRoute(methods, path, _name(handler), body_bytes_max))
    yield from sorted(found, key=lambda address: address.path)


def _name(handler: Callable[..., Any]) -> str:
    while isinstance(handler, partial):
        handler = handler.func
    named = handler if hasattr(handler, "__qualname__") else type(handler)
    return f"{named.__module__}:{named.__qualname__}"
