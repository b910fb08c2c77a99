"""A database as it is: see `storage.places.Look`."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from balcao.core.database_server import ServerFacts
from balcao.storage.moved import check_here
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import LastingConnection, opened_to_add_up
from balcao.storage.postgresql.node import LOCK_CLASS
from balcao.storage.postgresql.schema import newest_version, version
from balcao.storage.postgresql.standby import WAITING

_TRIES = 3

# Readable by every user. Whose commits wait: of this role.
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


class PostgresLook:
    """See the contract."""

    def __init__(self, line: LastingConnection, address: str) -> None:
        self.connection = line
        self._address = address
        self.server = f"PostgreSQL {line.get().info.server_version // 10_000}"
        self.newest = newest_version("desk")

    def schema(self) -> int:
        with self.connection.guarded() as connection:
            return version(connection, "desk")

    def check_here(self) -> None:
        with self.connection.guarded() as connection:
            check_here(connection, QUERIES)

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
        """Return whether a connection is another one's for a transaction.

        While one connection is within a transaction, another one must neither have had its server
        process before, nor be given another process than it had.
        """
        with (
            closing(LastingConnection(self._address)) as other,
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

    def latest_instant(self) -> None:
        """See the contract. Other nodes have other clocks; that of the database says more."""


@contextmanager
def looked_at(address: str) -> Iterator[PostgresLook]:
    """Look at the desk at this address. Raises `StorageFailed`."""
    with opened_to_add_up(address) as line:
        yield PostgresLook(line, address)
