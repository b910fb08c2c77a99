"""The cache on every engine (`storage.contract.Cache`): entries may be lost, never corrupted."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import apsw
import pytest

from balcao.core.freshness import CacheEntry
from balcao.storage.contract import Cache
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.sqlite import cache as cache_module
from balcao.storage.sqlite.cache import SqliteCache
from tests.service import at_once

KEY = "company:11222333000181:"
NOW = 1_785_000_000_000
OTHER = "company:12ABC34501DE35:"


def kept(asked_ms: int, body: bytes = b"{}") -> CacheEntry:
    return CacheEntry(body, asked_ms, "serpro")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.db"


class OpenCache:
    """A cache and the event loop of its process."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._runner = asyncio.Runner()

    def read(self, key: str) -> CacheEntry | None:
        return self.read_all(key)[0]

    def read_all(self, *keys: str) -> list[CacheEntry | None]:
        found = self._runner.run(self._cache.read(keys))
        assert set(found) <= set(keys)
        return [found.get(key) for key in keys]

    def keep(self, entries: Sequence[tuple[str, CacheEntry]]) -> None:
        async def work() -> None:
            self._cache.keep(entries)

        self._runner.run(work())

    def close(self) -> None:
        self._cache.close()
        self._runner.close()


Reopen: TypeAlias = Callable[[], OpenCache]


@pytest.fixture(params=["sqlite", "postgresql"])
def make(request: pytest.FixtureRequest, path: Path) -> Iterator[Callable[[], Cache]]:
    """Open the same cache each time."""
    if request.param == "sqlite":
        yield lambda: SqliteCache(path, now_ms=lambda: NOW)
        return
    address = request.getfixturevalue("address")
    yield lambda: PostgresCache(address, "live", now_ms=lambda: NOW)


@pytest.fixture
def reopen(make: Callable[[], Cache]) -> Iterator[Reopen]:
    """Close the cache, which writes everything, and open it again."""
    opened: list[OpenCache] = []

    def again() -> OpenCache:
        for cache in opened:
            cache.close()
        opened[:] = [OpenCache(make())]
        return opened[0]

    yield again
    for cache in opened:
        cache.close()


def test_a_kept_answer_is_read_at_once_and_after_a_restart(reopen: Reopen) -> None:
    cache = reopen()
    assert cache.read(KEY) is None

    entry = kept(1, '{"nome":"AÇÚCAR"}'.encode())
    cache.keep([(KEY, entry), (OTHER, kept(2))])
    assert cache.read(KEY) == entry
    cache = reopen()
    assert cache.read(KEY) == entry
    assert cache.read(OTHER) == kept(2)
    assert cache.read("company:11222333000182:") is None
    assert cache.read_all(OTHER, "company:11222333000182:", KEY) == [kept(2), None, entry]
    assert cache.read_all() == []


@pytest.mark.parametrize("written", [False, True])
def test_the_newest_answer_wins_in_whatever_order_they_come(reopen: Reopen, written: bool) -> None:
    cache = reopen()
    cache.keep([(KEY, kept(5, b"newer"))])
    if written:
        cache = reopen()
    cache.keep([(KEY, kept(4, b"older"))])
    assert cache.read(KEY) == kept(5, b"newer")
    cache = reopen()
    assert cache.read(KEY) == kept(5, b"newer")

    cache.keep([(KEY, kept(6, b"newest"))])
    assert cache.read(KEY) == kept(6, b"newest")
    assert reopen().read(KEY) == kept(6, b"newest")


@pytest.mark.parametrize("known", ["waiting", "remembered", "written"])
def test_an_answer_from_the_future_is_replaced_by_the_next_one(reopen: Reopen, known: str) -> None:
    """A clock that was ahead has stamped it; the clocks of machines may differ by a minute."""
    cache = reopen()
    stamped = {KEY: kept(NOW + 60_001, b"ahead"), OTHER: kept(NOW + 60_000, b"of now")}
    cache.keep(list(stamped.items()))
    if known != "waiting":
        cache = reopen()
    if known == "remembered":
        assert cache.read_all(KEY, OTHER) == list(stamped.values())

    cache.keep([(KEY, kept(NOW, b"next")), (OTHER, kept(NOW, b"next"))])
    expected = [kept(NOW, b"next"), stamped[OTHER]]
    assert cache.read_all(KEY, OTHER) == expected
    assert reopen().read_all(KEY, OTHER) == expected


def test_long_answers_are_not_kept_in_memory(reopen: Reopen) -> None:
    """They are read each time: thousands of them would take gigabytes."""
    long = kept(1, b"x" * 64_001)
    reopen().keep([(KEY, long)])
    cache = reopen()
    found = [cache.read(KEY) for _ in range(3)]
    assert found == [long] * 3
    assert len({id(each.body) for each in found if each is not None}) == 3


def test_of_two_answers_of_one_instant_the_last_is_kept(reopen: Reopen) -> None:
    cache = reopen()
    cache.keep([(KEY, kept(5, b"first")), (KEY, kept(5, b"second"))])
    assert cache.read(KEY) == kept(5, b"second")
    assert reopen().read(KEY) == kept(5, b"second")


def test_a_reader_never_sees_a_gap_while_entries_are_being_written(
    reopen: Reopen,
) -> None:
    cache = reopen()
    for asked_ms in range(1, 1_500):
        cache.keep([(KEY, kept(asked_ms))])
        assert cache.read(KEY) == kept(asked_ms)
    assert reopen().read(KEY) == kept(1_499)


def test_cancelling_a_sweep_does_not_stop_the_writing(
    make: Callable[[], Cache], reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a service stops while its cache is being swept."""
    begun, go_on = threading.Event(), threading.Event()
    swept: list[int] = []

    def sweep_slowly(before_ms: int, people_before_ms: int) -> tuple[Sequence[str], bool]:
        swept.append(before_ms)
        begun.set()
        assert go_on.wait(10)
        return [], True

    async def story(cache: Cache) -> None:
        chores = [asyncio.create_task(cache.sweep(number, 0)) for number in (1, 2)]
        assert await asyncio.to_thread(begun.wait, 10)
        for chore in chores:
            chore.cancel()
        await asyncio.wait(chores)
        cache.keep([(KEY, kept(1))])
        go_on.set()

    with closing(make()) as cache:
        monkeypatch.setattr(cache, "_sweep", sweep_slowly)
        asyncio.run(story(cache))
    assert swept == [1], "the other one had not begun"
    assert reopen().read(KEY) == kept(1)


# Specifics of SQLite.


def found(cache: SqliteCache, key: str) -> CacheEntry | None:
    return at_once(cache.read([key])).get(key)


def test_a_newer_answer_is_read_after_it_was_written_too(path: Path) -> None:
    with closing(SqliteCache(path)) as cache:
        cache.keep([(KEY, kept(1))])
        wait_until_written(cache)
        assert found(cache, KEY) == kept(1)
        cache.keep([(KEY, kept(2))])
        wait_until_written(cache)
        assert found(cache, KEY) == kept(2)


def wait_until_written(cache: SqliteCache) -> None:
    for _ in range(10_000):
        if not cache._pending:
            return
        time.sleep(0.001)
    raise AssertionError("nothing is being written")


def test_an_answer_kept_while_an_older_one_is_written_is_not_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    with closing(SqliteCache(path)) as cache:
        write = cache._write

        def write_slowly(batch: Sequence[tuple[str, CacheEntry]]) -> None:
            begun.set()
            go_on.wait(10)
            write(batch)

        monkeypatch.setattr(cache, "_write", write_slowly)
        cache.keep([(KEY, kept(1))])
        assert begun.wait(10)
        cache.keep([(KEY, kept(2))])
        go_on.set()
    with closing(SqliteCache(path)) as cache:
        assert found(cache, KEY) == kept(2)


def test_an_older_answer_of_another_node_does_not_replace_a_newer_one(path: Path) -> None:
    """It was kept by a process that could not see the newer one."""
    with closing(SqliteCache(path)) as far:
        far._reading.execute("BEGIN; SELECT * FROM entry").fetchall()  # its snapshot begins
        with closing(SqliteCache(path)) as near:
            near.keep([(KEY, kept(2))])
        far.keep([(KEY, kept(1))])
    with closing(SqliteCache(path)) as cache:
        assert found(cache, KEY) == kept(2)


def test_too_many_pending_answers_drop_the_oldest(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "PENDING_MAX", 3)
    cache = SqliteCache(path)
    blocker = apsw.Connection(str(path))
    blocker.execute("BEGIN IMMEDIATE")  # nothing can be written
    cache.keep([(f"key-{n}", kept(n)) for n in range(5)])

    assert [found(cache, f"key-{n}") for n in range(5)] == [None, None, kept(2), kept(3), kept(4)]
    blocker.execute("ROLLBACK")
    blocker.close()
    cache.close()
    with closing(SqliteCache(path)) as cache:
        assert found(cache, "key-4") == kept(4)


def spoil_everything(path: Path) -> None:
    path.write_bytes(b"this is no database" * 1_000)


def spoil_all_but_the_header(path: Path) -> None:
    body = path.read_bytes()
    path.write_bytes(body[:100] + b"\xff" * (len(body) - 100))


def spoil_the_root(path: Path, kind: str) -> None:
    with closing(apsw.Connection(str(path))) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE type = ? AND tbl_name = 'entry'"
        ((number,),) = connection.execute(query, (kind,))
    body = bytearray(path.read_bytes())
    body[(number - 1) * 4096 : number * 4096] = b"\xff" * 4096
    path.write_bytes(body)


def spoil_the_root_of_the_table(path: Path) -> None:
    spoil_the_root(path, "table")


def spoil_the_root_of_the_index(path: Path) -> None:
    spoil_the_root(path, "index")


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:4096])


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_everything,
        spoil_all_but_the_header,
        spoil_the_root_of_the_table,
        spoil_the_root_of_the_index,
        cut_off,
    ],
)
def test_a_damaged_file_is_set_aside_and_the_service_starts(
    path: Path, spoil: Callable[[Path], None]
) -> None:
    with closing(SqliteCache(path)) as cache:
        cache.keep([(f"key-{n}", kept(n, b"x" * 500)) for n in range(100)])
    spoil(path)
    damaged = path.read_bytes()

    with closing(SqliteCache(path)) as cache:
        assert found(cache, "key-1") is None
        cache.keep([(KEY, kept(1))])
        assert found(cache, KEY) == kept(1)
    assert path.with_suffix(".damaged").read_bytes()[:100] == damaged[:100]
    with closing(SqliteCache(path)) as cache:
        assert found(cache, KEY) == kept(1), "the new file is whole"


def test_an_entry_that_cannot_be_read_counts_as_absent(path: Path) -> None:
    with closing(SqliteCache(path)) as cache:
        cache.keep([(f"key-{n:03}", kept(n, b"x" * 500)) for n in range(300)])
    with path.open("r+b") as file:  # every page but the first ones, which hold the schema
        size = file.seek(0, 2)
        for page in range(8 * 4096, size, 4096):
            file.seek(page)
            file.write(b"\xff" * 4096)

    with closing(SqliteCache(path)) as cache:
        said = [found(cache, f"key-{n:03}") for n in range(300)]
        assert said.count(None) > 0
        assert [one for n, one in enumerate(said) if one not in (None, kept(n, b"x" * 500))] == []


def test_a_cache_that_cannot_write_raises_nothing(path: Path) -> None:
    with closing(SqliteCache(path)) as cache:
        cache._writing.execute("PRAGMA query_only = ON")
        cache.keep([(KEY, kept(1))])
    with closing(SqliteCache(path)) as cache:
        assert found(cache, KEY) is None
