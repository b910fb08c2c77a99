"""Logs: one event per request, and no personal data."""

import asyncio
import io
import json
import re
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
from pydantic import SecretStr

from balcao.core.access import key_hash, new_key
from balcao.core.company import Partner
from balcao.core.errors import StorageFailed
from balcao.home import Home
from balcao.http import front
from balcao.lookup import execution
from balcao.observability import logs
from balcao.opendata.current import CurrentSnapshot
from balcao.opendata.errors import OpenDataError
from balcao.providers.cnpja.settings import CnpjaSettings
from balcao.service import compose
from balcao.settings import Settings
from balcao.storage.contract import NewAccount, NewKey
from tests.records import CNPJ, a_company, company
from tests.service import Client, Reply, Service, call, open_with_source

NAME = "PADARIA DA FICCAO LTDA"
PERSON = "FULANA DA FICCAO"
CPF = "12345678909"
EMAIL = "fulana@example.com"
IDEMPOTENCY_KEY = "pedido-da-fulana"
RECORD = a_company(
    CNPJ,
    nome_empresarial=NAME,
    endereco_eletronico=EMAIL,
    socios=(Partner(nome=PERSON, cpf_cnpj_socio=CPF),),
)
TYPO = "balcao_live_" + "Z" * 49


class Terminal(io.StringIO):
    """A process's output stream, with its bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = io.BytesIO()

    @property
    def buffer(self) -> io.BytesIO:
        return self.bytes

    @property
    def everything(self) -> str:
        return self.getvalue() + self.bytes.getvalue().decode()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """Configure logging as the server does, into one buffer."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    logs.configure("json", "debug")
    # Loggers remember their first configuration; these are new.
    monkeypatch.setattr(front, "log", structlog.get_logger())
    monkeypatch.setattr(execution, "log", structlog.get_logger())
    yield terminal
    structlog.reset_defaults()


def assert_says_nothing(text: str, world: Service) -> None:
    for secret in (
        CNPJ,
        "90.010.001/0001-00",
        CPF,
        "456789",
        NAME,
        PERSON,
        EMAIL,
        IDEMPOTENCY_KEY,
        world.client.key,
        world.client.key[12:40],
        TYPO,
        "CACHE_SE_EXISTIR",
    ):
        assert secret not in text, f"{secret} is in the log"


def all_kinds(world: Service) -> list[Any]:
    """Make requests with every kind of outcome."""
    client = world.account("bia", credits=5, partner_optin=True)
    poor = world.account("edu", credits=0)
    world.source.finds(RECORD)
    answers = [
        world.get(company(), idempotency_key=IDEMPOTENCY_KEY),
        world.get(company("90.010.001%2F0001-00", "cache_strategy=CACHE_SE_EXISTIR")),
        world.get(company(query="optin=1"), client),
        world.get(company(query="optin=1")),
        world.get(company("90.010.001/0001-01")),
        world.get(company(query=f"cache={CNPJ}")),
        world.get(company(), Client(0, 0, TYPO)),
        world.get(company(), None),
        world.get(company(), poor),
        world.get(f"/empresas/{CNPJ}"),
        world.request("POST", company()),
        world.get(company(), content_length="5"),
        world.get(company(), x_longo=CNPJ * 2000),
    ]
    for misbehave in (world.source.fails, world.source.is_down, world.source.says_absent):
        misbehave()
        answers.append(world.get(company(query="cache_strategy=SO_ONLINE")))
    return answers


def test_one_event_per_request(world: Service, terminal: Terminal) -> None:
    answers = all_kinds(world)

    events = world.events()
    assert [event["request_id"] for event in events] == [
        answer.headers["x-request-id"] for answer in answers
    ]
    assert [event["status"] for event in events] == [answer.status for answer in answers]
    assert [event["credits"] for event in events] == [answer.credits for answer in answers]
    assert {event["event"] for event in events} == {"request"}
    assert [event["code"] for event in events] == [answer.code for answer in answers]


def test_the_event_of_an_answer(world: Service) -> None:
    world.get(company())
    (event,) = world.events()

    assert event["operation"] == "cnpj-receita-federal"
    assert event["account"] == world.client.account_id
    assert event["key"] == world.client.key_id
    assert (event["origin"], event["source"], event["credits"]) == ("online", "fonte", 1)
    assert event["replayed"] is False
    assert event["took_ms"] >= 0
    assert event["timestamp"]


def test_a_replay_has_its_own_event(world: Service) -> None:
    for _ in range(2):
        world.get(company(), idempotency_key=IDEMPOTENCY_KEY)
    first, second = world.events()
    assert first["request_id"] == second["request_id"]
    assert (first["replayed"], second["replayed"]) == (False, True)
    assert (first["credits"], second["credits"]) == (1, 0)


def test_no_personal_data_is_logged(world: Service, terminal: Terminal) -> None:
    all_kinds(world)
    world.events()

    text = terminal.everything + world.logged.decode()

    assert '"request"' in text
    assert_says_nothing(text, world)


@pytest.mark.parametrize("where", ["source", "front"])
def test_a_bug_is_logged_without_the_query(
    world: Service, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    bug = ValueError(f"cannot read {CNPJ} of {PERSON}")
    if where == "source":
        world.source.has_a_bug(bug)
    else:

        def broken(*_: object) -> None:
            raise bug

        monkeypatch.setattr(world.desk, "spend", broken)

    assert world.get(company(), idempotency_key=IDEMPOTENCY_KEY).status == 500

    text = terminal.everything
    assert "ValueError" in text  # it is logged
    assert_says_nothing(text, world)


def test_the_log_is_one_json_object_per_line(world: Service, terminal: Terminal) -> None:
    world.source.has_a_bug(RuntimeError("x"))
    world.get(company())
    world.run(call(world.front, "GET", "/nada", {}))
    world.events()
    for line in [*terminal.bytes.getvalue().splitlines(), *bytes(world.logged).splitlines()]:
        assert isinstance(json.loads(line), dict)


def test_metrics_have_no_personal_data(world: Service) -> None:
    all_kinds(world)
    text = world.get("/metrics", None).body.decode()

    assert "balcao_requests_total" in text
    assert_says_nothing(text, world)


# Not a lookup.


def test_pages_and_preflights_have_events_and_are_counted(world: Service) -> None:
    answers = [
        world.get("/openapi.json", None),
        world.request("HEAD", "/openapi.json", None),
        world.request("POST", "/openapi.json", None),
        world.get(f"/empresas/{CNPJ}", None),
        world.get(f"/docs/{CNPJ}", None),
        world.request("OPTIONS", company(), None),
        world.request("OPTIONS", f"/empresas/{CNPJ}", None),
    ]

    events = world.events()
    assert [(event["operation"], event["status"]) for event in events] == [
        ("/openapi.json", 200),
        ("/openapi.json", 200),
        ("/openapi.json", 405),
        ("outros", 404),
        ("outros", 404),
        ("preflight", 204),
        ("preflight", 204),
    ]
    assert [event["request_id"] for event in events] == [
        answer.headers["x-request-id"] for answer in answers
    ]
    assert {event["level"] for event in events} == {"info"}
    counted = world.get("/metrics", None).body.decode()
    for operation, status, count in (
        ("/openapi.json", 200, 2),
        ("outros", 404, 2),
        ("preflight", 204, 2),
    ):
        labels = f'operation="{operation}",origin="nenhuma",status="{status}"'
        assert f"balcao_requests_total{{{labels}}} {count}.0" in counted


@pytest.mark.parametrize(
    ("level", "levels"),
    [
        ("debug", ["debug", "debug", "debug", "debug", "info"]),
        ("info", ["info"]),
        ("warning", []),
        ("error", []),
    ],
)
def test_probes_are_logged_at_debug_and_the_level_is_obeyed(
    tmp_path: Path, level: str, levels: list[str]
) -> None:
    with open_with_source(tmp_path, log_level=level) as world:
        for path in ("/livez", "/readyz", "/metrics"):
            assert world.get(path, None).status == 200
        with pytest.MonkeyPatch.context() as patch:

            async def full(_: object) -> None:
                raise StorageFailed("disk full")

            patch.setattr(world.desk, "heartbeat", full)
            world.clock.advance(seconds=1)
            assert world.get("/readyz", None).status == 503
        world.get(company())
        assert [event["level"] for event in world.events()] == levels
        assert 'operation="/livez"' in world.get("/metrics", None).body.decode()


# Why a source failed, through the whole composition.


@pytest.fixture
def house(tmp_path: Path, terminal: Terminal) -> Iterator[Callable[..., "House"]]:
    """A service with CNPJá behind the test's own network."""
    with ExitStack() as stack:
        yield lambda answer, **settings: stack.enter_context(
            _house(tmp_path / "casa", answer, settings)
        )


class House:
    """A running service and one account's key."""

    def __init__(self, house: compose.Application, runner: asyncio.Runner) -> None:
        account = house.desk.create_account(NewAccount("ana", "pos_pago", "live"), 1)
        self.key = new_key("live")
        pepper = Home(house.settings.home).pepper()
        hashed = key_hash(self.key, pepper)
        house.desk.create_key(NewKey(account.account_id, "k", self.key[:18], hashed), 1)
        self._front, self._runner = house.front, runner

    def get(self, path: str) -> Reply:
        return self._runner.run(call(self._front, "GET", path, {"x-api-key": self.key}))


@contextmanager
def _house(
    folder: Path, answer: Callable[[httpx2.Request], httpx2.Response], settings: Any
) -> Iterator[House]:
    cnpja = CnpjaSettings(url="http://cnpja.test", key=SecretStr("chave-da-fulana"))
    opened = compose.open_application(
        Settings.model_construct(home=folder, log_format="json", **{"cnpja": cnpja, **settings}),
        live_transport=httpx2.MockTransport(answer),
    )

    async def done(work: Awaitable[None]) -> None:
        await work

    with asyncio.Runner() as runner:
        runner.run(done(opened.front.start()))
        yield House(opened, runner)
        runner.run(done(opened.front.stop()))
    opened.close()


def source_events(terminal: Terminal) -> list[Any]:
    lines = [json.loads(line) for line in terminal.bytes.getvalue().splitlines()]
    return [line for line in lines if line["event"] == "source.call"]


def test_a_refused_key_for_a_source_is_logged(
    house: Callable[..., House], terminal: Terminal
) -> None:
    running = house(lambda request: httpx2.Response(401, json={"message": f"key of {PERSON}"}))
    for _ in range(3):
        assert running.get(company()).status == 503

    (event,) = source_events(terminal)  # and not three times
    assert isinstance(event.pop("took_ms"), float)
    del event["timestamp"]
    assert event == {
        "event": "source.call",
        "level": "warning",
        "mode": "live",
        "source": "cnpja",
        "subject": "company",
        "uf": "",
        "outcome": "unavailable",
        "detail": "cnpja: VERIFIQUE A CONFIGURAÇÃO DESTA FONTE: chave recusada, HTTP 401",
    }
    text = terminal.everything
    for secret in (CNPJ, "90.010.001/0001-00", PERSON, "chave-da-fulana", running.key):
        assert secret not in text


def test_a_damaged_file_is_logged(
    house: Callable[..., House], terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(_: object, cnpj: object) -> None:
        raise OpenDataError(f"as linhas de {cnpj} estão danificadas")

    monkeypatch.setattr(CurrentSnapshot, "extraction_date", date(2026, 8, 1))
    monkeypatch.setattr(CurrentSnapshot, "find", damaged)
    running = house(lambda request: httpx2.Response(503))
    running.get(company())

    answer = {(event["level"], event["detail"]) for event in source_events(terminal)}
    assert answer == {("warning", "snapshot: OpenDataError"), ("warning", "cnpja: HTTP 503")}
    assert CNPJ not in terminal.everything


def test_circuits_are_measured(house: Callable[..., House]) -> None:
    running = house(lambda request: httpx2.Response(500), breaker_failures=1)

    def state() -> dict[str, str]:
        text = running.get("/metrics").body.decode()
        return dict(
            re.findall(
                r'balcao_source_circuit\{source="cnpja",state="(.*)",subject="company",.*\} (.*)',
                text,
            )
        )

    assert state() == {}  # no source was asked yet
    running.get(company())
    assert state() == {"closed": "0.0", "open": "1.0", "half-open": "0.0"}
    assert 'source="serpro",state' not in running.get("/metrics").body.decode()
