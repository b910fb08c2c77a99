"""Refusals reveal nothing about lookups of others (ADR 0080)."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from balcao.core.budgets import Budget
from balcao.core.certificates import FederalCertificate
from balcao.core.documents import Cpf
from balcao.core.people import AT_THE_TERMINAL
from balcao.http.fast_path import LookupFastPath
from balcao.http.wire.limits import ConnectionLimits
from balcao.http.wire.server import Server
from tests.http.test_fast_path import Side, get
from tests.records import CPF, a_federal, federal, producer
from tests.service import Client, Service, open_with_source

RIGHT, WRONG = "19800101", "19800102"
FIRST = "cache_strategy=CACHE_PREFERENCIAL"
ONLY = "cache_strategy=SO_CACHE"

# How an account cannot pay: its credits, its client's budget, what it sends.
WAYS = {
    "ceiling of the request": (50, None, ("X-Creditos-Maximos: 0",)),
    "a ceiling that the cache would keep": (50, None, ("X-Creditos-Maximos: 1",)),
    "balance": (0, None, ()),
    "a balance that the cache would keep": (1, None, ()),
    "budget": (50, 0, ("X-Cliente: loja-7",)),
    "a budget that the cache would keep": (50, 1, ("X-Cliente: loja-7",)),
}


def dated(birth: str, strategy: str = FIRST) -> str:
    return federal(f"cpf={CPF}&data_nascimento={birth}&{strategy}")


@contextmanager
def other_callers(folder: Path, *, fast_path: bool) -> Iterator[Side]:
    """A world in which the first account has asked about a person, and the others have not."""
    with open_with_source(folder) as world:
        clients = [world.account("quem-perguntou", credits=50)]
        for credits, ceiling, _ in WAYS.values():
            name = f"quem-tenta-{len(clients)}"
            client = world.account(name, plan="pre_pago", credits=credits, certificates=True)
            clients.append(client)
            if ceiling is not None:
                give_budget(world, client, ceiling)

        async def begun() -> Server:
            way = LookupFastPath(world.front) if fast_path else None
            return Server(world.front, world.front.refuse, ConnectionLimits(), fast_path=way)

        side = Side(world, world.run(begun()), clients)
        if side.server.fast_path is not None:
            side.count_taken()
        for path in (dated(RIGHT), producer(query=f"uf=SP&{FIRST}")):
            assert b" 200 OK" in side.say(get(path))
        yield side


def give_budget(world: Service, client: Client, ceiling: int) -> None:
    budget = Budget(
        0, client.account_id, f"orcamento-{client.account_id}", "da loja", "cliente", "loja-7",
        "mes", ceiling, None, None, 80, world.clock(),
    )  # fmt: skip
    world.run(world.desk.budgets.make(budget, AT_THE_TERMINAL))


def comparable(text: bytes) -> bytes:
    """Return an answer without its number, times and remaining limits."""
    text = re.sub(rb"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", b"ID", text)
    return re.sub(rb"(date|ratelimit(?:-policy)?): [^\r]*", rb"\1:", text)


@pytest.mark.parametrize("fast_path", [True, False])
@pytest.mark.parametrize("strategy", [FIRST, ONLY])
def test_without_credits_the_answer_does_not_depend_on_the_cache(
    tmp_path: Path, fast_path: bool, strategy: str
) -> None:
    """For each row of the table of birth dates, with and without an earlier lookup by others."""
    with other_callers(tmp_path, fast_path=fast_path) as side:
        for key, (way, (_, _, lines)) in enumerate(WAYS.items(), 1):
            known = comparable(side.say(get(dated(RIGHT, strategy), key, *lines)))
            unknown = comparable(side.say(get(dated(WRONG, strategy), key, *lines)))
            assert known == unknown, way
            assert b" 402 " in known, way
            assert re.search(rb'"(creditos_necessarios|necessario)":2\b', known), way
        assert not side.world.source.inquiries[2:]
        assert not side.world.desk.check().complaints


@pytest.mark.parametrize("fast_path", [True, False])
def test_nor_does_a_free_answer(tmp_path: Path, fast_path: bool) -> None:
    """An absence of producers is cached, too, and free."""
    with other_callers(tmp_path, fast_path=fast_path) as side:
        nothing = producer(query=f"uf=MG&{FIRST}")
        assert b" 200 OK" in side.say(get(nothing))
        poor = list(WAYS).index("balance") + 1
        answers = {
            comparable(side.say(get(producer(cpf, f"uf=MG&{FIRST}"), poor)))
            for cpf in (CPF, Cpf(CPF).text[:9] + "00")
        }
        assert len(answers) == 1
        assert b" 402 " in answers.pop()


@pytest.mark.parametrize("fast_path", [True, False])
def test_an_account_that_received_the_answer_is_charged_its_price(
    tmp_path: Path, fast_path: bool
) -> None:
    """The first account may have it again for the price of the cache, any number of times."""
    with other_callers(tmp_path, fast_path=fast_path) as side:
        bearing = "X-Creditos-Maximos: 1"
        for _ in range(3):
            assert b"x-creditos-cobrados: 1" in side.say(get(dated(RIGHT), 0, bearing)).lower()
        for _ in range(3):
            assert b" 200 OK" in side.say(get(dated(RIGHT)))
        if side.server.fast_path is not None:
            assert side.taken[True] >= 2, "past the front, once it is known"
        # Another person is another answer, and another UF is too.
        for path in (producer("90010000291", f"uf=SP&{FIRST}"), producer(query=f"uf=MG&{FIRST}")):
            assert b" 402 " in side.say(get(path, 0, "X-Creditos-Maximos: 0"))


def test_the_price_of_a_cached_answer_is_charged(world: Service) -> None:
    """The greatest price is held, and the rest of it is released."""
    world.keep(a_federal(CPF))
    answer = world.get(dated(RIGHT))
    assert (answer.status, answer.credits) == (200, 1)
    assert (world.balance().balance_credits, world.balance().held_credits) == (999, 0)
    assert world.source.asked == 0
    missing = world.get(dated(WRONG, ONLY), idempotency_key="chave-0001")
    assert (missing.status, missing.code) == (400, "SEM_RESULTADO_EM_CACHE")
    assert (world.balance().balance_credits, world.balance().held_credits) == (999, 0)
    assert world.get(dated(RIGHT, ONLY), idempotency_key="chave-0001").credits == 1


def test_a_wrong_birth_date_grants_no_access(world: Service) -> None:
    """A source that issues nothing proves no birth date: cached answers of others stay secret."""
    other = world.account("outra", credits=10, certificates=True)
    assert world.get(dated(RIGHT), other).status == 200
    nothing = FederalCertificate(document=CPF, provider_code=611, provider_billable=True)
    world.source.finds(nothing)
    assert world.get(dated(WRONG)).status == 404
    assert world.get(dated(RIGHT), x_creditos_maximos="1").json["creditos_necessarios"] == 2


def test_an_erased_person_is_no_longer_received(world: Service) -> None:
    """The memory of it is cleared, too."""
    assert world.get(producer()).status == 200
    context: Any = world.parts.received
    assert world.get(producer(query=f"uf=SP&{FIRST}")).status == 200
    assert context._known._recent
    world.parts.forget()
    assert not context._known._recent
