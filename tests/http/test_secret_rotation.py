"""Replacing `secret.key` while requests arrive, on both engines (ADR 0106)."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from balcao.core.access import Caller, key_hash
from balcao.core.errors import PepperDiffers
from balcao.core.people import AT_THE_TERMINAL
from balcao.core.secrets import SecretRing, secret_id
from balcao.home import Home, new_secret
from balcao.service.secret_following import SecretFollower
from tests.records import sintegra
from tests.service import Client, Service, open_service

REQUESTS_EACH = 10


@pytest.fixture(params=["sqlite", "postgresql"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    database = ""
    if request.param == "postgresql":
        database = request.getfixturevalue("address")
    with open_service(tmp_path, database=SecretStr(database)) as service:
        yield service


def _follower(house: Service) -> SecretFollower:
    tools = house.front.web._tools  # type: ignore[union-attr]
    secrets = house.front.authenticator._secrets
    return SecretFollower(tools.home, house.desk, secrets, tools.seal, tools.now_ms)


def _ring(house: Service) -> SecretRing:
    return house.front.authenticator._secrets.ring


async def _statuses(house: Service, clients: list[Client]) -> Counter[int]:
    """Send requests of all clients at once, one after another each."""

    async def several(client: Client) -> list[int]:
        return [(await house.aget(sintegra(), client)).status for _ in range(REQUESTS_EACH)]

    found = await asyncio.gather(*map(several, clients))
    return Counter(status for each in found for status in each)


def test_no_request_fails_while_the_secret_is_replaced(house: Service) -> None:
    home, stored, follower = Home(house.folder), house.desk.secrets, _follower(house)
    clients = [house.client, *(house.another_key(house.client) for _ in range(5))]
    unused = house.another_key(house.client)
    assert house.get(sintegra()).status == 200
    old = home.pepper()

    async def rotate() -> Counter[int]:
        first = asyncio.create_task(_statuses(house, clients))
        home.replace_secrets([old, new_secret()])
        await follower.follow()
        second = asyncio.create_task(_statuses(house, clients))
        await follower.follow()
        statuses = await first + await second + await _statuses(house, clients)
        await asyncio.gather(*house.front.authenticator._writing)
        return statuses

    assert house.run(rotate()) == {200: 3 * len(clients) * REQUESTS_EACH}
    ring = _ring(house)
    assert (ring.previous, ring.current) == (old, home.secrets()[1])
    fresh = house.another_key(house.client)
    now = house._clock.now_ms()
    left = stored.keys_left(secret_id(ring.current), now)
    used = {client.key_id for client in (*clients, fresh)}
    assert unused.key_id in {key.key_id for key in left}
    assert not used & {key.key_id for key in left}

    house.run(stored.finish(secret_id(ring.current), AT_THE_TERMINAL, now))
    house.run(follower.follow())
    assert _ring(house).previous is None
    assert house.get(sintegra(), unused).status == 401
    assert house.run(_statuses(house, [*clients, fresh])) == {
        200: (len(clients) + 1) * REQUESTS_EACH
    }


def test_a_key_read_during_the_replacement_is_hashed_again(
    house: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, follower = Home(house.folder), _follower(house)
    slow, desk = house.another_key(house.client), house.desk
    read = desk.caller
    home.replace_secrets([home.pepper(), new_secret()])

    async def replaced_meanwhile(hashed: bytes, now_ms: int) -> Caller | None:
        caller = await read(hashed, now_ms)
        monkeypatch.undo()
        await follower.follow()
        return caller

    async def use_twice() -> None:
        monkeypatch.setattr(desk, "caller", replaced_meanwhile)
        assert (await house.aget(sintegra(), slow)).status == 200
        assert _ring(house).previous is not None
        assert (await house.aget(sintegra(), slow)).status == 200
        await asyncio.gather(*house.front.authenticator._writing)

    house.run(use_twice())
    left = desk.secrets.keys_left(secret_id(_ring(house).current), house._clock.now_ms())
    assert slow.key_id not in {key.key_id for key in left}


def test_a_node_without_the_secret_in_use_refuses_no_key(house: Service) -> None:
    """An unknown key may be one that another node hashed again."""
    home, follower = Home(house.folder), _follower(house)
    added = new_secret()
    house.run(house.desk.engine.report_secrets([secret_id(added)]))
    assert house.run(house.desk.secrets.activate(secret_id(added), house._clock.now_ms()))
    with pytest.raises(PepperDiffers):
        house.another_key(house.client)
    hashed = key_hash(house.client.key, home.pepper())
    again = key_hash(house.client.key, added)
    house.run(house.desk.secrets.rehash_key(hashed, again, secret_id(added)))
    house.run(follower.follow())
    assert house.get(sintegra()).status == 503
    assert house.get(sintegra(), None).status == 401
    home.replace_secrets([home.pepper(), added])
    house.run(follower.follow())
    assert house.get(sintegra()).status == 200
    assert _ring(house).current == added


def test_a_missing_file_is_not_created_while_serving(house: Service) -> None:
    home, follower = Home(house.folder), _follower(house)
    content = home.secret.read_bytes()
    house.run(follower.follow())
    home.secret.unlink()
    house.run(follower.follow())
    assert not home.secret.exists()
    assert house.get(sintegra()).status == 200
    home.secret.write_bytes(content)
