"""`balcao serve` with traces, with and without a collector."""

import os
import socket
import sys
import time
from pathlib import Path

import httpx2
import pytest

from tests.cli.shell import (
    PATIENCE_SECONDS,
    Shell,
    exports,
    free_port,
    keys_in,
    serving,
    simulating,
)
from tests.observability.collector import collecting
from tests.records import company, sintegra

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"

# Without our limit the service would wait 30 s for a hanging collector, with it 5 s.
ENDS_WITHIN_SECONDS = 120  # of the 600 that the collector would block


@pytest.fixture(autouse=True)
def _traces_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("BALCAO_OTEL", "true")


def test_a_lookup_is_a_trace(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Online from the second source, cached, and refused; with parents of the caller's ERP."""
    with collecting() as collector, simulating(tmp_path, free_port()) as there:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.base)
        infosimples = "BALCAO_INFOSIMPLES__"
        for name, value in exports(there.out).items():
            if name.startswith(infosimples):
                monkeypatch.setenv(name, value)
        # No server there: the call is retried once.
        monkeypatch.setenv("BALCAO_CNPJA__URL", f"http://127.0.0.1:{free_port()}/cnpja")
        monkeypatch.setenv("BALCAO_CNPJA__KEY", "chave-da-cnpja")
        with serving(shell.path, free_port()) as server:
            server.wait_until_it_answers()
            shell("account create acme --plan pre_pago")
            key = shell("key create acme").out.strip()
            shell("credit add acme 50 --reason compra")
            parent = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
            with httpx2.Client(base_url=server.base, headers={"x-api-key": key}) as client:
                online = client.get(sintegra(), headers=parent)
                cached = client.get(sintegra(query="uf=SP&cache_strategy=CACHE_PREFERENCIAL"))
                mistaken = client.get(sintegra("90010001000101"))
            assert [a.status_code for a in (online, cached, mistaken)] == [200, 200, 400]
            assert server.terminate() == 0

    spans = collector.trace(TRACE)
    root = collector.request(online.json()["request_id"])
    assert (root.parent_id, root.kind) == (PARENT, "SERVER")
    assert root in spans
    named = [span.name for span in spans]
    for name in ("desk.commit", "cache.read", "source cnpja", "source infosimples"):
        assert name in named
    tried = [(s.name, s.failed) for s in spans if "balcao.attempt" in s.attributes]
    assert tried == [("GET cnpja", True), ("GET cnpja", True), ("POST infosimples", False)]
    assert f'"trace_id":"{TRACE}"' in server.err

    again = collector.of_request(cached.json()["request_id"])
    assert again[0].attributes["balcao.origin"] == "cache"
    assert not any(span.name.startswith("source") for span in again)
    refused = collector.request(mistaken.json()["request_id"])
    assert refused.attributes["http.response.status_code"] == 400

    everything = b"".join(collector.bodies)
    for secret in ("90010001000100", "chave-da-cnpja", key):
        assert secret.encode() not in everything
    assert "tracing.trouble" not in server.err


def test_a_missing_collector_does_not_affect_callers(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = f"http://127.0.0.1:{free_port()}/token-do-coletor"
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", away)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
    with serving(shell.path, free_port()) as server:
        server.wait_until_it_answers()
        key = keys_in(server.out)["pos-pago"]
        with httpx2.Client(base_url=server.base, headers={"x-api-key": key}) as client:
            for _ in range(40):  # many more spans than the queue holds
                assert client.get(company()).status_code == 200
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "tracing.trouble" not in server.err:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert server.terminate() == 0
    assert server.err.count("tracing.trouble") == 1
    assert "token-do-coletor" not in server.err
    assert "Traceback" not in server.err


def test_a_hanging_collector_does_not_delay_the_stop(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv(
            "OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}"
        )
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600")
        with serving(shell.path, free_port()) as server:
            server.wait_until_it_answers()
            key = keys_in(server.out)["pos-pago"]
            answer = httpx2.get(server.base + company(), headers={"x-api-key": key})
            assert answer.status_code == 200
            asked_to_end = time.monotonic()
            assert server.terminate() == 0
            assert time.monotonic() - asked_to_end < ENDS_WITHIN_SECONDS


def test_without_the_extra_the_installation_is_explained(
    fresh: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_PORT", str(free_port()))
    monkeypatch.delitem(sys.modules, "balcao.observability.tracing", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    result = fresh("serve", code=1)
    assert result.err.startswith("erro: BALCAO_OTEL está ativada, mas o OpenTelemetry não está")
    assert "make install-otel" in result.err
    assert "requirements-otel.lock" in result.err
    assert not fresh.path.exists()


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "por http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "por http/protobuf"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "segredo@coletor:4317", "deve começar com http://"),
    ],
)
def test_invalid_settings_of_traces_stop_the_start(
    name: str, value: str, expected: str, fresh: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_PORT", str(free_port()))
    monkeypatch.setenv(name, value)
    result = fresh("serve", code=1)
    assert result.err.startswith("erro: ")
    assert expected in " ".join(result.err.split())
    assert "segredo" not in result.err
    assert not fresh.path.exists()
