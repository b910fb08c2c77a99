"""This process as a node of the database, and recovery from dead nodes.

A node has a row, and holds an advisory lock with its number on the writer's connection. The lock is
shared, so that a new connection need not wait until the server notices the end of the old one. A
node whose lock is free is not connected.
"""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import psycopg

from balcao.core.clock import ClockReading, take_reading
from balcao.core.freshness import DAY_MS
from balcao.core.tariff import INTERRUPTED
from balcao.storage.connection import SqlConnection
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.rows import integers
from balcao.storage.postgresql.schema import join_programs
from balcao.storage.postgresql.standby import WaitsForStandby

LOCK_CLASS = 0x62616C6E  # of our advisory locks, "baln"

# A node may lose its connection briefly: others release its holds only after they have found it
# disconnected twice, this far apart.
GONE_SECONDS = 8.0

# Each start adds a row, which is not needed once its node's holds are released. It is kept for
# operators who look up when nodes started and ended.
KEPT_MS = 30 * DAY_MS
_FORGOTTEN_AT_ONCE = 100

_CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
# Without a heartbeat, since the clock is not confirmed yet.
_REGISTER = (
    "INSERT INTO node (started_ms, heartbeat_ms)"
    f" SELECT now_ms, 0 FROM ({_CLOCK} AS now_ms) AS clock RETURNING node_id"
)
_BE_HERE = f"SELECT pg_advisory_lock_shared({LOCK_CLASS}, %s)"
# Other nodes may have marked us as ended, or removed the row, while we were disconnected.
_ALIVE = (
    "INSERT INTO node (node_id, started_ms, heartbeat_ms)"
    f" SELECT %s, now_ms, 0 FROM ({_CLOCK} AS now_ms) AS clock"
    " ON CONFLICT (node_id) DO UPDATE SET ended_ms = NULL WHERE node.ended_ms IS NOT NULL"
)
_WHO = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END_OTHER = (
    "SELECT pg_terminate_backend(pid, 3000) FROM pg_stat_activity"
    " WHERE pid = %s AND backend_start = %s"
)
_IS_THERE = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND backend_start = %s"
# A read with a commit: if commits wait for a standby, this one is acknowledged only after the batch
# that it reads. A plain SELECT could return a batch that the next primary does not have.
_LAST_BATCH = "UPDATE node SET batch = batch WHERE node_id = %s RETURNING batch"
# A commit that waits for its standby is not visible yet. Ending its server process would make it
# visible, although the next primary may not have it.
_WAITS_FOR_STANDBY = (
    "SELECT 1 FROM pg_stat_activity"
    " WHERE pid = %s AND backend_start = %s AND wait_event = 'SyncRep'"
)
_NODES = "SELECT node_id FROM node WHERE ended_ms IS NULL AND node_id <> %s ORDER BY node_id"
_IS_GONE = f"SELECT pg_try_advisory_xact_lock({LOCK_CLASS}, %s)"

_OWNERS = (
    "SELECT account_id FROM account WHERE account_id IN"
    " (SELECT account_id FROM open_operation WHERE node_id = ANY(%s::bigint[])"
    " UNION SELECT account_id FROM idempotency WHERE state = 'running'"
    " AND node_id = ANY(%s::bigint[])) ORDER BY account_id FOR NO KEY UPDATE"
)
# As bytes, because psycopg's types accept only literal strings.
_VOID, _FREE, _CLOSE, _DIED = (
    QUERIES[name].encode() for name in ("void_holds", "free_budgets", "close_voided", "mark_died")
)
# Without ended nodes, whose clocks may have been wrong.
_LATEST = (
    "SELECT max(heartbeat_ms) FROM node"
    " WHERE ended_ms IS NULL AND heartbeat_ms > 0 AND node_id <> %s"
)
_LONG_GONE = "SELECT node_id FROM node WHERE ended_ms <= %s ORDER BY ended_ms LIMIT %s"
_REMOVE = "DELETE FROM node WHERE node_id = %s AND ended_ms <= %s"
_ENDED = "UPDATE node SET ended_ms = %s WHERE node_id = ANY(%s::bigint[]) AND node_id <> %s"


_LACKING_NODES = (
    "SELECT node_id FROM node WHERE ended_ms IS NULL AND secret_ids IS NOT NULL"
    " AND NOT secret_ids::jsonb @> ?::jsonb ORDER BY node_id"
)

# The faster a reading, the more exact: the fastest of these is used.
_READINGS = 3


def nodes_without_secret(connection: SqlConnection, secret_id: str) -> Sequence[int]:
    """Return the numbers of serving nodes that have not reported a secret."""
    rows = connection.execute(_LACKING_NODES, (json.dumps([secret_id]),)).fetchall()
    return [int(node_id) for (node_id,) in rows]


def read_clock(connection: psycopg.Connection[Any]) -> int:
    """Return the time of the database's clock, in milliseconds since 1970."""
    row = connection.execute(_CLOCK).fetchone()
    assert row is not None
    return int(row[0])


def read_clock_beside(
    connection: psycopg.Connection[Any], steady_ms: Callable[[], int]
) -> ClockReading:
    """Return a reading of the database's clock, relative to our steady one."""
    readings = [take_reading(steady_ms, lambda: read_clock(connection)) for _ in range(_READINGS)]
    return min(readings, key=lambda heard: heard.error_ms)


class Node:
    """This process as a node. Its number is set by the first connection."""

    COUNT: Final = "UPDATE node SET batch = %s WHERE node_id = %s"

    def __init__(self) -> None:
        self.node_id = 0
        self.clock_doubt_ms = 0  # see `Engine.set_clock_doubt`
        self._batch = 0
        self._backend: tuple[Any, ...] | None = None
        self._gone: dict[int, float] = {}  # nodes found disconnected, since when (monotonic)

    def on_connect(self, connection: psycopg.Connection[Any]) -> None:
        """Register the node on a new connection of the writer, before any other statement."""
        if not self.node_id:
            row = connection.execute(_REGISTER).fetchone()
            assert row is not None
            self.node_id = row[0]
        if self._backend is not None:
            if connection.execute(_WAITS_FOR_STANDBY, self._backend).fetchone() is not None:
                raise WaitsForStandby("the last commit waits for a standby")
            # Ensure that the last statement on the old connection has ended.
            connection.execute(_END_OTHER, self._backend)
            if connection.execute(_IS_THERE, self._backend).fetchone() is not None:
                raise psycopg.OperationalError("the old connection will not end")
        # Before the first statement that may wait: if this connection is dropped there, the next
        # one has to end it.
        self._backend = connection.execute(_WHO).fetchone()
        connection.execute(_BE_HERE, (self.node_id,))
        join_programs(connection)
        connection.execute(_ALIVE, (self.node_id,))
        self._gone.clear()  # we could not watch others while disconnected

    def next_batch(self) -> int:
        """Return the number of the next commit."""
        self._batch += 1
        return self._batch

    def last_batch(self, connection: psycopg.Connection[Any]) -> int:
        """Make a commit, and return the number of the last batch that was committed.

        With a synchronous standby, everything that was visible before is then replicated.
        """
        row = connection.execute(_LAST_BATCH, (self.node_id,)).fetchone()
        return 0 if row is None else int(row[0])

    def recover(self, connection: psycopg.Connection[Any], now_ms: int, *, at_start: bool) -> int:
        """Release the holds of dead nodes, and at the start this one's. Return the count."""
        given_back = 0
        if at_start:
            with connection.transaction():
                given_back += self._give_back(connection, [self.node_id], now_ms)
        for (node_id,) in connection.execute(_NODES, (self.node_id,)).fetchall():
            with connection.transaction():
                # Held to the end of the transaction, against other nodes and the node's return.
                row = connection.execute(_IS_GONE, (node_id,)).fetchone()
                assert row is not None
                if not row[0]:
                    self._gone.pop(node_id, None)
                elif at_start or self._gone_for(node_id) >= GONE_SECONDS:
                    given_back += self._give_back(connection, [node_id], now_ms)
                    self._gone.pop(node_id, None)
        connection.execute(
            "UPDATE node SET heartbeat_ms = %s WHERE node_id = %s",
            (now_ms - self.clock_doubt_ms, self.node_id),
        )
        return given_back

    def latest_of_others(self, connection: psycopg.Connection[Any]) -> int | None:
        """Return the latest heartbeat of another node, including this process's former runs."""
        row = connection.execute(_LATEST, (self.node_id,)).fetchone()
        assert row is not None
        latest: int | None = row[0]
        return latest

    def forget_others(self, connection: psycopg.Connection[Any], now_ms: int) -> int:
        """Remove the rows of some nodes that ended long ago. Return the count."""
        before_ms = now_ms - KEPT_MS
        removed = 0
        rows = connection.execute(_LONG_GONE, (before_ms, _FORGOTTEN_AT_ONCE)).fetchall()
        for (node_id,) in rows:
            with connection.transaction():
                # A node that is just reconnecting waits for the lock, and then adds its row again.
                row = connection.execute(_IS_GONE, (node_id,)).fetchone()
                assert row is not None
                if row[0]:
                    removed += connection.execute(_REMOVE, (node_id, before_ms)).rowcount
        return removed

    def _gone_for(self, node_id: int) -> float:
        now = time.monotonic()
        return now - self._gone.setdefault(node_id, now)

    def _give_back(self, connection: psycopg.Connection[Any], nodes: list[int], now_ms: int) -> int:
        gone = integers(nodes)
        connection.execute(_OWNERS, (gone, gone))
        given_back = connection.execute(_VOID, (now_ms, INTERRUPTED, gone)).rowcount
        connection.execute(_FREE, (gone,))
        connection.execute(_CLOSE, (gone,))
        connection.execute(_DIED, (gone,))
        connection.execute(_ENDED, (now_ms, gone, self.node_id))
        return given_back
