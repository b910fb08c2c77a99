"""Tables of `balcao storage move`, and the format and comparison of their rows."""

import tracemalloc
from collections.abc import Iterator
from contextlib import closing

import apsw
import psycopg

from balcao.backup.moving.difference import Difference, compare
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.sqlite.endpoint import SqliteEndpoint
from balcao.storage.sqlite.files import migrate
from balcao.storage.sqlite.tables import SqliteTables
from balcao.storage.transfer.lines import LineBuffer, Sum, line_of
from balcao.storage.transfer.tables import LEFT_BEHIND, all_tables, cache_table, desk_tables
from tests.cli.shell import Shell
from tests.cli.storage_move.world import ODD
from tests.storage.world import NOW


def test_every_table_of_both_engines_is_moved_or_excluded(address: str) -> None:
    PostgresDesk(address).close()
    with psycopg.connect(address) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition"
        ).fetchall()
        columns = connection.execute(
            "SELECT table_name::text, column_name::text FROM information_schema.columns"
            " WHERE table_schema = 'public' AND is_generated = 'NEVER'"
        ).fetchall()
    moved = {table.name: set(table.names) for table in desk_tables()}
    of_nodes = {"schema_version", "schema_history", "node", "pepper"}
    assert {name for (name,) in tables} == {*moved, *LEFT_BEHIND, *of_nodes}
    for name, wanted in moved.items():
        has = {column for table, column in columns if table == name}
        assert has - {"node_id"} == wanted, name


def test_append_only_tables() -> None:
    assert {table.name for table in all_tables() if table.appended} == {
        "ledger_entry",
        "audit_entry",
    }


def test_lines_equal_those_of_copy(address: str) -> None:
    table = next(table for table in desk_tables() if table.name == "person")
    row = (5, None, ODD, "\\N", "", "operator", None, b"\\\0\t", 3, NOW, None, 0)
    line = line_of(row)
    with closing(apsw.Connection(":memory:")) as desk:
        migrate(desk, "desk")
        desk.execute("PRAGMA ignore_check_constraints = ON")
        SqliteTables(desk).insert(table, [line])
        columns = ", ".join(table.names)
        assert desk.execute(f"SELECT {columns} FROM person").fetchall() == [row]
    with psycopg.connect(address) as connection:
        connection.execute(
            "CREATE TABLE t (a int, b int, c text, d text, e text, f text, g text, h bytea, i int,"
            " j bigint, k int, l int)"
        )
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            copy.write(line)
        with connection.cursor().copy("COPY t TO STDOUT") as copy:
            assert b"".join(map(bytes, copy)) == line
        assert connection.execute("SELECT * FROM t").fetchone() == row


def test_a_difference_is_detected() -> None:
    table = next(table for table in desk_tables() if table.name == "rate_limit")
    here = [line_of((name, size)) for name, size in (("a", 1), ("b", 2), ("d", 4), ("e\\", 5))]
    there = [line_of((name, size)) for name, size in (("b", 3), ("c", 9), ("e\\", 5), ("f", 6))]
    total = Sum()
    with closing(Difference()) as found:
        compare(table, here, there, total, found)
        assert [*found.missing] == [here[0], here[2]]
        assert [*found.changed] == [here[1]]
        assert [*found.extra] == [there[1], there[3]]
    assert total.rows == 4


def test_many_changed_rows_are_not_all_in_memory(shell: Shell) -> None:
    """A cache that is refreshed between two runs."""
    table = cache_table("live")

    def told_at(asked_ms: int) -> Iterator[bytes]:
        for number in range(3_000):
            yield line_of((f"company:{number:014}:", asked_ms, "s", b"x" * 2_000))

    with closing(SqliteEndpoint(shell.home, target=True)) as end, closing(LineBuffer()) as changed:
        end.insert(table, told_at(1))
        for line in told_at(2):
            changed.put(line)
        tracemalloc.start()
        end.update(table, changed)
        _, most_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert [*end.lines(table)] == [*told_at(2)]
    assert most_bytes < 1_000_000
