"""What a node remembers of the cache on PostgreSQL, while others change it."""

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
from balcao.core.freshness import Kept
from balcao.storage.postgresql import cache as cache_module
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.postgresql.connections import Punctual

OLD, NEW = Kept(b"old", 1, "serpro"), Kept(b"new", 2, "serpro")


class Node:
    """One node's cache of live entries, and how often it asked the database."""

    def __init__(self, address: str) -> None:
        self.cache = PostgresCache(address, "live")
        self.asked = 0
        begin = self.cache._asked._begin

        def counted(questions: Any) -> Any:
            self.asked += 1
            return begin(questions)

        self.cache._asked._begin = counted

    async def read(self, key: str = "key") -> Kept | None:
        return (await self.cache.read([key])).get(key)

    async def until(self, wanted: Kept | None, key: str = "key") -> None:
        """Read it, and remember it; long before anything would be read again by itself."""
        for _ in range(1_000):
            asked = self.asked
            if await self.read(key) == wanted and (wanted is None or self.asked == asked):
                return
            await asyncio.sleep(0.01)
        raise AssertionError("what others changed is not noticed")


@pytest.fixture
def address(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of nodes that believe what they remember for long after they heard from the database."""
    monkeypatch.setattr(cache_module, "HEARD_SECONDS", 100.0)
    monkeypatch.setattr(cache_module, "RECENT_SECONDS", 100.0)
    return address


def play(address: str, story: Callable[[Node, Node], Any]) -> None:
    """A story of two nodes, of which one has written an answer and the other has read it."""

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
    """As a firewall does, or a start of the database anew."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


def test_what_nobody_changes_is_asked_for_once(address: str) -> None:
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


def test_what_another_node_swept_is_noticed(address: str) -> None:
    async def story(here: Node, there: Node) -> None:
        assert (await there.cache.sweep(5, 5)).entries == 1
        await here.until(None)

    play(address, story)


def test_whom_another_node_erased_is_noticed(address: str) -> None:
    person = data_subject(b"", Cpf.parse("90010000100"))

    async def story(here: Node, there: Node) -> None:
        key = f"federal_certificate:{person.cpf.text}:"
        there.cache.keep([(key, NEW)])
        await here.until(NEW, key)
        assert await there.cache.erase(person) == 1
        await here.until(None, key)

    play(address, story)


def test_who_heard_nothing_believes_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(here: Node, there: Node) -> None:
        monkeypatch.setattr(cache_module, "HEARD_SECONDS", 0.0)
        asked = here.asked
        for _ in range(3):
            assert await here.read() == OLD
        assert here.asked == asked + 3

    play(address, story)


def test_what_was_changed_while_nobody_listened_is_not_believed(address: str) -> None:
    async def story(here: Node, there: Node) -> None:
        pid = here.cache._reading.get().info.backend_pid
        with here.cache._reading.lock:  # so that it does not listen again before
            end_backend(address, pid)
            there.cache.keep([("key", NEW)])
            await there.cache.sweep(0, 0)  # after what waits: written
        await here.until(NEW)

    play(address, story)


def while_read(here: Node, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Have something done, in the reader's thread, once the next answer is on its way."""
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
        if key in (here.cache._meanwhile or ()):
            return
        here.cache._reading.execute("SELECT 1")  # the notification comes along
    raise AssertionError("not heard")


def test_what_was_read_before_a_change_is_not_remembered_after_it(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that was on its way while somebody wrote a newer one."""

    async def story(here: Node, there: Node) -> None:
        while_read(here, monkeypatch, lambda: written_and_heard(here, there, "key"))
        here.cache.forget()
        assert await here.read() == OLD
        assert await here.read() == NEW

    play(address, story)


def test_what_was_read_while_others_changed_something_else_is_remembered(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where much is written, something always changes."""

    async def story(here: Node, there: Node) -> None:
        while_read(here, monkeypatch, lambda: written_and_heard(here, there, "another"))
        here.cache.forget()
        assert await here.read() == OLD
        asked = here.asked
        assert await here.read() == OLD
        assert here.asked == asked

    play(address, story)


def test_who_was_erased_here_while_read_is_not_remembered(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even until the notification has come back."""
    person = data_subject(b"", Cpf.parse("90010000100"))

    async def story(here: Node, there: Node) -> None:
        key = f"federal_certificate:{person.cpf.text}:"
        there.cache.keep([(key, NEW)])
        await here.until(NEW, key)
        monkeypatch.setattr(here.cache._reader, "_idle", lambda: None)
        loop = asyncio.get_running_loop()

        def erased() -> None:
            done = asyncio.run_coroutine_threadsafe(here.cache.erase(person), loop)
            assert done.result(10) == 1

        while_read(here, monkeypatch, erased)
        here.cache.forget()
        assert await here.read(key) == NEW
        assert here.cache._remembered(here.cache._keys.stored(key)) is None

    play(address, story)


def test_what_was_changed_while_we_stood_still_is_not_believed(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry in hand, and only then the reader hears of it, and of everything before."""

    async def story(here: Node, there: Node) -> None:
        class Slow(dict[str, Any]):
            def get(self, key: str, default: Any = None) -> Any:
                found = super().get(key, default)
                here.cache._forget([key])
                here.cache._heard = time.monotonic()
                return found

        monkeypatch.setattr(here.cache._reader, "_idle", lambda: None)
        monkeypatch.setattr(here.cache, "_recent", Slow(here.cache._recent))
        here.cache._heard = time.monotonic() - cache_module.HEARD_SECONDS
        assert here.cache._remembered("key") is None

    play(address, story)


def test_the_reader_survives_whatever_keeps_it_from_listening(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the connection broke and there is no file left for another one."""

    async def story(here: Node, there: Node) -> None:
        failed = threading.Event()

        def no_files(**settings: Any) -> Any:
            failed.set()
            raise OSError(errno.EMFILE, "Too many open files")

        pid = here.cache._reading.get().info.backend_pid
        with monkeypatch.context() as patched:
            patched.setattr(Punctual, "connect", no_files)
            end_backend(address, pid)
            assert await asyncio.to_thread(failed.wait, 10)
        assert await asyncio.wait_for(here.read(), 10) == OLD

    play(address, story)


def test_what_was_written_here_is_read_here_at_once(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only when the notification has come back."""

    async def story(here: Node, there: Node) -> None:
        monkeypatch.setattr(here.cache._reader, "_idle", lambda: None)
        here.cache.keep([("key", NEW)])
        assert await here.read() == NEW
        await here.cache.sweep(0, 0)  # after what waits: written
        assert await here.read() == NEW

    play(address, story)
