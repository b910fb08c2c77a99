"""Inspection of a desk in a SQLite file."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from balcao.storage.moved import check_not_moved
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.connection import SqliteConnection
from balcao.storage.sqlite.files import connect, newest_version, version


class SqliteInspection:
    """A `storage.places.DeskInspection` of a file."""

    server: None = None

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self.connection = SqliteConnection(connection)
        self.newest = newest_version("desk")

    def schema(self) -> int:
        return version(self._connection)

    def check_not_moved(self) -> None:
        check_not_moved(self._connection, QUERIES)

    def clock_seconds(self) -> None:
        pass

    def server_facts(self) -> None:
        """Return None: it is a file."""

    def nodes_without_secret(self, secret_id: str) -> Sequence[int]:
        return ()

    def latest_instant(self) -> int | None:
        """See `DeskInspection`. Accurate to a second, since it is written with the limits."""
        row = self.connection.execute("SELECT at_ms FROM heartbeat").fetchone()
        return None if row is None else row[0]


@contextmanager
def inspect_desk(path: Path) -> Iterator[SqliteInspection]:
    """Open the desk in a file for inspection."""
    with closing(connect(path, synchronous="FULL")) as connection:
        yield SqliteInspection(connection)
