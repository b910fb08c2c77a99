"""Batches about several establishments of one company (contract 4.13, 13.4)."""

import asyncio
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from balcao.batches.running import BatchRunner
from balcao.core.check_digits import cnpj_check_digits
from balcao.service import batching
from balcao.storage.batches import StoredBatch
from tests.http.batcher import FEDERAL, Batcher, certificates
from tests.service import PATIENCE_SECONDS, Service, open_service

BASES = [f"90040001000{order}" for order in range(1, 9)]
ESTABLISHMENTS = [base + cnpj_check_digits(base) for base in BASES]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Service]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "POLL_SECONDS", 0.05)
        with open_service(tmp_path, establishments=1) as house:
            yield house


@pytest.mark.parametrize(
    "parameters", ["", "&cache_strategy=SO_ONLINE", "&preferencia_emissao=nova"]
)
def test_establishments_are_one_purchase(house: Service, parameters: str) -> None:
    """The first row buys the certificate; the others pay the price of the cache."""
    batcher = Batcher(house, house.account("filiais"))
    file = certificates(*ESTABLISHMENTS)
    number = batcher.create(file, f"operacao={FEDERAL}{parameters}")
    batcher.confirm(number)
    body = batcher.until(number, "concluido")
    rows = batcher.rows(number)
    assert {row["estado"] for row in rows} == {"concluida"}
    assert sorted(row["creditos"] for row in rows) == [1] * 7 + [2]
    assert body["creditos_gastos"] == 9

    result = batcher.call("GET", f"/{number}/resultado.csv").body.decode("utf-8-sig")
    header, *lines = csv.reader(result.splitlines(), delimiter=";")
    certified = header.index("balcao_cnpj_da_certidao")
    assert [line[0] for line in lines] == ESTABLISHMENTS
    assert {line[certified] for line in lines} == {"90.040.001/0001-52"}


class SliceCounter:
    """Counts time slices, and lookups by slice, which wait for `go_on`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count, self.lookups = 0, list[int]()
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()
        self.go_on.set()
        self.last: Any = None
        ask, look_up = BatchRunner._run_slice, BatchRunner._look_up

        async def counted(running: BatchRunner, batch: StoredBatch) -> float | None:
            self.count += 1
            return await ask(running, batch)

        async def noted(running: BatchRunner, time_slice: Any, *rest: Any) -> None:
            self.last = time_slice
            self.lookups.append(self.count)
            self.begun.set()
            await self.go_on.wait()
            await look_up(running, time_slice, *rest)

        patch.setattr(BatchRunner, "_run_slice", counted)
        patch.setattr(BatchRunner, "_look_up", noted)


def test_a_failing_company_is_asked_about_once_per_slice(
    house: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider charges for every attempt, and a slice lasts as long as its last row."""
    slices = SliceCounter(monkeypatch)
    batcher = Batcher(house, house.account("falha"))
    bases = [f"90020003000{order}" for order in range(1, 5)]
    file = certificates(*(base + cnpj_check_digits(base) for base in bases))
    number = batcher.create(file, f"operacao={FEDERAL}")
    batcher.confirm(number)
    batcher.until(number, "concluido")
    assert {row["estado"] for row in batcher.rows(number)} == {"falha"}
    assert len(slices.lookups) == len(set(slices.lookups)) == len(bases)


def test_rows_waiting_for_their_company_do_not_start_after_a_pause(
    house: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices = SliceCounter(monkeypatch)
    slices.go_on.clear()
    batcher = Batcher(house, house.account("pausa"))
    number = batcher.create(certificates(*ESTABLISHMENTS), f"operacao={FEDERAL}")
    batcher.confirm(number)

    async def paused() -> None:
        await slices.begun.wait()
        assert (await batcher.acall("POST", f"/{number}/pausar")).status == 200
        slices.go_on.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if not await house.desk.jobs.counts():
                    break
                await asyncio.sleep(0.01)

    house.run(paused())
    assert batcher.show(number)["estado"] == "pausado"
    assert len(slices.lookups) == 1
    states = [row["estado"] for row in batcher.rows(number)]
    assert sorted(states) == ["concluida"] + 7 * ["pendente"]
    assert batcher.call("POST", f"/{number}/retomar").status == 200
    batcher.until(number, "concluido")


def test_rows_waiting_for_their_company_do_not_start_during_a_stop(
    house: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    slices = SliceCounter(monkeypatch)
    slices.go_on.clear()
    batcher = Batcher(house, house.account("parada"))
    number = batcher.create(certificates(*ESTABLISHMENTS), f"operacao={FEDERAL}")
    batcher.confirm(number)

    async def stop() -> None:
        await house.front.stop()

    async def stopped() -> None:
        await slices.begun.wait()
        stopping = asyncio.create_task(stop())
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                if slices.last.stopped:
                    break
                await asyncio.sleep(0)
        slices.go_on.set()
        await stopping

    house.run(stopped())
    assert len(slices.lookups) == 1
    states = [row["estado"] for row in batcher.rows(number)]
    assert sorted(states) == ["concluida"] + 7 * ["pendente"]
