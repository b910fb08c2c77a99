"""Several statements in one write, and their results in one wait.

psycopg's own pipeline writes each statement separately and waits for the socket before each. In a
busy process every wait yields the interpreter to other threads, and regaining it takes
milliseconds. Here a round trip is one write and one wait. `psycopg.pq` is psycopg's documented
access to libpq (https://www.psycopg.org/psycopg3/docs/api/pq.html).
"""

import select
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any, TypeAlias

import psycopg
from psycopg import errors
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from balcao.storage.postgresql.connections import TimedConnection

Rows: TypeAlias = list[tuple[Any, ...]]

_FAILED = (ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED)


@dataclass(slots=True)
class _Statement:
    sql: str
    values: Sequence[bytes]
    rows: Rows = field(default_factory=list)


class Pipeline:
    """Runs statements on one connection in round trips. For one thread at a time.

    Statements are prepared on first use: there should be few of them, with constant text.
    """

    def __init__(self, connection: TimedConnection) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._queued: list[_Statement] = []

    def queue(self, sql: str, values: Sequence[str | int] = ()) -> Rows:
        """Add a statement to the next round trip; its rows are in the returned list afterwards.

        Casts in `sql` determine the types of values; arrays are written by `postgresql.rows`.
        Raises `psycopg.DataError`, `UnicodeEncodeError` for values that are not valid text.
        """
        written = [str(value).encode() for value in values]
        if any(b"\0" in value for value in written):
            raise psycopg.DataError("a zero byte")  # libpq would end the value there
        statement = _Statement(sql, written)
        self._queued.append(statement)
        return statement.rows

    def sync(self) -> None:
        """Send the queued statements and wait for all results.

        Raises the first `psycopg.Error`; the statements after it were not executed.
        """
        queued, self._queued = self._queued, []
        prepared, fresh = self._connection.prepared, dict[str, bytes]()
        awaited: list[tuple[_Statement, bool]] = []  # True: the result of preparing it
        for statement in queued:
            name = prepared.get(statement.sql) or fresh.get(statement.sql)
            if name is None:
                name = fresh[statement.sql] = b"balcao_%d" % (len(prepared) + len(fresh))
                self._pgconn.send_prepare(name, _numbered(statement.sql))
                awaited.append((statement, True))
            self._pgconn.send_query_prepared(name, statement.values)
            awaited.append((statement, False))
        self._pgconn.pipeline_sync()
        failed: PGresult | None = None
        with self._connection.waiting() as until:
            self._flush(until)
            for statement, preparation in awaited:
                result = self._result(until)
                if result.status in _FAILED:
                    failed = result if failed is None else failed
                elif preparation:
                    prepared[statement.sql] = fresh[statement.sql]
                elif result.ntuples:
                    statement.rows.extend(self._connection.rows_of(result))
                self._pgconn.get_result()  # the end of this result
            self._result(until)  # the result of the sync itself
        if failed is not None:
            self._connection.prepares_anew = True
            raise errors.error_from_result(failed)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Run what is queued, and leave pipeline mode for plain statements of psycopg."""
        self.sync()
        self._pgconn.exit_pipeline_mode()
        yield
        self._pgconn.enter_pipeline_mode()

    def _flush(self, until: float) -> None:
        while self._pgconn.flush():
            # The server may stop reading until its results are read.
            if self._wait(select.POLLIN | select.POLLOUT, until) & select.POLLIN:
                self._pgconn.consume_input()

    def _result(self, until: float) -> PGresult:
        while self._pgconn.is_busy():
            self._wait(select.POLLIN, until)
            self._pgconn.consume_input()
        result = self._pgconn.get_result()
        if result is None:
            raise psycopg.OperationalError("connection lost")
        return result

    def _wait(self, what: int, until: float) -> int:
        poll = select.poll()
        poll.register(self._pgconn.socket, what)
        ready = poll.poll(max(0.0, until - time.monotonic()) * 1000)
        if not ready:
            raise psycopg.OperationalError("no answer")
        return ready[0][1]


@contextmanager
def pipelined(connection: TimedConnection) -> Iterator[Pipeline]:
    """Open a pipeline on a connection for `pipelines`. Statements queued at its end are not sent.

    After a failure everything is prepared again: a newer node may have changed the schema, and a
    plan that no longer fits it would fail as long as the connection lives.
    """
    assert connection.prepare_threshold is None
    if connection.prepares_anew:
        connection.execute("DEALLOCATE ALL")
        connection.prepared.clear()
        connection.prepares_anew = False
    pgconn = connection.pgconn
    pgconn.enter_pipeline_mode()
    try:
        yield Pipeline(connection)
    finally:
        try:
            pgconn.exit_pipeline_mode()
        except psycopg.Error:
            pgconn.finish()  # an incomplete exchange cannot be continued


@lru_cache(maxsize=256)
def _numbered(sql: str) -> bytes:
    """Return SQL with numbered parameters, as the server expects."""
    first, *others = sql.split("%s")
    numbers = count(1)
    return (first + "".join(f"${next(numbers)}{text}" for text in others)).encode()
