"""Where a desk's data went, or whence they are still arriving: told by one row in the desk itself.

`balcao.moving` makes the table and writes the row. A desk that has moved away, or has not arrived
whole, is not opened: nobody charges to books that nobody reads any more.
"""

from typing import Any, Protocol

from balcao.errors import StorageIncomplete, StorageMoved

# Whether there is such a row at all.
SQLITE_CATALOGUE = "SELECT 1 FROM sqlite_master WHERE name = 'storage_move'"
POSTGRESQL_CATALOGUE = "SELECT to_regclass('storage_move')"


class _Rows(Protocol):
    def fetchone(self) -> Any: ...


class Asked(Protocol):
    """The engine's own connection."""

    def execute(self, statement: Any, /) -> _Rows:
        """Run one statement."""
        ...


def check_here(connection: Asked, *, catalogue: str) -> None:
    """Refuse a desk whose data are elsewhere. `catalogue` says whether there is such a row at all.

    Raises `StorageMoved`, `StorageIncomplete`, both with the other place, without a password.
    """
    if connection.execute(catalogue).fetchone() in (None, (None,)):
        return
    row = connection.execute("SELECT state, place FROM storage_move").fetchone()
    if row is None:
        return
    state, place = row
    if state == "moved":
        raise StorageMoved(place)
    if state == "arriving":
        raise StorageIncomplete(place)
