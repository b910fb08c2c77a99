"""State registrations without `uf`, while the registry is asked for it: credits and keys.

Contract 2.3, 2.10, 5.5, 6.
"""

import pytest

from balcao.core.documents import Cnpj
from balcao.core.questions import Inquiry
from tests.http.registrations.shared import KEY, NO_UF, asked
from tests.records import CNPJ, OTHER_CNPJ, sintegra
from tests.service import Client, Reply, Service


@pytest.mark.parametrize(("query", "needed"), [("", 1), ("endereco=true", 2)])
def test_402_comes_before_the_registry(world: Service, query: str, needed: int) -> None:
    """No source is asked without credits, and the key is not bound."""
    poor = world.account("edu", credits=needed - 1)

    answer = world.get(sintegra(query=query), poor, idempotency_key=KEY)

    assert (answer.status, answer.code) == (402, "SALDO_INSUFICIENTE")
    assert answer.json["creditos_necessarios"] == needed
    assert answer.json["creditos_disponiveis"] == needed - 1
    assert world.source.asked == 0
    world.top_up(poor, 1)
    assert world.get(sintegra(OTHER_CNPJ, query), poor, idempotency_key=KEY).status == 200


def test_a_disconnect_while_the_registry_is_asked(world: Service) -> None:
    """The operation is completed, charged, cached and recorded."""

    world.hang_up(NO_UF, idempotency_key=KEY)

    assert [charge.credits for charge in world.charges()] == [-1]
    assert world.kept(Inquiry("company", Cnpj.parse(CNPJ))) is not None
    assert world.kept(Inquiry("state_registration", Cnpj.parse(CNPJ), "SP")) is not None
    replay = world.get(NO_UF, idempotency_key=KEY)
    assert (replay.status, replay.credits, world.source.asked) == (200, 0, 2)


def second_under_the_same_key(world: Service, by: Client) -> tuple[Reply, bool]:
    """Return the second answer, and whether the first was still asking the registry then."""

    async def scenario() -> tuple[Reply, bool]:
        world.source.waits()
        first = world.begin(NO_UF, by, idempotency_key=KEY)
        await world.until(lambda: world.balance(by).held_credits == 1 and world.source.asked == 1)
        second = world.begin(NO_UF, by, idempotency_key=KEY)
        await world.until(lambda: second.done() or world.balance(by).held_credits == 2)
        at_once = second.done()
        world.source.answers_now()
        assert (await first).status == 200
        return await second, at_once

    return world.run(scenario())


def test_two_under_the_same_key_are_one_charge(world: Service) -> None:
    """The second request asks no source and is free, with either answer (contract 5.4)."""
    answer, _ = second_under_the_same_key(world, world.client)

    assert answer.credits == 0
    assert len(world.charges()) == 1
    assert (world.balance().balance_credits, world.balance().held_credits) == (999, 0)
    assert asked(world) == [("company", None), ("state_registration", "SP")]
    assert not world.check().complaints


def test_still_running_is_answered_at_once(world: Service) -> None:
    """An execution runs from its first source on, the registry included."""
    answer, at_once = second_under_the_same_key(world, world.client)
    assert (answer.code, at_once) == ("OPERACAO_EM_ANDAMENTO", True)


def test_still_running_comes_before_402(world: Service) -> None:
    """The last credit is held by the very request that is repeated."""
    answer, _ = second_under_the_same_key(world, world.account("edu", credits=1))
    assert answer.code == "OPERACAO_EM_ANDAMENTO"


def test_an_execution_that_died_while_the_registry_was_asked(world: Service) -> None:
    """409 `RESULTADO_INDISPONIVEL`; its hold is released in any case."""

    world.die(NO_UF, idempotency_key=KEY)

    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)
    assert world.get(NO_UF, idempotency_key=KEY).code == "RESULTADO_INDISPONIVEL"


def test_our_own_failure_while_the_registry_is_asked_is_replayed(world: Service) -> None:
    """500 `ERRO_INTERNO`, as with `uf`, where it is recorded under the key."""
    world.source.has_a_bug(RuntimeError("x"))
    first = world.get(NO_UF, idempotency_key=KEY)
    assert (first.status, first.code, first.credits) == (500, "ERRO_INTERNO", 0)
    assert world.balance().held_credits == 0
    world.source.finds()
    assert world.get(NO_UF, idempotency_key=KEY).body == first.body
