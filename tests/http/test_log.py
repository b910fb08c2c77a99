"""What is logged: one event per request, and nothing about anybody."""

import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from balcao import lookup
from balcao.core.company import Partner
from balcao.http import front
from balcao.observability import logs
from tests.world import CNPJ, Client, World, a_company, call, company

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
    """Where a process' messages go, with the bytes beneath."""

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
    """Logging as the server configures it, everything into one buffer."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    logs.configure("json", "debug")
    # Loggers remember their first configuration; these are new.
    monkeypatch.setattr(front, "log", structlog.get_logger())
    monkeypatch.setattr(lookup, "log", structlog.get_logger())
    yield terminal
    structlog.reset_defaults()


def assert_says_nothing(text: str, world: World) -> None:
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


def all_kinds(world: World) -> list[Any]:
    """Requests of every fate."""
    client = world.account("bia", credits=5, partner_optin=True)
    poor = world.account("edu")
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


def test_one_event_per_request(world: World, terminal: Terminal) -> None:
    answers = all_kinds(world)

    events = world.events()
    assert [event["request_id"] for event in events] == [
        answer.headers["x-request-id"] for answer in answers
    ]
    assert [event["status"] for event in events] == [answer.status for answer in answers]
    assert [event["credits"] for event in events] == [answer.credits for answer in answers]
    assert {event["event"] for event in events} == {"request"}
    assert [event["code"] for event in events] == [answer.code for answer in answers]


def test_the_event_of_an_answer(world: World) -> None:
    world.get(company())
    (event,) = world.events()

    assert event["operation"] == "cnpj-receita-federal"
    assert event["account"] == world.client.account_id
    assert event["key"] == world.client.key_id
    assert (event["origin"], event["source"], event["credits"]) == ("online", "fonte", 1)
    assert event["replayed"] is False
    assert event["took_ms"] >= 0
    assert event["timestamp"]


def test_a_replay_is_an_event_of_its_own(world: World) -> None:
    for _ in range(2):
        world.get(company(), idempotency_key=IDEMPOTENCY_KEY)
    first, second = world.events()
    assert first["request_id"] == second["request_id"]
    assert (first["replayed"], second["replayed"]) == (False, True)
    assert (first["credits"], second["credits"]) == (1, 0)


def test_nothing_about_anybody_is_logged(world: World, terminal: Terminal) -> None:
    all_kinds(world)
    world.events()

    text = terminal.everything + world.logged.decode()

    assert '"request"' in text
    assert_says_nothing(text, world)


@pytest.mark.parametrize("where", ["source", "front"])
def test_a_bug_is_logged_without_what_it_was_about(
    world: World, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, where: str
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


def test_the_log_is_one_json_object_per_line(world: World, terminal: Terminal) -> None:
    world.source.has_a_bug(RuntimeError("x"))
    world.get(company())
    world.run(call(world.front, "GET", "/nada", {}))
    world.events()
    for line in [*terminal.bytes.getvalue().splitlines(), *bytes(world.logged).splitlines()]:
        assert isinstance(json.loads(line), dict)


def test_measurements_name_nobody(world: World) -> None:
    all_kinds(world)
    text = world.get("/metrics", None).body.decode()

    assert "balcao_requests_total" in text
    assert_says_nothing(text, world)
