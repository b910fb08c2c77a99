"""Recovery of a disk that the write-ahead log has filled (ADR 0025), on a small disk."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from balcao.core.errors import StorageFailed
from balcao.core.freshness import CacheEntry
from balcao.core.ledger import Change
from balcao.storage.contract import NewAccount
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.sqlite import writer
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.files import connect, migrate, version
from tests.storage.later import OLD, add_migration
from tests.storage.world import NOW, a_charge, a_finish

MB = 1 << 20
DISK, RESERVE, LEFT = 64 * MB, 12 * MB, 8 * MB
BODY = os.urandom(100_000)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 MB for the test."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("only root may mount a disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(autouse=True)
def no_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the log grow: a backup that reads prevents checkpoints."""
    monkeypatch.setattr(writer, "WAL_PAGES_MAX", 1 << 30)


def fill(folder: Path, left: int) -> Path:
    """Fill the disk with another file up to this free space."""
    filler = folder / "filler"
    with filler.open("wb") as file:
        file.write(b"x" * (shutil.disk_usage(folder).free - left))
    return filler


async def commit_some(desk: SqliteDesk, account: int, first: int, many: int) -> int:
    """Commit charges with large answers one by one; return how many were acknowledged."""
    done = 0
    for number in range(first, first + many):
        lia = desk.account(account)
        changes: list[Change] = [
            a_charge(lia, f"r{number}"),
            a_finish(lia, f"k{number}", f"r{number}", body=BODY),
        ]
        try:
            assert await desk.commit(changes) is None
        except StorageFailed:
            return done
        done += 1
    return done


def test_a_disk_filled_by_the_log(disk: Path) -> None:
    reserve = DiskReserve(disk, RESERVE)

    async def story(desk: SqliteDesk, lia: int) -> None:
        await desk.maintain_reserve()
        assert reserve.exists
        filler = fill(disk, LEFT)
        acknowledged = await commit_some(desk, lia, 0, LEFT // len(BODY) + 20)
        assert acknowledged == LEFT // len(BODY) + 20, "nobody noticed"
        assert (reserve.exists, reserve.times_released) == (False, 1)
        assert (disk / "balcao.db-wal").stat().st_size < LEFT

        # Now it is really full: an error, nothing kept or charged; then there is space again.
        acknowledged += await commit_some(desk, lia, acknowledged, 10_000)
        assert desk.account(lia).month_credits == acknowledged
        with pytest.raises(StorageFailed):
            await desk.heartbeat(NOW)
        await desk.maintain_reserve()
        assert not reserve.exists
        filler.unlink()
        await desk.heartbeat(NOW)
        assert await commit_some(desk, lia, acknowledged, 5) == 5
        await desk.maintain_reserve()
        assert reserve.exists
        assert desk.account(lia).month_credits == acknowledged + 5
        assert not desk.check().complaints

    with closing(SqliteDesk(disk / "balcao.db", reserve=reserve)) as desk:
        lia = desk.create_account(NewAccount("lia", "pos_pago", "live"), NOW).account_id
        asyncio.run(story(desk, lia))
    assert not reserve.exists


def test_the_cache_frees_space_too(disk: Path) -> None:
    reserve = DiskReserve(disk, RESERVE)
    reserve.create()

    with closing(SqliteCache(disk / "cache.db", reserve=reserve)) as cache:
        cache._writing.execute("PRAGMA wal_autocheckpoint = 0")
        fill(disk, LEFT)
        entries = [(f"company:{n:014}:", CacheEntry(BODY, NOW, "cnpja")) for n in range(100)]
        for entry in entries:
            cache.keep([entry])
    assert (reserve.exists, reserve.times_released) == (False, 1)
    with closing(apsw.Connection(str(disk / "cache.db"))) as connection:
        assert connection.execute("SELECT count(*) FROM entry").get == 100


def test_the_reserve_is_created_only_if_enough_is_free(disk: Path) -> None:
    reserve = DiskReserve(disk, RESERVE)
    filler = fill(disk, 2 * RESERVE - MB)
    reserve.create()
    assert not reserve.exists
    filler.unlink()
    reserve.create()
    assert shutil.disk_usage(disk).free <= DISK - RESERVE
    reserve.create()
    reserve.release()
    reserve.release()
    assert reserve.times_released == 1
    DiskReserve(disk).create()
    assert not reserve.exists, "a reserve of size 0"


def test_a_migration_that_fills_the_disk_leaves_the_data_as_they_are(
    disk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """SQLite has rolled back itself then, and the error is the full disk."""
    with closing(SqliteDesk(disk / "balcao.db", pepper=b"p" * 32)):
        pass
    large = f"CREATE TABLE large AS SELECT zeroblob({2 * DISK}) AS content"
    add_migration(monkeypatch, tmp_path, large)
    with closing(connect(disk / "balcao.db", synchronous="FULL")) as connection:
        with pytest.raises(apsw.FullError):
            migrate(connection, "desk")
        assert version(connection) == OLD
