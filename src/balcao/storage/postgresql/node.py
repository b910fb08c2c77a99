"""This process among others on the same database, and putting right what dead ones left.

A node has a row, and holds an advisory lock of its number (a shared one, so that a new connection
need not wait for the server to notice that the old one is gone) on the writer's connection. A
node whose lock is free is not connected.
"""

import time
from collections.abc import Callable
from typing import Any, Final

import psycopg

from balcao.core.clock import Heard, read_beside
from balcao.core.freshness import DAY_MS
from balcao.core.tariff import INTERRUPTED
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.rows import integers
from balcao.storage.postgresql.standby import WaitsForStandby

LOCK_CLASS = 0x62616C6E  # of our advisory locks, "baln"

# A node may lose its connection for a moment: others find it gone twice, this far apart, before
# they give its holds back.
GONE_SECONDS = 8.0

# Each start makes a row, and nothing needs it once what its node held was given back. It is kept
# for whoever wants to know when nodes came and went.
KEPT_MS = 30 * DAY_MS
_FORGOTTEN_AT_ONCE = 100

_CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"
# Without a heartbeat: whether that clock is believed is found out later.
_REGISTER = (
    "INSERT INTO node (started_ms, heartbeat_ms)"
    f" SELECT now_ms, 0 FROM ({_CLOCK} AS now_ms) AS clock RETURNING node_id"
)
_BE_HERE = f"SELECT pg_advisory_lock_shared({LOCK_CLASS}, %s)"
# Others may have given us up, and even removed the row, while we were away.
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
# Read and committed in one statement: where commits wait for a standby, this one is acknowledged no
# sooner than the batch that it read. A plain SELECT would return what the next primary may lack.
_LAST_BATCH = "UPDATE node SET batch = batch WHERE node_id = %s RETURNING batch"
# A commit that waits for its standby is not visible to anybody yet. Ending the process would make
# it visible although the next primary may not have it.
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
# As bytes, which psycopg takes for a statement whatever made the text.
_VOID, _FREE, _CLOSE, _DIED = (
    QUERIES[name].encode() for name in ("void_holds", "free_budgets", "close_voided", "mark_died")
)
# Those that were given up may have had another clock.
_LATEST = (
    "SELECT max(heartbeat_ms) FROM node"
    " WHERE ended_ms IS NULL AND heartbeat_ms > 0 AND node_id <> %s"
)
_LONG_GONE = "SELECT node_id FROM node WHERE ended_ms <= %s ORDER BY ended_ms LIMIT %s"
_REMOVE = "DELETE FROM node WHERE node_id = %s AND ended_ms <= %s"
_ENDED = "UPDATE node SET ended_ms = %s WHERE node_id = ANY(%s::bigint[]) AND node_id <> %s"


# A reading is as exact as it was quick: the quickest of some.
_READINGS = 3


def read_clock(connection: psycopg.Connection[Any]) -> int:
    """The database's clock, in milliseconds since 1970."""
    row = connection.execute(_CLOCK).fetchone()
    assert row is not None
    return int(row[0])


def hear_clock(connection: psycopg.Connection[Any], steady_ms: Callable[[], int]) -> Heard:
    """The database's clock beside our steady one."""
    readings = [read_beside(steady_ms, lambda: read_clock(connection)) for _ in range(_READINGS)]
    return min(readings, key=lambda heard: heard.error_ms)


class Node:
    """This process. Its number is known after the first connection."""

    COUNT: Final = "UPDATE node SET batch = %s WHERE node_id = %s"

    def __init__(self) -> None:
        self.node_id = 0
        self.doubt_ms = 0  # by how much the time may be ahead
        self._batch = 0
        self._backend: tuple[Any, ...] | None = None
        self._gone: dict[int, float] = {}  # since when they were found gone, monotonic

    def greet(self, connection: psycopg.Connection[Any]) -> None:
        """Be here on this connection: the first thing said on every new one of the writer's."""
        if not self.node_id:
            row = connection.execute(_REGISTER).fetchone()
            assert row is not None
            self.node_id = row[0]
        if self._backend is not None:
            if connection.execute(_WAITS_FOR_STANDBY, self._backend).fetchone() is not None:
                raise WaitsForStandby("the last commit waits for a standby")
            # What we said last on the old connection is over, one way or the other.
            connection.execute(_END_OTHER, self._backend)
            if connection.execute(_IS_THERE, self._backend).fetchone() is not None:
                raise psycopg.OperationalError("the old connection will not end")
        # Before the first statement that may wait: a connection that is given up in its greeting
        # is the one that the next greeting has to end.
        self._backend = connection.execute(_WHO).fetchone()
        connection.execute(_BE_HERE, (self.node_id,))
        connection.execute(_ALIVE, (self.node_id,))
        self._gone.clear()  # while we were away ourselves, nobody was watched

    def next_batch(self) -> int:
        """The number of the next commit."""
        self._batch += 1
        return self._batch

    def last_batch(self, connection: psycopg.Connection[Any]) -> int:
        """Return the number of the last commit that was kept, after a commit of its own.

        With a synchronous standby everything that was visible before is then replicated too.
        """
        row = connection.execute(_LAST_BATCH, (self.node_id,)).fetchone()
        return 0 if row is None else int(row[0])

    def recover(self, connection: psycopg.Connection[Any], now_ms: int, *, at_start: bool) -> int:
        """Give back what gone nodes hold, and at the start what this one holds too. Count."""
        given_back = 0
        if at_start:
            with connection.transaction():
                given_back += self._give_back(connection, [self.node_id], now_ms)
        for (node_id,) in connection.execute(_NODES, (self.node_id,)).fetchall():
            with connection.transaction():
                # Held to the end: nobody else does the same, nor does the node come back meanwhile.
                row = connection.execute(_IS_GONE, (node_id,)).fetchone()
                assert row is not None
                if not row[0]:
                    self._gone.pop(node_id, None)
                elif at_start or self._gone_for(node_id) >= GONE_SECONDS:
                    given_back += self._give_back(connection, [node_id], now_ms)
                    self._gone.pop(node_id, None)
        connection.execute(
            "UPDATE node SET heartbeat_ms = %s WHERE node_id = %s",
            (now_ms - self.doubt_ms, self.node_id),
        )
        return given_back

    def latest_of_others(self, connection: psycopg.Connection[Any]) -> int | None:
        """About when another node was alive, or this one before its last start."""
        row = connection.execute(_LATEST, (self.node_id,)).fetchone()
        assert row is not None
        latest: int | None = row[0]
        return latest

    def forget_others(self, connection: psycopg.Connection[Any], now_ms: int) -> int:
        """Remove the rows of some nodes that were given up long ago. Count."""
        before_ms = now_ms - KEPT_MS
        removed = 0
        rows = connection.execute(_LONG_GONE, (before_ms, _FORGOTTEN_AT_ONCE)).fetchall()
        for (node_id,) in rows:
            with connection.transaction():
                # One that is just coming back waits for the lock, and then makes its row anew.
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
