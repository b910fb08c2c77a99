"""The mark of a desk that was moved to another engine, or is not completely moved yet.

It is one row of its own table, written by `balcao.backup.moving`. Such a desk is not opened, so
that nothing is charged to data that are no longer read.
"""

from collections.abc import Mapping
from typing import Any

from balcao.core.errors import StorageIncomplete, StorageMoved

# Created by the first move, not by a migration.
TABLE = "storage_move"


def check_not_moved(connection: Any, queries: Mapping[str, str]) -> None:
    """Refuse a desk whose data are elsewhere. `connection` and `queries` are the engine's own.

    Raises `StorageMoved` or `StorageIncomplete`, naming the other place without its password.
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
