"""Read-only inspection of a PostgreSQL database: see `storage.places.DeskInspection`."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from balcao.core.database_server import ServerFacts
from balcao.storage.moved import check_not_moved
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import ReconnectingConnection, open_for_full_scan
from balcao.storage.postgresql.node import LOCK_CLASS, nodes_without_secret
from balcao.storage.postgresql.schema import newest_version, version
from balcao.storage.postgresql.standby import WAITING

_TRIES = 3

# Readable by every user. The waiting commits are those of this role.
_FACTS = f"""
SELECT current_setting('synchronous_commit'), current_setting('fsync')::boolean,
    current_setting('full_page_writes')::boolean, current_setting('synchronous_standby_names'),
    (SELECT count(*) FROM pg_stat_replication), ({WAITING}),
    (SELECT min(most) FROM (
        SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user
        UNION ALL SELECT datconnlimit FROM pg_database WHERE datname = current_database()
        UNION ALL SELECT current_setting('max_connections')::int
            - current_setting('superuser_reserved_connections')::int
    ) AS limits (most) WHERE most >= 0),
    (SELECT count(DISTINCT objid) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s
        AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""


def _process(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    return int(row[0])


class PostgresInspection:
    """A `storage.places.DeskInspection` of a database."""

    def __init__(self, database: ReconnectingConnection, address: str) -> None:
        self.connection = database
        self._address = address
        self.server = f"PostgreSQL {database.get().info.server_version // 10_000}"
        self.newest = newest_version("desk")

    def schema(self) -> int:
        with self.connection.guarded() as connection:
            return version(connection, "desk")

    def check_not_moved(self) -> None:
        with self.connection.guarded() as connection:
            check_not_moved(connection, QUERIES)

    def clock_seconds(self) -> float:
        sql = "SELECT extract(epoch FROM clock_timestamp())::float8"
        return float(self.connection.execute(sql).fetchone()[0])

    def server_facts(self) -> ServerFacts:
        with self.connection.guarded() as connection:
            row = connection.execute(_FACTS, (LOCK_CLASS,)).fetchone()
        assert row is not None
        commit, fsync, full_pages, names, standbys, waiting, connections, nodes = row
        return ServerFacts(
            version=self.connection.get().info.server_version // 10_000,
            synchronous_commit=commit,
            fsync=fsync,
            full_page_writes=full_pages,
            standby_names=names,
            standbys=standbys,
            waiting_commits=waiting,
            connections_max=connections,
            nodes=nodes,
            pools_transactions=self._pools_transactions(),
        )

    def _pools_transactions(self) -> bool:
        """Return whether a pooler shares server processes between connections by transaction.

        While one connection is within a transaction, the other one must not have had the same
        server process before, nor get another one.
        """
        with (
            closing(ReconnectingConnection(self._address)) as other,
            self.connection.guarded() as ours,
            other.guarded() as theirs,
        ):
            for _ in range(_TRIES):
                before = _process(ours)
                theirs.execute("BEGIN")
                found, after = _process(theirs), _process(ours)
                theirs.execute("ROLLBACK")
                if found == before or after != before:
                    return True
        return False

    def nodes_without_secret(self, secret_id: str) -> Sequence[int]:
        return nodes_without_secret(self.connection, secret_id)

    def latest_instant(self) -> None:
        """Return None: commits have the clocks of many nodes; use that of the database."""


@contextmanager
def inspect_desk(address: str) -> Iterator[PostgresInspection]:
    """Open the desk at an address for inspection. Raises `StorageFailed`."""
    with open_for_full_scan(address) as database:
        yield PostgresInspection(database, address)
