"""Receipts' records on PostgreSQL: purging them, and which bytes are still named by one."""

from collections.abc import Collection, Sequence
from typing import Any

import psycopg

from balcao.storage.batch import Row
from balcao.storage.postgresql.rows import texts

_PURGE = (
    "DELETE FROM receipt WHERE receipt_id IN"
    " (SELECT receipt_id FROM receipt WHERE created_ms < %s ORDER BY created_ms LIMIT %s)"
    " RETURNING receipt_id, digest"
)
_NAMED = "SELECT DISTINCT digest FROM receipt WHERE digest = ANY(%s::text[])"


def purge(connection: psycopg.Connection[Any], before_ms: int, limit: int) -> Sequence[Row]:
    """Remove old rows: their numbers, each with its digest if nobody names that any more."""
    with connection.transaction():
        gone = connection.execute(_PURGE, (before_ms, limit)).fetchall()
        free = set(unnamed(connection, {digest for _, digest in gone}))
    return [(number, digest if digest in free else None) for number, digest in gone]


def unnamed(connection: psycopg.Connection[Any], digests: Collection[str]) -> Sequence[str]:
    """Those of the digests that no row names."""
    named = {row[0] for row in connection.execute(_NAMED, (texts(digests),))}
    return [digest for digest in digests if digest not in named]
