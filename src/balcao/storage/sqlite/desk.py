"""The desk on one file."""

from collections.abc import Callable
from pathlib import Path

from balcao.storage.ballast import Ballast
from balcao.storage.desk.desk import Desk
from balcao.storage.sqlite.engine import SqliteEngine


class SqliteDesk(Desk):
    """The one desk over a `SqliteEngine`, which is given all this."""

    engine: SqliteEngine

    def __init__(
        self,
        path: Path,
        observe_batch: Callable[[int], None] = lambda size: None,
        *,
        pepper: bytes | None = None,
        ballast: Ballast | None = None,
    ) -> None:
        super().__init__(SqliteEngine(path, observe_batch, pepper=pepper, ballast=ballast))
