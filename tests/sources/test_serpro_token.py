"""SERPRO's conversations with their token."""

import asyncio

import httpx2
import pytest

from balcao.core.errors import SourceError
from balcao.providers.serpro.adapter import SerproAdapter
from balcao.sources.contract import Found
from balcao.sources.oauth import ClientCredentials
from balcao.sources.online import AdapterSource
from tests.sources.adapters import CNPJ, NOW, Clock, an_inquiry, an_upstream
from tests.sources.test_serpro import SAVED as SERPRO


def test_serpro_with_its_token_end_to_end() -> None:
    seen: list[tuple[str, str]] = []

    def gateway(request: httpx2.Request) -> httpx2.Response:
        authorization = request.headers["authorization"]
        seen.append((request.url.path, authorization.split()[0]))
        if request.url.path == "/prefix/token":
            return httpx2.Response(200, json={"access_token": "t1", "expires_in": 3600})
        if authorization != "Bearer t1":
            return httpx2.Response(401)
        return httpx2.Response(200, json=SERPRO)

    async def scenario() -> None:
        token = ClientCredentials("serpro", key="k", secret="s", clock=Clock())
        upstream = an_upstream(gateway)
        source = AdapterSource(
            "serpro", SerproAdapter(), lambda _: upstream, now=lambda: NOW, layer=token
        )
        for _ in range(2):
            assert isinstance(await source.ask(an_inquiry()), Found)

    asyncio.run(scenario())
    path = f"/prefix/consulta-cnpj-df/v2/qsa/{CNPJ}"
    assert seen == [("/prefix/token", "Basic"), (path, "Bearer"), (path, "Bearer")]


def test_refused_credentials_are_reported_without_secrets() -> None:
    async def scenario() -> None:
        token = ClientCredentials("serpro", key="the-key", secret="the-secret", clock=Clock())
        upstream = an_upstream(lambda request: httpx2.Response(401, json={"error": "x"}))
        source = AdapterSource(
            "serpro", SerproAdapter(), lambda _: upstream, now=lambda: NOW, layer=token
        )
        with pytest.raises(SourceError, match="VERIFIQUE A CONFIGURAÇÃO") as caught:
            await source.ask(an_inquiry())
        assert "the-" not in caught.value.detail

    asyncio.run(scenario())


def test_probe_of_serpro_uses_the_token() -> None:
    paths: list[str] = []

    def gateway(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.path.removeprefix("/prefix"))
        if request.url.path == "/prefix/token":
            return httpx2.Response(200, json={"access_token": "t1", "expires_in": 3600})
        assert request.headers["authorization"] == "Bearer t1"
        return httpx2.Response(400, json={"mensagem": "CNPJ inválido"})

    async def scenario() -> str:
        token = ClientCredentials("serpro", key="k", secret="s", clock=Clock())
        upstream = an_upstream(gateway)
        source = AdapterSource(
            "serpro", SerproAdapter(), lambda _: upstream, now=lambda: NOW, layer=token
        )
        return await source.probe(an_inquiry())

    assert asyncio.run(scenario()) == "respondeu"
    assert paths == ["/token", "/consulta-cnpj-df/v2/qsa/00000000000001"]
