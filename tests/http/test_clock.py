"""A service while its clock jumps: nothing expires, resets or changes month (contract 9.8)."""

import asyncio
import re
import secrets
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest
from pydantic import SecretStr

from balcao.core.calendar import civil_month
from balcao.core.errors import StorageFailed
from balcao.core.ledger import TopUp
from balcao.service import lifecycle
from balcao.service.clock import Clock, system_now_ms
from balcao.settings import Limits
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.engine import SqliteEngine
from tests.clocks import Clocks
from tests.service import Client, Service, open_service
from tests.storage import postgres
from tests.storage.world import brasilia

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
COMPANY = "/consultas/v2/cnpj-receita-federal/90010001000100"
SALDO = "/conta/v1/saldo"
DAILY = Limits(per_minute=100_000, per_day=20)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "CLOCK_EVERY_SECONDS", 0.001)
    monkeypatch.setattr(lifecycle, "RECOVER_EVERY_SECONDS", 0.001)


def seen(house: Service, sentence: str) -> None:
    """Wait until `/readyz` reports this about the clock."""

    async def scenario() -> None:
        async with asyncio.timeout(20):
            while sentence not in (await house.aget("/readyz")).json["relógio"]:  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    house.run(scenario())


def measured(house: Service, name: str) -> float:
    found = re.search(rf"^{name} (\S+)$", house.get("/metrics").body.decode(), re.MULTILINE)
    assert found
    return float(found[1])


def admitted(house: Service, client: Client, of: int) -> int:
    return [house.get(SALDO, client).status for _ in range(of)].count(200)


def test_during_a_jump_and_after_its_correction(tmp_path: Path) -> None:
    clocks = Clocks()
    with open_service(tmp_path, clock=clocks.clock(), limits_gratuito=DAILY) as house:
        free = house.account("livre", plan="gratuito")
        first = house.get(COMPANY, idempotency_key="compra-0001")
        assert first.status == 200
        assert admitted(house, free, 5) == 5
        at = re.search(r'"dia";r=(\d+)', house.get(SALDO, free).headers["ratelimit"])
        assert at is not None
        assert at[1] == "14"

        clocks.jump(97 * HOUR)
        seen(house, "saltou +349200 s")
        again = house.get(COMPANY, idempotency_key="compra-0001")
        assert (again.status, again.body) == (200, first.body)
        assert len(house.charges()) == 1
        assert house.balance().month == civil_month(clocks.system - 97 * HOUR)
        assert admitted(house, free, 4) == 4
        assert measured(house, "balcao_clock_system_ahead_seconds") == 97 * 3600
        assert measured(house, "balcao_clock_in_doubt") == 1
        assert measured(house, "balcao_clock_jumps_total") == 1
        # Numbers, too, tell the time that is believed.
        body = int(house.get(COMPANY).json["request_id"].replace("-", "")[:12], 16)
        assert abs(body - (clocks.system - 97 * HOUR)) < 1_000

        clocks.jump(-97 * HOUR)
        seen(house, "certo")
        assert house.get(COMPANY, idempotency_key="compra-0001").body == first.body
        assert admitted(house, free, 20) == 10
        assert measured(house, "balcao_clock_in_doubt") == 0


@pytest.mark.parametrize("ahead", [DAY, 12 * HOUR])
def test_started_ahead_and_corrected_while_serving(tmp_path: Path, ahead: int) -> None:
    clocks = Clocks()
    clocks.jump(ahead)
    with open_service(tmp_path, clock=clocks.clock(), limits_gratuito=DAILY) as house:
        free = house.account("livre", plan="gratuito")
        assert admitted(house, free, 21) == 20
        clocks.jump(-ahead)
        seen(house, "saltou")
        clocks.go_on(HOUR)  # confirmed
        seen(house, "certo")
        assert admitted(house, free, 21) == 20


def test_limits_are_reset_even_if_that_fails_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget, failures = SqliteEngine.forget_limits, iter([StorageFailed("deadlock")])
    forgotten = asyncio.Event()

    async def fails_once(engine: SqliteEngine, now_ms: int) -> None:
        for failure in failures:
            raise failure
        await forget(engine, now_ms)
        forgotten.set()

    monkeypatch.setattr(SqliteEngine, "forget_limits", fails_once)
    clocks = Clocks()
    clocks.jump(12 * HOUR)
    with open_service(tmp_path, clock=clocks.clock(), limits_gratuito=DAILY) as house:
        free = house.account("livre", plan="gratuito")
        assert admitted(house, free, 10) == 10
        clocks.jump(-12 * HOUR)
        seen(house, "saltou")
        clocks.go_on(HOUR)  # confirmed
        house.run(asyncio.wait_for(forgotten.wait(), 20))
        assert admitted(house, free, 21) == 20


def test_a_restart_with_the_clock_corrected(tmp_path: Path) -> None:
    """A clock that was a month ahead: no lockout, and the ceiling is this month's."""
    clocks = Clocks(brasilia("2026-08-20 12:00:00"))
    with open_service(tmp_path, clock=clocks.clock(), limits_gratuito=DAILY) as house:
        free = house.account("livre", plan="gratuito")
        lia = house.account("lia", plan="pos_pago", credits=0)
        assert [house.get(COMPANY, lia).status for _ in range(3)] == [200] * 3
    clocks.jump(15 * DAY)
    with open_service(tmp_path, clock=clocks.clock(), limits_gratuito=DAILY, name="bia") as house:
        assert house.balance(lia).month == "2026-08"
        assert house.get(COMPANY, lia).status == 200
        assert house.balance(lia).month == "2026-09"
        assert admitted(house, free, 21) == 20
    clocks.jump(-15 * DAY)
    with open_service(tmp_path, clock=clocks.clock(), limits_gratuito=DAILY, name="caio") as house:
        seen(house, "certo")
        balance = house.balance(lia)
        assert (balance.month, balance.month_credits) == ("2026-08", 3)
        assert admitted(house, free, 21) == 20


def test_keys_survive_a_restart_with_a_clock_ahead(tmp_path: Path) -> None:
    clocks = Clocks()
    with open_service(tmp_path, clock=clocks.clock()) as house:
        ana = house.client
        first = house.get(COMPANY, idempotency_key="compra-0001")
    clocks.jump(97 * HOUR)
    with open_service(tmp_path, clock=clocks.clock(), name="bia") as house:
        seen(house, "no início estava +3492")
        again = house.get(COMPANY, ana, idempotency_key="compra-0001")
        assert again.body == first.body, "nothing but the clock says that it has run out"
        clocks.go_on(HOUR)
        seen(house, "certo")
        later = house.get(COMPANY, ana, idempotency_key="compra-0001")
        assert later.json["request_id"] != first.json["request_id"]


def test_a_second_restart_does_not_end_the_doubt(tmp_path: Path) -> None:
    """A process that ends within an hour, as by a crash, has not shown that the clock is right."""
    clocks = Clocks()
    with open_service(tmp_path, clock=clocks.clock()) as house:
        ana = house.client
        first = house.get(COMPANY, idempotency_key="compra-0001")
    clocks.jump(97 * HOUR)
    for name in ("bia", "caio", "davi"):
        clocks.go_on(MINUTE)
        with open_service(tmp_path, clock=clocks.clock(), name=name) as house:
            seen(house, "no início estava +349")
            again = house.get(COMPANY, ana, idempotency_key="compra-0001")
            assert again.body == first.body
            assert house.get(COMPANY, ana).status == 200  # it is in the books


def test_an_accepted_month_is_turned_back_with_the_clock(tmp_path: Path) -> None:
    clocks = Clocks(brasilia("2026-08-20 12:00:00"))
    with open_service(tmp_path, clock=clocks.clock()) as house:
        lia = house.account("lia", plan="pos_pago", credits=0)
        assert house.get(COMPANY, lia).status == 200
        clocks.jump(15 * DAY)
        seen(house, "saltou")
        clocks.go_on(HOUR)  # confirmed
        seen(house, "certo")
        assert house.get(COMPANY, lia).status == 200
        assert house.balance(lia).month == "2026-09"
        clocks.jump(-15 * DAY)
        seen(house, "saltou")
        clocks.go_on(HOUR)
        house.run(house.until(lambda: house.balance(lia).month == "2026-08"))
        assert house.balance(lia).month_credits == 1


def test_another_process_with_a_wrong_clock_changes_no_month_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "MONTHS_EVERY_SECONDS", 0.001)
    clocks = Clocks(brasilia("2026-08-20 12:00:00"))
    with open_service(tmp_path, clock=clocks.clock()) as house:
        lia = house.account("lia", plan="pos_pago", credits=0)
        assert house.get(COMPANY, lia).status == 200
        with closing(SqliteDesk(tmp_path / "balcao.db")) as command:
            command.commit_now([TopUp(lia.account_id, 5, "carga", clocks.system + 20 * DAY)])
        assert house.balance(lia).month == "2026-09"
        house.run(house.until(lambda: house.balance(lia).month == "2026-08"))
        assert house.balance(lia).month_credits == 1


def _ahead(ms: int) -> int:
    return system_now_ms() + ms


def test_nodes_with_wrong_clocks_count_exactly_and_are_not_ready(tmp_path: Path) -> None:
    apart = {"right": 0, "half a minute": 30_000, "an hour": HOUR, "an hour back": -HOUR}
    address = postgres.new_address()
    secret = secrets.token_bytes(32)
    try:
        with ExitStack() as stack:
            houses: dict[str, Service] = {}
            for name, ahead in apart.items():
                folder = tmp_path / name
                folder.mkdir()
                (folder / "secret.key").write_bytes(secret)
                houses[name] = stack.enter_context(
                    open_service(
                        folder,
                        clock=Clock(partial(_ahead, ahead)),
                        name=name,
                        database=SecretStr(address),
                        limits_gratuito=DAILY,
                    )
                )
            free = houses["right"].account("livre", plan="gratuito")
            statuses = [
                house.get(SALDO, free).status for _ in range(20) for house in houses.values()
            ]
            assert statuses.count(200) == 20
            assert statuses.count(429) == 60
            ready = {name: house.get("/readyz") for name, house in houses.items()}
            assert [reply.status for reply in ready.values()] == [200, 503, 503, 503]
            assert ready["right"].json["relógio"] == "certo"
            body = ready["an hour"].json["error_message"]["message"]
            assert "em mais de 5 segundos" in body
            ahead_seconds = measured(houses["an hour"], "balcao_clock_system_ahead_seconds")
            assert ahead_seconds == pytest.approx(3600, abs=2)
            # What they write tells the database's time.
            charged = houses["an hour"].get(COMPANY)
            assert charged.status == 200
            (entry,) = houses["an hour"].charges()
            assert abs(entry.at_ms - system_now_ms()) < MINUTE
    finally:
        postgres.server().drop_database(address)
