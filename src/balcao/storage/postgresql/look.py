"""A database as it is: see `storage.places.Look`."""

from collections.abc import Iterator
from contextlib import contextmanager

from balcao.storage.moved import check_here
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import LastingConnection, opened_to_add_up
from balcao.storage.postgresql.schema import newest_version, version


class PostgresLook:
    """See the contract."""

    def __init__(self, line: LastingConnection) -> None:
        self.connection = line
        self.server = f"PostgreSQL {line.get().info.server_version // 10_000}"
        self.newest = newest_version("desk")

    def schema(self) -> int:
        """See the contract."""
        with self.connection.guarded() as connection:
            return version(connection, "desk")

    def check_here(self) -> None:
        """See the contract."""
        with self.connection.guarded() as connection:
            check_here(connection, QUERIES)

    def clock_seconds(self) -> float:
        """See the contract."""
        sql = "SELECT extract(epoch FROM clock_timestamp())::float8"
        return float(self.connection.execute(sql).fetchone()[0])

    def latest_instant(self) -> None:
        """See the contract. Other nodes have other clocks; that of the database says more."""


@contextmanager
def looked_at(address: str) -> Iterator[PostgresLook]:
    """Look at the desk at this address. Raises `StorageFailed`."""
    with opened_to_add_up(address) as line:
        yield PostgresLook(line)
