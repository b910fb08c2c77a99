"""Tables of a PostgreSQL as lines."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import Any

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import ExecStatus
from psycopg.waiting import Wait

from balcao.storage.postgresql.connections import SEQUENCE, translated
from balcao.storage.postgresql.partitions import Partitions
from balcao.storage.transfer.lines import LineBuffer, blocks
from balcao.storage.transfer.tables import MovedTable


class PostgresTables:
    """The `storage.transfer.endpoint.Tables` of a database."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._with_cache = False  # whether the caches' table exists

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        cursor = self._connection.execute(sql.replace("?", "%s").encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def has_table(self, name: str) -> bool:
        return self.query("SELECT to_regclass(?)", (name,)) != [(None,)]

    def lines(
        self, table: MovedTable, *, after: int | None = None, ordered: bool = True
    ) -> Iterator[bytes]:
        if table.mode is not None and not self._with_cache:
            return
        columns = ", ".join(
            f"ceil({column.name})::bigint" if column.kind == "REAL" else column.name
            for column in table.columns
        )
        sql = f"SELECT {columns} FROM {table.name}{_where(table, after=after)}"
        if ordered:
            sql += " ORDER BY " + ", ".join(column.name for column in table.key)
        with self._connection.cursor().copy(f"COPY ({sql}) TO STDOUT".encode()):
            yield from _copied(self._connection)

    def count(
        self, table: MovedTable, *, up_to: int | None = None, after: int | None = None
    ) -> int:
        if table.mode is not None and not self._with_cache:
            return 0
        where = _where(table, up_to=up_to, after=after)
        return int(self.query(f"SELECT count(*) FROM {table.name}{where}")[0][0])

    def make_partitions(self, months: Collection[date]) -> None:
        partitions = Partitions()
        for month in sorted(months):
            partitions.make(self._connection, month, month)

    def insert(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        mode = "" if table.mode is None else "mode, "
        if table.mode is not None:
            prefix = table.mode.encode() + b"\t"
            lines = (prefix + line for line in lines)
        with self._untriggered(table):
            self._load(f"{table.name} ({mode}{', '.join(table.names)})", lines)

    def update(self, table: MovedTable, lines: LineBuffer) -> None:
        with self._incoming(table, lines) as matches:
            for name in table.unique:  # two rows may have swapped their texts
                self.query(
                    f"UPDATE {table.name} AS t SET {name} = 'moving ' || t.{table.names[0]}"
                    f" FROM incoming AS i WHERE {matches}"
                )
            values = ", ".join(f"{name} = i.{name}" for name in table.names[table.key_columns :])
            self.query(f"UPDATE {table.name} AS t SET {values} FROM incoming AS i WHERE {matches}")

    def delete(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        with self._incoming(table, lines) as matches:
            self.query(f"DELETE FROM {table.name} AS t USING incoming AS i WHERE {matches}")

    @contextmanager
    def _incoming(self, table: MovedTable, lines: Iterable[bytes]) -> Iterator[str]:
        """Load lines into a temporary table `incoming`; gives the condition to join it by key."""
        matches = " AND ".join(f"t.{column.name} = i.{column.name}" for column in table.key)
        if table.mode is not None:
            matches += f" AND t.mode = '{table.mode}'"
        with self._untriggered(table):
            self.query(
                f"CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS"
                f" SELECT {', '.join(table.names)} FROM {table.name} WITH NO DATA"
            )
            self._load("incoming", lines)
            yield matches

    @contextmanager
    def _untriggered(self, table: MovedTable) -> Iterator[None]:
        """Open a transaction without the table's triggers, which its owner may disable."""
        with self._connection.transaction():
            self.query(f"ALTER TABLE {table.name} DISABLE TRIGGER USER")
            yield
            self.query(f"ALTER TABLE {table.name} ENABLE TRIGGER USER")

    def _load(self, into: str, lines: Iterable[bytes]) -> None:
        with self._connection.cursor().copy(f"COPY {into} FROM STDIN".encode()) as copy:
            for block in blocks(lines):
                copy.write(block)

    def max_number(self, table: MovedTable) -> int:
        key = table.names[0]
        return int(self.query(f"SELECT coalesce(max({key}), 0) FROM {table.name}")[0][0])

    def last_number(self, table: MovedTable) -> int:
        sequence = self._sequence(table)
        given = 0
        if sequence is not None:
            called = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}"
            given = self.query(called)[0][0]
        return max(self.max_number(table), int(given))

    def continue_after(self, table: MovedTable, number: int) -> None:
        sequence = self._sequence(table)
        number = max(number, self.last_number(table))
        if sequence is not None and number:
            self.query("SELECT setval(?::regclass, ?)", (sequence, number))

    def _sequence(self, table: MovedTable) -> str | None:
        found = self._connection.execute(
            translated(SEQUENCE), (table.name, table.names[0]) * 2
        ).fetchone()
        return None if found is None else found[0]


def _copied(connection: psycopg.Connection[Any]) -> Iterator[bytes]:
    """Yield the data of a COPY, like psycopg's own loop, in a third of its time."""
    pgconn = connection.pgconn

    def more() -> PQGen[None]:
        yield Wait.R
        pgconn.consume_input()

    while True:
        size, data = pgconn.get_copy_data(1)
        if size > 0:
            yield bytes(data)
        elif size == 0:
            connection.wait(more())
        else:
            break
    while True:
        while pgconn.is_busy():
            connection.wait(more())
        result = pgconn.get_result()
        if result is None:
            return
        if result.status == ExecStatus.FATAL_ERROR:
            raise psycopg.errors.error_from_result(result)


def _where(table: MovedTable, *, up_to: int | None = None, after: int | None = None) -> str:
    conditions = [] if table.mode is None else [f"mode = '{table.mode}'"]
    if up_to is not None:
        conditions.append(f"{table.names[0]} <= {up_to:d}")
    if after is not None:
        conditions.append(f"{table.names[0]} > {after:d}")
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""
