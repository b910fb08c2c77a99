"""Prices and holds of state registrations and rural producers.

Specification, "Credits"; contract 5.1, 5.2: 1 per UF that answered, and 1 for the addresses.
"""

import pytest

from tests.http.registrations.shared import PRODUCER, SINTEGRA, Lookup, both, br
from tests.records import NOW_MS, registrations, sintegra
from tests.service import Service


@both
@pytest.mark.parametrize("kept", [False, True])
def test_402_names_the_greatest_price_of_the_path(world: Service, of: Lookup, kept: bool) -> None:
    """1 per UF and 1 for the addresses, before any source, even if all is cached."""
    if kept:
        for uf in of.ufs:
            world.keep(registrations(of.document, uf, com_endereco=True))
    whole = len(of.ufs)
    client = world.account("edu", credits=whole - 1)
    poor = world.account("eva", credits=0)

    for query, needed, by in (
        ("uf=BR", whole, client),
        ("uf=BR&endereco=true", whole + 1, client),
        ("uf=SP", 1, poor),
        ("uf=SP&endereco=true", 2, poor),
    ):
        path = of.path(of.document, query + "&cache_strategy=CACHE_SE_EXISTIR")
        answer = world.get(path, by, idempotency_key="pedido-0001")
        assert (answer.status, answer.code) == (402, "SALDO_INSUFICIENTE")
        assert answer.json["creditos_necessarios"] == needed
        assert answer.json["creditos_disponiveis"] == (whole - 1 if by is client else 0)
    assert world.source.asked == 0
    assert world.balance(client).held_credits == 0

    world.top_up(client, 1)  # and the key was not taken
    answer = world.get(br(of, "x=1"), client, idempotency_key="pedido-0001")
    assert (answer.status, answer.credits) == (200, whole)
    assert world.balance(client).balance_credits == 0


@both
def test_the_greatest_price_is_held_and_the_rest_released(world: Service, of: Lookup) -> None:
    """While sources are asked all UFs are held; afterwards only those that answered are charged."""

    async def scenario() -> None:
        world.source.fails_in("AC", "AL")
        world.source.waits()
        task = world.begin(br(of, "endereco=true"))
        await world.until(lambda: world.source.asked == len(of.ufs))
        assert world.balance().held_credits == len(of.ufs) + 1
        world.source.answers_now()
        assert (await task).credits == len(of.ufs) - 1

    world.run(scenario())
    assert (world.balance().balance_credits, world.balance().held_credits) == (
        1001 - len(of.ufs),
        0,
    )
    assert not world.check().complaints


@both
@pytest.mark.parametrize("query", ["uf=SP", "uf=SP&endereco=true", "uf=RJ&endereco=1"])
def test_the_addresses_cost_one_more(world: Service, of: Lookup, query: str) -> None:
    """Once per request, online and from the cache, also where the list is empty."""
    price = 2 if "endereco" in query else 1
    for _ in range(2):
        answer = world.get(of.path(of.document, query + "&cache_strategy=CACHE_SE_EXISTIR"))
        assert (answer.status, answer.credits) == (200, price)
    assert [charge.origin for charge in world.charges()] == ["online", "cache"]
    assert world.balance().balance_credits == 1000 - 2 * price


@both
def test_the_addresses_cost_one_more_with_br_too(world: Service, of: Lookup) -> None:
    """Per request in total, not per UF."""
    whole = len(of.ufs)
    assert world.get(br(of, "endereco=true")).credits == whole + 1
    cached = world.get(br(of, "endereco=true&cache_strategy=CACHE_SE_EXISTIR"))
    assert (cached.credits, cached.json["is_cache"]) == (whole + 1, True)
    assert world.balance().balance_credits == 1000 - 2 * (whole + 1)


@both
def test_the_entry_has_operation_and_rule(world: Service, of: Lookup) -> None:
    """One entry per request, with its operation and the rule that made the price."""
    one = world.get(of.path(of.document, "uf=SP"))
    all_of_them = world.get(br(of, "endereco=true"))

    first, second = world.charges()
    assert [first.request_id, second.request_id] == [
        one.json["request_id"],
        all_of_them.json["request_id"],
    ]
    assert (first.credits, second.credits) == (-1, -len(of.ufs) - 1)
    path = "sintegra" if of is SINTEGRA else "produtor-rural"
    assert first.operation == second.operation == path
    subject = "state_registration" if of is SINTEGRA else "rural_producer"
    assert (first.rule, second.rule) == (f"{subject}/uf", f"{subject}/uf+addresses")
    assert first.at_ms == NOW_MS


@both
def test_no_source_is_asked_without_enough_credits(world: Service, of: Lookup) -> None:
    """With 26 or 25 credits BR is refused and one UF is served (contract 5.1)."""
    client = world.account("edu", credits=len(of.ufs) - 1)

    assert world.get(br(of), client).status == 402
    assert world.source.asked == 0
    assert world.get(of.path(of.document), client).status == 200
    assert world.balance(client).balance_credits == len(of.ufs) - 2


def test_a_monthly_ceiling_counts_every_uf(world: Service) -> None:
    """A post-paid account with a ceiling of 30 may ask BR once (contract 5.3)."""
    client = world.account("rui", plan="pos_pago", ceiling_credits=30, credits=0)
    assert world.get(br(PRODUCER), client).credits == 26
    refused = world.get(sintegra(query="uf=BR"), client)
    assert (refused.status, refused.json["creditos_disponiveis"]) == (402, 4)
