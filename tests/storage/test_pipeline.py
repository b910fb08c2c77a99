"""Statements in one round trip, with and without errors."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from typing import TypeAlias

import psycopg
import pytest
from psycopg import errors

from balcao.storage.postgresql.connections import ReconnectingConnection, TimedConnection
from balcao.storage.postgresql.pipeline import Pipeline, Rows, pipelined
from balcao.storage.postgresql.rows import texts

Statement: TypeAlias = tuple[str, Sequence[str | int]]

LENGTH = "SELECT length(%s::text)"
REPEAT = "SELECT repeat('x', %s::int)"


@pytest.fixture
def connection(address: str) -> Iterator[TimedConnection]:
    with closing(ReconnectingConnection(address, pipelines=True)) as line:
        connection = line.get()
        connection.execute("CREATE TABLE note (text text UNIQUE)")
        yield connection


def run(connection: TimedConnection, *statements: str | Statement) -> list[Rows]:
    """Run statements in one round trip; return the rows of each."""
    with pipelined(connection) as pipeline:
        rows = [
            pipeline.queue(each) if isinstance(each, str) else pipeline.queue(*each)
            for each in statements
        ]
        assert not any(rows)
        pipeline.sync()
    return rows


def insert(*notes: str) -> Statement:
    return "INSERT INTO note SELECT * FROM unnest(%s::text[])", (texts(notes),)


def notes(connection: TimedConnection) -> list[str]:
    return [text for (text,) in connection.execute("SELECT text FROM note ORDER BY text")]


def test_rows_have_the_types_that_psycopg_reads(connection: TimedConnection) -> None:
    types = "SELECT %s::bigint, %s::text, %s::float8, NULL::text, %s::bytea"
    first, second, nothing = run(
        connection,
        (types, (7, "é", 1, "\\x00ff")),
        (types, (8, "", 2, "")),
        "SELECT 1 WHERE false",
    )
    assert first == [(7, "é", 1.0, None, b"\x00\xff")]
    assert second == [(8, "", 2.0, None, b"")]
    assert nothing == []


def test_one_wait_for_any_number_of_statements(
    connection: TimedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait, waits = Pipeline._wait, list[int]()

    def counted(pipeline: Pipeline, what: int, until: float) -> int:
        waits.append(what)
        return wait(pipeline, what, until)

    monkeypatch.setattr(Pipeline, "_wait", counted)
    assert run(connection, *["SELECT 1"] * 50, "SELECT pg_sleep(0.2)")[:50] == [[(1,)]] * 50
    assert 1 <= len(waits) <= 5  # an answer may come in pieces


def test_an_error_is_raised_and_nothing_after_it_is_executed(connection: TimedConnection) -> None:
    with pytest.raises(errors.UniqueViolation):
        run(connection, "BEGIN", insert("one"), insert("one"), "COMMIT")
    connection.rollback()
    assert notes(connection) == []
    run(connection, insert("two"))
    assert notes(connection) == ["two"]


def test_a_statement_whose_preparation_failed_is_prepared_again(
    connection: TimedConnection,
) -> None:
    statements = ("SELECT 1", "SELECT * FROM later", "SELECT 2")
    for _ in range(2):
        with pytest.raises(errors.UndefinedTable):
            run(connection, *statements)
    connection.execute("CREATE TABLE later AS SELECT 3 AS number")
    for _ in range(2):
        assert run(connection, *statements) == [[(1,)], [(3,)], [(2,)]]


def test_rollbacks_of_psycopg_deallocate_nothing(connection: TimedConnection) -> None:
    """It would deallocate all statements if it had prepared any itself."""
    run(connection, insert("one"))
    for _ in range(10):
        connection.execute("SELECT 1")
    connection.execute("BEGIN")
    connection.rollback()
    with suppress(ZeroDivisionError), connection.transaction():
        _ = 1 / 0
    run(connection, insert("two"))
    assert notes(connection) == ["one", "two"]


def test_a_plan_that_no_longer_fits_the_schema_is_prepared_again(
    connection: TimedConnection,
) -> None:
    """A newer node may change the schema while this one serves."""
    select = "SELECT text FROM note"
    run(connection, insert("1"), select)
    connection.execute("ALTER TABLE note ALTER text TYPE bigint USING text::bigint")
    with pytest.raises(errors.FeatureNotSupported):
        run(connection, "BEGIN", select, "COMMIT")
    connection.rollback()
    assert run(connection, "BEGIN", select, "COMMIT")[1] == [(1,)]


@pytest.mark.parametrize(
    ("text", "error"),
    [("a\0b", psycopg.DataError), ("\ud800", UnicodeEncodeError)],
    ids=["a zero", "half a character"],
)
def test_invalid_text_is_refused_and_the_connection_still_works(
    connection: TimedConnection, text: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        run(connection, insert("lost"), ("INSERT INTO note VALUES (%s::text)", (text,)))
    assert not connection.closed
    run(connection, insert("kept"))
    assert notes(connection) == ["kept"]


def test_statements_queued_at_the_end_are_never_sent(connection: TimedConnection) -> None:
    with suppress(ZeroDivisionError), pipelined(connection) as pipeline:
        pipeline.queue(*insert("one"))
        _ = 1 / 0
    assert notes(connection) == []


def test_more_data_than_socket_buffers_in_both_directions(connection: TimedConnection) -> None:
    """Neither side waits for the other to read first."""
    size = 3_000_000
    both: list[Statement] = [(REPEAT, (size,)), (LENGTH, ("y" * size,))]
    repeated, length = run(connection, *both * 4)[-2:]
    assert repeated == [("x" * size,)]
    assert length == [(size,)]


def test_a_connection_that_breaks_during_a_round_trip(connection: TimedConnection) -> None:
    with pytest.raises(psycopg.OperationalError):
        run(connection, "SELECT 1", "SELECT pg_terminate_backend(pg_backend_pid())", "SELECT 2")
    assert connection.closed


def test_a_frozen_server_is_not_waited_for(
    connection: TimedConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((backend,),) = run(connection, "SELECT pg_backend_pid()")[0]
    monkeypatch.setattr(connection, "patience_seconds", 0.2)
    os.kill(backend, signal.SIGSTOP)
    try:
        with pytest.raises(psycopg.OperationalError):
            run(connection, "SELECT 1")
        assert connection.closed
        assert connection.waiting_since is None
    finally:
        os.kill(backend, signal.SIGCONT)
