"""Monthly partitions of ledger, charged lookups and traces: created ahead, old traces dropped.

Request numbers are UUIDs of version 7: their text begins with the millisecond of creation in
hexadecimal, so a month in Brasília is a range of numbers (docs/adr/0019). Partitions are optional:
rows without one are in `ledger_entry_rest`, `charged_lookup_rest` and `trace_rest`.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
from psycopg import errors

from balcao.core.calendar import civil_day, to_ms
from balcao.storage.numbers import NUMBERED_BEFORE_MS_MAX, least_number

log = logging.getLogger(__name__)

TABLES = ("ledger_entry", "charged_lookup", "trace")

# Besides the present one. A failure to create partitions has no effect for two months.
MONTHS_AHEAD = 2

# A statement that waits for a table lock blocks later ones. Shorter than `deadlock_timeout`, so
# that it is always we who give up, and try again later.
LOCK_MS_MAX = 500
# A new partition is checked against the rows in `..._rest`, which are locked meanwhile. Shorter
# than the lock time-out of other connections.
WORK_MS_MAX = 2_000
# Purging calls this often: tables that were in use are not tried again for so long.
AGAIN_SECONDS = 60.0

_LOCK = 0x62616C70  # one node at a time creates or drops partitions: "balp"

_IS_THERE = "SELECT to_regclass(%s) IS NOT NULL"
_MAKE = "SELECT make_partition(%s, %s, %s)"
_MONTHS_OF_TRACES = (
    "SELECT p.relname FROM pg_inherits AS i JOIN pg_class AS p ON p.oid = i.inhrelid"
    " WHERE i.inhparent = 'trace'::regclass AND p.relname ~ '^trace_[0-9]{4}_[0-9]{2}$'"
    " ORDER BY p.relname"
)

# There are rows of the month already, another partition covers it, or permission is missing.
_CANNOT_BE = (
    errors.CheckViolation,
    errors.InvalidObjectDefinition,
    errors.InsufficientPrivilege,
)
_BUSY = (errors.LockNotAvailable, errors.QueryCanceled, errors.DeadlockDetected)


class Partitions:
    """Creates and drops partitions, for one process."""

    def __init__(self) -> None:
        self._given_up: set[str] = set()  # partitions that cannot be created
        self._again_at = 0.0  # monotonic

    def make_ahead(self, connection: psycopg.Connection[Any], now_ms: int) -> None:
        """Create the partitions of this month and the next ones. Failures are logged."""
        month = civil_day(now_ms).replace(day=1)
        last = month
        for _ in range(MONTHS_AHEAD):
            last = _next(last)
        self.make(connection, month, last)

    def make(self, connection: psycopg.Connection[Any], first: date, last: date) -> None:
        """Create missing partitions from one month to another. Failures are logged.

        Several nodes may do this at the same time.
        """
        if time.monotonic() < self._again_at:
            return
        for month in _months(first, last):
            for table in TABLES:
                name = f"{table}_{month:%Y_%m}"
                if name in self._given_up or _is_there(connection, name):
                    continue
                try:
                    with _one_by_one(connection):
                        connection.execute(_MAKE, (table, name, _bounds(month)))
                except errors.DuplicateTable:
                    continue  # another node was first
                except _CANNOT_BE as error:
                    self._given_up.add(name)
                    log.warning(
                        "no partition %s (%s): rows of that month lie in %s_rest",
                        name,
                        type(error).__name__,
                        table,
                    )
                except _BUSY:
                    self._leave_alone(f"partition {name} not made yet")
                    return

    def drop_traces(self, connection: psycopg.Connection[Any], before_ms: int) -> int:
        """Drop partitions with only traces opened before `before_ms`. Return the count."""
        dropped = 0
        if time.monotonic() < self._again_at:
            return dropped
        for (name,) in connection.execute(_MONTHS_OF_TRACES).fetchall():
            year, month = name.split("_")[1:]
            end_ms = _starts_ms(_next(date(int(year), int(month), 1)))
            if end_ms + NUMBERED_BEFORE_MS_MAX > before_ms:
                break
            try:
                with _one_by_one(connection):
                    connection.execute(f"DROP TABLE IF EXISTS {name}")
            except _BUSY:
                self._leave_alone(f"partition {name} not dropped yet")
                break
            dropped += 1
        return dropped

    def _leave_alone(self, what: str) -> None:
        self._again_at = time.monotonic() + AGAIN_SECONDS
        log.info("%s: tables in use", what)


@contextmanager
def _one_by_one(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """Open a transaction with short time-outs; one node at a time."""
    with connection.transaction():
        connection.execute(
            f"SET LOCAL lock_timeout = {LOCK_MS_MAX}; SET LOCAL statement_timeout = {WORK_MS_MAX}"
        )
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        yield


def _bounds(month: date) -> str:
    first, end = (least_number(_starts_ms(day)) for day in (month, _next(month)))
    return f"FOR VALUES FROM ('{first}') TO ('{end}')"


def _starts_ms(month: date) -> int:
    """Return the start of a month's partition: midnight at UTC-3, Brasília's offset since 2019.

    Not by time zone data: if they changed, partitions of adjacent months would overlap.
    """
    return to_ms(datetime(month.year, month.month, 1, 3, tzinfo=UTC))


def _months(first: date, last: date) -> Iterator[date]:
    month = first.replace(day=1)
    while month <= last:
        yield month
        month = _next(month)


def _next(month: date) -> date:
    return (month + timedelta(days=31)).replace(day=1)


def _is_there(connection: psycopg.Connection[Any], name: str) -> bool:
    row = connection.execute(_IS_THERE, (name,)).fetchone()
    return row is not None and bool(row[0])
