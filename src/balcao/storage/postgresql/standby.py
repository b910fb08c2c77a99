"""Commits that wait for a synchronous standby: their number, and failures due to them."""

from contextlib import closing, suppress
from typing import Any

import psycopg

from balcao.core.errors import StorageFailed
from balcao.storage.failure import failure
from balcao.storage.postgresql.connections import ReconnectingConnection

# Users see the processes of their own role.
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
    """Return `WaitsForStandby` as the cause of a missing answer, if a commit waits for a standby.

    Uses a connection of its own, since the waiting one does not respond.
    """
    cause = failed.__cause__
    if isinstance(cause, psycopg.OperationalError) and cause.sqlstate is None:
        with (
            closing(ReconnectingConnection(address)) as database,
            suppress(StorageFailed),
            database.guarded() as connection,
        ):
            if waiting_commits(connection):
                return failure(WaitsForStandby("a commit waits for a standby"))
    return failed
