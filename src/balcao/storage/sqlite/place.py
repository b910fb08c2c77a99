"""The files of a data folder: see `storage.places.DataPlace`."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.ballast import Ballast
from balcao.storage.contract import Cache, EngineName, Maker
from balcao.storage.desk.desk import Desk
from balcao.storage.sqlite import backups
from balcao.storage.sqlite.backups import OnlyProcess
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.end import SqliteEnd
from balcao.storage.sqlite.look import SqliteLook, looked_at
from balcao.storage.transfer.copying import Stopped
from balcao.storage.transfer.end import End
from balcao.storage.transfer.sums import DeskSums


@dataclass(frozen=True)
class SqlitePlace:
    """See the contract."""

    home: Home
    serves_many: ClassVar[bool] = False
    name: ClassVar[EngineName] = "sqlite"

    @property
    def desk_file(self) -> Path:
        return self.home.desk

    def is_begun(self) -> bool:
        return self.home.desk.is_file()

    def lock(self) -> IO[bytes]:
        return self.home.lock()

    def alone_at_first_start(self) -> AbstractContextManager[bool]:
        """See the contract. The folder's lock does."""
        return nullcontext(False)

    def ballast(self, size_mb: int) -> Ballast:
        return Ballast(self.home.path, size_mb << 20)

    def open_desk(
        self,
        *,
        pepper: bytes,
        observe_batch: Callable[[int], None] = lambda size: None,
        ballast: Ballast | None = None,
    ) -> Desk:
        return SqliteDesk(self.home.desk, observe_batch, pepper=pepper, ballast=ballast)

    def open_cache(
        self,
        mode: Mode,
        *,
        pepper: bytes,
        ballast: Ballast | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> Cache:
        return SqliteCache(self.home.cache(mode), pepper, ballast, now_ms)

    def fetcher(self) -> Maker:
        return OnlyProcess()

    def backup_maker(self) -> Maker:
        return OnlyProcess()

    def save_desk(self, target: Path, pepper: bytes | None, stopped: Stopped) -> DeskSums:
        return backups.save(self.home, target, pepper, stopped)

    def is_occupied(self) -> bool:
        """See the contract. A restore holds the folder's lock."""
        return self.home.desk.exists() or self.home.secret.exists()

    def load_desk(self, copy: Path) -> None:
        raise AssertionError("a file is put in place")

    def migrate_saved(self, save: Callable[[int], None], wait: Callable[[], None]) -> None:
        """See the contract. Whoever opens the desk next migrates it."""
        backups.migrate_saved(self.home.desk, save)

    def end(self, *, target: bool) -> End:
        return SqliteEnd(self.home, target=target)

    def look(self) -> AbstractContextManager[SqliteLook]:
        return looked_at(self.home.desk)
