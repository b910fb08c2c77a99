"""An in-process client of the simulator."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx2
from starlette.types import ASGIApp

from balcao.providers.simulation.app import create_app

NOW = datetime(2026, 8, 20, 12, 30, 15, 250_000, tzinfo=UTC)

CNPJA_KEY = {"authorization": "some-key"}


def an_app(**settings: Any) -> ASGIApp:
    """Create the simulator with short delays and a fixed date."""
    return create_app(**{"clock": lambda: NOW, "never_seconds": 0.05, **settings})


async def fetch(
    app: ASGIApp, method: str, path: str, *, timeout_seconds: float = 5.0, **more: Any
) -> httpx2.Response:
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://simulator"
    ) as client:
        return await asyncio.wait_for(client.request(method, path, **more), timeout_seconds)


def get(
    path: str,
    app: ASGIApp | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> httpx2.Response:
    return asyncio.run(fetch(app or an_app(), "GET", path, headers=headers, **more))


def post(path: str, app: ASGIApp | None = None, **more: Any) -> httpx2.Response:
    return asyncio.run(fetch(app or an_app(), "POST", path, **more))


def serpro_token(app: ASGIApp | None = None, key: str = "key") -> dict[str, str]:
    """Return the header of an authorised call."""
    reply = post(
        "/serpro/token", app, data={"grant_type": "client_credentials"}, auth=(key, "secret")
    )
    assert reply.status_code == 200
    return {"authorization": f"Bearer {reply.json()['access_token']}"}
