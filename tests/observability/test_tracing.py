"""Traces of lookups in a complete service: what they contain, and what they never contain."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr

from balcao.providers.cnpja.settings import CnpjaSettings
from balcao.providers.infosimples.settings import InfosimplesSettings
from balcao.providers.simulation.app import create_app
from tests.observability.collector import Collector, collecting
from tests.providers import PROVIDERS
from tests.records import CNPJ, CPF, company, federal_of, producer, sintegra, state_of, suframa
from tests.service import Service, open_service

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
KEY = "pedido-da-fulana-7788"


@pytest.fixture(autouse=True)
def _no_variables_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)


@contextmanager
def traced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> Iterator[tuple[Service, Collector]]:
    """Open a service whose traces are collected. They are complete once the service is closed."""
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.base)
        with open_service(folder, otel=True, **settings) as house:
            yield house, collector


def test_online_and_then_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with traced(tmp_path, monkeypatch) as (house, collector):
        house.get(company())  # the first use of a key is recorded by a separate commit
        question = sintegra(query="uf=SP&cache_strategy=CACHE_PREFERENCIAL")
        online, cached = house.get(question), house.get(question)
        account_id = house.client.account_id
        event = house.event(online.json["request_id"])

    asked = collector.request(online.json["request_id"])
    assert (asked.name, asked.kind) == ("GET /consultas/v2/sintegra/{cnpj}", "SERVER")
    assert asked.attributes == {
        "http.request.method": "GET",
        "url.scheme": "http",
        "http.route": "/consultas/v2/sintegra/{cnpj}",
        "http.response.status_code": 200,
        "balcao.request_id": online.json["request_id"],
        "balcao.operation": "sintegra",
        "balcao.account": account_id,
        "balcao.origin": "online",
        "balcao.source": "cnpja",
        "balcao.credits": online.credits,
        "balcao.replayed": False,
    }
    assert asked.parent_id == ""
    assert not asked.failed
    assert event["trace_id"] == asked.trace_id
    assert (asked.resource["service.name"], "service.version" in asked.resource) == ("balcao", True)

    spans = collector.of_request(online.json["request_id"])
    assert [span.name for span in spans] == [
        "GET /consultas/v2/sintegra/{cnpj}",
        "desk.caller",
        "desk.spend",
        "cache.read",
        "desk.commit",  # held
        "cache.read",  # did another caller store it meanwhile?
        "source cnpja",
        "GET cnpja",
        "cache.read",  # the entry to replace
        "desk.commit",  # settled
    ]
    source, attempt = spans[6], spans[7]
    assert source.attributes["balcao.outcome"] == "found"
    assert attempt.parent_id == source.span_id
    assert attempt.kind == "CLIENT"
    assert attempt.attributes == {
        "balcao.source": "cnpja",
        "balcao.attempt": 1,
        "server.address": "sandbox.invalid",
        "http.request.method": "GET",
        "http.response.status_code": 200,
    }
    commit = spans[4]
    assert commit.attributes["db.system.name"] == "sqlite"
    assert {span.parent_id for span in spans if span not in (asked, attempt)} == {asked.span_id}

    again = collector.of_request(cached.json["request_id"])
    assert [span.name for span in again] == [
        "GET /consultas/v2/sintegra/{cnpj}",
        "desk.caller",
        "desk.spend",
        "cache.read",
        "desk.commit",
    ]
    assert again[0].trace_id != asked.trace_id
    assert again[0].attributes["balcao.origin"] == "cache"
    assert (again[3].attributes["balcao.keys"], again[3].attributes["balcao.found"]) == (1, 1)


class Wire(httpx2.AsyncBaseTransport):
    """The network of a live account: CNPJá refuses connections. Records the requests."""

    def __init__(self) -> None:
        self.sent: list[httpx2.Request] = []
        self._simulator = httpx2.ASGITransport(app=create_app())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.sent.append(request)
        if request.url.path.startswith("/cnpja"):
            raise httpx2.ConnectError(f"nobody there for {request.url}")
        return await self._simulator.handle_async_request(request)


def test_a_retry_and_the_next_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = Wire()
    providers: dict[str, Any] = {
        "cnpja": CnpjaSettings(url=f"{PROVIDERS}/cnpja", key=SecretStr("segredo-da-cnpja")),
        "infosimples": InfosimplesSettings(
            url=f"{PROVIDERS}/infosimples", token=SecretStr("segredo-da-infosimples")
        ),
        "state_registration_sources": ("cnpja", "infosimples"),
    }
    with traced(tmp_path, monkeypatch, mode="live", transport=wire, **providers) as (
        house,
        collector,
    ):
        answer = house.get(sintegra(), traceparent=f"00-{TRACE}-{PARENT}-01", tracestate="a=1")
    assert answer.status == 200

    spans = collector.of_request(answer.json["request_id"])
    assert {span.trace_id for span in spans} == {TRACE}
    assert spans[0].parent_id == PARENT
    names = [span.name for span in spans if span.name.split()[0] in ("source", "GET", "POST")]
    assert names[1:] == [
        "source cnpja",
        "GET cnpja",
        "GET cnpja",
        "source infosimples",
        "POST infosimples",
    ]
    down, first, second = (
        span for span in spans if span.attributes.get("balcao.source") == "cnpja"
    )
    assert (first.parent_id, second.parent_id) == (down.span_id, down.span_id)
    assert [s.attributes["error.type"] for s in (down, first, second)] == [
        "SourceUnavailable",
        "ConnectError",
        "ConnectError",
    ]
    assert all(span.failed for span in (down, first, second))
    assert second.attributes["http.request.resend_count"] == 1
    assert "http.request.resend_count" not in first.attributes

    assert len(wire.sent) == 3
    for sent in wire.sent:  # providers must not receive the caller's trace
        assert not {"traceparent", "tracestate", "baggage"} & set(sent.headers)
    assert_nothing_of(collector, "segredo-da-cnpja", "segredo-da-infosimples", "nobody there")


def test_errors_are_identified_by_their_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with traced(tmp_path, monkeypatch) as (house, collector):
        down = house.get(sintegra("90020003000180"))
        refused = house.get(sintegra("11111111111111"))
        house.get("/readyz")
        elsewhere = house.request("GET", f"/clientes/{CPF}", None)
    assert (down.status, refused.status, elsewhere.status) == (500, 400, 404)
    broken = collector.request(down.json["request_id"])
    assert broken.failed
    assert broken.attributes["error.type"] == broken.attributes["balcao.code"] == down.code
    mistaken = collector.request(refused.json["request_id"])
    assert not mistaken.failed  # the caller's mistake
    assert mistaken.attributes["balcao.code"] == refused.code
    nowhere = collector.request(elsewhere.json["request_id"])
    assert (nowhere.name, "http.route" in nowhere.attributes) == ("GET outros", False)
    # Probes have no trace.
    assert sum(span.kind == "SERVER" for span in collector.spans) == 3


def test_concurrent_requests_have_separate_traces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = [f"{number:032x}" for number in range(1, 13)]

    async def all_at_once(house: Service) -> None:
        await asyncio.gather(
            *(
                house.aget(producer(query="uf=SP"), traceparent=f"00-{trace}-{PARENT}-01")
                for trace in traces
            )
        )

    with traced(tmp_path, monkeypatch) as (house, collector):
        house.get(company())
        house.run(all_at_once(house))
    asked = 0
    for trace in traces:
        spans = collector.trace(trace)
        asked += sum(span.name.startswith("source") for span in spans)
        known = {PARENT} | {span.span_id for span in spans}
        assert all(span.parent_id in known for span in spans)
        assert sum(span.kind == "SERVER" for span in spans) == 1
        assert sum(span.name == "desk.commit" for span in spans) == 2
    assert asked == 1  # one request for all of them, in the trace of the first


@pytest.mark.parametrize(
    "sent", ["", "sem sentido", f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE}-{PARENT}-01-mais"]
)
def test_an_invalid_traceparent_begins_a_trace(
    sent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with traced(tmp_path, monkeypatch) as (house, collector):
        answer = house.get(company(), traceparent=sent)
    span = collector.request(answer.json["request_id"])
    assert span.parent_id == ""
    assert span.trace_id not in (TRACE, "0" * 32)


def test_a_caller_may_disable_sampling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with traced(tmp_path, monkeypatch) as (house, collector):
        answer = house.get(sintegra(), traceparent=f"00-{TRACE}-{PARENT}-00")
        event = house.event(answer.json["request_id"])
    assert answer.status == 200
    assert not collector.spans
    assert event["trace_id"] == TRACE


def test_the_standard_variables_are_respected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "consultas")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=teste")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    with traced(tmp_path / "all", monkeypatch) as (house, collector):
        house.get(company())
    assert collector.spans[0].resource["service.name"] == "consultas"
    assert collector.spans[0].resource["deployment.environment.name"] == "teste"
    assert collector.headers[0]["authorization"] == "Bearer abc"
    assert collector.headers[0]["content-encoding"] == "gzip"

    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    with traced(tmp_path / "none", monkeypatch) as (house, nothing):
        house.get(company(), traceparent=f"00-{TRACE}-{PARENT}-01")
    assert not nothing.spans


def test_traces_contain_no_personal_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = []
    with traced(tmp_path, monkeypatch, establishments=300) as (house, collector):
        for path in (
            federal_of(CPF),
            federal_of(CPF, birth="19800102"),  # the source refuses the data
            federal_of(CNPJ),
            state_of(CNPJ),
            producer(),
            producer("90020000308"),  # its sources fail
            producer("90020000309"),  # wrong check digits
            suframa(),
            sintegra(),
            sintegra(CNPJ, "uf=BR"),
            company(),
            company("90010012000190"),  # a sole trader, whose name ends with a CPF
            company("70000001000190", "cache_strategy=SO_ONLINE"),
            f"/clientes/{CPF}?cpf={CPF}",
            f"/consultas/v2/{CPF}",
        ):
            header = f"00-{TRACE}-{PARENT}-01"
            answers.append(
                house.get(path, idempotency_key=KEY, traceparent=header, tracestate=f"erp={CPF}")
            )
            answers.append(house.get(path, user_agent=f"erp {CPF}", referer=f"http://x/{CPF}"))
        house.request(f"CPF-{CPF}", company(), None)
        house.request("GET", company(), None, x_api_key="balcao_test_errada")
        key = house.client.key
        receipts = re.findall(
            r"/consultas/v2/[\w-]+/print/[\w-]+", json.dumps([a.json for a in answers])
        )
        assert receipts
        for path in receipts:
            assert house.get(path).status == 200

    assert {answer.status for answer in answers} >= {200, 400, 404, 500}
    assert len(collector.spans) > 100
    names = {name for answer in answers for name in _names(answer.json) if len(name) > 5}
    assert len(names) > 3
    birth = ("19800101", "1980-01-01", "01/01/1980", "19800102", "1980-01-02")
    documents = (
        *(CPF, "900.100.001-00", "90020000308", "90020000309"),
        *(CNPJ, "90.010.001/0001-00", "90010012000190", "70000001000190", "90010001"),
    )
    numbers = {path.rpartition("/")[2] for path in receipts}
    assert_nothing_of(collector, *documents, *birth, *names, *numbers, key, KEY, "balcao_test_")
    assert all(span.status_text == "" and not span.events for span in collector.spans)


def _names(said: Any) -> Iterator[str]:
    """Every name in an answer, of a company or a person."""
    if isinstance(said, dict):
        for field, value in said.items():
            if "nome" in field and isinstance(value, str):
                yield value
            yield from _names(value)
    elif isinstance(said, list):
        for each in said:
            yield from _names(each)


def assert_nothing_of(collector: Collector, *secrets: str) -> None:
    everything = b"".join(collector.bodies).lower()
    assert everything
    for secret in secrets:
        assert secret.lower().encode() not in everything, secret


OPEN_A_HOUSE = """
import sys
from pathlib import Path
from balcao.service import compose
from balcao.cli import app, serve
from balcao.settings import Settings
house = compose.open_application(Settings(home=Path(sys.argv[1]), otel=sys.argv[2] == "on"))
assert (house.app is house.front) == (sys.argv[2] == "off")
house.close()
found = [n for n in sys.modules if n.split(".")[0] in ("opentelemetry", "requests", "google")]
loaded = sys.modules
print(len(found), "balcao.service.spans" in loaded, "balcao.observability.tracing" in loaded)
"""


@pytest.mark.parametrize("state", ["off", "on"])
def test_nothing_is_imported_unless_enabled(state: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OPEN_A_HOUSE, str(tmp_path / "home"), state],
        capture_output=True,
        text=True,
        check=True,
    )
    found, spans, tracing = done.stdout.split()
    if state == "off":
        assert (found, spans, tracing) == ("0", "False", "False")
    else:
        assert int(found) > 10
        assert (spans, tracing) == ("True", "True")
