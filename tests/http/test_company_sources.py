"""The company registry by each of its online sources: absence, data day, uniform answers.

Real here: the composition with its layers, all adapters, the simulated providers.
"""

import asyncio
import datetime
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from balcao.core.calendar import civil_day_text
from balcao.providers.cnpja.settings import CnpjaSettings
from balcao.providers.minha_receita.settings import MinhaReceitaSettings
from balcao.providers.sefaz.settings import SefazSettings
from balcao.providers.serpro.settings import SerproSettings
from balcao.sources import reply_cache
from tests.providers import PROVIDERS, Wire
from tests.records import company, sintegra
from tests.service import Service, assert_refused, open_service

NOWHERE = "99999999000191"
EXISTING = "90010001000100"
KNOWN = "33683111000280"
ABROAD = "10038543000151"  # in Madrid, according to CNPJá; six partners who entered on four days

MINHA_RECEITA = {"minha_receita": MinhaReceitaSettings(url=f"{PROVIDERS}/minha-receita")}
SOURCES: dict[str, dict[str, Any]] = {
    "minha_receita": MINHA_RECEITA,
    "cnpja": {"cnpja": CnpjaSettings(url=f"{PROVIDERS}/cnpja", key=SecretStr("k"))},
    "serpro": {
        "serpro": SerproSettings(
            url=f"{PROVIDERS}/serpro",
            consumer_key=SecretStr("k"),
            consumer_secret=SecretStr("s"),
        )
    },
}


class Backwards(httpx2.AsyncBaseTransport):
    """The simulated providers, and a copy of them that lists partners in reverse order."""

    def __init__(self) -> None:
        self._wire = Wire()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        reply = await self._wire.handle_async_request(request)
        answer = json.loads(await reply.aread())
        for place, name in (
            (answer, "qsa"),
            (answer, "socios"),
            (answer.get("company"), "members"),
        ):
            if place and name in place:
                place[name].reverse()
        return httpx2.Response(reply.status_code, json=answer)


class Deployment(httpx2.AsyncBaseTransport):
    """The simulated providers with replaceable answers; counts outgoing requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.instead: Callable[[str], httpx2.Response | None] = lambda path: None
        self._wire = Wire()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        self.asked.append(path)
        return self.instead(path) or await self._wire.handle_async_request(request)


def house(
    folder: Path, *names: str, wire: httpx2.AsyncBaseTransport, **more: Any
) -> AbstractContextManager[Service]:
    providers = {key: value for name in names for key, value in SOURCES[name].items()}
    return open_service(
        folder, mode="live", transport=wire, company_sources=names, **providers, **more
    )


@pytest.fixture(scope="module")
def deployment() -> Deployment:
    return Deployment()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, deployment: Deployment) -> Iterator[Service]:
    """A service whose only source is Minha Receita."""
    sefaz = {
        "sefaz": SefazSettings(url=f"{PROVIDERS}/sefaz"),
        "state_registration_sources": ("sefaz",),
    }
    folder = tmp_path_factory.mktemp("casa")
    with house(folder, "minha_receita", wire=deployment, breaker_failures=1000, **sefaz) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _as_simulated(deployment: Deployment) -> None:
    deployment.instead = lambda path: None
    deployment.asked.clear()


def test_a_cnpj_that_does_not_exist_is_404_and_free(here: Service, deployment: Deployment) -> None:
    before = here.money()
    answer = here.get(company(NOWHERE))
    assert_refused(answer, 404, "CNPJ_NAO_ENCONTRADO")
    assert answer.json["response"] is None
    assert here.money() == before
    prefix = "/minha-receita/"
    asked = [path.removeprefix(prefix) for path in deployment.asked if path != f"{prefix}updated"]
    assert asked == [NOWHERE, KNOWN]


def test_its_registrations_are_not_found_either(here: Service) -> None:
    answer = here.get(sintegra(NOWHERE, "uf=SP"))
    assert_refused(answer, 404, "CNPJ_NAO_ENCONTRADO", NOWHERE)


def test_a_deployment_without_any_company_is_503(here: Service, deployment: Deployment) -> None:
    deployment.instead = lambda path: httpx2.Response(404, text="404 page not found")
    before = here.money()
    for cnpj in (NOWHERE, EXISTING, KNOWN):
        answer = here.get(company(cnpj, "cache_strategy=SO_ONLINE"))
        assert_refused(answer, 503, "SERVICO_INDISPONIVEL")
        assert int(answer.headers["retry-after"]) <= 300
    assert here.money() == before


def test_a_known_company_that_fails_proves_nothing(here: Service, deployment: Deployment) -> None:
    deployment.instead = lambda path: httpx2.Response(500) if path.endswith(KNOWN) else None
    assert_refused(here.get(company(NOWHERE)), 503, "SERVICO_INDISPONIVEL")


def test_the_data_day_is_the_source_s_from_the_cache_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply_cache, "FETCH_SECONDS_MAX", 60)
    with house(tmp_path, "minha_receita", wire=Deployment()) as here:
        _the_day_is_the_source_s(here)


def _the_day_is_the_source_s(here: Service) -> None:
    first = here.get(company(EXISTING, "cache_strategy=SO_ONLINE"))
    cached = here.get(company(EXISTING, "cache_strategy=CACHE_SE_EXISTIR"))
    assert first.headers["cache-status"] != cached.headers["cache-status"]
    day = datetime.date.fromisoformat(first.json["data_base"])
    assert day.day == 8  # of the simulated service, at the latest of nine days ago
    assert day < datetime.date.fromisoformat(civil_day_text(here.front.parts.now_ms()))
    assert cached.json["data_base"] == first.json["data_base"]
    assert first.json["response"] == cached.json["response"]
    assert "data_base" not in first.json["response"]
    assert first.credits == cached.credits == 1
    assert int(cached.headers["age"]) < 60  # since the source was asked, not since that day


def test_an_unknown_data_day_is_null(tmp_path: Path) -> None:
    wire = Deployment()
    wire.instead = lambda path: httpx2.Response(500) if path.endswith("/updated") else None
    with house(tmp_path, "minha_receita", wire=wire) as here:
        for strategy in ("SO_ONLINE", "CACHE_SE_EXISTIR", "SO_ONLINE"):
            answer = here.get(company(EXISTING, f"cache_strategy={strategy}"))
            assert answer.status == 200
            assert answer.json["data_base"] is None
            assert answer.json["response"]["cnpj"] == EXISTING
    assert [path.rpartition("/")[2] for path in wire.asked] == ["updated", EXISTING, EXISTING]


def test_a_newer_company_is_found_in_the_next_source(tmp_path: Path) -> None:
    """A month's copy proves absence on its day only; other sources are still asked."""
    wire = Deployment()
    of_copy = f"/minha-receita/{EXISTING}"
    wire.instead = lambda path: httpx2.Response(404) if path == of_copy else None
    with house(tmp_path, "minha_receita", "cnpja", wire=wire) as here:
        assert here.get(company(EXISTING)).status == 200
        assert here.event(here.get(company(NOWHERE)).json["request_id"])["status"] == 404


@pytest.mark.parametrize("down", [500, 503])
def test_absence_stands_even_if_other_sources_fail(tmp_path: Path, down: int) -> None:
    wire = Deployment()
    wire.instead = lambda path: httpx2.Response(down) if path.startswith("/cnpja") else None
    with house(tmp_path, "minha_receita", "cnpja", wire=wire) as here:
        assert_refused(here.get(company(NOWHERE)), 404, "CNPJ_NAO_ENCONTRADO")


def test_all_sources_agree_on_foreign_cities_and_the_order_of_partners(
    tmp_path: Path,
) -> None:
    body: dict[str, Any] = {}
    for name in SOURCES:
        wire = Wire() if name == "minha_receita" else Backwards()
        with house(tmp_path / name, name, wire=wire) as here:
            answer = here.get(company(ABROAD))
            assert answer.status == 200, name
            body[name] = answer.json["response"]
            today = civil_day_text(here.front.parts.now_ms())
            assert (answer.json["data_base"] == today) is (name != "minha_receita")
    assert {name: (each["uf"], each["municipio"]) for name, each in body.items()} == dict.fromkeys(
        SOURCES, ("EX", "EXTERIOR")
    )
    orders = [[partner["nome"] for partner in each["socios"]] for each in body.values()]
    assert orders == [orders[0]] * 3
    days = [partner["data_entrada_sociedade"] for partner in body["cnpja"]["socios"]]
    assert days == sorted(days)
    assert len(days) == 6


def test_twenty_concurrent_lookups_ask_for_the_day_once(tmp_path: Path) -> None:
    wire = Deployment()
    documents = [EXISTING, "90010002000154", "90010003000107", "90010004000143", "90010005000198"]

    async def scenario(here: Service) -> None:
        answers = await asyncio.gather(*(here.aget(company(each)) for each in documents))
        assert [answer.status for answer in answers] == [200] * len(documents)

    with house(tmp_path, "minha_receita", wire=wire) as here:
        here.run(scenario(here))
    assert wire.asked.count("/minha-receita/updated") == 1
    assert len(wire.asked) == len(documents) + 1


@pytest.mark.parametrize(
    ("cnpj", "many"),
    [
        ("90090001000167", 1),  # dates in another form
        ("90090002000101", 1),  # gzip
        ("90090003000156", 1),  # deflate
        ("90090004000109", 1),  # a charset of the Content-Type
        ("90090005000145", 1),  # white space before the declaration
        ("90090006000190", 1),  # the same registration twice
        ("90090008000189", 0),  # ISENTO
        ("90090009000123", 1),  # ISENTO beside
    ],
)
def test_formats_of_treasuries_are_read(here: Service, cnpj: str, many: int) -> None:
    answer = here.get(sintegra(cnpj, "uf=SP"))
    assert (answer.status, answer.credits) == (200, 1)
    assert len(answer.json["inscricoes_estaduais"]) == many


@pytest.mark.parametrize("cnpj", ["90090007000134", "90090010000158"])
def test_contradictory_or_unreadable_answers_are_500(here: Service, cnpj: str) -> None:
    assert_refused(here.get(sintegra(cnpj, "uf=SP")), 500, "ERRO_INTERNO", cnpj)
