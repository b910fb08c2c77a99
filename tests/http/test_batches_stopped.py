"""A batch that is stopped while it runs: no further slice of its rows starts."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias

import pytest
from pydantic import SecretStr

from balcao.batches import batch_context
from balcao.core.access import KeyRestrictions
from balcao.core.people import Signature
from balcao.service import batching
from balcao.service.clock import system_now_ms
from balcao.storage.batches import StoredBatch
from tests.http.batcher import FEDERAL, Batcher, certificates, some_cnpjs
from tests.service import PATIENCE_SECONDS, Service, open_service
from tests.storage import postgres

SLICE, ROWS = 2, 9

Deed: TypeAlias = Callable[[Batcher, str], Awaitable[None]]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def house(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    database = postgres.new_address() if request.param == "postgresql" else ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "POLL_SECONDS", 0.05)
        where = tmp_path_factory.mktemp("house")
        with open_service(where, establishments=1, database=SecretStr(database)) as house:
            yield house
            house.assert_books_agree()


async def _paused(batcher: Batcher, number: str) -> None:
    assert (await batcher.acall("POST", f"/{number}/pausar")).status == 200


async def _revoked(batcher: Batcher, number: str) -> None:
    batcher.house.desk.revoke_key(batcher.client.key_id, system_now_ms())


async def _expired(batcher: Batcher, number: str) -> None:
    with batcher.house.desk.engine.write_in_place() as here:
        sql = "UPDATE api_key SET expires_ms = 1 WHERE key_id = ?"
        here.execute(sql, (batcher.client.key_id,))


async def _for_others(batcher: Batcher, number: str) -> None:
    restrictions = KeyRestrictions(operations=("suframa",))
    batcher.house.desk.change_restrictions(batcher.client.key_id, restrictions, system_now_ms())


async def _suspended(batcher: Batcher, number: str) -> None:
    people = batcher.house.desk.people
    signed = Signature("cli")
    await people.suspend_account(batcher.client.account_id, True, signed, system_now_ms())


async def _ended(batcher: Batcher, number: str) -> None:
    assert (await batcher.acall("POST", f"/{number}/encerrar")).status == 200


async def _end_of(house: Service, number: str, state: str) -> StoredBatch:
    """Return the batch's end as stored: suspended accounts get no API answers."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            jobs = await house.desk.jobs.counts()
            batch = await house.desk.batches.batch(number)
            if batch is not None and batch.state == state and not jobs:
                return batch
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("deed", "state", "reason"),
    [
        (_paused, "pausado", "usuario"),
        (_revoked, "pausado", "limite_da_chave"),
        (_expired, "pausado", "limite_da_chave"),
        (_for_others, "pausado", "limite_da_chave"),
        (_suspended, "pausado", "limite_da_chave"),
        (_ended, "encerrado", None),
    ],
)
def test_no_slice_starts_after_it(
    house: Service,
    monkeypatch: pytest.MonkeyPatch,
    deed: Deed,
    state: str,
    reason: str | None,
) -> None:
    batcher = Batcher(house, house.account(f"{state} {reason} {deed}"[:60]))
    file = certificates(*some_cnpjs(ROWS, 90_040_001))
    number = batcher.create(file, f"operacao={FEDERAL}")
    batcher.until(number, "cotado")
    slices = 0

    async def then(self: batch_context.RowPacer) -> None:
        nonlocal slices
        slices += 1
        if slices == 2:
            await deed(batcher, number)

    monkeypatch.setattr(batch_context, "GROUP", SLICE)
    monkeypatch.setattr(batch_context.RowPacer, "pause", then)
    batcher.confirm(number)
    found = house.run(_end_of(house, number, state))
    assert found.reason == reason
    assert found.rows("concluida") == 2 * SLICE
    assert found.rows("pendente", "cancelada") == ROWS - 2 * SLICE
    assert found.held == 0
