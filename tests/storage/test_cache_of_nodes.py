"""Entries of the PostgreSQL cache in a node's memory, while other nodes change them."""

import asyncio
import errno
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from balcao.core.data_subject import data_subject
from balcao.core.documents import Cpf
from balcao.core.freshness import CacheEntry
from balcao.storage.postgresql import cache as cache_module
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.postgresql.connections import TimedConnection

OLD, NEW = CacheEntry(b"old", 1, "serpro"), CacheEntry(b"new", 2, "serpro")


class Node:
    """One node's cache of live entries, and the number of its queries."""

    def __init__(self, address: str) -> None:
        self.cache = PostgresCache(address, "live")
        self.asked = 0
        begin = self.cache._reads._execute

        def counted(questions: Any) -> Any:
            self.asked += 1
            return begin(questions)

        self.cache._reads._execute = counted

    async def read(self, key: str = "key") -> CacheEntry | None:
        return (await self.cache.read([key])).get(key)

    async def until(self, wanted: CacheEntry | None, key: str = "key") -> None:
        """Read an entry into memory, long before it would be read again by itself."""
        for _ in range(1_000):
            asked = self.asked
            if await self.read(key) == wanted and (wanted is None or self.asked == asked):
                return
            await asyncio.sleep(0.01)
        raise AssertionError("what others changed is not noticed")


@pytest.fixture
def address(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make nodes trust entries in memory for long after their last contact with the database."""
    monkeypatch.setattr(cache_module, "SYNCED_SECONDS", 100.0)
    monkeypatch.setattr(cache_module, "RECENT_SECONDS", 100.0)
    return address


def play(address: str, story: Callable[[Node, Node], Any]) -> None:
    """Run a test with two nodes: one has written an answer, and the other has read it."""

    async def both() -> None:
        here, there = Node(address), Node(address)
        try:
            there.cache.keep([("key", OLD)])
            await here.until(OLD)
            await story(here, there)
        finally:
            for node in (here, there):
                await asyncio.to_thread(node.cache.close)

    asyncio.run(both())


def end_backend(address: str, pid: int) -> None:
    """End a connection, as a firewall or a restart of the database does."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def test_an_unchanged_entry_is_read_once(address: str) -> None:
    async def story(here: Node, there: Node) -> None:
        asked = here.asked
        there.cache.keep([("another", NEW)])
        for _ in range(100):
            assert await here.read() == OLD
            await asyncio.sleep(0.01)
        assert here.asked == asked

    play(address, story)


def test_a_newer_answer_of_another_node_is_noticed(address: str) -> None:
    async def story(here: Node, there: Node) -> None:
        there.cache.keep([("key", NEW)])
        assert await there.read() == NEW
        await here.until(NEW)
        asked = here.asked
        assert await here.read() == NEW
        assert here.asked == asked

    play(address, story)


def test_entries_swept_by_another_node_are_noticed(address: str) -> None:
    async def story(here: Node, there: Node) -> None:
        assert (await there.cache.sweep(5, 5)).entries == 1
        await here.until(None)

    play(address, story)


def test_an_erasure_by_another_node_is_noticed(address: str) -> None:
    person = data_subject(b"", Cpf.parse("90010000100"))

    async def story(here: Node, there: Node) -> None:
        key = f"federal_certificate:{person.cpf.text}:"
        there.cache.keep([(key, NEW)])
        await here.until(NEW, key)
        assert await there.cache.erase(person) == 1
        await here.until(None, key)

    play(address, story)


def test_entries_are_not_trusted_without_contact(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(here: Node, there: Node) -> None:
        monkeypatch.setattr(cache_module, "SYNCED_SECONDS", 0.0)
        asked = here.asked
        for _ in range(3):
            assert await here.read() == OLD
        assert here.asked == asked + 3

    play(address, story)


def test_entries_changed_without_a_connection_are_not_trusted(address: str) -> None:
    async def story(here: Node, there: Node) -> None:
        pid = here.cache._reading.get().info.backend_pid
        with here.cache._reading.lock:  # so that it does not listen before
            end_backend(address, pid)
            there.cache.keep([("key", NEW)])
            await there.cache.sweep(0, 0)  # after what waits: written
        await here.until(NEW)

    play(address, story)


def while_read(here: Node, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Run something in the reader's thread, once the next result is on its way."""
    reading, done = here.cache._reading, threading.Event()
    execute = reading.execute

    def overtaken(sql: str, *values: Any) -> Any:
        rows = list(execute(sql, *values))
        if "entry" in sql and not done.is_set():
            done.set()
            meanwhile()
        return rows

    monkeypatch.setattr(reading, "execute", overtaken)


def written_and_heard(here: Node, there: Node, key: str) -> None:
    there.cache.keep([(key, NEW)])
    for _ in range(10_000):
        if key in (here.cache._changed_during_read or ()):
            return
        here.cache._reading.execute("SELECT 1")  # receives the notification
    raise AssertionError("not heard")


def test_an_entry_read_before_a_change_is_not_kept_after_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A result was on its way while another node wrote a newer one."""

    async def story(here: Node, there: Node) -> None:
        while_read(here, monkeypatch, lambda: written_and_heard(here, there, "key"))
        here.cache.forget()
        assert await here.read() == OLD
        assert await here.read() == NEW

    play(address, story)


def test_an_entry_read_during_other_changes_is_kept(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With many writes there is always some change."""

    async def story(here: Node, there: Node) -> None:
        while_read(here, monkeypatch, lambda: written_and_heard(here, there, "another"))
        here.cache.forget()
        assert await here.read() == OLD
        asked = here.asked
        assert await here.read() == OLD
        assert here.asked == asked

    play(address, story)


def test_an_entry_erased_here_during_a_read_is_not_kept(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even until the notification arrives."""
    person = data_subject(b"", Cpf.parse("90010000100"))

    async def story(here: Node, there: Node) -> None:
        key = f"federal_certificate:{person.cpf.text}:"
        there.cache.keep([(key, NEW)])
        await here.until(NEW, key)
        monkeypatch.setattr(here.cache._reader, "_on_idle", lambda: None)
        loop = asyncio.get_running_loop()

        def erased() -> None:
            done = asyncio.run_coroutine_threadsafe(here.cache.erase(person), loop)
            assert done.result(10) == 1

        while_read(here, monkeypatch, erased)
        here.cache.forget()
        assert await here.read(key) == NEW
        assert here.cache._remembered(here.cache._keys.stored(key)) is None

    play(address, story)


def test_entries_changed_while_the_process_was_stopped_are_not_trusted(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notification arrives after the entry was taken from memory."""

    async def story(here: Node, there: Node) -> None:
        class Slow(dict[str, Any]):
            def get(self, key: str, default: Any = None) -> Any:
                found = super().get(key, default)
                here.cache._forget([key])
                here.cache._synced_at = time.monotonic()
                return found

        monkeypatch.setattr(here.cache._reader, "_on_idle", lambda: None)
        monkeypatch.setattr(here.cache, "_recent", Slow(here.cache._recent))
        here.cache._synced_at = time.monotonic() - cache_module.SYNCED_SECONDS
        assert here.cache._remembered("key") is None

    play(address, story)


def test_the_reader_survives_errors_while_listening(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the connection broke and no file descriptor is left for another one."""

    async def story(here: Node, there: Node) -> None:
        failed = threading.Event()

        def no_files(**settings: Any) -> Any:
            failed.set()
            raise OSError(errno.EMFILE, "Too many open files")

        pid = here.cache._reading.get().info.backend_pid
        with monkeypatch.context() as patched:
            patched.setattr(TimedConnection, "connect", no_files)
            end_backend(address, pid)
            assert await asyncio.to_thread(failed.wait, 10)
        assert await asyncio.wait_for(here.read(), 10) == OLD

    play(address, story)


def test_an_entry_written_here_is_read_here_at_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only after the notification has arrived."""

    async def story(here: Node, there: Node) -> None:
        monkeypatch.setattr(here.cache._reader, "_on_idle", lambda: None)
        here.cache.keep([("key", NEW)])
        assert await here.read() == NEW
        await here.cache.sweep(0, 0)  # after what waits: written
        assert await here.read() == NEW

    play(address, story)
