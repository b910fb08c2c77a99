"""The sandbox's in-process transport replies exactly like the ASGI application."""

import asyncio
from typing import Any

import httpx2
import pytest

from balcao.providers.simulation.app import simulated_providers
from balcao.providers.simulation.messages import ConnectionCut
from balcao.providers.simulation.transport import SimulatorTransport
from tests.simulator.world import CNPJA_KEY, NOW, an_app

FORM = {"token": "t", "cnpj": "90010001000100", "timeout": "600"}


def both_ways(**patience: float) -> tuple[httpx2.AsyncBaseTransport, httpx2.AsyncBaseTransport]:
    never_seconds = patience.get("never_seconds", 0.05)
    simulated = simulated_providers(clock=lambda: NOW, never_seconds=never_seconds)
    return SimulatorTransport(simulated), httpx2.ASGITransport(an_app(**patience))


def asked(transport: httpx2.AsyncBaseTransport, method: str, path: str, **more: Any) -> object:
    """Return status, headers and body, or type and message of an error."""

    async def scenario() -> object:
        async with httpx2.AsyncClient(transport=transport, base_url="http://simulator") as client:
            try:
                reply = await client.request(method, path, **more)
            except httpx2.HTTPError as error:
                return type(error), str(error)
            return reply.status_code, dict(reply.headers), reply.content

    return asyncio.run(scenario())


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        ("GET", "/minha-receita/90010001000100", {}),
        ("GET", "/minha-receita/90.010.001%2F0001-00", {}),
        ("GET", "/minha-receita", {}),
        ("DELETE", "/minha-receita/90010001000100", {}),
        ("GET", "/cnpja/ccc?taxId=90010001000100&states=SP&maxAge=", {"headers": CNPJA_KEY}),
        ("GET", "/cnpja/office/90010001000100", {}),  # without a key
        (
            "POST",
            "/infosimples/consultas/receita-federal/pgfn/nova",
            {"data": FORM | {"preferencia_emissao": "nova"}},
        ),
        ("POST", "/serpro/token", {"data": {"grant_type": "client_credentials"}}),
        ("GET", "/minha-receita/90020002000135", {}),  # never
        ("GET", "/minha-receita/90020003000180", {}),  # an error
        ("GET", "/minha-receita/90020010000181", {}),  # cut
        ("GET", "/minha-receitas/90010001000100", {}),  # no such provider
        ("GET", "/elsewhere", {}),
    ],
)
def test_as_the_application(method: str, path: str, more: dict[str, Any]) -> None:
    direct, application = both_ways()
    result = asked(direct, method, path, **more)
    assert result == asked(application, method, path, **more)


def test_a_cut_is_a_broken_connection() -> None:
    direct, _ = both_ways()
    words = "peer closed connection without sending complete message body"
    assert asked(direct, "GET", "/minha-receita/90020010000181") == (ConnectionCut, words)
    assert issubclass(ConnectionCut, httpx2.RemoteProtocolError)


def test_cancelled_client_ends_the_wait() -> None:
    direct, _ = both_ways(never_seconds=3600)

    async def scenario() -> None:
        request = httpx2.Request("GET", "http://simulator/minha-receita/90020002000135")
        asking = asyncio.create_task(direct.handle_async_request(request))
        await asyncio.sleep(0)
        assert not asking.done()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(scenario())
