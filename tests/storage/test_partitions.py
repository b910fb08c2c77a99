"""Monthly partitions of the ledger and the traces on PostgreSQL."""

import datetime
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest

from balcao.core import calendar
from balcao.core.access import Account
from balcao.core.errors import StorageFailed
from balcao.storage.postgresql import partitions
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.partitions import Partitions
from tests.storage.engines import PostgresEngine
from tests.storage.people import ALWAYS, a_trace
from tests.storage.world import (
    DAY_MS,
    NOW,
    Balance,
    a_bind,
    a_charge,
    a_hold,
    a_settle,
    balance,
    brasilia,
    charged,
    entries,
)

# The last second of July 2026 in Brasília, and the first of August: three hours later in UTC.
BEFORE = brasilia("2026-07-31 23:59:59")
AFTER = brasilia("2026-08-01 00:00:00")


def number(at_ms: int, n: int = 0) -> str:
    """Return a request number, a UUID of version 7, made at this instant."""
    digits = f"{at_ms:012x}"
    return f"{digits[:8]}-{digits[8:]}-7abc-8def-{n:012x}"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[PostgresEngine]:
    engine = PostgresEngine(tmp_path)
    yield engine
    engine.close()


def months(engine: PostgresEngine, table: str) -> list[str]:
    rows = engine.sql(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = ?::regclass", table
    )
    return sorted(name.removeprefix(f"{table}_") for (name,) in rows)


def where(engine: PostgresEngine, table: str) -> list[tuple[str, str | None]]:
    """Return each row's partition and request."""
    rows = engine.sql(f"SELECT tableoid::regclass::text, request_id FROM {table}")
    return sorted((name.removeprefix(f"{table}_"), request) for name, request in rows if request)


AHEAD = ["2026_08", "2026_09", "2026_10", "rest"]


def test_partitions_are_created_ahead_at_the_start_and_when_purging(
    engine: PostgresEngine, desk: PostgresDesk
) -> None:
    for table in ("ledger_entry", "charged_lookup", "trace"):
        assert months(engine, table) == ["rest"]
    desk.recover(NOW)
    for table in ("ledger_entry", "charged_lookup", "trace"):
        assert months(engine, table) == AHEAD
    engine.run(desk.purge(brasilia("2026-11-30 23:59:59")))
    engine.run(desk.purge(brasilia("2026-12-01 00:00:00")))
    for table in ("ledger_entry", "charged_lookup", "trace"):
        assert months(engine, table) == [
            *AHEAD[:3],
            "2026_11",
            "2026_12",
            "2027_01",
            "2027_02",
            "rest",
        ]


def test_a_request_is_in_the_partition_of_its_number(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    desk.recover(BEFORE)
    last, first = number(BEFORE + 999), number(AFTER)
    engine.commit(desk, a_hold(ana, last, 2, at_ms=BEFORE), a_trace(ana, last))
    engine.commit(desk, a_hold(ana, first, 2, at_ms=AFTER), a_trace(ana, first))
    engine.commit(desk, a_settle(ana, last, 1, at_ms=AFTER + DAY_MS))
    engine.commit(desk, a_settle(ana, first, 0, at_ms=AFTER + DAY_MS))
    engine.commit(desk, a_charge(ana, "r1"), a_trace(ana, "r1"))
    assert where(engine, "ledger_entry") == [
        ("2026_07", last),
        ("2026_07", last),
        ("2026_08", first),
        ("2026_08", first),
        ("rest", "r1"),
    ]
    assert where(engine, "trace") == [("2026_07", last), ("2026_08", first), ("rest", "r1")]
    assert balance(desk, ana) == Balance(8, 0)
    assert charged(desk, ana) == {last: 1, "r1": 1}
    assert desk.check().complaints == []


def test_nothing_is_charged_twice_at_a_months_turn(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    desk.recover(BEFORE)
    request = number(BEFORE)
    engine.commit(desk, a_charge(ana, request, at_ms=BEFORE))
    with pytest.raises(StorageFailed):
        engine.commit(desk, a_charge(ana, request, at_ms=AFTER))
    with pytest.raises(StorageFailed):
        engine.commit(desk, a_hold(ana, request, at_ms=AFTER))
    assert charged(desk, ana) == {request: 1}


@pytest.mark.parametrize("partition", ["ledger_entry_2026_08", "ledger_entry_rest"])
@pytest.mark.parametrize(
    "attempt",
    [
        "UPDATE {} SET balance_change = balance_change",
        "DELETE FROM {}",
        "TRUNCATE {}",
        "INSERT INTO {} (account_id, at_ms, month, kind, balance_change, held_change, reason)"
        " VALUES (1, 0, '2026-08', 'top_up', 5, 0, 'x')",
    ],
)
def test_partitions_have_the_constraints_of_the_ledger(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, attempt: str, partition: str
) -> None:
    desk.recover(NOW)
    engine.commit(desk, a_charge(ana, number(NOW)))
    before = entries(desk, ana)
    with pytest.raises(engine.wall):
        engine.sql(attempt.format(partition))
    assert entries(desk, ana) == before


def test_nodes_that_create_the_same_partitions_at_once(
    engine: PostgresEngine, desk: PostgresDesk
) -> None:
    nodes = [desk, *(engine.open() for _ in range(3))]
    with ThreadPoolExecutor(len(nodes)) as threads:
        list(threads.map(lambda node: node.recover(NOW), nodes))
    for table in ("ledger_entry", "charged_lookup", "trace"):
        assert months(engine, table) == AHEAD


def test_rows_stored_before_their_partition_stay(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, caplog: pytest.LogCaptureFixture
) -> None:
    request = number(NOW)
    engine.commit(desk, a_hold(ana, request, 2))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            engine.run(desk.purge(NOW))
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "no partition ledger_entry_2026_08 (CheckViolation): rows of that month lie in"
        " ledger_entry_rest"
    ]
    assert months(engine, "ledger_entry") == AHEAD[1:]
    assert months(engine, "trace") == AHEAD
    assert engine.commit(desk, a_settle(ana, request, 1)) is None
    assert where(engine, "ledger_entry") == [("rest", request)] * 2
    assert desk.check().complaints == []


def test_partitions_are_adjacent_even_if_the_time_zone_changes(
    engine: PostgresEngine, desk: PostgresDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brasília has summer time again, and these partitions were created before that was known."""
    desk.recover(NOW)
    monkeypatch.setattr(calendar, "BRASILIA", ZoneInfo("America/Noronha"))
    desk.recover(brasilia("2026-09-15 12:00:00"))
    for table in ("ledger_entry", "charged_lookup", "trace"):
        assert months(engine, table) == [*AHEAD[:3], "2026_11", "rest"]


def test_a_partition_that_cannot_be_created_does_not_stop_serving(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    bounds = f"FOR VALUES FROM ('{number(NOW)}') TO ('{number(NOW + DAY_MS)}')"
    engine.sql("SELECT make_partition('ledger_entry', 'somebodys', ?)", bounds)
    engine.commit(desk, a_bind(ana, "key", "r1"))
    desk.recover(NOW)
    assert months(engine, "ledger_entry") == [*AHEAD[1:], "somebodys"]
    assert months(engine, "trace") == AHEAD
    assert engine.run(desk.purge(NOW + 30 * DAY_MS)) == 1


def test_a_user_who_cannot_create_tables_can_serve(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    engine.sql("CREATE ROLE clerk_of_partitions")
    try:
        engine.sql("GRANT ALL ON ALL TABLES IN SCHEMA public TO clerk_of_partitions")
        engine.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        with psycopg.connect(engine.address, autocommit=True) as connection:
            connection.execute("SET ROLE clerk_of_partitions")
            Partitions().make_ahead(connection, NOW)
        assert months(engine, "trace") == ["rest"]
    finally:
        engine.sql("DROP OWNED BY clerk_of_partitions")
        engine.sql("DROP ROLE clerk_of_partitions")


def test_partitions_are_created_later_if_tables_are_in_use(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_by_one, tries = partitions._one_by_one, 0

    def counted(connection: psycopg.Connection[Any]) -> AbstractContextManager[None]:
        nonlocal tries
        tries += 1
        return one_by_one(connection)

    monkeypatch.setattr(partitions, "_one_by_one", counted)
    monkeypatch.setattr(partitions, "AGAIN_SECONDS", 3600.0)
    with psycopg.connect(engine.address) as reader:
        reader.execute("SELECT count(*) FROM ledger_entry")  # and does not end
        desk.recover(NOW)
        assert months(engine, "ledger_entry") == ["rest"]
        assert engine.commit(desk, a_charge(ana, "r1")) is None
        # A long backlog is purged in many steps, not each of which may wait and block others.
        for _ in range(5):
            engine.run(desk.purge(NOW))
        assert tries == 1
    monkeypatch.setattr(desk.engine._partitions, "_again_at", 0.0)
    engine.run(desk.purge(NOW))
    assert months(engine, "ledger_entry") == AHEAD


def purge(engine: PostgresEngine, desk: PostgresDesk, oldest_trace_ms: int) -> int:
    return engine.run(desk.people.purge_people(NOW, oldest_trace_ms, 0, oldest_trace_ms))


def test_old_partitions_of_traces_are_dropped(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account
) -> None:
    with psycopg.connect(engine.address, autocommit=True) as connection:
        Partitions().make(connection, datetime.date(2026, 5, 1), datetime.date(2026, 8, 1))
    for month in ("05", "06", "07", "08"):
        at_ms = brasilia(f"2026-{month}-15 12:00:00")
        engine.commit(desk, a_trace(ana, number(at_ms), opened_ms=at_ms))
    engine.commit(desk, a_trace(ana, "r1", opened_ms=brasilia("2026-05-15 12:00:00")))
    # June may not be over by the clock of another node: it is dropped an hour after its end.
    june = brasilia("2026-07-01 00:00:00")
    assert purge(engine, desk, june) == 3
    assert months(engine, "trace") == ["2026_06", "2026_07", "2026_08", "rest"]
    assert purge(engine, desk, june + 3_600_000) == 1
    assert months(engine, "trace") == ["2026_07", "2026_08", "rest"]
    assert purge(engine, desk, june + 3_600_000) == 0
    left = [brasilia(f"2026-{month}-15 12:00:00") for month in ("08", "07")]
    found = desk.people.traces(ana.account_id, ALWAYS, 10)
    assert [trace.opened_ms for trace in found] == left
    assert months(engine, "ledger_entry") == ["2026_05", "2026_06", "2026_07", "2026_08", "rest"]


def test_partitions_in_use_are_dropped_later(
    engine: PostgresEngine, desk: PostgresDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(engine.address, autocommit=True) as connection:
        Partitions().make(connection, datetime.date(2026, 5, 1), datetime.date(2026, 5, 1))
    with psycopg.connect(engine.address) as reader:
        reader.execute("SELECT count(*) FROM trace")
        assert purge(engine, desk, NOW) == 0
        assert months(engine, "trace") == ["2026_05", "rest"]
    assert purge(engine, desk, NOW) == 0, "in use a moment ago"
    monkeypatch.setattr(desk.engine._partitions, "_again_at", 0.0)
    assert purge(engine, desk, NOW) == 1
    assert months(engine, "trace") == ["rest"]
