"""Tables of SQLite files as lines."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import apsw

from balcao.core.questions import Mode
from balcao.storage.sqlite.files import skip_numbers, transaction
from balcao.storage.transfer.lines import LineBuffer, chunks, line_of, reader
from balcao.storage.transfer.tables import MovedTable

# Rows per transaction: few enough to keep the write-ahead log short.
_ROWS_AT_ONCE = 20_000


class SqliteTables:
    """The `storage.transfer.endpoint.Tables` of a desk and its caches."""

    def __init__(
        self, desk: apsw.Connection, caches: Mapping[Mode, apsw.Connection] | None = None
    ) -> None:
        self._desk = desk
        self._caches = {} if caches is None else caches

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._desk.execute(sql, values).fetchall()

    def has_table(self, name: str) -> bool:
        return bool(self.query("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)))

    def lines(
        self, table: MovedTable, *, after: int | None = None, ordered: bool = True
    ) -> Iterator[bytes]:
        connection = self._of(table)
        if connection is None:
            return
        columns = ", ".join(
            f"CAST(ceil({column.name}) AS INTEGER)" if column.kind == "REAL" else column.name
            for column in table.columns
        )
        sql = f"SELECT {columns} FROM {table.name}{_where(table, after=after)}"  # noqa: S608
        if ordered:
            sql += " ORDER BY " + ", ".join(column.name for column in table.key)
        for row in connection.execute(sql):
            yield line_of(row)

    def count(
        self, table: MovedTable, *, up_to: int | None = None, after: int | None = None
    ) -> int:
        connection = self._of(table)
        if connection is None:
            return 0
        where = _where(table, up_to=up_to, after=after)
        return int(str(connection.execute(f"SELECT count(*) FROM {table.name}{where}").get))  # noqa: S608

    def make_partitions(self, months: Collection[date]) -> None:
        """Do nothing: there are no partitions."""

    def insert(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        marks = ", ".join("?" * len(table.columns))
        names = ", ".join(table.names)
        self._many(
            table,
            f"INSERT INTO {table.name} ({names}) VALUES ({marks})",  # noqa: S608
            map(reader(table), lines),
        )

    def update(self, table: MovedTable, lines: LineBuffer) -> None:
        read, count = reader(table), table.key_columns
        by_key = " AND ".join(f"{column.name} = ?" for column in table.key)
        with transaction(self._certain(table)):
            for name in table.unique:  # two rows may have swapped their texts
                moving = f"'moving ' || {table.names[0]}"
                self._certain(table).executemany(
                    f"UPDATE {table.name} SET {name} = {moving} WHERE {by_key}",  # noqa: S608
                    (read(line)[:count] for line in lines),
                )
            values = ", ".join(f"{name} = ?" for name in table.names[count:])
            self._certain(table).executemany(
                f"UPDATE {table.name} SET {values} WHERE {by_key}",  # noqa: S608
                ((*row[count:], *row[:count]) for row in map(read, lines)),
            )

    def delete(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        read, count = reader(table), table.key_columns
        by_key = " AND ".join(f"{column.name} = ?" for column in table.key)
        sql = f"DELETE FROM {table.name} WHERE {by_key}"  # noqa: S608
        self._many(table, sql, (read(line)[:count] for line in lines))

    def _many(self, table: MovedTable, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        connection = self._certain(table)
        for chunk in chunks(rows, _ROWS_AT_ONCE):
            with transaction(connection):
                connection.executemany(sql, chunk)

    def max_number(self, table: MovedTable) -> int:
        key = table.names[0]
        return int(self.query(f"SELECT coalesce(max({key}), 0) FROM {table.name}")[0][0])  # noqa: S608

    def last_number(self, table: MovedTable) -> int:
        given = self.query(
            "SELECT seq FROM sqlite_sequence WHERE name = ?"
            " UNION ALL SELECT least - 1 FROM number_floor WHERE numbered = ?",
            (table.name, table.name),
        )
        return max([self.max_number(table), *(int(seq) for (seq,) in given)])

    def continue_after(self, table: MovedTable, number: int) -> None:
        with transaction(self._desk):
            skip_numbers(self._desk, table.name, max(number, self.last_number(table)) + 1)

    def _of(self, table: MovedTable) -> apsw.Connection | None:
        return self._desk if table.mode is None else self._caches.get(table.mode)

    def _certain(self, table: MovedTable) -> apsw.Connection:
        connection = self._of(table)
        assert connection is not None
        return connection


def _where(table: MovedTable, *, up_to: int | None = None, after: int | None = None) -> str:
    key = table.names[0]
    if up_to is not None:
        return f" WHERE {key} <= {up_to:d}"
    return "" if after is None else f" WHERE {key} > {after:d}"
