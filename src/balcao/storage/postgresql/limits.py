"""Rate limits as rows: exact whatever node a request comes to.

All requests that wait are counted in one transaction: the rows of their buckets are locked in the
order of their names, counted here one request after another, and written back. Two round trips,
and no disk: the table is not logged.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
import psycopg
from psycopg import errors

from balcao.core.access import Caller
from balcao.core.rate_limit import Limit, Verdict, bucket_of, spend
from balcao.errors import StorageFailed
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import LastingConnection
from balcao.storage.postgresql.pipeline import Pipeline, pipelined
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
_BEGIN_BUCKETS = (
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
    names = sorted({name for one in counts for name in one.buckets()})
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
    locked = pipeline.queue(_LOCK, (texts(names),))
    pipeline.sync()  # from here on the server counts how long we keep them locked in silence
    full: dict[str, float] = dict(locked)
    while len(full) < len(names):  # new ones; and purging takes some away
        missing = texts(name for name in names if name not in full)
        pipeline.queue(_BEGIN_BUCKETS, (missing,))
        locked = pipeline.queue(_LOCK, (missing,))
        pipeline.sync()
        full |= dict(locked)
    changed: dict[str, float] = {}
    verdicts = [_one(one, full, changed) for one in counts]
    if changed:
        pipeline.queue(QUERIES["keep_limits"], arrays(_TYPES, [*changed.items()]))
    return verdicts


def _one(one: Count, full: dict[str, float], changed: dict[str, float]) -> Verdicts:
    """Count one request against all its limits, or none if one refuses."""
    names = one.buckets()
    verdicts = [
        spend(limit, full[name], one.now_ms) for limit, name in zip(one.limits, names, strict=True)
    ]
    allowed = all(verdict.allowed for verdict in verdicts)
    for name, verdict in zip(names, verdicts, strict=True):
        # One that refuses says what it was, unless the clock was set back.
        if (allowed or not verdict.allowed) and full[name] != verdict.empty_at_ms:
            full[name] = changed[name] = verdict.empty_at_ms
    return verdicts


def forget(connection: psycopg.Connection[Any], now_ms: int) -> None:
    """Begin all buckets anew that are not empty at this instant."""
    connection.execute("DELETE FROM rate_limit WHERE empty_at_ms > %s", (now_ms,))


def purge(connection: psycopg.Connection[Any], now_ms: int) -> int:
    """Remove some buckets that have long been empty. Count."""
    return connection.execute(_PURGE, (now_ms - KEPT_MS,)).rowcount
