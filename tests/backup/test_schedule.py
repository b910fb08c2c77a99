"""Periodic backups: when one is due, failures, and the stop."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
import structlog

from balcao.backup.schedule import POLL_SECONDS_MAX, BackupSchedule
from balcao.home import Home
from balcao.observability.metrics import Metrics
from balcao.settings import Settings
from balcao.storage.backup_files import kept_in
from balcao.storage.contract import NewAccount
from balcao.storage.sqlite import backups
from balcao.storage.sqlite.desk import SqliteDesk
from tests.storage.engines import file_size_limit
from tests.storage.world import NOW

HOUR_MS = 3_600_000


class Clock:
    now_ms = NOW

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def plan(tmp_path: Path, clock: Clock) -> Callable[..., BackupSchedule]:
    home = Home(tmp_path / "dados")
    home.create()
    home.pepper()
    with closing(SqliteDesk(home.desk)) as desk:
        desk.create_account(NewAccount("acme", "pre_pago", "live"), NOW)

    def make(**given: object) -> BackupSchedule:
        settings = Settings(home=home.path, **given)  # type: ignore[arg-type]
        return BackupSchedule(settings, clock, lambda at_ms: None)

    return make


def count(plan: BackupSchedule) -> int:
    return len(kept_in(plan.settings.home / "backups"))


def test_when_one_is_due(plan: Callable[..., BackupSchedule], clock: Clock) -> None:
    one = plan(backup_every_hours=2, backup_keep=2)
    assert one.make_if_due() == POLL_SECONDS_MAX
    assert count(one) == 1
    clock.now_ms += 2 * HOUR_MS - 30_000
    assert one.make_if_due() == pytest.approx(30, abs=1)
    assert count(one) == 1
    clock.now_ms += 31_000
    one.make_if_due()
    assert count(one) == 2
    clock.now_ms += 2 * HOUR_MS
    one.make_if_due()
    kept = kept_in(one.settings.home / "backups")
    assert [each.at_ms > NOW // 1000 * 1000 for each in kept] == [True, True]


def test_after_a_restart_it_is_not_due_again(plan: Callable[..., BackupSchedule]) -> None:
    plan().make_if_due()
    again = plan()
    again.make_if_due()
    assert count(again) == 1


def test_a_full_disk_is_logged_and_retried(plan: Callable[..., BackupSchedule]) -> None:
    one = plan()
    with structlog.testing.capture_logs() as logged, file_size_limit(20_000):
        with pytest.raises(apsw.IOError) as failed:
            one.make_if_due()
        assert one.on_failure(failed.value)
    assert [line["event"] for line in logged] == ["backup.failed"]
    assert count(one) == 0
    with structlog.testing.capture_logs() as logged:
        one.make_if_due()
    assert [line["event"] for line in logged] == ["backup.made"]
    assert count(one) == 1


def test_a_backup_blocks_neither_the_loop_nor_the_stop(
    plan: Callable[..., BackupSchedule], monkeypatch: pytest.MonkeyPatch
) -> None:
    copying = threading.Event()

    def patiently(*_: object) -> None:
        copying.set()
        ended.wait(30)

    monkeypatch.setattr("balcao.storage.sqlite.backups.time.sleep", patiently)
    monkeypatch.setattr(backups, "PAGES_PER_STEP", 1)
    ended = threading.Event()
    one = plan()

    async def story() -> None:
        running = asyncio.create_task(one.run())
        async with asyncio.timeout(20):
            while not copying.is_set():  # noqa: ASYNC110
                await asyncio.sleep(0)  # the loop is free
        one.stop()
        ended.set()
        running.cancel()

    asyncio.run(story())
    assert count(one) == 0
    assert [file.name for file in (one.settings.home / "backups").iterdir()] == ["backup.lock"]


def test_the_measurement(plan: Callable[..., BackupSchedule], clock: Clock) -> None:
    metrics = Metrics()
    assert b"balcao_backup_last_success_seconds" not in metrics.exposition()
    one = plan()
    one.on_newest = metrics.backup

    asyncio.run(one.run())
    (line,) = [
        line
        for line in metrics.exposition().decode().splitlines()
        if line.startswith("balcao_backup_last_success_seconds ")
    ]
    assert float(line.split()[1]) == NOW // 1000


def test_never(plan: Callable[..., BackupSchedule]) -> None:
    assert not plan(backup_every_hours=0).enabled
    assert plan().enabled
