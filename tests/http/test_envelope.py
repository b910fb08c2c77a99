"""Every answer that is not 2xx has the envelope, on every path (contract 1.1, 1.3, 1.4, 1.10)."""

import asyncio
import re
import uuid
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from balcao.core.errors import MethodNotAllowed, StorageFailed
from balcao.http.write import Headers
from balcao.service import parts
from tests.records import CNPJ, a_company, company, sintegra
from tests.service import Client, Reply, Service, call, open_with_source
from tests.storage.engines import file_size_limit

STRANGER = Client(0, 0, "balcao_live_" + "x" * 49)
EXHAUSTED = re.compile(r"saldo|cr[eé]dito|limite", re.IGNORECASE)


def assert_envelope(answer: Reply, status: int, code: str, *, registry: bool) -> None:
    """Check the fields that every refusal and failure has (contract 1.1)."""
    assert answer.status == status
    body = answer.json
    assert body["success"] is False
    assert body["error"] is True
    assert body["error_message"] == {"message": body["message"], "code": code}
    assert isinstance(body["message"], str)
    assert body["message"]
    assert body["request_id"] == answer.headers["x-request-id"]
    assert uuid.UUID(body["request_id"]).version == 7
    assert ("response" in body) == registry
    assert body.get("response") is None
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["link"] == f'</docs/erros/{code}>; rel="help"'
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.credits == 0
    assert int(answer.headers["content-length"]) == len(answer.raw)
    if status not in (402, 429):
        assert not EXHAUSTED.search(body["message"])


@pytest.mark.parametrize(
    ("document", "query", "status", "code"),
    [
        ("123", "", 400, "CNPJ_INVALIDO"),
        (CNPJ, "cache=abc", 400, "PARAMETRO_INVALIDO"),
        (CNPJ, "optin=2", 400, "PARAMETRO_INVALIDO"),
        (CNPJ, "cache=1&cache=1", 400, "PARAMETRO_REPETIDO"),
        (CNPJ, "cache_strategy=SO_CACHE", 400, "ESTRATEGIA_INVALIDA"),
        (CNPJ, "optin=1", 403, "OPTIN_NAO_HABILITADO"),
    ],
)
def test_refused_input(world: Service, document: str, query: str, status: int, code: str) -> None:
    assert_envelope(world.get(company(document, query)), status, code, registry=True)


def test_outcomes_of_the_source(world: Service) -> None:
    world.source.says_absent()
    assert_envelope(world.get(company()), 404, "CNPJ_NAO_ENCONTRADO", registry=True)
    world.source.is_down(17)
    assert world.get(company()).headers["retry-after"] == "17"


@pytest.mark.parametrize("true", [301, 3600])
def test_a_long_outage_is_reported_as_five_minutes(world: Service, true: int) -> None:
    world.source.is_down(true)
    for path in (company(), sintegra(), sintegra(query="uf=BR")):
        answer = world.get(path)
        assert (answer.status, answer.headers["retry-after"]) == (503, "300")


def test_a_bug_in_a_source(world: Service) -> None:
    world.source.has_a_bug(RuntimeError(f"segredo {CNPJ}"))

    answer = world.get(company())

    assert_envelope(answer, 500, "ERRO_INTERNO", registry=True)
    assert "segredo" not in answer.body.decode()
    assert CNPJ not in answer.body.decode()
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)
    assert not world.check().complaints


def test_a_bug_elsewhere(world: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("segredo")

    monkeypatch.setattr(world.desk, "spend", broken)

    answer = world.get(company())

    assert_envelope(answer, 500, "ERRO_INTERNO", registry=True)
    assert "segredo" not in answer.body.decode()


@pytest.mark.parametrize("strategy", ["SO_ONLINE", "CACHE_SE_EXISTIR"])
def test_a_desk_that_cannot_write(
    world: Service, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    async def full(_: object) -> None:
        raise StorageFailed("disk full")

    world.keep()
    monkeypatch.setattr(world.desk, "commit", full)

    answer = world.get(company(query=f"cache_strategy={strategy}"))

    assert_envelope(answer, 503, "SERVICO_INDISPONIVEL", registry=True)
    assert int(answer.headers["retry-after"]) >= 1
    assert world.source.asked == 0


def test_a_desk_that_cannot_write_is_not_ready(
    world: Service,
) -> None:
    log = world.folder / "balcao.db-wal"
    assert world.get("/readyz", None).status == 200
    with file_size_limit(log.stat().st_size):
        world.clock.advance(seconds=1)
        assert_envelope(world.get("/readyz", None), 503, "SERVICO_INDISPONIVEL", registry=False)
        assert world.get("/livez", None).status == 200
    world.clock.advance(seconds=1)
    assert world.get("/readyz", None).status == 200


def test_readiness_checks_do_not_keep_the_disk_busy(
    world: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats: list[int] = []
    beat = world.desk.heartbeat

    async def counted(now_ms: int) -> None:
        beats.append(now_ms)
        await beat(now_ms)

    monkeypatch.setattr(world.desk, "heartbeat", counted)

    async def scenario() -> None:
        asked = [world.begin("/readyz", None) for _ in range(20)]
        assert {answer.status for answer in await asyncio.gather(*asked)} == {200}

    world.run(scenario())
    assert len(beats) == 1
    world.clock.advance(seconds=0.999)
    world.get("/readyz", None)
    assert len(beats) == 1
    world.clock.advance(seconds=0.001)
    world.get("/readyz", None)
    assert len(beats) == 2


def test_shedding_load(tmp_path: Path) -> None:
    with (
        patch.object(parts, "ACCOUNT_SHARE", 1),
        open_with_source(tmp_path, requests_max=2) as world,
    ):

        async def scenario() -> Reply:
            world.source.waits()
            waiting = [world.begin(company(cnpj)) for cnpj in (CNPJ, "90010002000154")]
            await world.until(lambda: world.source.asked == 2)
            shed = await world.aget(company("90010003000107"))
            world.source.answers_now()
            for task in waiting:
                assert (await task).status == 200
            return shed

        answer = world.run(scenario())
        assert_envelope(answer, 503, "SERVICO_INDISPONIVEL", registry=True)
        assert int(answer.headers["retry-after"]) >= 1
        assert world.source.asked == 2
        assert world.get(company("90010003000107")).status == 200


# Paths and methods


@pytest.mark.parametrize(
    "path",
    [
        "/nada",
        "/consultas",
        "/consultas/v2",
        "/consultas/v2/",
        "/consultas/v1/cnpj-receita-federal/90010001000100",
        "/consultas/v2/cnpj-receita-federals/90010001000100",
        "/CONSULTAS/V2/cnpj-receita-federal/90010001000100",
        "//consultas/v2/cnpj-receita-federal/90010001000100",
        "/docs/nada",
        "/docs/../livez",
        "/%00",
        "/" + "a" * 5000,
        "/.git/config",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_paths(world: Service, path: str, method: str) -> None:
    answer = world.request(method, path, None)
    assert_envelope(answer, 404, "ROTA_NAO_ENCONTRADA", registry=False)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "QUERY", "get"])
@pytest.mark.parametrize("with_key", [True, False])
def test_wrong_methods(world: Service, method: str, with_key: bool) -> None:
    answer = world.request(method, company(), world.client if with_key else None)

    assert_envelope(answer, 405, "METODO_NAO_PERMITIDO", registry=True)
    assert {"GET", "OPTIONS"} <= set(answer.headers["allow"].split(", "))
    assert world.source.asked == 0


@pytest.mark.parametrize("path", ["/livez", "/metrics", "/openapi.json"])
def test_wrong_methods_on_pages(world: Service, path: str) -> None:
    answer = world.request("POST", path, None)

    assert_envelope(answer, 405, "METODO_NAO_PERMITIDO", registry=False)
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "OPTIONS"}


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        (company(), {"GET", "OPTIONS"}),
        ("/livez", {"GET", "HEAD", "OPTIONS"}),
        ("/nowhere", {"GET", "HEAD", "OPTIONS"}),
    ],
)
def test_a_method_that_never_reaches_the_application(
    world: Service, path: str, allowed: set[str]
) -> None:
    """The connection itself refuses it, with the same body (RFC 9110, 15.5.6)."""

    async def refused() -> tuple[int, Headers, bytes]:
        return world.front.refuse(MethodNotAllowed(), path)

    status, headers, body = world.run(refused())
    assert status == 405
    assert b"METODO_NAO_PERMITIDO" in body
    (allow,) = [value.decode() for name, value in headers if name == b"allow"]
    assert set(allow.split(", ")) == allowed


def test_head_on_a_billed_operation_is_405(world: Service) -> None:
    """It would cost credits without an answer (contract 1.11). HEAD answers have no body."""
    answer = world.request("HEAD", company())

    assert answer.status == 405
    assert "HEAD" not in answer.headers["allow"]
    assert answer.raw == b""
    assert (world.source.asked, world.balance().balance_credits) == (0, 1000)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/openapi.json"])
def test_head_on_pages_is_get_without_the_body(world: Service, path: str) -> None:
    got = world.request("GET", path, None)
    head = world.request("HEAD", path, None)

    assert head.status == got.status == 200
    assert head.raw == b""
    if path != "/metrics":  # measures itself
        assert head.headers["content-length"] == got.headers["content-length"]
    assert head.headers["content-type"] == got.headers["content-type"]


# Sizes (contract 7.4)

PATHS = [(company(), True), ("/livez", False), ("/nada", False)]


@pytest.mark.parametrize(("path", "registry"), PATHS)
@pytest.mark.parametrize(
    "headers", [{"content-length": "1"}, {"transfer-encoding": "chunked"}, {"content-length": "x"}]
)
def test_no_request_has_a_body(
    world: Service, path: str, registry: bool, headers: dict[str, Any]
) -> None:
    answer = world.get(path, **{name.replace("-", "_"): text for name, text in headers.items()})

    assert_envelope(answer, 413, "REQUISICAO_GRANDE_DEMAIS", registry=registry)
    assert world.source.asked == 0


def test_an_empty_body_is_accepted(world: Service) -> None:
    assert world.get(company(), content_length="0").status == 200


@pytest.mark.parametrize(("path", "registry"), PATHS)
def test_line_and_headers_over_16_kb(world: Service, path: str, registry: bool) -> None:
    long = world.get(path, x_longo="a" * 17_000)
    assert_envelope(long, 431, "REQUISICAO_GRANDE_DEMAIS", registry=registry)
    headers: dict[str, Any] = {f"x_{number}": "a" * 100 for number in range(200)}
    many = world.get(path, **headers)
    assert_envelope(many, 431, "REQUISICAO_GRANDE_DEMAIS", registry=registry)
    query = world.get(f"{path}?x={'a' * 17_000}")
    assert_envelope(query, 431, "REQUISICAO_GRANDE_DEMAIS", registry=registry)
    assert world.source.asked == 0


def test_almost_16_kb_are_accepted(world: Service) -> None:
    assert world.get(company(), x_longo="a" * 15_000).status == 200


def test_the_result_has_real_booleans_and_null(world: Service) -> None:
    """One client decides by `success` and `error` alone (contract 1.1, 1.2, 1.5)."""
    body = world.get(company()).json

    assert body["success"] is True
    assert body["error"] is False
    assert body["error_message"] is None
    assert isinstance(body["response"], dict)


def test_every_request_has_its_own_id(world: Service) -> None:
    answers = [world.get(company()) for _ in range(3)]
    ids = [answer.json["request_id"] for answer in answers]

    assert len(set(ids)) == 3
    assert ids == [answer.headers["x-request-id"] for answer in answers]
    assert all(uuid.UUID(each).version == 7 for each in ids)
    assert [entry.request_id for entry in world.charges()] == ids


def test_a_header_name_is_read_in_any_case(world: Service) -> None:
    answer = world.run(call(world.front, "GET", company(), {"X-API-Key": world.client.key}))
    assert answer.status == 200


def test_one_account_cannot_take_all_slots(tmp_path: Path) -> None:
    """Lookups waiting for a slow source do not block available answers, nor other accounts."""
    with open_with_source(tmp_path, requests_max=2 * parts.ACCOUNT_SHARE) as world:
        other = world.account("outra", credits=10)
        world.keep(a_company("90010004000143"))

        async def scenario() -> tuple[Reply, Reply, Reply]:
            world.source.waits()
            waiting = [world.begin(company(cnpj)) for cnpj in (CNPJ, "90010002000154")]
            await world.until(lambda: world.source.asked == 2)
            shed = await world.aget(company("90010003000107"))
            kept = await world.aget(
                company("90010004000143", query="cache_strategy=CACHE_SE_EXISTIR")
            )
            theirs = world.begin(company("90010005000198"), other)
            await world.until(lambda: world.source.asked == 3)
            world.source.answers_now()
            for task in waiting:
                await task
            return shed, kept, await theirs

        shed, kept, theirs = world.run(scenario())
        assert_envelope(shed, 503, "SERVICO_INDISPONIVEL", registry=True)
        assert int(shed.headers["retry-after"]) >= world.settings.source_deadline_seconds
        assert (kept.status, theirs.status) == (200, 200)


def test_a_method_with_a_body_is_refused_for_its_method(world: Service) -> None:
    answer = world.request("POST", company(), content_length="7")
    assert_envelope(answer, 405, "METODO_NAO_PERMITIDO", registry=True)
    assert answer.headers["allow"] == "GET, OPTIONS"
