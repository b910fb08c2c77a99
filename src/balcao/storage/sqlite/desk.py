"""The desk in a SQLite file."""

from collections.abc import Callable
from pathlib import Path

from balcao.storage.desk.desk import Desk
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.sqlite.engine import SqliteEngine


class SqliteDesk(Desk):
    """The desk over a `SqliteEngine`, which receives the arguments."""

    engine: SqliteEngine

    def __init__(
        self,
        path: Path,
        observe_batch: Callable[[int], None] = lambda size: None,
        *,
        pepper: bytes | None = None,
        reserve: DiskReserve | None = None,
    ) -> None:
        super().__init__(SqliteEngine(path, observe_batch, pepper=pepper, reserve=reserve))
