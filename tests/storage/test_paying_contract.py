"""Requests that are counted and charged in one step (`charge_nowait`), on every engine."""

import asyncio
from collections.abc import Sequence
from typing import Any

from balcao.core.access import Account
from balcao.core.errors import StorageFailed
from balcao.core.ledger import Change, InsufficientFunds, Refusal
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
    """Send a request for each list, all at once; return the outcomes."""

    async def all_of_them() -> list[Told]:
        loop = asyncio.get_running_loop()
        waiting: list[asyncio.Future[Told]] = [loop.create_future() for _ in lists]
        for each, changes in zip(waiting, lists, strict=True):

            def told(*answer: Any, future: "asyncio.Future[Told]" = each) -> None:
                future.set_result(answer)

            desk.charge_nowait(caller, [limit], NOW, changes, told)
        return list(await asyncio.gather(*waiting))

    caller = a_caller(engine, desk, account.name)
    return engine.run(all_of_them())


def left(answers: Sequence[Told]) -> list[int]:
    """Return how many requests could follow each one."""
    found = []
    for verdicts, _ in answers:
        assert verdicts is not None
        (verdict,) = verdicts
        found.append(verdict.remaining)
    return found


def test_a_request_within_the_limits_is_charged_and_counted(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    answers = paid(engine, desk, ana, [a_charge(ana, "r1")], [a_charge(ana, "r2", 3)])

    assert [outcome for _, outcome in answers] == [None, None]
    assert left(answers) == [999, 998]
    assert charged(desk, ana) == {"r1": 1, "r2": 3}
    (verdict,) = engine.run(desk.spend(a_caller(engine, desk, "ana"), [MANY], NOW))
    assert verdict.remaining == 997, "counted for all who count"


def test_a_request_beyond_a_limit_is_not_charged(engine: Engine, desk: Desk, ana: Account) -> None:
    lists = [[a_charge(ana, f"r{number}")] for number in range(4)]
    answers = paid(engine, desk, ana, *lists, limit=TWO)

    assert answers[2:] == [(None, None)] * 2
    assert left(answers[:2]) == [1, 0]
    assert charged(desk, ana) == {"r0": 1, "r1": 1}


def test_a_request_without_credits_is_counted_and_refused(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    heard: list[Refusal | Exception | None] = []
    engine_of: Any = desk.engine
    engine_of.on_refusal(heard.append)
    lists = [[a_charge(ana, "r1", 8)], [a_charge(ana, "r2", 3)], [a_charge(ana, "r3", 2)]]
    answers = paid(engine, desk, ana, *lists)

    assert [outcome for _, outcome in answers] == [None, InsufficientFunds(3, 2), None]
    assert left(answers) == [999, 998, 997]
    assert charged(desk, ana) == {"r1": 8, "r3": 2}
    assert heard == [InsufficientFunds(3, 2)], "who was paid for is no refusal"


def test_a_free_request_is_counted(engine: Engine, desk: Desk, ana: Account) -> None:
    answers = paid(engine, desk, ana, [], [])
    assert left(answers) == [999, 998]
    assert [outcome for _, outcome in answers] == [None, None]
    assert charged(desk, ana) == {}


def test_requests_that_are_only_counted_share_the_limit(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    """On PostgreSQL these are counted on another connection than the writer's."""
    lists: list[Sequence[Change]] = []
    for number in range(20):
        lists += [[a_charge(ana, f"r{number}", 1)], []] if number < 10 else [[]]
    answers = paid(engine, desk, ana, *lists)
    assert sorted(left(answers)) == [*range(970, 1000)]


def test_a_broken_list_does_not_affect_the_others(engine: Engine, desk: Desk, ana: Account) -> None:
    engine.commit(desk, a_charge(ana, "r1"))
    lists = [[a_charge(ana, name)] for name in ("r2", "r1", "r3")]
    answers = paid(engine, desk, ana, *lists)
    assert [type(outcome) for _, outcome in answers] == [type(None), StorageFailed, type(None)]
    assert charged(desk, ana) == {"r1": 1, "r2": 1, "r3": 1}


def test_nothing_is_charged_if_nothing_can_be_written(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    with engine.cannot_write(desk):
        ((verdicts, outcome),) = paid(engine, desk, ana, [a_charge(ana, "r1")])
    assert verdicts is not None, "otherwise the caller would repeat the request and pay twice"
    assert isinstance(outcome, StorageFailed)
    assert balance(desk, ana).credits == 10


def test_a_receipt_is_recorded_with_its_charge(engine: Engine, desk: Desk, ana: Account) -> None:
    for number, known in enumerate([False, True]):
        changes: list[Change] = [a_charge(ana, f"r{number}"), a_keep(ana, "recibo")]
        assert desk.has_recorded("recibo") is known
        paid(engine, desk, ana, changes, limit=TWO)
    assert charged(desk, ana) == {"r0": 1, "r1": 1}


def test_a_receipt_refused_by_a_limit_is_not_recorded(
    engine: Engine, desk: Desk, ana: Account
) -> None:
    paid(engine, desk, ana, [], [], limit=TWO)
    paid(engine, desk, ana, [a_charge(ana, "r1"), a_keep(ana, "recibo")], limit=TWO)
    assert not desk.has_recorded("recibo")
    assert desk.receipt("recibo") is None


def test_requests_short_of_credits_are_counted(engine: Engine, desk: Desk, ana: Account) -> None:
    assert [paid(engine, desk, ana, [a_charge(ana, "r1", 99)])[0][1]] == [InsufficientFunds(99, 10)]
    assert left(paid(engine, desk, ana, [])) == [998]


def test_a_refused_request_is_refused_again(engine: Engine, desk: Desk, ana: Account) -> None:
    """If nothing of a batch is admitted, nothing is committed, and the next batch works."""
    paid(engine, desk, ana, [a_charge(ana, "r1")], [a_charge(ana, "r2")], limit=TWO)
    for _ in range(2):
        assert paid(engine, desk, ana, [a_charge(ana, "r3")], limit=TWO) == [(None, None)]
    assert engine.commit(desk, a_charge(ana, "r4", 99)) == InsufficientFunds(99, 8)
    assert engine.commit(desk, a_charge(ana, "r5", 2)) is None
    assert charged(desk, ana) == {"r1": 1, "r2": 1, "r5": 2}
