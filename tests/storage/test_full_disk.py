"""A disk that the write-ahead log has filled frees itself (ADR 0025). On a small disk."""

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
from balcao.core.freshness import Kept
from balcao.core.ledger import Change
from balcao.storage.ballast import Ballast
from balcao.storage.contract import NewAccount
from balcao.storage.sqlite import writer
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk
from tests.storage.world import NOW, a_charge, a_finish

MB = 1 << 20
DISK, BALLAST, LEFT = 64 * MB, 12 * MB, 8 * MB
BODY = os.urandom(100_000)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 MB of the test's own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("only root may mount a disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(autouse=True)
def no_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log grows: a backup that reads keeps it from being carried over."""
    monkeypatch.setattr(writer, "WAL_PAGES_MAX", 1 << 30)


def fill(folder: Path, left: int) -> Path:
    """Somebody else's file; so much room is left."""
    filler = folder / "filler"
    with filler.open("wb") as file:
        file.write(b"x" * (shutil.disk_usage(folder).free - left))
    return filler


async def commit_some(desk: SqliteDesk, account: int, first: int, many: int) -> int:
    """Charges with large answers, one after another. How many were acknowledged."""
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


def test_a_disk_that_the_log_has_filled(disk: Path) -> None:
    ballast = Ballast(disk, BALLAST)

    async def story(desk: SqliteDesk, lia: int) -> None:
        await desk.keep_room()
        assert ballast.is_there
        filler = fill(disk, LEFT)
        acknowledged = await commit_some(desk, lia, 0, LEFT // len(BODY) + 20)
        assert acknowledged == LEFT // len(BODY) + 20, "nobody noticed"
        assert (ballast.is_there, ballast.given_up) == (False, 1)
        assert (disk / "balcao.db-wal").stat().st_size < LEFT

        # Now it is really full: told, nothing kept, nothing charged; and then there is room again.
        acknowledged += await commit_some(desk, lia, acknowledged, 10_000)
        assert desk.account(lia).month_credits == acknowledged
        with pytest.raises(StorageFailed):
            await desk.heartbeat(NOW)
        await desk.keep_room()
        assert not ballast.is_there
        filler.unlink()
        await desk.heartbeat(NOW)
        assert await commit_some(desk, lia, acknowledged, 5) == 5
        await desk.keep_room()
        assert ballast.is_there
        assert desk.account(lia).month_credits == acknowledged + 5
        assert not desk.check().complaints

    with closing(SqliteDesk(disk / "balcao.db", ballast=ballast)) as desk:
        lia = desk.create_account(NewAccount("lia", "pos_pago", "live"), NOW).account_id
        asyncio.run(story(desk, lia))
    assert not ballast.is_there


def test_the_cache_makes_room_too(disk: Path) -> None:
    ballast = Ballast(disk, BALLAST)
    ballast.make()

    with closing(SqliteCache(disk / "cache.db", ballast=ballast)) as cache:
        cache._writing.execute("PRAGMA wal_autocheckpoint = 0")
        fill(disk, LEFT)
        entries = [(f"company:{n:014}:", Kept(BODY, NOW, "cnpja")) for n in range(100)]
        for entry in entries:
            cache.keep([entry])
    assert (ballast.is_there, ballast.given_up) == (False, 1)
    with closing(apsw.Connection(str(disk / "cache.db"))) as connection:
        assert connection.execute("SELECT count(*) FROM entry").get == 100


def test_it_is_made_only_where_as_much_is_left(disk: Path) -> None:
    ballast = Ballast(disk, BALLAST)
    filler = fill(disk, 2 * BALLAST - MB)
    ballast.make()
    assert not ballast.is_there
    filler.unlink()
    ballast.make()
    assert shutil.disk_usage(disk).free <= DISK - BALLAST
    ballast.make()
    ballast.give_up()
    ballast.give_up()
    assert ballast.given_up == 1
    Ballast(disk).make()
    assert not ballast.is_there, "of no bytes: none"
