"""Connections to PostgreSQL: options of the address, time-outs, and advisory locks."""

import re
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import balcao
from balcao.core.errors import StorageFailed
from balcao.storage.postgresql.connections import (
    ReconnectingConnection,
    TimedConnection,
    connect_without_timeouts,
)
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.pipeline import pipelined

_LOCK = re.compile(r"\b0x6261\w{4}\b")  # "ba.."


def setting(line: ReconnectingConnection, name: str) -> str:
    with line.guarded() as connection:
        row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
    assert row is not None
    return str(row[0])


def test_options_of_the_address_are_combined_with_ours(address: str) -> None:
    """An address with a schema keeps our time-outs."""
    named = address + "&options=-c%20search_path%3Dbalcao%20-c%20lock_timeout%3D3s"
    with closing(ReconnectingConnection(named)) as line:
        assert setting(line, "search_path") == "balcao"
        assert setting(line, "lock_timeout") == "3s"
        assert setting(line, "statement_timeout") == "5s"
        assert setting(line, "idle_in_transaction_session_timeout") == "3s"
        assert setting(line, "enable_seqscan") == "off"


def test_a_slow_server_gets_more_time_for_the_first_connection(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start or a command may wait longer than a request."""
    connect, tried = TimedConnection.connect, list[int]()

    def slow(**settings: Any) -> TimedConnection:
        tried.append(settings["connect_timeout"])
        if settings["connect_timeout"] < 5:
            raise psycopg.errors.ConnectionTimeout("connection timeout expired")
        return connect(**settings)

    monkeypatch.setattr(TimedConnection, "connect", slow)
    with closing(PostgresDesk(address)) as desk:
        assert tried == [2, 10, 2, 10]
        tried.clear()
        desk.engine.connection.drop()
        with pytest.raises(StorageFailed):
            desk.engine.connection.get()
        assert tried == [2]
    tried.clear()
    connect_without_timeouts(address, "balcao backup").close()
    assert tried == [2, 10]


def test_an_interrupted_statement_is_not_cancelled(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled commit that waits for its standby would be acknowledged."""

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with closing(ReconnectingConnection(address)) as line:
        connection = line.get()
        monkeypatch.setattr("psycopg.waiting.wait", interrupted)
        cancelled = list[float]()
        monkeypatch.setattr(TimedConnection, "cancel_safe", lambda self, **_: cancelled.append(1))
        with pytest.raises(KeyboardInterrupt):
            connection.execute("SELECT 1")
        assert connection.closed
        assert cancelled == []


def test_the_encoding_does_not_depend_on_the_address(address: str) -> None:
    with closing(
        ReconnectingConnection(address + "&client_encoding=latin1", pipelines=True)
    ) as line:
        with line.guarded() as connection, pipelined(connection) as pipeline:
            lengths = pipeline.queue("SELECT length(%s::text), %s::text", ("é", "é"))
            pipeline.sync()
        assert lengths == [(1, "é")]
        assert setting(line, "client_encoding") == "UTF8"


def test_advisory_locks_have_different_numbers() -> None:
    """Otherwise a first start would wait for another node's backup before a migration."""
    source = Path(balcao.__file__).parent
    numbers = Counter(
        number for file in source.rglob("*.py") for number in _LOCK.findall(file.read_text("utf-8"))
    )
    assert len(numbers) >= 7, "the prefix has changed"
    assert set(numbers.values()) == {1}, numbers
