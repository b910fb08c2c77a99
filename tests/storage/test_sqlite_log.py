"""SQLite's write-ahead log: truncation after an erasure despite readers, and preallocation."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from balcao.core.data_subject import data_subject
from balcao.core.documents import Cpf
from balcao.core.errors import StorageFailed
from balcao.core.freshness import CacheEntry
from balcao.core.ledger import Refusal
from balcao.storage.contract import NewAccount
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.sqlite import files
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk
from tests.storage.engines import file_size_limit
from tests.storage.world import NOW, a_top_up, account_of

SECRET = b"s" * 32
PERSON = data_subject(SECRET, Cpf.parse("90010000100"))


@contextmanager
def somebody_reads(path: Path) -> Iterator[None]:
    """Keep a snapshot open for long, as a backup or a move does."""
    with closing(files.connect(path, synchronous="FULL")) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT * FROM sqlite_master").fetchall()
        yield


def log_bytes(path: Path) -> int:
    return files.log_of(path).stat().st_size


def test_truncating_the_log_blocks_no_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "balcao.db"
    with closing(SqliteDesk(path)) as service, closing(SqliteDesk(path)) as command:
        acme = service.create_account(NewAccount("acme", "pre_pago", "test"), NOW)
        service.engine._connection.set_busy_timeout(0)  # a locked file raises at once
        clock = ClockThatWrites(lambda: service.commit_now([a_top_up(acme, 1)]))
        monkeypatch.setattr(files, "time", clock)
        monkeypatch.setattr(files, "EMPTY_SECONDS_MAX", 2.0)

        with somebody_reads(path):
            service.commit_now([a_top_up(acme, 1)])
            with pytest.raises(StorageFailed, match="BusyError"):
                asyncio.run(command.data_subjects.scrub())
            assert clock.written == 2.0 / files.EMPTY_TRY_SECONDS
            assert log_bytes(path)
        asyncio.run(command.data_subjects.scrub())
        assert log_bytes(path) == 0


class ClockThatWrites:
    """A replacement of `time` that lets others write while the code waits."""

    def __init__(self, write: Callable[[], Refusal | None]) -> None:
        self._write = write
        self._tenths_of_ms = 0
        self.written = 0

    def monotonic(self) -> float:
        return self._tenths_of_ms / 10_000

    def sleep(self, seconds: float) -> None:
        assert self._write() is None
        self._tenths_of_ms += round(seconds * 10_000)
        self.written += 1


def test_the_cache_raises_the_same_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "EMPTY_SECONDS_MAX", 0.2)
    path = tmp_path / "cache.db"
    with closing(SqliteCache(path, SECRET)) as cache:
        with somebody_reads(path):
            cache.keep([("rural_producer:90010000100:SP", CacheEntry(b"{}", 1, "cnpja"))])
            with pytest.raises(StorageFailed) as failed:
                asyncio.run(cache.erase(PERSON))
            assert type(failed.value.__cause__).__name__ == "BusyError"
        assert asyncio.run(cache.erase(PERSON)) == 0, "it was gone already"
        assert log_bytes(path) == 0


# Preallocation.


@pytest.fixture
def served(tmp_path: Path) -> Iterator[SqliteDesk]:
    """A desk with a disk reserve, as in a service."""
    (tmp_path / "home").mkdir()
    path = tmp_path / "home" / "balcao.db"
    with closing(SqliteDesk(path, reserve=DiskReserve(path.parent, 1 << 20))) as desk:
        yield desk


def fell_over(path: Path, into: Path) -> SqliteDesk:
    """A desk on a copy of another's files, as after its process was killed."""
    into.mkdir()
    for each in (path, files.log_of(path)):
        shutil.copy(each, into / each.name)
    return SqliteDesk(into / path.name)


def test_a_long_log_holds_what_was_written_and_nothing_else(
    served: SqliteDesk, tmp_path: Path
) -> None:
    path = tmp_path / "home" / "balcao.db"
    acme = served.create_account(NewAccount("acme", "pre_pago", "test"), NOW)
    short = log_bytes(path)
    asyncio.run(served.maintain_reserve())
    assert short < log_bytes(path) == files.LOG_BYTES
    for turn in range(3):
        with closing(fell_over(path, tmp_path / f"fell-{turn}")) as again:
            assert account_of(again, acme).balance_credits == turn
            assert not again.check().complaints
        served.commit_now([a_top_up(acme, 1)])
    assert log_bytes(path) == files.LOG_BYTES, "none of them made it longer"
    asyncio.run(served.maintain_reserve())
    assert log_bytes(path) == files.LOG_BYTES
    # After truncation it is extended again.
    asyncio.run(served.data_subjects.scrub())
    assert log_bytes(path) == 0
    asyncio.run(served.maintain_reserve())
    assert log_bytes(path) == files.LOG_BYTES
    assert account_of(served, acme).balance_credits == 3


def test_a_log_is_not_extended_without_free_space(
    served: SqliteDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "home" / "balcao.db"
    monkeypatch.setattr(files, "LOG_BYTES", shutil.disk_usage(tmp_path).free // 3)
    short = log_bytes(path)
    asyncio.run(served.maintain_reserve())
    assert log_bytes(path) == short


def test_a_failed_extension_leaves_the_log_unchanged(served: SqliteDesk, tmp_path: Path) -> None:
    path = tmp_path / "home" / "balcao.db"
    acme = served.create_account(NewAccount("acme", "pre_pago", "test"), NOW)
    with file_size_limit(2_000_000):  # the disk is fuller than reported
        asyncio.run(served.maintain_reserve())
    served.commit_now([a_top_up(acme, 1)])
    with closing(fell_over(path, tmp_path / "fell")) as again:
        assert account_of(again, acme).balance_credits == 1
