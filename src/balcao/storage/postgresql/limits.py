"""Rate limits as rows of the database, exact across all nodes.

All waiting requests are counted in one transaction: the rows of their buckets are locked in the
order of their names, updated here request by request, and written back. This takes two round trips
and no disk, since the table is unlogged.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import msgspec
import psycopg
from psycopg import errors

from balcao.core.access import Caller
from balcao.core.errors import StorageFailed
from balcao.core.rate_limit import Limit, Verdict, all_allow, bucket_of, spend
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import ReconnectingConnection
from balcao.storage.postgresql.pipeline import Pipeline, Rows, pipelined
from balcao.storage.postgresql.rows import arrays, texts, unnest


class Count(msgspec.Struct, frozen=True, gc=False):
    """One request to be counted."""

    caller: Caller
    limits: Sequence[Limit]
    now_ms: int

    def buckets(self) -> list[str]:
        """Return the names of its buckets."""
        return [bucket_of(limit, self.caller) for limit in self.limits]


Verdicts: TypeAlias = Sequence[Verdict]

_LOCK = (
    f"SELECT found.* FROM {unnest(('text',))} AS wanted (bucket), LATERAL"
    " (SELECT bucket, empty_at_ms FROM rate_limit AS r WHERE r.bucket = wanted.bucket"
    " LIMIT 1 FOR NO KEY UPDATE) AS found"
)
# Buckets without a row: new ones, and purged ones.
BEGIN_BUCKETS = (
    f"INSERT INTO rate_limit SELECT bucket, 0 FROM {unnest(('text',))} AS new (bucket)"
    " ORDER BY bucket ON CONFLICT DO NOTHING"
)
_TYPES = ("text", "double precision")
_PURGE = (
    "DELETE FROM rate_limit WHERE bucket IN"
    " (SELECT bucket FROM rate_limit WHERE empty_at_ms < %s LIMIT 1000)"
)

# Longer than the window of any limit: a bucket that was empty then is not needed any more.
KEPT_MS = 2 * 86_400_000

TRIES_MAX = 3
# The second: a prepared plan that no longer fits the schema, which a newer node has changed.
_RETRYABLE = (errors.DeadlockDetected, errors.FeatureNotSupported)


def count(database: ReconnectingConnection, counts: Sequence[Count]) -> Sequence[Verdicts]:
    """Count requests in this order and return their verdicts. Raises `StorageFailed`."""
    names = names_of(counts)
    for tries in range(TRIES_MAX):
        sent = False
        try:
            with database.guarded() as connection, pipelined(connection) as pipeline:
                verdicts = _count(pipeline, counts, names)
                pipeline.queue("COMMIT")
                sent = True
                pipeline.sync()
            return verdicts
        except StorageFailed as failed:
            # The database was restarted since the last call: nothing was counted yet.
            lost = tries == 0 and not sent and database.is_lost()
            if not (lost or isinstance(failed.__cause__, _RETRYABLE)) or tries == TRIES_MAX - 1:
                raise
    raise AssertionError("the loop returns or raises")


def _count(pipeline: Pipeline, counts: Sequence[Count], names: Sequence[str]) -> Sequence[Verdicts]:
    pipeline.queue("BEGIN")
    locked = Buckets(pipeline, names)
    pipeline.sync()  # the server's time-out for idle transactions runs from here on
    while missing := locked.missing():
        pipeline.queue(BEGIN_BUCKETS, (texts(missing),))
        locked.lock(missing)
        pipeline.sync()
    verdicts = [locked.count(one) for one in counts]
    locked.keep()
    return verdicts


def names_of(counts: Iterable[Count]) -> Sequence[str]:
    """Return the buckets of all counts, in the order in which they are locked."""
    return sorted({name for one in counts for name in one.buckets()})


class Buckets:
    """Buckets that are locked, updated and written back in one transaction."""

    def __init__(self, pipeline: Pipeline, names: Sequence[str]) -> None:
        """Queue their locking for the next round trip."""
        self._pipeline = pipeline
        self._names = names
        self._full: dict[str, float] = {}
        self._changed: dict[str, float] = {}
        self._locked: Rows = []
        self.lock(names)

    def lock(self, names: Sequence[str]) -> None:
        """Queue the locking of buckets that exist for the next round trip."""
        if names:
            self._locked = self._pipeline.queue(_LOCK, (texts(names),))

    def missing(self) -> Sequence[str]:
        """Return the buckets without a row, after a round trip."""
        self._full |= dict(self._locked)
        if len(self._full) == len(self._names):
            return ()
        return [name for name in self._names if name not in self._full]

    def count(self, one: Count) -> Verdicts:
        """Count one request against all its limits, or none if one refuses it."""
        full, names = self._full, one.buckets()
        verdicts = [
            spend(limit, full[name], one.now_ms)
            for limit, name in zip(one.limits, names, strict=True)
        ]
        allowed = all_allow(verdicts)
        for name, verdict in zip(names, verdicts, strict=True):
            # A refusing bucket is unchanged, unless the clock was set back.
            if (allowed or not verdict.allowed) and full[name] != verdict.empty_at_ms:
                full[name] = self._changed[name] = verdict.empty_at_ms
        return verdicts

    def keep(self) -> bool:
        """Queue writing them back; return whether any has changed."""
        if self._changed:
            values = arrays(_TYPES, [*self._changed.items()])
            self._pipeline.queue(QUERIES["keep_limits"], values)
        return bool(self._changed)


def forget(connection: psycopg.Connection[Any], now_ms: int) -> None:
    """Reset all buckets that are not empty at this instant."""
    connection.execute("DELETE FROM rate_limit WHERE empty_at_ms > %s", (now_ms,))


def purge(connection: psycopg.Connection[Any], now_ms: int) -> int:
    """Remove some buckets that have long been empty. Return the count."""
    return connection.execute(_PURGE, (now_ms - KEPT_MS,)).rowcount
