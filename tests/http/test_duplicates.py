"""Many requests with one Idempotency-Key, and credits for one of them (contract 9.1).

The key is checked before the credits, in the commit too: a duplicate is replayed or has to wait,
and never gets a 402.
"""

import asyncio
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from tests.records import CNPJ, OTHER_CNPJ, sintegra
from tests.service import Client, Reply, Service, open_service
from tests.storage import postgres

KEY = "pedido-0001"
AT_ONCE = 30


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("duplicates")
    if request.param == "sqlite":
        with open_service(folder) as house:
            yield house
        return
    address = postgres.new_address()
    with open_service(folder, database=SecretStr(address)) as house:
        yield house
    postgres.server().drop_database(address)


def with_the_price_of_one(house: Service, terms: str, name: str) -> Client:
    if terms == "ceiling":
        return house.account(name, plan="pos_pago", credits=0, ceiling_credits=1)
    return house.account(name, credits=1)


@pytest.mark.parametrize("terms", ["balance", "ceiling"])
@pytest.mark.parametrize("cached", [True, False], ids=["cached", "online"])
def test_of_thirty_duplicates_one_pays_and_none_gets_a_402(
    house: Service, cached: bool, terms: str
) -> None:
    client = with_the_price_of_one(house, terms, f"{cached} {terms}")
    if cached:
        assert house.get(sintegra()).status == 200  # by another caller: it is in the cache now
    strategy = "CACHE_SE_EXISTIR" if cached else "SO_ONLINE"
    path = sintegra(query=f"uf=SP&cache_strategy={strategy}")

    async def scenario() -> list[Reply]:
        asking = (house.aget(path, client, idempotency_key=KEY) for _ in range(AT_ONCE))
        return list(await asyncio.gather(*asking))

    answers = house.run(scenario())

    (paid,) = (each for each in answers if each.credits)
    assert (paid.status, paid.credits, "idempotent-replayed" in paid.headers) == (200, 1, False)
    for each in answers:
        if each.status == 409:
            assert each.code == "OPERACAO_EM_ANDAMENTO"
            assert int(each.headers["retry-after"]) >= 1
        elif each is not paid:
            assert (each.status, each.headers.get("idempotent-replayed")) == (200, "true")
            assert each.body == paid.body
    if cached:  # charged and recorded in one commit: there is nothing to wait for
        assert {each.status for each in answers} == {200}

    assert house.get(path, client, idempotency_key=KEY).body == paid.body
    other = house.get(sintegra(OTHER_CNPJ), client, idempotency_key=KEY)
    assert (other.status, other.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA")
    new = house.get(path, client, idempotency_key="pedido-0002")
    assert (new.status, new.code) == (402, "SALDO_INSUFICIENTE")
    assert [-entry.credits for entry in house.charges(client)] == [1]
    house.assert_books_agree()


def test_other_parameters_at_the_same_instant_are_refused(house: Service) -> None:
    """With 400 rather than 402, although the first request took the credits."""
    client = house.account("outros", credits=1)
    paths = [sintegra(), sintegra(OTHER_CNPJ)] * 5

    async def scenario() -> list[Reply]:
        asking = (house.aget(path, client, idempotency_key=KEY) for path in paths)
        return list(await asyncio.gather(*asking))

    answers = house.run(scenario())

    (paid,) = (n for n, each in enumerate(answers) if each.credits)
    for path, answer in zip(paths, answers, strict=True):
        if path != paths[paid]:
            assert (answer.status, answer.code) == (400, "IDEMPOTENCY_KEY_REUTILIZADA")
        elif answer.status != 200:
            assert (answer.status, answer.code) == (409, "OPERACAO_EM_ANDAMENTO")
    assert house.money(client) == (0, 0)


@pytest.mark.parametrize("cached", [True, False], ids=["cached", "online"])
def test_a_key_refused_for_credits_is_free_again(house: Service, cached: bool) -> None:
    """402 binds no key: all are refused alike, and the next one is decided again (contract 6.2)."""
    client = house.account(f"sem nada {cached}", credits=0)
    if cached:
        assert house.get(sintegra()).status == 200
    strategy = "CACHE_SE_EXISTIR" if cached else "SO_ONLINE"
    path = sintegra(query=f"uf=SP&cache_strategy={strategy}")

    async def scenario() -> list[Reply]:
        asking = (house.aget(path, client, idempotency_key=KEY) for _ in range(AT_ONCE))
        return list(await asyncio.gather(*asking))

    assert {each.code for each in house.run(scenario())} == {"SALDO_INSUFICIENTE"}
    house.top_up(client, 1)
    other = house.get(sintegra(CNPJ, "uf=MG"), client, idempotency_key=KEY)
    assert (other.status, other.credits) == (200, 1)
    assert house.get(path, client, idempotency_key=KEY).code == "IDEMPOTENCY_KEY_REUTILIZADA"
