"""API keys: missing, unknown, expired, revoked (specification, Authentication; contract 7.2)."""

from pathlib import Path

import pytest

from balcao.core.access import new_key
from balcao.storage.sqlite.desk import SqliteDesk
from tests.records import NOW_MS, company
from tests.service import Client, Service


def assert_refused(world: Service, client: Client | None) -> None:
    answer = world.get(company(), client)
    assert (answer.status, answer.code, answer.credits) == (401, "API_KEY_INVALIDA", 0)
    assert world.source.asked == 0


def test_a_missing_key(world: Service) -> None:
    assert_refused(world, None)


@pytest.mark.parametrize(
    "key", ["", " ", "x", "null", "Bearer abc", "balcao_live_", "á" * 61, "balcao_live_" + "0" * 49]
)
def test_malformed_keys(world: Service, key: str) -> None:
    assert_refused(world, Client(0, 0, key))


def test_an_unknown_key(world: Service) -> None:
    assert_refused(world, Client(0, 0, new_key("live")))


def test_a_typo(world: Service) -> None:
    key = world.client.key
    for position in (0, 15, 40, len(key) - 1):
        other = "a" if key[position] != "a" else "b"
        assert_refused(world, Client(0, 0, key[:position] + other + key[position + 1 :]))
    assert_refused(world, Client(0, 0, key[:-1]))
    assert_refused(world, Client(0, 0, key + "0"))
    assert_refused(world, Client(0, 0, key.replace("live", "test")))


def test_a_key_in_the_query_is_ignored(world: Service) -> None:
    answer = world.get(company(query=f"x-api-key={world.client.key}"), None)
    assert answer.status == 401


def test_a_key_expires_at_its_instant(world: Service) -> None:
    brief = world.another_key(world.client, expires_in_seconds=60)
    world.clock.advance(seconds=59.999)
    assert world.get(company(), brief).status == 200
    world.clock.advance(seconds=0.001)
    answer = world.get(company(), brief)
    assert (answer.status, answer.code) == (401, "API_KEY_INVALIDA")
    assert world.get(company()).status == 200  # the account's other key


def test_a_revoked_key_is_refused(world: Service) -> None:
    other = world.another_key(world.client)
    assert world.get(company(), other).status == 200

    assert world.desk.revoke_key(other.key_id, world.clock())
    world.clock.advance(seconds=1)

    assert world.get(company(), other).status == 401
    assert world.get(company()).status == 200


def test_revocation_by_another_process_is_in_force_within_a_second(
    world: Service, tmp_path: Path
) -> None:
    other = world.another_key(world.client)
    assert world.get(company(), other).status == 200
    beside = SqliteDesk(tmp_path / "balcao.db")
    try:
        assert beside.revoke_key(other.key_id, world.clock())
    finally:
        beside.close()

    world.clock.advance(seconds=1)

    assert world.get(company(), other).status == 401


def test_a_new_key_of_another_process_works(world: Service, tmp_path: Path) -> None:
    unknown = Client(0, 0, new_key("live"))
    assert_refused(world, unknown)
    assert world.get(company(), world.another_key(world.client)).status == 200


def test_a_key_pays_from_its_account_and_the_entry_names_it(world: Service) -> None:
    second = world.another_key(world.client)
    world.get(company(), second)
    (charge,) = world.charges()
    assert charge.key_id == second.key_id
    assert world.balance().balance_credits == 999


def test_the_last_use_of_a_key_is_recorded(world: Service) -> None:
    """To the minute, for every outcome of the request (contract 7.2)."""
    world.get(company("not-a-cnpj"))

    async def noted() -> None:
        await world.until(lambda: last_use() is not None)

    def last_use() -> int | None:
        return world.desk.keys(world.client.account_id)[0].last_used_ms

    world.run(noted())
    assert last_use() == NOW_MS
