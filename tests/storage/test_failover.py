"""A lost primary: answers while commits wait for its standby, and after the fail-over."""

import asyncio
import json
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from balcao.core.access import Account
from balcao.core.errors import CommitUncertain, StorageFailed
from balcao.core.ledger import TopUp
from balcao.core.rate_limit import Limit
from balcao.examination.failures import explain
from balcao.home import Home
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.engine import DatabaseState
from balcao.storage.places import place_at
from balcao.storage.postgresql import backups, connections, schema, standby, timeline, writer
from balcao.storage.postgresql.connections import ReconnectingConnection, TimedConnection
from balcao.storage.postgresql.desk import PostgresDesk
from tests.storage import postgres
from tests.storage.world import NOW, a_bind, a_charge, a_finish, a_hash, charged


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    """A server for this module, which changes its settings and stops it."""
    server = postgres.Server()
    yield server
    server.remove()


@pytest.fixture
def address(server: postgres.Server) -> str:
    return server.new_database()


@pytest.fixture
def desk(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresDesk]:
    """A desk that waits half a second for answers, and whose writer does nothing when idle."""
    desk = PostgresDesk(address)
    monkeypatch.setattr(TimedConnection, "patience_seconds", 0.5)
    monkeypatch.setattr(connections, "AWAY_SECONDS", 0.0)
    monkeypatch.setattr(writer, "OUTCOME_SECONDS_MAX", 1.0)
    desk.engine._workers["writer"]._on_idle = lambda: None
    desk.engine._writing.get().patience_seconds = 0.5
    yield desk
    desk.close()


@pytest.fixture
def ana(desk: PostgresDesk) -> Account:
    account = desk.create_account(NewAccount("ana", "pre_pago", "live"), NOW)
    desk.create_key(NewKey(account.account_id, "k", "p", a_hash("ana")), NOW)
    assert desk.commit_now([TopUp(account.account_id, 10, "carga", NOW)]) is None
    return account


def paid_with_a_key(ana: Account) -> list[Any]:
    """Return the changes of a lookup with an idempotency key that is answered at once."""
    return [a_charge(ana, "r1"), a_bind(ana, "key", "r1"), a_finish(ana, "key", "r1")]


def waiting(server: postgres.Server) -> int:
    rows = server.admin("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    return int(rows[0][0])


def recorded(server: postgres.Server, address: str) -> int:
    """Return the number of visible idempotency records."""
    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT count(*) FROM idempotency").fetchone()
    assert row is not None
    return int(row[0])


# A standby that does not answer.


def test_a_commit_that_waits_for_a_standby_stays_invisible(
    server: postgres.Server, address: str, desk: PostgresDesk, ana: Account
) -> None:
    with server.waiting_for_a_standby():
        with pytest.raises(CommitUncertain):
            desk.commit_now(paid_with_a_key(ana))
        assert waiting(server) == 1, "the waiting process was ended"
        assert recorded(server, address) == 0
        with pytest.raises(StorageFailed) as caught:
            desk.engine._writing.get()
        assert isinstance(caught.value.__cause__, standby.WaitsForStandby)
    assert desk.commit_now([a_charge(ana, "r2")]) is None
    assert charged(desk, ana) == {"r1": 1, "r2": 1}


def test_the_last_batch_is_read_with_a_commit(
    server: postgres.Server, address: str, desk: PostgresDesk
) -> None:
    """The waiting process may have been ended nevertheless; then its commit is visible."""
    with closing(ReconnectingConnection(address)) as line, server.waiting_for_a_standby():
        with pytest.raises(StorageFailed), line.guarded() as connection:
            desk.engine._node.last_batch(connection)
        assert waiting(server) == 1


def test_a_connection_dropped_while_registering_is_not_ended(
    server: postgres.Server, desk: PostgresDesk
) -> None:
    line = desk.engine._writing
    line.drop()
    with server.waiting_for_a_standby():
        with pytest.raises(StorageFailed):
            line.get()
        assert waiting(server) == 1
        with pytest.raises(StorageFailed) as caught:
            line.get()
        assert isinstance(caught.value.__cause__, standby.WaitsForStandby)
        assert waiting(server) == 1
    line.get()


def test_a_replay_is_returned_only_after_a_commit(
    server: postgres.Server, address: str, desk: PostgresDesk, ana: Account
) -> None:
    """After a crash the server shows a commit that was waiting; the standby may not have it."""
    with server.waiting_for_a_standby():
        with pytest.raises(StorageFailed):
            desk.commit_now(paid_with_a_key(ana))
        server.stop(signal.SIGQUIT)
        server.start()
        assert recorded(server, address) == 1
        with pytest.raises(CommitUncertain):
            asyncio.run(desk.find_attempt(ana.account_id, "key", NOW))
    found = asyncio.run(desk.find_attempt(ana.account_id, "key", NOW))
    assert found is not None
    assert found.recorded is not None
    assert found.recorded.request_id == "r1"


def test_the_state_of_the_database_is_read_while_commits_wait(
    server: postgres.Server, desk: PostgresDesk, ana: Account
) -> None:
    assert asyncio.run(desk.state()) == DatabaseState(writable=True, waiting_commits=0)
    with server.waiting_for_a_standby():
        with pytest.raises(StorageFailed):
            desk.commit_now([a_charge(ana, "r1")])
        assert asyncio.run(desk.state()) == DatabaseState(writable=True, waiting_commits=1)


# Starts.


def test_a_start_without_a_migration_writes_no_schema(address: str) -> None:
    PostgresDesk(address).close()
    written_by = "SELECT xmin FROM schema_version WHERE folder = 'desk'"
    with psycopg.connect(address, autocommit=True) as connection:
        before = connection.execute(written_by).fetchone()
        PostgresDesk(address).close()
        assert connection.execute(written_by).fetchone() == before


@pytest.mark.parametrize("empty", [False, True], ids=["up to date", "empty"])
def test_a_start_that_waits_for_a_standby_fails_with_the_reason(
    server: postgres.Server, address: str, monkeypatch: pytest.MonkeyPatch, empty: bool
) -> None:
    if not empty:
        PostgresDesk(address).close()
    monkeypatch.setattr(TimedConnection, "patience_seconds", 0.5)
    monkeypatch.setattr(schema, "COMMIT_SECONDS_MAX", -4.5)  # and five more
    with server.waiting_for_a_standby(), pytest.raises(StorageFailed) as caught:
        PostgresDesk(address)
    sentence = explain(caught.value)
    assert sentence is not None
    assert "réplica síncrona" in sentence


def test_a_server_that_is_too_old_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "OLDEST_VERSION", 99)
    with pytest.raises(StorageFailed) as caught:
        PostgresDesk(address)
    assert "antiga demais" in (explain(caught.value) or "")


# A read-only server.


def test_a_connection_to_a_demoted_primary_is_dropped(
    server: postgres.Server, desk: PostgresDesk, ana: Account
) -> None:
    """The next connection is opened to a server that accepts writes."""
    caller = asyncio.run(desk.caller(a_hash("ana"), NOW))
    assert caller is not None
    limits = [Limit("minuto", 5, 60_000)]
    asyncio.run(desk.spend(caller, limits, NOW))
    lines = [desk.engine._counting, desk.engine._writing]
    server.set("default_transaction_read_only", "on")
    try:
        with pytest.raises(StorageFailed):
            asyncio.run(desk.spend(caller, limits, NOW))
        with pytest.raises(StorageFailed):
            desk.commit_now([a_charge(ana, "r1")])
        assert [line._connection for line in lines] == [None, None]
        with pytest.raises(StorageFailed) as caught:
            lines[0].get()
        assert "só aceita leitura" in (explain(caught.value) or "")
    finally:
        server.set("default_transaction_read_only", "off")
    assert asyncio.run(desk.spend(caller, limits, NOW))[0].allowed
    assert desk.commit_now([a_charge(ana, "r1")]) is None


@pytest.fixture
def pair() -> Iterator[tuple[postgres.Server, postgres.Server]]:
    """A primary and its standby."""
    primary = postgres.Server()
    follower = postgres.Server(standby_of=primary.address("postgres"))
    yield primary, follower
    follower.remove()
    primary.remove()


@pytest.fixture
def timelines(monkeypatch: pytest.MonkeyPatch) -> timeline.Timelines:
    """Return the memory of a process that has just started."""
    return forgotten(monkeypatch)


def forgotten(monkeypatch: pytest.MonkeyPatch) -> timeline.Timelines:
    fresh = timeline.Timelines()
    monkeypatch.setattr(connections, "TIMELINES", fresh)
    monkeypatch.setattr("balcao.storage.postgresql.place.TIMELINES", fresh)
    return fresh


def hosts(*servers: postgres.Server) -> str:
    return "postgresql://postgres@/postgres?host=" + ",".join(str(one.folder) for one in servers)


def served_by(line: ReconnectingConnection) -> str:
    return line.get().info.host


def test_of_several_hosts_the_primary_is_used_until_a_newer_one_is_promoted(
    pair: tuple[postgres.Server, postgres.Server],
    timelines: timeline.Timelines,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    first, second = pair
    home = Home(tmp_path)
    monkeypatch.setattr(connections, "AWAY_SECONDS", 0.0)

    def place(*servers: postgres.Server) -> Any:
        return place_at(hosts(*servers), home)

    both = ReconnectingConnection(place(second, first).address)
    assert served_by(both) == str(first.folder)
    with pytest.raises(StorageFailed) as caught:
        place(second).open_desk(pepper=b"p")
    assert "só aceita leitura" in (explain(caught.value) or "")
    lasting, reader = (ReconnectingConnection(place(first, second).address) for _ in range(2))
    assert served_by(lasting) == served_by(reader) == str(first.folder)

    second.admin("SELECT pg_promote()")
    both.drop()
    assert served_by(both) == str(second.folder)
    # Connections that still lead to the old primary end there with their next use.
    assert served_by(reader) == str(second.folder)
    for _ in range(2):  # first in memory, then as a new process reads it in the data folder
        fresh = ReconnectingConnection(place(first, second).address)
        assert served_by(fresh) == str(second.folder)
        with pytest.raises(StorageFailed) as caught:
            place(first).open_desk(pepper=b"p")
        assert "primário antigo" in (explain(caught.value) or "")
        fresh.close()
        forgotten(monkeypatch)
    assert set(json.loads(home.timelines.read_bytes()).values()) == {2}
    for line in (both, lasting, reader):
        line.close()


def test_backups_use_the_server_that_takes_writes(
    pair: tuple[postgres.Server, postgres.Server], timelines: timeline.Timelines, tmp_path: Path
) -> None:
    """The first host that answers is the standby in this test."""
    first, second = pair
    both = hosts(second, first)
    PostgresDesk(hosts(first)).close()
    copy = tmp_path / "copy"
    sums = backups.save(both, copy)
    backups.load(both, copy)
    with closing(PostgresDesk(hosts(first))) as desk:
        assert desk.check().complaints == []
    assert sums.schema == schema.newest_version("desk")
