"""Receipts' records on PostgreSQL: which bytes are still named by one."""

from collections.abc import Collection, Sequence
from typing import Any

import psycopg

from balcao.storage.postgresql.rows import texts

_NAMED = "SELECT DISTINCT digest FROM receipt WHERE digest = ANY(%s::text[])"


def unnamed(connection: psycopg.Connection[Any], digests: Collection[str]) -> Sequence[str]:
    """Those of the digests that no row names."""
    named = {row[0] for row in connection.execute(_NAMED, (texts(digests),))}
    return [digest for digest in digests if digest not in named]
