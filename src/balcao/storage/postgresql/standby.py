"""Commits that wait for a synchronous standby: how many there are, and whether a failure is one."""

from contextlib import closing, suppress
from typing import Any

import psycopg

from balcao.core.errors import StorageFailed
from balcao.storage.failure import failure
from balcao.storage.postgresql.connections import LastingConnection

# Every user sees the processes of its own role.
WAITING = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE wait_event = 'SyncRep' AND datname = current_database()"
)
STATE = f"SELECT current_setting('transaction_read_only') = 'off', ({WAITING})"


class WaitsForStandby(psycopg.OperationalError):
    """A commit waits for a synchronous standby that does not confirm it."""


def waiting_commits(connection: psycopg.Connection[Any]) -> int:
    """Return how many commits of this role wait for a standby."""
    row = connection.execute(WAITING).fetchone()
    return 0 if row is None else int(row[0])


def explained(failed: StorageFailed, address: str) -> StorageFailed:
    """Return a failure with its cause, where an answer is missing because of a standby.

    Asked on a connection of its own: the one that waits says nothing.
    """
    cause = failed.__cause__
    if isinstance(cause, psycopg.OperationalError) and cause.sqlstate is None:
        with (
            closing(LastingConnection(address)) as line,
            suppress(StorageFailed),
            line.guarded() as connection,
        ):
            if waiting_commits(connection):
                return failure(WaitsForStandby("a commit waits for a standby"))
    return failed
