"""State registrations and rural producers: repeated, concurrent and abandoned requests.

Contract 4.9 (single flight), 5.5 (disconnects), 6 (idempotency); "the same normalized
parameters" follow from contract 2.
"""

import asyncio
from typing import Any

import pytest

from tests.http.registrations.shared import (
    KEY,
    PRODUCER,
    SINTEGRA,
    UFS,
    Lookup,
    asked_about,
    both,
    br,
    inquiry,
)
from tests.records import CNPJ, OTHER_CNPJ, a_company, company, producer, sintegra, suframa
from tests.service import Reply, Service

# Idempotency


@both
@pytest.mark.parametrize("query", ["uf=BR", "uf=BR&endereco=1"])
def test_an_answer_of_some_ufs_is_replayed(world: Service, of: Lookup, query: str) -> None:
    """UFs that failed are not asked again."""
    world.source.fails_in("BA", "MG")
    path = of.path(of.document, query)
    first = world.get(path, idempotency_key=KEY)
    asked = world.source.asked
    world.source.finds()
    replay = world.get(path, idempotency_key=KEY)

    assert (replay.status, replay.body, replay.credits) == (200, first.body, 0)
    assert world.source.asked == asked
    assert len(world.charges()) == 1


@both
def test_a_failure_of_all_ufs_is_replayed(world: Service, of: Lookup) -> None:
    """Technical failures included (contract 6.2)."""
    world.source.fails()
    first = world.get(br(of), idempotency_key=KEY)
    world.source.finds()
    replay = world.get(br(of), idempotency_key=KEY)
    assert (first.status, replay.status, replay.body) == (500, 500, first.body)


PUNCTUATED = {CNPJ: "90.010.001%2F0001-00", PRODUCER.document: "900.100.001-00"}


@both
def test_equivalent_requests(world: Service, of: Lookup) -> None:
    """Punctuation, case, order, defaults and unknown parameters make no difference."""
    first = world.get(of.path(of.document, "uf=SP"), idempotency_key=KEY)
    defaults = "cache_strategy=ONLINE_PREFERENCIAL&cache=7&error_fallback=false"
    headers: list[dict[str, Any]] = [{}, {"cache": "7"}]
    for document in (of.document, PUNCTUATED[of.document], f"%20{of.document}"):
        for query in (
            "uf=SP",
            "uf=%20sp",
            "x=1&uf=Sp&x=2",
            f"uf=SP&{defaults}",
            f"{defaults.lower()}&uf=SP&endereco=0",
            "uf=SP&endereco=FALSE&error_fallback=0&cache=007",
        ):
            for header in headers:
                again = world.get(of.path(document, query), idempotency_key=KEY, **header)
                assert again.body == first.body, (document, query)
    assert world.source.asked == 1


@both
def test_different_requests(world: Service, of: Lookup) -> None:
    """Every other value is 400 `IDEMPOTENCY_KEY_REUTILIZADA`, and asks no source."""
    first = world.get(of.path(of.document, "uf=SP"), idempotency_key=KEY)
    other = OTHER_CNPJ if of is SINTEGRA else "90010000291"
    paths = [
        of.path(other, "uf=SP"),
        *(
            of.path(of.document, query)
            for query in (
                "uf=RJ",
                "uf=BR",
                "uf=SP&endereco=true",
                "uf=SP&cache=8",
                "uf=SP&cache=0",
                "uf=SP&cache_strategy=SO_ONLINE",
                "uf=SP&error_fallback=true",
            )
        ),
        company(),
        suframa(),
        producer() if of is SINTEGRA else sintegra(),
    ]
    for path in paths:
        answer = world.get(path, idempotency_key=KEY)
        assert (answer.status, answer.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA"), path
        assert answer.credits == 0
    assert world.source.asked == 1
    assert world.get(of.path(of.document, "uf=SP"), idempotency_key=KEY).body == first.body


@pytest.mark.parametrize(("one", "two"), [("uf=SP", ""), ("", "uf=SP"), ("uf=SP", "uf=")])
def test_an_omitted_uf_is_another_request(world: Service, one: str, two: str) -> None:
    """Even where it turns out to be the same UF."""
    world.keep(a_company(uf="SP"))
    assert world.get(sintegra(query=one), idempotency_key=KEY).status == 200
    assert world.get(sintegra(query=two), idempotency_key=KEY).code == "IDEMPOTENCY_KEY_REUTILIZADA"


def test_an_empty_uf_is_an_omitted_one(world: Service) -> None:
    """They are one request (contract 2.3), before and after the UF became known."""
    first = world.get(sintegra(query=""), idempotency_key=KEY)
    for query in ("uf=", "uf=%20", ""):
        assert world.get(sintegra(query=query), idempotency_key=KEY).body == first.body
    assert world.source.asked == 2


@both
def test_refusals_bind_no_key(world: Service, of: Lookup) -> None:
    """A corrected request under the same key is executed (contract 6.2)."""
    for query in ("uf=XX", "uf=SP&endereco=x", "uf=SP&uf=SP", "uf=SP&cache=-1"):
        assert world.get(of.path(of.document, query), idempotency_key=KEY).status == 400
    poor = world.account("edu", credits=1)
    assert world.get(br(of), poor, idempotency_key=KEY).status == 402
    assert world.get(of.path(of.document, "uf=SP"), poor, idempotency_key=KEY).status == 200
    assert world.get(of.path(of.document, "uf=SP"), idempotency_key=KEY).status == 200


# At once


@both
def test_a_hundred_concurrent_br_lookups(world: Service, of: Lookup) -> None:
    """27 calls and 2700 credits, or 26 and 2600."""
    whole = len(of.ufs)
    rich = world.account("bia", credits=100 * whole)
    answers = world.together(*[(br(of), rich)] * 100, held=100 * whole, asked=whole)
    assert {(answer.status, answer.credits) for answer in answers} == {(200, whole)}
    assert sorted(map(str, asked_about(world))) == of.ufs
    assert (world.balance(rich).balance_credits, world.balance(rich).held_credits) == (0, 0)
    assert not world.check().complaints


@both
def test_br_and_one_uf_at_once_share_that_uf(world: Service, of: Lookup) -> None:
    """A flight is one document in one UF; each caller pays its own price."""
    whole = len(of.ufs)
    paths = (br(of), of.path(of.document, "uf=SP"))
    everywhere, one = world.together(*paths, held=whole + 1, asked=whole)
    assert (everywhere.credits, one.credits) == (whole, 1)
    assert sorted(map(str, asked_about(world))) == of.ufs


@both
@pytest.mark.parametrize("with_first", [True, False])
def test_with_and_without_addresses_do_not_mix(
    world: Service, of: Lookup, with_first: bool
) -> None:
    """Only callers that asked for addresses get them, also in a shared flight."""
    queries = ["uf=SP&endereco=true", "uf=SP"] if with_first else ["uf=SP", "uf=SP&endereco=true"]
    paths = [of.path(of.document, query) for query in queries for _ in range(5)]
    answers = world.together(*paths, held=15, asked=2)
    shown = [
        ("endereco" in answer.json["inscricoes_estaduais"][0], answer.credits) for answer in answers
    ]
    expected = [(True, 2)] * 5 + [(False, 1)] * 5
    assert shown == (expected if with_first else expected[::-1])
    assert world.source.asked == 2
    assert world.balance().balance_credits == 1000 - 15


@both
def test_a_shared_failure_of_all_ufs_is_free(world: Service, of: Lookup) -> None:
    """All waiting callers get the failure, and nothing is charged."""
    whole = len(of.ufs)
    world.source.fails()
    answers = world.together(*[br(of)] * 20, held=20 * whole, asked=whole)
    assert {(answer.status, answer.credits) for answer in answers} == {(500, 0)}
    assert world.source.asked == whole
    assert (world.balance().balance_credits, world.balance().held_credits) == (1000, 0)


def test_many_without_uf_ask_the_registry_once(world: Service) -> None:
    """The lookup of the company's UF is shared like any other, and free for all."""
    answers = world.together(*[sintegra(query="")] * 50, held=50)
    assert {(answer.status, answer.credits) for answer in answers} == {(200, 1)}
    assert [about.subject for about in world.source.inquiries].count("company") == 1
    assert world.balance().balance_credits == 950


# Hanging up


@both
def test_a_disconnect_does_not_stop_any_uf(world: Service, of: Lookup) -> None:
    """All are completed, charged, cached and recorded (contract 5.5)."""
    path, whole = of.path(of.document, "uf=BR&endereco=true"), len(of.ufs)
    world.hang_up(path, asked=whole, idempotency_key=KEY)

    assert [charge.credits for charge in world.charges()] == [-whole - 1]
    assert all(world.kept(inquiry(of, uf)) for uf in of.ufs)
    replay = world.get(path, idempotency_key=KEY)
    assert (replay.status, replay.credits) == (200, 0)
    assert world.source.asked == whole


@both
def test_one_of_many_disconnects_and_the_others_are_served(world: Service, of: Lookup) -> None:
    """Shared requests continue for the others."""

    async def scenario() -> list[Reply]:
        world.source.waits()
        tasks = [world.begin(br(of)) for _ in range(3)]
        await world.until(lambda: world.balance().held_credits == 3 * len(of.ufs))
        await world.until(lambda: world.source.asked == len(of.ufs))
        tasks[0].cancel()
        await world.until(tasks[0].cancelled)
        world.source.answers_now()
        answers = list(await asyncio.gather(*tasks[1:]))
        await world.until(lambda: world.balance().held_credits == 0)
        return answers

    answers = world.run(scenario())
    assert [(answer.status, answer.credits) for answer in answers] == [(200, len(of.ufs))] * 2
    assert len(world.charges()) == 3
    assert world.source.asked == len(of.ufs)


def test_the_list_of_ufs_is_that_of_the_contract() -> None:
    """27 for companies; 26 for producers, without PR."""
    assert (len(UFS), len(PRODUCER.ufs), set(UFS) - set(PRODUCER.ufs)) == (27, 26, {"PR"})
