"""Every provider fails as promised (`docs/sandbox.md`, Sources that misbehave)."""

import asyncio
import inspect
import json
import time
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp

from balcao.simulator import ConnectionCut, create_app
from tests.simulator.world import CNPJA_KEY, an_app, fetch, get, serpro_token


@dataclass(frozen=True)
class Provider:
    """How to ask a provider, and where its answers have the CNPJ and the legal name."""

    path: str
    cnpj_at: str
    name_at: tuple[str, ...]
    key: str = ""

    def ask(self, cnpj: str, app: ASGIApp | None = None, **more: Any) -> httpx2.Response:
        return get(self.path.format(cnpj), app, self.headers(), **more)

    def headers(self) -> dict[str, str]:
        return serpro_token() if "serpro" in self.path else CNPJA_KEY

    def name_of(self, said: Any) -> str | None:
        for key in self.name_at:
            said = said.get(key)
        assert said is None or isinstance(said, str)
        return said


PROVIDERS = {
    "minha_receita": Provider("/minha-receita/{}", "cnpj", ("razao_social",)),
    "brasilapi": Provider("/brasilapi/api/cnpj/v1/{}", "cnpj", ("razao_social",)),
    "office": Provider("/cnpja/office/{}", "taxId", ("company", "name")),
    "rfb": Provider("/cnpja/rfb?taxId={}", "taxId", ("name",)),
    "basica": Provider("/serpro/consulta-cnpj-df/v2/basica/{}", "ni", ("nomeEmpresarial",)),
    "qsa": Provider("/serpro/consulta-cnpj-df/v2/qsa/{}", "ni", ("nomeEmpresarial",)),
    "empresa": Provider("/serpro/consulta-cnpj-df/v2/empresa/{}", "ni", ("nomeEmpresarial",)),
}


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Provider:
    return PROVIDERS[request.param]


def test_maintenance_is_a_503(provider: Provider) -> None:
    assert provider.ask("90020001000190").status_code == 503


def test_maintenance_is_said_in_the_provider_s_own_way() -> None:
    assert PROVIDERS["office"].ask("90020001000190").json() == {
        "code": 503,
        "message": "revenue service is offline",
    }
    assert PROVIDERS["qsa"].ask("90020001000190").json()["fault"]["code"] == 101503
    for name in ("minha_receita", "brasilapi"):
        reply = PROVIDERS[name].ask("90020001000190")
        assert reply.headers["content-type"].startswith("text/html")


def test_never_means_until_nobody_waits_any_more(provider: Provider) -> None:
    app = an_app(never_seconds=60)
    started = time.monotonic()

    with pytest.raises(TimeoutError):
        provider.ask("90020002000135", app, timeout_seconds=0.1)

    assert time.monotonic() - started < 5


def test_never_ends_at_last(provider: Provider) -> None:
    started = time.monotonic()
    reply = provider.ask("90020002000135", an_app(never_seconds=0.2))

    assert reply.status_code == 500
    assert time.monotonic() - started >= 0.2


def test_http_500(provider: Provider) -> None:
    assert provider.ask("90020003000180").status_code == 500


def test_html_where_json_is_due(provider: Provider) -> None:
    reply = provider.ask("90020004000124")

    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/html")
    with pytest.raises(json.JSONDecodeError):
        reply.json()


def test_the_data_of_another_cnpj(provider: Provider) -> None:
    reply = provider.ask("90020005000179")

    assert reply.status_code == 200
    assert reply.json()[provider.cnpj_at] == "90010001000100"
    assert provider.name_of(reply.json()) == "EMPRESA ATIVA FICTICIA LTDA"


def test_well_after_a_while(provider: Provider) -> None:
    started = time.monotonic()
    reply = provider.ask("90020006000113", an_app(slow_seconds=0.1))

    assert time.monotonic() - started >= 0.1
    assert reply.json()[provider.cnpj_at] == "90020006000113"


def test_a_while_is_more_than_3_seconds() -> None:
    """The test above waits for a shorter one."""
    assert inspect.signature(create_app).parameters["slow_seconds"].default > 3


def test_well_the_first_time_whoever_is_asked(provider: Provider) -> None:
    app = an_app()

    assert provider.ask("90020007000168", app).json()[provider.cnpj_at] == "90020007000168"
    assert provider.ask("90020007000168", app).status_code == 500
    assert PROVIDERS["office"].ask("90020007000168", app).status_code == 500
    assert provider.ask("90020007000168", an_app()).status_code == 200  # a new process


def test_some_ufs_make_no_difference_to_the_company_registry(provider: Provider) -> None:
    reply = provider.ask("90020008000102")

    assert reply.status_code == 200
    assert reply.json()[provider.cnpj_at] == "90020008000102"
    assert provider.ask("90020008000102").status_code == 200


def test_incomplete(provider: Provider) -> None:
    reply = provider.ask("90020009000157")

    assert reply.json()[provider.cnpj_at] == "90020009000157"
    assert provider.name_of(reply.json()) is None
    assert provider.name_of(provider.ask("90020008000102").json()) is not None


def test_a_cut_connection_is_an_error_of_the_client_s_own_kind(provider: Provider) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        provider.ask("90020010000181")


def test_half_of_the_body_was_sent() -> None:
    """What a server is given before the connection is cut."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/minha-receita/90020010000181",
        "query_string": b"",
        "headers": [],
    }

    async def story() -> None:
        with pytest.raises(ConnectionCut):
            await an_app()(scope, receive, send)

    asyncio.run(story())

    start, body = sent
    announced = int(dict(start["headers"])[b"content-length"])
    assert 0 < len(body["body"]) < announced
    assert body["more_body"] is True


def test_every_answer_can_be_delayed() -> None:
    started = time.monotonic()
    get("/minha-receita/90010001000100", an_app(delay_seconds=0.1))

    assert time.monotonic() - started >= 0.1


def test_waiting_for_one_document_does_not_hold_up_another() -> None:
    async def story() -> None:
        app = an_app(never_seconds=60)
        stuck = asyncio.ensure_future(fetch(app, "GET", "/minha-receita/90020002000135"))
        await asyncio.sleep(0)
        reply = await fetch(app, "GET", "/minha-receita/90010001000100")
        assert reply.status_code == 200
        assert not stuck.done()
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck

    asyncio.run(story())


def test_the_home_page_lists_the_providers() -> None:
    said = get("/").json()

    assert {"/brasilapi", "/cnpja", "/infosimples", "/minha-receita", "/serpro"} <= set(
        said["providers"]
    )
    assert get("/nobody/90010001000100").status_code == 404


def test_all_providers_tell_the_same_story() -> None:
    for cnpj in ("11222333000181", "33683111000280", "93ZB0VRYV6KA67", "90010012000190"):
        cities = {
            PROVIDERS["minha_receita"].ask(cnpj).json()["municipio"],
            PROVIDERS["brasilapi"].ask(cnpj).json()["municipio"],
            PROVIDERS["office"].ask(cnpj).json()["address"]["city"],
            PROVIDERS["qsa"].ask(cnpj).json()["endereco"]["municipio"]["descricao"],
        }
        assert len(cities) == 1
