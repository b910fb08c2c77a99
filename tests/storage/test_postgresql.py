"""Specifics of PostgreSQL: several nodes on one database, and an unreachable database."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from balcao.core.access import Account
from balcao.core.errors import PepperDiffers, StorageFailed
from balcao.core.freshness import CacheEntry
from balcao.core.ledger import HoldGone, InsufficientFunds, KeyBound, TopUp
from balcao.core.rate_limit import Limit
from balcao.storage import statements
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.desk import desk as desk_module
from balcao.storage.postgresql import connections, schema
from balcao.storage.postgresql import node as node_module
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.postgresql.connections import SILENCE_SECONDS
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.limits import Count, names_of
from balcao.storage.postgresql.pipeline import Pipeline
from tests.storage import postgres
from tests.storage.engines import PostgresEngine
from tests.storage.world import (
    NOW,
    Balance,
    a_bind,
    a_charge,
    a_hash,
    a_hold,
    a_settle,
    a_top_up,
    balance,
    charged,
    open_account,
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[PostgresEngine]:
    engine = PostgresEngine(tmp_path)
    yield engine
    engine.close()


def at_once(*works: Any) -> list[Any]:
    """Run each in a thread and an event loop of its own, as nodes are."""
    with ThreadPoolExecutor(len(works)) as threads:
        return [done.result() for done in [threads.submit(work) for work in works]]


# Several nodes.


def test_nodes_never_overdraw_an_account_together(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    engine.commit(desk, a_top_up(ana, 90))
    nodes = [engine.open() for _ in range(3)]

    def work(name: int) -> int:
        async def story() -> int:
            wishes = [nodes[name].commit([a_charge(ana, f"{name}-{n}")]) for n in range(100)]
            outcomes = await asyncio.gather(*wishes)
            assert all(
                outcome is None or type(outcome) is InsufficientFunds for outcome in outcomes
            )
            return outcomes.count(None)

        return asyncio.run(story())

    paid = at_once(*(lambda name=name: work(name) for name in range(3)))
    assert sum(paid) == 100
    assert balance(desk, ana) == Balance(0, 0)
    assert desk.check().complaints == []


def test_one_of_two_nodes_binds_a_key(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    other = engine.open()
    for number in range(5):
        outcomes = at_once(
            *(
                lambda node=node, who=who, n=number: asyncio.run(
                    node.commit([a_hold(ana, f"{who}-{n}"), a_bind(ana, f"key-{n}", f"{who}-{n}")])
                )
                for node, who in ((desk, "one"), (other, "other"))
            )
        )
        assert sorted(map(type, outcomes), key=str) == sorted([type(None), KeyBound], key=str)
    assert balance(desk, ana) == Balance(10, 5)


def test_limits_are_exact_over_nodes(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    nodes = [engine.open() for _ in range(3)]
    limit = Limit("minuto", 50, 60_000)

    def work(node: PostgresDesk) -> int:
        async def story() -> int:
            caller = await node.caller(a_hash("ana"), NOW)
            assert caller is not None
            said = await asyncio.gather(*(node.spend(caller, [limit], NOW) for _ in range(170)))
            return sum(verdict.allowed for (verdict,) in said)

        return asyncio.run(story())

    assert sum(at_once(*(lambda node=node: work(node) for node in nodes))) == 50


def test_buckets_are_locked_in_the_order_of_their_names(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    """Whatever is counted together: otherwise two nodes could deadlock."""
    caller = engine.run(desk.caller(a_hash("ana"), NOW))
    assert caller is not None
    minute, day = (Limit(name, 1, 1) for name in ("minuto", "dia"))
    counts = [
        Count(msgspec.structs.replace(caller, account_id=number), [minute, day], NOW)
        for number in range(9)
    ]
    names = names_of(counts)
    assert len(names) == 18
    assert all(first < second for first, second in pairwise(names))


def test_holds_of_live_nodes_are_left_alone(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = engine.open()
    engine.commit(other, a_hold(ana, "r1", 3), a_bind(ana, "key", "r1"))
    assert desk.recover(NOW) == 0
    monkeypatch.setattr(node_module, "GONE_SECONDS", 0.0)
    assert engine.run(desk.recover_others(NOW)) == 0

    engine.kill(other)
    assert engine.run(desk.recover_others(NOW)) == 1
    assert engine.run(desk.recover_others(NOW)) == 0
    assert balance(desk, ana) == Balance(10, 0)
    found = engine.run(desk.find_attempt(ana.account_id, "key", NOW))
    assert found is not None
    assert found.state == "died"


_DIES = """
import asyncio, sys
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.core.ledger import Hold
desk = PostgresDesk(sys.argv[1])
assert asyncio.run(desk.commit([Hold(int(sys.argv[2]), None, "r1", "x", 3, 0)])) is None
print("held", flush=True)
sys.stdin.read()
"""


def test_holds_of_a_killed_process_are_released_by_others(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "GONE_SECONDS", 0.0)
    command = [sys.executable, "-c", _DIES, engine.address, str(ana.account_id)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert engine.run(desk.recover_others(NOW)) == 0
        assert balance(desk, ana) == Balance(10, 3)
        other.kill()
    for _ in range(200):  # until the server has noticed it
        if engine.run(desk.recover_others(NOW)):
            break
        time.sleep(0.05)
    assert balance(desk, ana) == Balance(10, 0)
    assert desk.check().complaints == []


def test_a_node_that_was_cut_off_for_a_moment_is_not_dead(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    other = engine.open()
    engine.commit(other, a_hold(ana, "r1", 3))
    engine.sql(
        "SELECT pg_terminate_backend(?::int, 5000)", other.engine._writing.get().info.backend_pid
    )
    assert engine.run(desk.recover_others(NOW)) == 0, "found gone once"
    assert engine.commit(other, a_settle(ana, "r1", 1)) is None
    assert engine.run(desk.recover_others(NOW)) == 0, "it is here again"
    assert charged(desk, ana) == {"r1": 1}


def test_a_released_hold_is_not_charged_when_its_node_reconnects(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "GONE_SECONDS", 0.0)
    other = engine.open()
    engine.commit(other, a_hold(ana, "r1", 3))
    other.engine._workers["writer"]._on_idle = lambda: None
    engine.sql(
        "SELECT pg_terminate_backend(?::int, 5000)", other.engine._writing.get().info.backend_pid
    )
    assert engine.run(desk.recover_others(NOW)) == 1
    assert engine.commit(other, a_settle(ana, "r1", 3)) == HoldGone()
    assert balance(desk, ana) == Balance(10, 0)


def test_rows_of_nodes_that_ended_long_ago_are_removed(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "GONE_SECONDS", 0.0)
    later = NOW + node_module.KEPT_MS
    dead, alive = engine.open(), engine.open()
    engine.commit(dead, a_hold(ana, "r1", 3))
    engine.kill(dead)
    engine.run(desk.purge(later + 1))
    assert rows(engine, dead) == 1, "nobody has given back yet what it holds"
    assert engine.run(desk.recover_others(NOW)) == 1

    engine.run(desk.purge(later - 1))
    assert rows(engine, dead) == 1, "not long enough ago"
    # As if other nodes had marked it as ended while it was cut off; it is connected again.
    engine.sql("UPDATE node SET ended_ms = ? WHERE node_id = ?", NOW, alive.engine._node.node_id)
    engine.run(desk.purge(later))
    assert [rows(engine, one) for one in (dead, alive, desk)] == [0, 1, 1]
    assert balance(desk, ana) == Balance(10, 0)


def test_a_node_reconnects_after_its_row_was_removed(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "GONE_SECONDS", 0.0)
    other = engine.open()
    engine.kill(other)
    engine.run(desk.recover_others(NOW))
    engine.run(desk.purge(NOW + node_module.KEPT_MS))
    assert rows(engine, other) == 0

    assert engine.commit(other, a_hold(ana, "r1", 3)) is None
    counted = engine.sql("SELECT batch FROM node WHERE node_id = ?", other.engine._node.node_id)
    assert counted == [(other.engine._node._batch,)], (
        "a commit that loses its answer is looked up here"
    )
    assert engine.run(desk.recover_others(NOW)) == 0, "it is alive"
    engine.kill(other)
    assert engine.run(desk.recover_others(NOW)) == 1
    assert balance(desk, ana) == Balance(10, 0)


def rows(engine: PostgresEngine, desk: PostgresDesk) -> int:
    return len(engine.sql("SELECT 1 FROM node WHERE node_id = ?", desk.engine._node.node_id))


def test_nodes_that_start_together_migrate_once() -> None:
    address = postgres.server().new_database()
    desks = at_once(*(lambda: PostgresDesk(address) for _ in range(4)))
    for desk in desks:
        assert desk.check().complaints == []
        desk.close()
    postgres.server().drop_database(address)


def test_a_migration_may_take_longer_than_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when an older backup with years of requests is tried."""
    address = postgres.new_address()
    PostgresDesk(address).close()
    files = statements.migrations("postgresql", "desk")
    slow = tmp_path / "slow.sql"
    slow.write_text("SELECT pg_sleep(2)", "utf-8")
    more = {**files, max(files) + 1: slow}
    monkeypatch.setattr(statements, "migrations", lambda engine, folder: more)
    monkeypatch.setattr(connections.TimedConnection, "patience_seconds", 1.5)
    PostgresDesk(address).close()
    with psycopg.connect(address) as connection:
        assert schema.version(connection, "desk") == max(more)
    postgres.server().drop_database(address)


def test_a_database_of_another_pepper_is_refused(engine: PostgresEngine) -> None:
    PostgresDesk(engine.address, pepper=b"one").close()
    PostgresDesk(engine.address, pepper=b"one").close()
    with pytest.raises(PepperDiffers):
        PostgresDesk(engine.address, pepper=b"another")


def test_a_newer_answer_of_another_node_is_read_within_half_a_second() -> None:
    address = postgres.new_address()

    async def story() -> None:
        here, there = PostgresCache(address, "live"), PostgresCache(address, "live")
        sandbox = PostgresCache(address, "test")
        here.keep([("key", CacheEntry(b"old", 1, "serpro"))])
        await until(there, "key", b"old")
        there.keep([("key", CacheEntry(b"new", 2, "serpro"))])
        here.keep([("key", CacheEntry(b"old again", 1, "serpro"))])
        await until(here, "key", b"new")
        assert await sandbox.read(["key"]) == {}
        for cache in (here, there, sandbox):
            cache.close()

    async def until(cache: PostgresCache, key: str, body: bytes) -> None:
        for _ in range(200):
            found = await cache.read([key])
            if key in found and found[key].body == body:
                return
            await asyncio.sleep(0.01)
        raise AssertionError("the newer answer is not read")

    asyncio.run(story())
    postgres.server().drop_database(address)


# An unreachable database.


def test_a_commit_that_lost_its_answer_is_looked_up(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks after the commit was executed, before its answer arrives."""
    sync, broken = Pipeline.sync, threading.Event()

    def sync_and_break(pipeline: Any) -> None:
        ends = any(statement.sql == "COMMIT" for statement in pipeline._queued)
        sync(pipeline)
        if ends and not broken.is_set():
            broken.set()
            pipeline._pgconn.finish()
            raise psycopg.OperationalError("gone")

    monkeypatch.setattr(Pipeline, "sync", sync_and_break)
    assert engine.commit(desk, a_charge(ana, "r1")) is None
    assert broken.is_set()
    assert charged(desk, ana) == {"r1": 1}
    assert engine.commit(desk, a_charge(ana, "r2")) is None


def test_a_commit_that_never_arrived_is_reported_as_failed(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = desk.engine._node.COUNT
    monkeypatch.setattr(
        type(desk.engine._node), "COUNT", "SELECT pg_terminate_backend(pg_backend_pid()), %s, %s"
    )
    with pytest.raises(StorageFailed):
        engine.commit(desk, a_charge(ana, "r1"))
    monkeypatch.setattr(type(desk.engine._node), "COUNT", count)
    assert charged(desk, ana) == {}
    assert engine.commit(desk, a_charge(ana, "r1")) is None
    assert charged(desk, ana) == {"r1": 1}


def test_connections_that_broke_while_idle_are_replaced(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    caller, limits = engine.run(desk.caller(a_hash("ana"), NOW)), [Limit("minuto", 2, 60_000)]
    assert caller is not None
    engine.run(desk.spend(caller, limits, NOW))
    cache = PostgresCache(engine.address, "live")
    cache.keep([("company:1:", CacheEntry(b"{}", NOW, "cnpja"))])
    engine.run(cache.sweep(0, 0))  # after it was written
    engine.sql(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    allowed = [engine.run(desk.spend(caller, limits, NOW))[0].allowed for _ in range(2)]
    assert allowed == [True, False]
    cache.keep([("company:2:", CacheEntry(b"{}", NOW, "cnpja"))])
    cache.close()
    assert engine.sql("SELECT count(*) FROM entry") == [(2,)]
    assert engine.commit(desk, a_charge(ana, "r1")) is None
    assert charged(desk, ana) == {"r1": 1}
    assert engine.run(desk.caller(a_hash("ana"), NOW)) is not None


@pytest.fixture(scope="module")
def fragile() -> Iterator[postgres.Server]:
    """A server that tests of this module can stop."""
    server = postgres.Server()
    yield server
    server.remove()


def fragile_desk(server: postgres.Server) -> tuple[PostgresDesk, Account]:
    desk = PostgresDesk(server.new_database())
    account = desk.create_account(NewAccount("ana", "pre_pago", "live"), NOW)
    desk.create_key(NewKey(account.account_id, "k", "p", a_hash("ana")), NOW)
    assert desk.commit_now([TopUp(account.account_id, 10, "carga", NOW)]) is None
    return desk, account


def test_an_unreachable_database_is_reported_soon_and_recovers(fragile: postgres.Server) -> None:
    desk, ana = fragile_desk(fragile)

    async def story() -> None:
        caller = await desk.caller(a_hash("ana"), NOW)
        assert caller is not None
        fragile.stop(signal.SIGQUIT)
        began = time.monotonic()
        works = [
            desk.commit([a_charge(ana, "r1")]),
            desk.find_attempt(ana.account_id, "key", NOW),
            desk.spend(caller, [Limit("minuto", 5, 60_000)], NOW),
            desk.caller(a_hash("other"), NOW),
            desk.heartbeat(NOW),
            desk.recover_others(NOW),
        ]
        said = await asyncio.gather(*works, return_exceptions=True)
        assert [type(one) for one in said] == [StorageFailed] * len(works)
        with pytest.raises(StorageFailed):
            desk.account(ana.account_id)
        assert time.monotonic() - began < 60, "the wait is not bounded"
        fragile.start()
        assert await eventually(desk, [a_charge(ana, "r2")]) is None
        await desk.heartbeat(NOW)

    asyncio.run(story())
    assert charged(desk, ana) == {"r2": 1}
    desk.close()


async def eventually(desk: PostgresDesk, changes: Sequence[Any]) -> Any:
    """Try again, as a caller would."""
    for _ in range(100):
        try:
            return await desk.commit(changes)
        except StorageFailed:
            await asyncio.sleep(0.05)
    raise AssertionError("it does not come back")


def test_a_frozen_database_does_not_block_for_long(
    fragile: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, ana = fragile_desk(fragile)
    monkeypatch.setattr(type(desk.engine._writing.get()), "patience_seconds", 0.5)
    monkeypatch.setattr("balcao.storage.postgresql.writer.OUTCOME_SECONDS_MAX", 1.0)
    backend = desk.engine._writing.get().info.backend_pid
    os.kill(backend, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(StorageFailed):
            asyncio.run(desk.commit([a_charge(ana, "r1")]))
        assert time.monotonic() - began < 60, "the wait is not bounded"
    finally:
        os.kill(backend, signal.SIGCONT)
    assert asyncio.run(eventually(desk, [a_charge(ana, "r2")])) is None
    assert charged(desk, ana) == {"r2": 1}
    desk.close()


def test_a_frozen_database_does_not_block_the_loop(
    fragile: postgres.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads on the loop's thread run only while the monitor is healthy."""
    desk, ana = fragile_desk(fragile)
    patience = 300.0  # much more than any machine needs
    monkeypatch.setattr(type(desk.engine._writing.get()), "patience_seconds", patience)
    held: list[float] = []

    async def story() -> None:
        with fragile.frozen():
            commit = asyncio.create_task(desk.commit([a_charge(ana, "r1")]))
            await asyncio.sleep(SILENCE_SECONDS + 0.5)
            for _ in range(3):
                began = time.monotonic()
                with pytest.raises(StorageFailed):
                    desk.account(ana.account_id)
                held.append(time.monotonic() - began)
        assert await commit is None

    asyncio.run(story())
    assert max(held) < patience / 2, "the event loop was blocked"
    assert desk.account(ana.account_id).balance_credits == 9
    desk.close()


# One batch.


def test_the_node_works_after_a_broken_constraint(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    """Whatever was prepared on the connection, and deallocated in the rollback."""
    for second in range(10):
        engine.run(desk.heartbeat(NOW + second))
    assert engine.commit(desk, a_charge(ana, "r1")) is None
    with engine.wall_off("ledger_entry"), pytest.raises(StorageFailed):
        engine.commit(desk, a_charge(ana, "r2"))
    assert engine.commit(desk, a_charge(ana, "r2")) is None
    assert charged(desk, ana) == {"r1": 1, "r2": 1}


def test_a_concurrent_schema_change_fails_nothing(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    """Plans live as long as their connection, and a newer node migrates while this one serves."""
    caller, limits = engine.run(desk.caller(a_hash("ana"), NOW)), [Limit("minuto", 2, 60_000)]
    assert caller is not None
    engine.run(desk.spend(caller, limits, NOW))
    for second in range(1, 10):  # until psycopg prepares it
        assert engine.run(desk.caller(a_hash("ana"), NOW + 1_000 * second)) == caller
    engine.sql("ALTER TABLE account ALTER plan TYPE varchar")
    engine.sql("ALTER TABLE rate_limit ALTER bucket TYPE varchar")
    assert engine.commit(desk, a_charge(ana, "r1")) is None
    assert charged(desk, ana) == {"r1": 1}
    allowed = [engine.run(desk.spend(caller, limits, NOW))[0].allowed for _ in range(2)]
    assert allowed == [True, False]
    assert engine.run(desk.caller(a_hash("ana"), NOW + 60_000)) == caller


def test_a_batch_that_lost_a_deadlock_is_retried(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    bia = open_account(engine, desk, "bia", credits=10)
    for second in range(10):
        engine.run(desk.heartbeat(NOW + second))

    def lock(connection: "psycopg.Connection[Any]", account: Account) -> None:
        sql = "SELECT 1 FROM account WHERE account_id = %s FOR UPDATE"
        connection.execute(sql, (account.account_id,))

    with psycopg.connect(engine.address) as other, ThreadPoolExecutor(1) as thread:
        other.execute("SET deadlock_timeout = '10s'")  # so that the node detects the deadlock
        lock(other, bia)
        both = thread.submit(engine.together, desk, [a_charge(ana, "r1")], [a_charge(bia, "r2")])
        blocked = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        for _ in range(500):
            if engine.sql(blocked):
                break
            time.sleep(0.01)
        lock(other, ana)  # locked by the node, which gives up
        other.rollback()
        assert both.result() == [None, None]
    assert charged(desk, ana) == {"r1": 1}
    assert charged(desk, bia) == {"r2": 1}


def test_round_trips_do_not_grow_with_the_batch(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.commit(desk, a_top_up(ana, 1_000))
    trips: list[str] = []
    connection = desk.engine._writing.get()
    wait, sync = type(connection).wait, Pipeline.sync

    def counted(self: Any, *args: Any, **named: Any) -> Any:
        if self is connection:
            trips.append("statement")
        return wait(self, *args, **named)

    def counted_sync(self: Any) -> None:
        assert self._connection is connection
        trips.append("pipeline")
        sync(self)

    desk.engine._workers["writer"]._on_idle = lambda: None
    monkeypatch.setattr(type(connection), "wait", counted)
    monkeypatch.setattr(Pipeline, "sync", counted_sync)
    for size in (1, 10, 300):
        trips.clear()
        lists = [[a_charge(ana, f"{size}-{n}")] for n in range(size)]
        assert engine.together(desk, *lists) == [None] * size
        assert trips == ["pipeline", "pipeline"], size


def test_the_number_of_cached_callers_is_bounded(
    engine: PostgresEngine, desk: PostgresDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "CALLERS_MAX", 3)
    for number in range(10):
        assert engine.run(desk.caller(a_hash(str(number)), NOW)) is None
    assert len(desk._callers) <= 3
