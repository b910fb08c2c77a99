"""Which engine: PostgreSQL where its address is given, else SQLite in the data folder.

PostgreSQL's modules are loaded only where they are used: they cost a tenth of a second.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from balcao.core.questions import Mode
from balcao.storage.ballast import Ballast
from balcao.storage.contract import Cache
from balcao.storage.desk.desk import Desk


def open_desk(
    database: str,
    path: Path,
    *,
    pepper: bytes,
    observe_batch: Callable[[int], None] = lambda size: None,
    ballast: Ballast | None = None,
) -> Desk:
    """The desk at this address, or in this file if it is empty.

    Raises `StorageFailed`, `StorageNewer`, `StorageUnreleased`, `PepperDiffers`.
    """
    if not database:
        from balcao.storage.sqlite.desk import SqliteDesk  # noqa: PLC0415

        return SqliteDesk(path, observe_batch, pepper=pepper, ballast=ballast)
    from balcao.storage.postgresql.desk import PostgresDesk  # noqa: PLC0415

    return PostgresDesk(database, pepper=pepper, observe_batch=observe_batch)


def open_cache(
    database: str, path: Path, mode: Mode, *, pepper: bytes, ballast: Ballast | None = None
) -> Cache:
    """The cache of one mode, likewise. A database that is away is no reason not to start."""
    if not database:
        from balcao.storage.sqlite.cache import SqliteCache  # noqa: PLC0415

        return SqliteCache(path, pepper, ballast)
    from balcao.storage.postgresql.cache import PostgresCache  # noqa: PLC0415

    return PostgresCache(database, mode, pepper)


def alone_at_first_start(database: str) -> AbstractContextManager[None]:
    """Keeps other nodes from having their first start too. With SQLite the folder's lock does.

    Raises `StorageFailed`.
    """
    if not database:
        return nullcontext()
    from balcao.storage.postgresql.connections import first_start  # noqa: PLC0415

    return first_start(database)
