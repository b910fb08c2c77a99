"""The connection to SQLite for SQL that both engines share."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from balcao.storage.connection import Rows, SqlConnection
from balcao.storage.sqlite.files import connect, skip_numbers, transaction, truncate_log


class SqliteConnection:
    """See `storage.connection.SqlConnection`."""

    broken_rule: type[Exception] = apsw.ConstraintError
    contains = "instr({column}, ?) > 0"
    skip_locked = ""  # there is only one writer at a time
    new_number = (
        "max(coalesce((SELECT max({column}) FROM {table}), 0) + 1,"
        " coalesce((SELECT least FROM number_floor WHERE numbered = '{table}'), 1))"
    )

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        return self._connection.execute(sql, values)

    def insert_rows(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - names of ours
        self._connection.executemany(sql, rows)

    def transaction(self) -> AbstractContextManager[None]:
        return transaction(self._connection)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def skip_numbers(self, table: str, column: str, least: int) -> None:
        skip_numbers(self._connection, table, least)

    def scrub(self) -> None:
        truncate_log(self._connection)


@contextmanager
def open_reader(path: Path) -> Iterator[SqlConnection]:
    """Open another connection for slow reads.

    An unfinished statement keeps the snapshot of its connection, so that other queries on the same
    one would read old rows.
    """
    with closing(connect(path, synchronous="FULL")) as connection:
        yield SqliteConnection(connection)
