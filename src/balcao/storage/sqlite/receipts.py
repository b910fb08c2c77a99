"""Receipts' records on SQLite: which bytes are still named by one."""

import json
from collections.abc import Collection, Sequence
from typing import Any

import apsw

_NAMED = "SELECT digest FROM receipt WHERE digest IN (SELECT value FROM json_each(?))"


def unnamed(connection: apsw.Connection, digests: Collection[str]) -> Sequence[str]:
    """Those of the digests that no row names."""
    rows: Any = connection.execute(_NAMED, (json.dumps(list(digests)),)).fetchall()
    named = {digest for (digest,) in rows}
    return [digest for digest in digests if digest not in named]
