"""Suframa lookups again, at once, or given up (decisions 4.9, 5.5, 6)."""

import asyncio
from typing import Any

from tests.http.test_suframa import KEY, kept, the_charge
from tests.world import NAME, OTHER_CNPJ, Reply, World, a_zone_record, sintegra, suframa


def test_a_finished_execution_is_replayed_byte_for_byte(world: World) -> None:
    """Punctuation and the default value make no other request, in either form."""
    first = world.get(suframa(), idempotency_key=KEY)
    world.source.fails()
    world.clock.advance(days=3)

    forms: list[dict[str, Any]] = [{}, {"cache": "25"}]
    for path in (suframa(), suframa("90.010.001%2F0001-00"), suframa(query="x=1&cache=25&uf=SP")):
        for headers in forms:
            replay = world.get(path, idempotency_key=KEY, **headers)
            assert (replay.body, replay.credits) == (first.body, 0)
            assert replay.headers["idempotent-replayed"] == "true"
    assert world.source.asked == 1


def test_what_is_another_request(world: World) -> None:
    """Another age, another CNPJ or another operation under the same key is refused."""
    world.get(suframa(), idempotency_key=KEY)
    for path in (suframa(query="cache=24"), suframa(OTHER_CNPJ), sintegra()):
        assert world.get(path, idempotency_key=KEY).code == "IDEMPOTENCY_KEY_REUTILIZADA"
    assert world.get(suframa(), cache="0", idempotency_key=KEY).status == 400


def test_a_hundred_identical_requests_ask_once_and_pay_each(world: World) -> None:
    """Single flight (decisions 4.9)."""

    async def story() -> list[Reply]:
        world.source.waits()
        tasks = [world.begin(suframa()) for _ in range(100)]
        await world.until(lambda: world.purse().held_credits == 100)
        await world.until(lambda: world.source.asked > 0)
        world.source.answers_now()
        return list(await asyncio.gather(*tasks))

    answers = world.run(story())
    assert world.source.asked == 1
    assert {(answer.status, answer.credits) for answer in answers} == {(200, 1)}
    assert (world.purse().balance_credits, world.purse().held_credits) == (900, 0)


def test_hanging_up_does_not_stop_the_operation(world: World) -> None:
    """It finishes, is charged, kept and recorded (decisions 5.5)."""

    async def story() -> None:
        world.source.waits()
        task = world.begin(suframa(), idempotency_key=KEY)
        await world.until(lambda: world.source.asked == 1)
        task.cancel()
        await world.until(task.cancelled)
        world.source.answers_now()
        await world.until(lambda: world.purse().held_credits == 0)

    world.run(story())
    assert the_charge(world).credits == -1
    assert kept(world) is not None
    assert world.get(suframa(), idempotency_key=KEY).status == 200
    assert world.source.asked == 1


def test_test_accounts_have_entries_of_their_own(world: World) -> None:
    """The sandbox answers them, and neither side sees the other's entries (sandbox.md)."""
    tester = world.account("teste", mode="test", credits=10)
    world.sandbox.finds(a_zone_record(nome="SIMULADA LTDA"))
    assert world.get(suframa(), tester).json["nome"] == "SIMULADA LTDA"
    assert world.get(suframa()).json["nome"] == NAME
    assert world.get(suframa(), tester).json["nome"] == "SIMULADA LTDA"
    assert (world.source.asked, world.sandbox.asked) == (1, 1)
