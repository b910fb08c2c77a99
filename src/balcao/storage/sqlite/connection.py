"""A connection to SQLite as the desk's SQL sees it."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from balcao.storage.connection import Rows, SqlConnection
from balcao.storage.sqlite.files import connect, empty_log, skip_numbers, transaction


class SqliteConnection:
    """See `storage.connection.SqlConnection`."""

    broken_rule: type[Exception] = apsw.ConstraintError
    contains = "instr({column}, ?) > 0"
    skip_locked = ""  # who writes is alone
    new_number = (
        "max(coalesce((SELECT max({column}) FROM {table}), 0) + 1,"
        " coalesce((SELECT least FROM number_floor WHERE numbered = '{table}'), 1))"
    )

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """See the contract."""
        return self._connection.execute(sql, values)

    def transaction(self) -> AbstractContextManager[None]:
        """See the contract."""
        return transaction(self._connection)

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """See the contract."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def skip_numbers(self, table: str, column: str, least: int) -> None:
        """See the contract."""
        skip_numbers(self._connection, table, least)

    def scrub(self) -> None:
        """See the contract."""
        empty_log(self._connection)


@contextmanager
def opened_apart(path: Path) -> Iterator[SqlConnection]:
    """A connection of its own. A statement that is not at its end keeps its connection in the
    past: a reader that takes its time must not make everybody else read old rows.
    """
    with closing(connect(path, synchronous="FULL")) as connection:
        yield SqliteConnection(connection)
