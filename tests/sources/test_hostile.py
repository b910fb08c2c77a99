"""Two hundred hostile answers through the whole service: HTTP, adapters, desk and cache.

No answer blocks the event loop for more than 50 ms. A hostile one is a failure of its source: it is
neither charged nor stored. Time is the processor time of the loop's thread within one turn, so that
a busy machine fails no test.
"""

import asyncio
import gc
import json
import re
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from balcao.providers.cnpja.settings import CnpjaSettings
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.providers.minha_receita.settings import MinhaReceitaSettings
from balcao.providers.sefaz.settings import SefazSettings
from balcao.providers.serpro.settings import SerproSettings
from tests.providers import PROVIDERS
from tests.records import (
    company,
    federal_of,
    fgts,
    labour,
    producer,
    sintegra,
    state_of,
    suframa,
)
from tests.service import Reply, Service, open_service
from tests.sources import hostile
from tests.sources.adapters import CNPJ
from tests.sources.hostile import CORPUS, CPF, READERS, Answer, Case, Reader

LOOP_SECONDS_MAX = 0.050

NOTHING = Answer(b"")

# One source per subject; three deployments cover all readers.
DEPLOYMENTS: Sequence[Mapping[str, str]] = (
    {
        "company": "minha_receita",
        "state_registration": "sefaz",
        "rural_producer": "sefaz",
        "suframa": "cnpja",
        "federal_certificate": "infosimples",
        "state_certificate": "infosimples",
        "labour_certificate": "infosimples",
        "fgts_regularity": "infosimples",
    },
    {"company": "cnpja", "state_registration": "cnpja", "federal_certificate": "serpro_cnd"},
    {
        "company": "serpro",
        "state_registration": "infosimples",
        "rural_producer": "infosimples",
    },
)


@dataclass
class Source(httpx2.AsyncBaseTransport):
    """A transport with a fixed answer for all sources."""

    answer: Answer = NOTHING
    asked: int = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("/token"):
            return httpx2.Response(200, json={"access_token": "t", "expires_in": 3600})
        self.asked += 1
        answer = self.answer
        if answer.chunks_of:
            return httpx2.Response(answer.status, headers=answer.headers, content=_pieces(answer))
        if answer.by_uf:
            (uf,) = re.findall(rb"<UF>(..)</UF>", request.content)
            return httpx2.Response(answer.status, content=answer.by_uf[uf.decode()])
        # still compressed
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=httpx2.ByteStream(answer.body)
        )


async def _pieces(answer: Answer) -> AsyncIterator[bytes]:
    for start in range(0, len(answer.body), answer.chunks_of):
        yield answer.body[start : start + answer.chunks_of]


@dataclass
class LoopTimer:
    """Measures the longest turn of the event loop, in processor time of its thread."""

    longest: float = 0.0

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.base_events.BaseEventLoop
        run_once = loop._run_once  # type: ignore[attr-defined]

        def watched(running: Any) -> None:
            started = time.thread_time()
            run_once(running)
            self.longest = max(self.longest, time.thread_time() - started)

        monkeypatch.setattr(loop, "_run_once", watched)


@dataclass
class Deployment:
    """A service with its source and its loop timer."""

    service: Service
    source: Source
    timer: LoopTimer

    def ask(self, reader: Reader, answer: Answer, *, online: bool = True) -> Reply:
        return self.get(address(reader, online=online), answer)

    def get(self, path: str, answer: Answer) -> Reply:
        self.source.answer = answer
        self.timer.longest = 0.0
        # a service rarely collects garbage (`server.GC_THRESHOLDS`), and has no tests in memory
        gc.disable()
        try:
            return self.service.get(path, accept_encoding="gzip")
        finally:
            gc.enable()


@pytest.fixture(scope="module")
def deployments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Deployment]]:
    found: dict[str, Deployment] = {}
    with ExitStack() as stack:
        monkeypatch = stack.enter_context(pytest.MonkeyPatch.context())
        timer = LoopTimer()
        timer.watch(monkeypatch)
        for number, order in enumerate(DEPLOYMENTS):
            source = Source()
            sources: dict[str, Any] = {f"{of}_sources": (name,) for of, name in order.items()}
            service = stack.enter_context(
                open_service(
                    tmp_path_factory.mktemp(f"house{number}"),
                    mode="live",
                    transport=source,
                    breaker_failures=1_000_000,
                    minha_receita=MinhaReceitaSettings(url=f"{PROVIDERS}/mr"),
                    cnpja=CnpjaSettings(url=f"{PROVIDERS}/cnpja", key=SecretStr("k")),
                    serpro=SerproSettings(
                        url=f"{PROVIDERS}/serpro",
                        consumer_key=SecretStr("k"),
                        consumer_secret=SecretStr("s"),
                        cnd=True,
                    ),
                    sefaz=SefazSettings(url=f"{PROVIDERS}/sefaz"),
                    infosimples=InfosimplesSettings(url=f"{PROVIDERS}/i", token=SecretStr("t")),
                    **sources,
                )
            )
            deployment = Deployment(service, source, timer)
            found |= {f"{name}: {subject}": deployment for subject, name in order.items()}
        assert found.keys() == READERS.keys()
        for reader in READERS.values():
            answer = found[reader.name].ask(reader, hostile.good(reader))
            assert answer.status == 200, f"{reader.name}: {answer.body[:300]!r}"
            assert found[reader.name].source.asked, reader.name
        # like the server at its start, exclude loaded modules from garbage collection
        gc.collect()
        gc.freeze()
        yield found
        gc.unfreeze()


def address(reader: Reader, *, online: bool = True) -> str:
    strategy = f"cache_strategy={'SO_ONLINE' if online else 'CACHE_PREFERENCIAL'}"
    match reader.subject:
        case "company":
            return company(CNPJ, strategy)
        case "state_registration":
            addresses = "" if reader.provider == "cnpja" else "&endereco=true"
            return sintegra(CNPJ, f"uf=SC&{strategy}{addresses}")
        case "rural_producer":
            return producer(CPF, f"uf=SC&{strategy}&endereco=true")
        case "suframa":
            return suframa(CNPJ, "cache=0" if online else "")
        case "federal_certificate":
            return federal_of(CNPJ, "atualizar_online=true" if online else "")
        case "labour_certificate":
            return labour(f"cnpj={CNPJ}" + ("&atualizar_online=true" if online else ""))
        case "fgts_regularity":
            return fgts(CNPJ, "atualizar_online=true" if online else "")
        case _:
            return state_of(CNPJ, "SP", "atualizar_online=true" if online else "")


def name_of(case: Case) -> str:
    return f"{case.reader.name}, {case.name}"


def test_corpus_has_200_cases() -> None:
    assert len({name_of(case) for case in CORPUS}) == len(CORPUS) >= 200


@pytest.mark.parametrize("reader", READERS)
def test_hostile_answers(deployments: Mapping[str, Deployment], reader: str) -> None:
    deployment = deployments[reader]
    inquiry = READERS[reader].inquiry
    cache = deployment.service.front.parts.environments["live"].cache
    deployment.service.run(_forget(cache, inquiry.cache_key))
    before, charges = deployment.service.balance(), len(deployment.service.charges())
    wrong: list[str] = []
    for case in (case for case in CORPUS if case.reader.name == reader):
        asked = deployment.source.asked
        answer = deployment.ask(case.reader, case.make())
        seconds = deployment.timer.longest
        problems = [
            answer.code not in ("ERRO_INTERNO", "FALHA_TECNICA") and f"{answer.status}",
            answer.credits and f"{answer.credits} credits",
            deployment.service.kept(inquiry, "live") and "kept",
            deployment.source.asked != asked + 1 and "not asked once",
            seconds > LOOP_SECONDS_MAX and f"{seconds * 1000:.0f} ms",
            "bug" in str(deployment.service.event(answer.headers["x-request-id"])) and "a bug",
        ]
        wrong += [f"{case.name}: {problem}" for problem in problems if problem]
    assert not wrong, "\n".join(wrong)
    assert deployment.service.balance() == before
    assert len(deployment.service.charges()) == charges
    deployment.service.assert_books_agree()


@pytest.mark.parametrize("reader", READERS)
def test_control_characters(deployments: Mapping[str, Deployment], reader: str) -> None:
    """They are removed from the answer; line breaks become blanks (contract 9.5)."""
    deployment = deployments[reader]
    good = deployment.ask(READERS[reader], hostile.good(READERS[reader]))
    unclean = deployment.ask(READERS[reader], hostile.unclean(READERS[reader]))
    assert (good.status, unclean.status) == (200, 200), unclean.body
    assert not any(FORBIDDEN.search(text) for text in texts_of(unclean.json))
    assert without_instants(unclean.json) == without_instants(good.json)
    kept = deployment.service.kept(READERS[reader].inquiry, "live")
    assert kept is not None
    assert not any(FORBIDDEN.search(text) for text in texts_of(json.loads(kept.body)))


# Patterns that no text of an answer may have.
FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]|  |^ | $")


def texts_of(body: Any) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict | list):
        for each in body.values() if isinstance(body, dict) else body:
            yield from texts_of(each)


# Fields that differ in each answer.
VARYING = {"request_id", "served_at", "provider_elapsed_time_in_milliseconds"}


def without_instants(answer: Any) -> Any:
    return {name: each for name, each in answer.items() if name not in VARYING}


async def _forget(cache: Any, key: str) -> None:
    await cache.sweep(1 << 60, 1 << 60)
    assert not await cache.read([key])


@pytest.mark.parametrize("case", hostile.EDGES, ids=name_of)
def test_the_largest_answers_that_are_answered(
    deployments: Mapping[str, Deployment], case: Case
) -> None:
    """From the source, and then from the cache."""
    deployment = deployments[case.reader.name]
    answer = deployment.ask(case.reader, case.make())
    online = deployment.timer.longest
    assert answer.status == 200, answer.body[:300]
    body = answer.json
    if case.reader.subject == "company":
        assert len(body["response"]["socios"]) == 10_000
    else:
        assert len(body["inscricoes_estaduais"]) == 1_000
    again = deployment.ask(case.reader, NOTHING, online=False)
    assert (again.status, again.headers["cache-status"]) == (200, "Balcao; hit")
    cached = deployment.timer.longest
    assert max(online, cached) <= LOOP_SECONDS_MAX, (online, cached)


def test_26_of_the_largest_answers_in_one(deployments: Mapping[str, Deployment]) -> None:
    """Each is within the limits. MA has no such service."""
    reader = READERS["sefaz: state_registration"]
    deployment = deployments[reader.name]
    body = hostile.largest_everywhere(reader)
    online = deployment.get(sintegra(CNPJ, "uf=BR&cache_strategy=SO_ONLINE&endereco=true"), body)
    seconds = deployment.timer.longest
    assert (online.status, len(online.json["inscricoes_estaduais"])) == (200, 26_000)
    path = sintegra(CNPJ, "uf=BR&cache_strategy=CACHE_PREFERENCIAL&endereco=true")
    again = deployment.get(path, NOTHING)
    assert (again.status, again.json["is_cache"]) == (200, True)
    cached = deployment.timer.longest
    assert max(seconds, cached) <= LOOP_SECONDS_MAX, (seconds, cached)
