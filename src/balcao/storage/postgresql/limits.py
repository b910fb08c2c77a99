"""Rate limits as rows: exact whatever node a request comes to.

All requests that wait are counted in one transaction: the rows of their buckets are locked in the
order of their names, counted here one request after another, and written back. Two round trips,
and no disk: the table is not logged.
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
from balcao.storage.postgresql.connections import LastingConnection
from balcao.storage.postgresql.pipeline import Pipeline, Rows, pipelined
from balcao.storage.postgresql.rows import arrays, texts, unnest


class Count(msgspec.Struct, frozen=True, gc=False):
    """One request to be counted."""

    caller: Caller
    limits: Sequence[Limit]
    now_ms: int

    def buckets(self) -> list[str]:
        """The names of its buckets."""
        return [bucket_of(limit, self.caller) for limit in self.limits]


Verdicts: TypeAlias = Sequence[Verdict]

_LOCK = (
    f"SELECT found.* FROM {unnest(('text',))} AS wanted (bucket), LATERAL"
    " (SELECT bucket, empty_at_ms FROM rate_limit AS r WHERE r.bucket = wanted.bucket"
    " LIMIT 1 FOR NO KEY UPDATE) AS found"
)
# Those that are not there: new ones, and what purging took away.
BEGIN_BUCKETS = (
    f"INSERT INTO rate_limit SELECT bucket, 0 FROM {unnest(('text',))} AS new (bucket)"
    " ORDER BY bucket ON CONFLICT DO NOTHING"
)
_TYPES = ("text", "double precision")
_PURGE = (
    "DELETE FROM rate_limit WHERE bucket IN"
    " (SELECT bucket FROM rate_limit WHERE empty_at_ms < %s LIMIT 1000)"
)

# No limit's window is longer: what was empty that long ago says nothing any more.
KEPT_MS = 2 * 86_400_000

TRIES_MAX = 3
# The second: a plan that a newer node's change of the schema has overtaken.
_AGAIN = (errors.DeadlockDetected, errors.FeatureNotSupported)


def count(line: LastingConnection, counts: Sequence[Count]) -> Sequence[Verdicts]:
    """The verdicts of all counts, counted in this order. Raises `StorageFailed`."""
    names = names_of(counts)
    for tries in range(TRIES_MAX):
        sent = False
        try:
            with line.guarded() as connection, pipelined(connection) as pipeline:
                verdicts = _count(pipeline, counts, names)
                pipeline.queue("COMMIT")
                sent = True
                pipeline.sync()
            return verdicts
        except StorageFailed as failed:
            # The database was started anew since the last time: nothing was counted yet.
            lost = tries == 0 and not sent and line.is_lost()
            if not (lost or isinstance(failed.__cause__, _AGAIN)) or tries == TRIES_MAX - 1:
                raise
    raise AssertionError("the loop returns or raises")


def _count(pipeline: Pipeline, counts: Sequence[Count], names: Sequence[str]) -> Sequence[Verdicts]:
    pipeline.queue("BEGIN")
    locked = Buckets(pipeline, names)
    pipeline.sync()  # from here on the server counts how long we keep them locked in silence
    while missing := locked.missing():
        pipeline.queue(BEGIN_BUCKETS, (texts(missing),))
        locked.lock(missing)
        pipeline.sync()
    verdicts = [locked.count(one) for one in counts]
    locked.keep()
    return verdicts


def names_of(counts: Iterable[Count]) -> Sequence[str]:
    """The buckets of all of them, in the order in which they are locked."""
    return sorted({name for one in counts for name in one.buckets()})


class Buckets:
    """Buckets that are locked in a transaction, counted here, and written back in it."""

    def __init__(self, pipeline: Pipeline, names: Sequence[str]) -> None:
        """They are locked in the next round trip."""
        self._pipeline = pipeline
        self._names = names
        self._full: dict[str, float] = {}
        self._changed: dict[str, float] = {}
        self._locked: Rows = []
        self.lock(names)

    def lock(self, names: Sequence[str]) -> None:
        """Have some of them locked in the next round trip, if they are there."""
        if names:
            self._locked = self._pipeline.queue(_LOCK, (texts(names),))

    def missing(self) -> Sequence[str]:
        """Those that were not there, after a round trip."""
        self._full |= dict(self._locked)
        if len(self._full) == len(self._names):
            return ()
        return [name for name in self._names if name not in self._full]

    def count(self, one: Count) -> Verdicts:
        """Count one request against all its limits, or none if one refuses."""
        full, names = self._full, one.buckets()
        verdicts = [
            spend(limit, full[name], one.now_ms)
            for limit, name in zip(one.limits, names, strict=True)
        ]
        allowed = all_allow(verdicts)
        for name, verdict in zip(names, verdicts, strict=True):
            # One that refuses says what it was, unless the clock was set back.
            if (allowed or not verdict.allowed) and full[name] != verdict.empty_at_ms:
                full[name] = self._changed[name] = verdict.empty_at_ms
        return verdicts

    def keep(self) -> bool:
        """Write them back in the next round trip. Whether there is anything to write."""
        if self._changed:
            values = arrays(_TYPES, [*self._changed.items()])
            self._pipeline.queue(QUERIES["keep_limits"], values)
        return bool(self._changed)


def forget(connection: psycopg.Connection[Any], now_ms: int) -> None:
    """Begin all buckets anew that are not empty at this instant."""
    connection.execute("DELETE FROM rate_limit WHERE empty_at_ms > %s", (now_ms,))


def purge(connection: psycopg.Connection[Any], now_ms: int) -> int:
    """Remove some buckets that have long been empty. Count."""
    return connection.execute(_PURGE, (now_ms - KEPT_MS,)).rowcount
