"""Charges, holds, and callers that disconnect (contract 5, 4.9)."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from balcao.core.calendar import to_ms
from tests.lookups import SAMPLES, Sample, every
from tests.records import CNPJ, NOW_MS, OTHER_CNPJ, company
from tests.service import Reply, Service, open_with_source

KEY = "pedido-0001"


def test_the_entry_has_operation_and_rule(world: Service) -> None:
    answer = world.get(company())

    (charge,) = world.charges()
    assert charge.credits == -1
    assert charge.request_id == answer.json["request_id"]
    assert charge.key_id == world.client.key_id
    assert charge.operation == "cnpj-receita-federal"
    assert charge.rule
    assert charge.origin == "online"
    assert charge.at_ms == NOW_MS


@every
def test_the_price_is_held_while_the_source_is_asked(world: Service, of: Sample) -> None:
    async def scenario() -> None:
        world.source.waits()
        task = world.begin(of.path)
        await world.until(lambda: world.source.asked == 1)
        assert (world.balance().balance_credits, world.balance().held_credits) == (1000, of.price)
        world.source.answers_now()
        await task

    world.run(scenario())
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000 - of.price, 0)


@pytest.mark.parametrize("terms", [{"credits": 1}, {"plan": "pos_pago", "ceiling_credits": 1}])
def test_held_credits_are_not_available(world: Service, terms: dict[str, Any]) -> None:
    """Neither of a balance nor below a ceiling (contract 5.3)."""
    first, refused = world.meanwhile(
        company(), company(OTHER_CNPJ), world.account("edu", **{"credits": 0} | terms)
    )
    assert (first.status, refused.status) == (200, 402)
    assert refused.json["creditos_disponiveis"] == 0


@every
@pytest.mark.parametrize("says", ["fails", "is_down"])
def test_a_failure_releases_the_hold(world: Service, of: Sample, says: str) -> None:
    getattr(world.source, says)()
    answer = world.get(of.path)
    assert (answer.status, answer.credits) == (of.failed if says == "fails" else 503, 0)
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)
    assert not world.charges()
    assert world.kept(of.inquiry) is None
    assert not world.check().complaints


@every
def test_the_last_credit_can_be_spent(world: Service, of: Sample) -> None:
    client = world.account("edu", credits=of.price)

    assert world.get(of.path, client).status == 200
    refused = world.get(of.other, client)

    assert (refused.status, refused.code) == (402, "SALDO_INSUFICIENTE")
    assert refused.json["creditos_necessarios"] == of.price
    assert refused.json["creditos_disponiveis"] == 0
    assert type(refused.json["creditos_necessarios"]) is int
    assert world.source.asked == 1


@pytest.mark.parametrize("name", ["certidao-federal", "certidao-estadual"])
def test_with_one_credit_the_cache_is_served_and_the_source_is_not_asked(
    world: Service, name: str
) -> None:
    """One credit pays a cached certificate but not an online one (contract 5.1)."""
    of, poor = SAMPLES[name], world.account("edu", credits=1)

    def refused(path: str) -> tuple[int, str | None, int, int]:
        answer = world.get(path, poor)
        body = answer.json
        short = body["creditos_necessarios"], body["creditos_disponiveis"]
        return answer.status, answer.code, *short

    assert refused(of.path) == (402, "SALDO_INSUFICIENTE", 2, 1)
    of.keep(world)
    assert refused(of.asking("atualizar_online=true")) == (402, "SALDO_INSUFICIENTE", 2, 1)
    assert world.get(of.path, poor).credits == 1
    assert refused(of.path) == (402, "SALDO_INSUFICIENTE", 1, 0)
    assert (world.source.asked, world.balance(poor).balance_credits) == (0, 0)


def test_a_cached_answer_needs_a_credit_too(world: Service) -> None:
    world.keep()
    client = world.account("edu", credits=0)
    answer = world.get(company(query="cache_strategy=CACHE_SE_EXISTIR"), client)
    assert answer.status == 402
    assert "response" in answer.json
    assert answer.json["response"] is None


def test_a_fallback_is_charged(world: Service) -> None:
    world.keep()
    world.source.fails()
    client = world.account("edu", credits=1)
    assert world.get(company(), client).credits == 1
    assert world.get(company(), client).status == 402


def test_twenty_concurrent_lookups_with_five_credits(world: Service) -> None:
    """The balance is never negative, and all five credits are spent."""
    client = world.account("edu", credits=5)

    async def scenario() -> list[Reply]:
        tasks = [
            world.begin(company(cnpj), client) for cnpj in (CNPJ, OTHER_CNPJ) for _ in range(10)
        ]
        return [await task for task in tasks]

    answers = world.run(scenario())
    assert sorted(answer.status for answer in answers) == [200] * 5 + [402] * 15
    assert (world.balance(client).balance_credits, world.balance(client).held_credits) == (0, 0)
    assert not world.check().complaints


# Post-paid (contract 5.3)


def test_a_post_paid_account_has_no_balance_to_exceed(world: Service) -> None:
    client = world.account("rui", plan="pos_pago", credits=0)
    assert [world.get(company(), client).status for _ in range(3)] == [200, 200, 200]
    assert world.balance(client).balance_credits == -3


def test_a_monthly_ceiling_is_a_402(world: Service) -> None:
    client = world.account("rui", plan="pos_pago", ceiling_credits=2, credits=0)

    answers = [world.get(company(), client) for _ in range(3)]

    assert [answer.status for answer in answers] == [200, 200, 402]
    assert answers[2].code == "SALDO_INSUFICIENTE"
    assert answers[2].json["creditos_disponiveis"] == 0


def test_a_new_civil_month_begins_in_brasilia(world: Service) -> None:
    """1 September is three hours older in UTC than in Brasília."""
    client = world.account("rui", plan="pos_pago", ceiling_credits=1, credits=0)
    world.get(company(), client)

    world.clock.at_ms = to_ms(datetime(2026, 9, 1, 2, 59, 59, tzinfo=UTC))
    assert world.get(company(), client).status == 402
    world.clock.at_ms = to_ms(datetime(2026, 9, 1, 3, 0, 0, tzinfo=UTC))
    assert world.get(company(), client).status == 200


# Single flight (contract 4.9)


@every
def test_many_identical_requests_ask_once_and_pay_each(world: Service, of: Sample) -> None:
    """Requests of two accounts with the same answer."""
    other = world.account("bia", credits=20 * of.price)
    answers = world.together(
        *((of.path, (world.client, other)[n % 2]) for n in range(40)), held=40 * of.price
    )

    assert world.source.asked == 1
    assert {(answer.status, answer.credits) for answer in answers} == {(200, of.price)}
    own = ("request_id", "print")  # a federal receipt's number is its account's
    bodies = [answer.json | dict.fromkeys(own) for answer in answers]
    assert len({answer.json["request_id"] for answer in answers}) == 40
    assert all(body == bodies[0] for body in bodies)
    assert (len(world.charges()), len(world.charges(other))) == (20, 20)
    spent = 20 * of.price
    assert (world.balance().balance_credits, world.balance(other).balance_credits) == (
        1000 - spent,
        0,
    )
    assert not world.check().complaints


@every
def test_a_shared_failure_is_free(world: Service, of: Sample) -> None:
    world.source.fails()
    answers = world.together(*[of.path] * 20, held=20 * of.price)
    assert {(answer.status, answer.credits) for answer in answers} == {(of.failed, 0)}
    assert world.source.asked == 1
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)


# Hanging up (contract 5.5)


@every
def test_a_disconnect_does_not_stop_the_operation(world: Service, of: Sample) -> None:
    world.hang_up(of.path, idempotency_key=KEY)

    assert world.source.answered == 1
    assert [charge.credits for charge in world.charges()] == [-of.price]  # charged
    assert world.kept(of.inquiry) is not None  # cached
    replay = world.get(of.path, idempotency_key=KEY)  # recorded
    assert (replay.status, replay.credits) == (200, 0)
    assert replay.json["request_id"] == world.charges()[0].request_id
    assert world.source.asked == 1


@every
def test_a_disconnect_before_a_failure_costs_nothing(world: Service, of: Sample) -> None:
    world.source.fails()
    world.hang_up(of.path, idempotency_key=KEY)
    assert not world.charges()
    assert world.get(of.path, idempotency_key=KEY).status == of.failed


def test_one_of_many_disconnects_and_the_others_are_served(world: Service) -> None:
    async def scenario() -> list[Reply]:
        world.source.waits()
        tasks = [world.begin(company()) for _ in range(3)]
        await world.until(lambda: world.balance().held_credits == 3)
        await world.until(lambda: world.source.asked == 1)
        tasks[0].cancel()
        await world.until(tasks[0].cancelled)
        world.source.answers_now()
        answers = [await task for task in tasks[1:]]
        await world.until(lambda: world.balance().held_credits == 0)
        return answers

    assert [answer.status for answer in world.run(scenario())] == [200, 200]
    assert world.source.asked == 1
    assert len(world.charges()) == 3


# A source that takes too long (contract 7.5)


def test_the_deadline_is_a_failure(tmp_path: Path) -> None:
    with open_with_source(tmp_path, deadline=0.05) as quick:
        quick.source.waits()
        answer = quick.get(company())
        assert (answer.status, answer.code, answer.credits) == (500, "ERRO_INTERNO", 0)
        assert quick.balance().held_credits == 0
        quick.keep()
        assert quick.get(company()).status == 200  # the entry stands in
