"""The tables of SQLite files: see `storage.transfer.end.Tables`."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any

import apsw

from balcao.core.questions import Mode
from balcao.storage.sqlite.files import skip_numbers, transaction
from balcao.storage.transfer.lines import PutAside, chunks, reader, told
from balcao.storage.transfer.tables import MovedTable

# As many rows at a stroke as the log of changes takes without growing large.
_ROWS_AT_ONCE = 20_000


class SqliteTables:
    """See the contract."""

    def __init__(
        self, desk: apsw.Connection, caches: Mapping[Mode, apsw.Connection] | None = None
    ) -> None:
        self._desk = desk
        self._caches = {} if caches is None else caches

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._desk.execute(sql, values).fetchall()

    def is_there(self, name: str) -> bool:
        return bool(self.ask("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)))

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
            yield told(row)

    def count(
        self, table: MovedTable, *, up_to: int | None = None, after: int | None = None
    ) -> int:
        connection = self._of(table)
        if connection is None:
            return 0
        where = _where(table, up_to=up_to, after=after)
        return int(str(connection.execute(f"SELECT count(*) FROM {table.name}{where}").get))  # noqa: S608

    def make_room(self, months: Collection[date]) -> None:
        """See the contract. Here everything lies together."""

    def insert(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        marks = ", ".join("?" * len(table.columns))
        names = ", ".join(table.names)
        self._many(
            table,
            f"INSERT INTO {table.name} ({names}) VALUES ({marks})",  # noqa: S608
            map(reader(table), lines),
        )

    def update(self, table: MovedTable, lines: PutAside) -> None:
        read, count = reader(table), table.key_columns
        here = " AND ".join(f"{column.name} = ?" for column in table.key)
        with transaction(self._certain(table)):
            for name in table.unique:  # two rows may have changed their texts with each other
                self._certain(table).executemany(
                    f"UPDATE {table.name} SET {name} = 'moving ' || {table.names[0]} WHERE {here}",  # noqa: S608
                    (read(line)[:count] for line in lines),
                )
            values = ", ".join(f"{name} = ?" for name in table.names[count:])
            self._certain(table).executemany(
                f"UPDATE {table.name} SET {values} WHERE {here}",  # noqa: S608
                ((*row[count:], *row[:count]) for row in map(read, lines)),
            )

    def delete(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        read, count = reader(table), table.key_columns
        here = " AND ".join(f"{column.name} = ?" for column in table.key)
        sql = f"DELETE FROM {table.name} WHERE {here}"  # noqa: S608
        self._many(table, sql, (read(line)[:count] for line in lines))

    def _many(self, table: MovedTable, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        connection = self._certain(table)
        for chunk in chunks(rows, _ROWS_AT_ONCE):
            with transaction(connection):
                connection.executemany(sql, chunk)

    def greatest(self, table: MovedTable) -> int:
        key = table.names[0]
        return int(self.ask(f"SELECT coalesce(max({key}), 0) FROM {table.name}")[0][0])  # noqa: S608

    def last_number(self, table: MovedTable) -> int:
        given = self.ask(
            "SELECT seq FROM sqlite_sequence WHERE name = ?"
            " UNION ALL SELECT least - 1 FROM number_floor WHERE numbered = ?",
            (table.name, table.name),
        )
        return max([self.greatest(table), *(int(seq) for (seq,) in given)])

    def go_on_after(self, table: MovedTable, number: int) -> None:
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
