"""The mark of a desk that was moved to another engine, or is still arriving: one row of its own.

`balcao.backup.moving` writes the row. A desk that has moved away or has not arrived whole is not
opened, so that nothing is charged to data that are no longer read.
"""

from collections.abc import Mapping
from typing import Any

from balcao.core.errors import StorageIncomplete, StorageMoved

# Made by the first move, not by a migration: a desk that never moves has no such table.
TABLE = "storage_move"


def check_here(connection: Any, queries: Mapping[str, str]) -> None:
    """Refuse a desk whose data are elsewhere. `connection` and `queries` are the engine's own.

    Raises `StorageMoved`, `StorageIncomplete`, both with the other place, without a password.
    """
    if connection.execute(queries["has_moved"]).fetchone() in (None, (None,)):
        return
    row = connection.execute(f"SELECT state, place FROM {TABLE}").fetchone()  # noqa: S608
    if row is None:
        return
    state, place = row
    if state == "moved":
        raise StorageMoved(place)
    if state == "arriving":
        raise StorageIncomplete(place)
