"""Receipts' records on SQLite: purging them, and which bytes are still named by one."""

import json
from collections.abc import Collection, Sequence
from typing import Any

import apsw

from balcao.storage.batch import Row

_PURGE = (
    "DELETE FROM receipt WHERE receipt_id IN"
    " (SELECT receipt_id FROM receipt WHERE created_ms < ? ORDER BY created_ms LIMIT ?)"
    " RETURNING receipt_id, digest"
)
_NAMED = "SELECT digest FROM receipt WHERE digest IN (SELECT value FROM json_each(?))"


def purge(connection: apsw.Connection, before_ms: int, limit: int) -> Sequence[Row]:
    """Remove old rows: their numbers, each with its digest if nobody names that any more."""
    with connection:
        gone: Any = connection.execute(_PURGE, (before_ms, limit)).fetchall()
        free = set(unnamed(connection, {digest for _, digest in gone}))
    return [(number, digest if digest in free else None) for number, digest in gone]


def unnamed(connection: apsw.Connection, digests: Collection[str]) -> Sequence[str]:
    """Those of the digests that no row names."""
    rows: Any = connection.execute(_NAMED, (json.dumps(list(digests)),)).fetchall()
    named = {digest for (digest,) in rows}
    return [digest for digest in digests if digest not in named]
