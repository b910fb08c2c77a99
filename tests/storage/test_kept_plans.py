"""Prepared plans live as long as their connection: those for small tables must suit full ones."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest

from balcao.storage.postgresql import QUERIES, limits
from balcao.storage.postgresql.connections import ReconnectingConnection
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.schema import migrate
from tests.storage import postgres

ROWS = 3_000
# PostgreSQL considers a plan for all values after five with the values of their own, and psycopg
# prepares after five.
OFTEN = 14

_FILL = {
    "entry": "INSERT INTO entry SELECT 'live', 'k' || n, 1, 'cnpja', 'x' FROM numbers",
    "account": "INSERT INTO account (name, plan, mode, certificates, partner_optin, created_ms)"
    " SELECT 'a' || n, 'pre_pago', 'live', 0, 0, 1 FROM numbers",
    "rate_limit": "INSERT INTO rate_limit SELECT 'k' || n, 1 FROM numbers",
}


@pytest.fixture
def address() -> Iterator[str]:
    address = postgres.server().new_database()
    PostgresDesk(address).close()
    with psycopg.connect(address, autocommit=True) as connection:
        migrate(connection, "cache")
    yield address
    postgres.server().drop_database(address)


@pytest.mark.parametrize(
    ("table", "sql", "values"),
    [
        ("entry", QUERIES["read_entries"], ("{k7,k8}", "live")),
        ("account", QUERIES["purses"], ("{7,8}",)),
        ("rate_limit", limits._LOCK, ("{k7,k8}",)),
    ],
)
def test_two_rows_are_read_to_return_two(
    address: str, table: str, sql: str, values: Sequence[Any]
) -> None:
    line = ReconnectingConnection(address)
    with closing(line), psycopg.connect(address, autocommit=True) as other:
        _fill(other, table, 1, 3)
        other.execute(f"ANALYZE {table}".encode())
        for _ in range(OFTEN):
            assert not line.execute(sql, values).fetchall()
        before = _read_so_far(line, other, table)
        _fill(other, table, 4, ROWS)
        assert len(line.execute(sql, values).fetchall()) == 2
        assert _read_so_far(line, other, table) - before <= 4


def _fill(connection: "psycopg.Connection[Any]", table: str, first: int, last: int) -> None:
    numbers = f"WITH numbers AS (SELECT generate_series({first}, {last}) AS n) "
    connection.execute((numbers + _FILL[table]).encode())


def _read_so_far(line: ReconnectingConnection, other: "psycopg.Connection[Any]", table: str) -> int:
    """Return the rows that all connections have read of a table, by index or not."""
    line.execute("SELECT pg_stat_force_next_flush()")
    row = other.execute(
        "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)"
        " FROM pg_stat_user_tables WHERE relname = %s",
        (table,),
    ).fetchone()
    assert row is not None
    return int(row[0])
