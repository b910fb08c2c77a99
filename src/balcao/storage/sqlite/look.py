"""A file as it is: see `storage.places.Look`."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from balcao.storage.moved import check_here
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.connection import SqliteConnection
from balcao.storage.sqlite.files import connect, newest_version, version


class SqliteLook:
    """See the contract."""

    server: None = None

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.connection = SqliteConnection(connection)
        self.newest = newest_version("desk")

    def schema(self) -> int:
        return version(self._connection)

    def check_here(self) -> None:
        check_here(self._connection, QUERIES)

    def clock_seconds(self) -> None:
        """See the contract."""

    def server_facts(self) -> None:
        """See the contract. It is a file."""

    def latest_instant(self) -> int | None:
        """See the contract. To the second: it is written with the limits."""
        row = self.connection.execute("SELECT at_ms FROM heartbeat").fetchone()
        return None if row is None else row[0]


@contextmanager
def looked_at(path: Path) -> Iterator[SqliteLook]:
    """Look at the desk in this file."""
    with closing(connect(path, synchronous="FULL")) as connection:
        yield SqliteLook(connection)
