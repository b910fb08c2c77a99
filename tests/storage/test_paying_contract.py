"""What every engine promises of a request that is counted and paid for in one step (`pay`)."""

import asyncio
from collections.abc import Sequence
from typing import Any

from balcao.core.access import Account
from balcao.core.errors import StorageFailed
from balcao.core.ledger import Change, Refusal, Short
from balcao.core.rate_limit import Limit, Verdict
from balcao.storage.desk.desk import Desk
from tests.storage.engines import Engine
from tests.storage.test_desk_contract import a_caller
from tests.storage.world import (
    NOW,
    a_charge,
    a_keep,
    balance,
    charged,
)

TWO = Limit("minuto", 2, 60_000)
MANY = Limit("dia", 1_000, 86_400_000)

Told = tuple[Sequence[Verdict] | None, Refusal | Exception | None]


def paid(
    engine: Engine, desk: Desk, account: Account, *lists: Sequence[Change], limit: Limit = MANY
) -> list[Told]:
    """One request for each list, all at once; what each was told."""

    async def all_of_them() -> list[Told]:
        loop = asyncio.get_running_loop()
        waiting: list[asyncio.Future[Told]] = [loop.create_future() for _ in lists]
        for each, changes in zip(waiting, lists, strict=True):

            def told(*answer: Any, future: "asyncio.Future[Told]" = each) -> None:
                future.set_result(answer)

            desk.pay(caller, [limit], NOW, changes, told)
        return list(await asyncio.gather(*waiting))

    caller = a_caller(engine, desk, account.name)
    return engine.run(all_of_them())


def left(answers: Sequence[Told]) -> list[int]:
    """Of each, how many requests could follow."""
    found = []
    for verdicts, _ in answers:
        assert verdicts is not None
        (verdict,) = verdicts
        found.append(verdict.remaining)
    return found


def test_what_no_limit_refuses_is_paid_and_counted(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    answers = paid(engine, desk, ana, [a_charge(ana, "r1")], [a_charge(ana, "r2", 3)])

    assert [outcome for _, outcome in answers] == [None, None]
    assert left(answers) == [999, 998]
    assert charged(desk, ana) == {"r1": 1, "r2": 3}
    (verdict,) = engine.run(desk.spend(a_caller(engine, desk, "ana"), [MANY], NOW))
    assert verdict.remaining == 997, "counted for all who count"


def test_what_a_limit_refuses_is_not_paid(engine: Engine, desk: Desk, ana: Account) -> None:
    lists = [[a_charge(ana, f"r{number}")] for number in range(4)]
    answers = paid(engine, desk, ana, *lists, limit=TWO)

    assert answers[2:] == [(None, None)] * 2
    assert left(answers[:2]) == [1, 0]
    assert charged(desk, ana) == {"r0": 1, "r1": 1}


def test_what_cannot_be_paid_is_counted_and_said(engine: Engine, desk: Desk, ana: Account) -> None:
    heard: list[Refusal | Exception | None] = []
    engine_of: Any = desk.engine
    engine_of.on_refused(heard.append)
    lists = [[a_charge(ana, "r1", 8)], [a_charge(ana, "r2", 3)], [a_charge(ana, "r3", 2)]]
    answers = paid(engine, desk, ana, *lists)

    assert [outcome for _, outcome in answers] == [None, Short(3, 2), None]
    assert left(answers) == [999, 998, 997]
    assert charged(desk, ana) == {"r1": 8, "r3": 2}
    assert heard == [Short(3, 2)], "who was paid for is no refusal"


def test_without_a_price_it_is_counted(engine: Engine, desk: Desk, ana: Account) -> None:
    answers = paid(engine, desk, ana, [], [])
    assert left(answers) == [999, 998]
    assert [outcome for _, outcome in answers] == [None, None]
    assert charged(desk, ana) == {}


def test_requests_that_are_only_counted_share_the_limit(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    """On PostgreSQL those are counted beside the writer, on a connection of their own."""
    lists: list[Sequence[Change]] = []
    for number in range(20):
        lists += [[a_charge(ana, f"r{number}", 1)], []] if number < 10 else [[]]
    answers = paid(engine, desk, ana, *lists)
    assert sorted(left(answers)) == [*range(970, 1000)]


def test_a_broken_list_leaves_the_others_alone(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_charge(ana, "r1"))
    lists = [[a_charge(ana, name)] for name in ("r2", "r1", "r3")]
    answers = paid(engine, desk, ana, *lists)
    assert [type(outcome) for _, outcome in answers] == [type(None), StorageFailed, type(None)]
    assert charged(desk, ana) == {"r1": 1, "r2": 1, "r3": 1}


def test_nothing_is_paid_where_nothing_can_be_written(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    with engine.cannot_write(desk):
        ((verdicts, outcome),) = paid(engine, desk, ana, [a_charge(ana, "r1")])
    assert verdicts is not None, "else somebody would ask, and pay, once more"
    assert isinstance(outcome, StorageFailed)
    assert balance(desk, ana).credits == 10


def test_a_receipt_is_known_once_it_was_paid_with(engine: Engine, desk: Desk, ana: Account) -> None:
    for number, known in enumerate([False, True]):
        changes: list[Change] = [a_charge(ana, f"r{number}"), a_keep(ana, "recibo")]
        assert desk.has_recorded("recibo") is known
        paid(engine, desk, ana, changes, limit=TWO)
    assert charged(desk, ana) == {"r0": 1, "r1": 1}


def test_a_receipt_that_a_limit_refused_is_not_known(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    paid(engine, desk, ana, [], [], limit=TWO)
    paid(engine, desk, ana, [a_charge(ana, "r1"), a_keep(ana, "recibo")], limit=TWO)
    assert not desk.has_recorded("recibo")
    assert desk.receipt("recibo") is None


def test_who_is_short_of_credits_is_counted(engine: Engine, desk: Desk, ana: Account) -> None:
    assert [paid(engine, desk, ana, [a_charge(ana, "r1", 99)])[0][1]] == [Short(99, 10)]
    assert left(paid(engine, desk, ana, [])) == [998]


def test_who_was_refused_is_told_so_again(engine: Engine, desk: Desk, ana: Account) -> None:
    """Where nothing of a batch is admitted nothing is committed, and the next one begins anew."""
    paid(engine, desk, ana, [a_charge(ana, "r1")], [a_charge(ana, "r2")], limit=TWO)
    for _ in range(2):
        assert paid(engine, desk, ana, [a_charge(ana, "r3")], limit=TWO) == [(None, None)]
    assert engine.commit(desk, a_charge(ana, "r4", 99)) == Short(99, 8)
    assert engine.commit(desk, a_charge(ana, "r5", 2)) is None
    assert charged(desk, ana) == {"r1": 1, "r2": 1, "r5": 2}
