"""The data of an installation on SQLite."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.contract import Cache, EngineName, TaskLock
from balcao.storage.desk.desk import Desk
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.sqlite import backups
from balcao.storage.sqlite.backups import SingleProcessLock
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.endpoint import SqliteEndpoint
from balcao.storage.sqlite.inspection import SqliteInspection, inspect_desk
from balcao.storage.transfer.copying import Stopped
from balcao.storage.transfer.endpoint import MoveEndpoint
from balcao.storage.transfer.sums import DeskSums


@dataclass(frozen=True)
class SqlitePlace:
    """A `storage.places.DataPlace` of files in a data folder."""

    home: Home
    serves_many: ClassVar[bool] = False
    name: ClassVar[EngineName] = "sqlite"

    @property
    def desk_file(self) -> Path:
        return self.home.desk

    def is_initialized(self) -> bool:
        return self.home.desk.is_file()

    def lock(self) -> IO[bytes]:
        return self.home.lock()

    def first_start_lock(self) -> AbstractContextManager[bool]:
        """Give False: the folder's lock excludes other processes."""
        return nullcontext(False)

    def disk_reserve(self, size_mb: int) -> DiskReserve:
        return DiskReserve(self.home.path, size_mb << 20)

    def open_desk(
        self,
        *,
        pepper: bytes,
        observe_batch: Callable[[int], None] = lambda size: None,
        reserve: DiskReserve | None = None,
    ) -> Desk:
        return SqliteDesk(self.home.desk, observe_batch, pepper=pepper, reserve=reserve)

    def open_cache(
        self,
        mode: Mode,
        *,
        pepper: bytes,
        reserve: DiskReserve | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> Cache:
        return SqliteCache(self.home.cache(mode), pepper, reserve, now_ms)

    def fetch_lock(self) -> TaskLock:
        return SingleProcessLock()

    def backup_lock(self) -> TaskLock:
        return SingleProcessLock()

    def save_desk(self, target: Path, pepper: bytes | None, stopped: Stopped) -> DeskSums:
        return backups.save(self.home, target, pepper, stopped)

    def is_occupied(self) -> bool:
        """Return whether there are data. The caller, a restore, has the folder's lock."""
        return self.home.desk.exists() or self.home.secret.exists()

    def load_desk(self, copy: Path) -> None:
        raise AssertionError("a file is put in place")

    def migrate_saved(
        self,
        save: Callable[[int], Path | None],
        wait: Callable[[], None],
        on_migrated: Callable[[int, float], None],
    ) -> None:
        """See `DataPlace`. A server that runs in the folder has to end first."""
        backups.migrate_saved(self.home, save, on_migrated)

    def endpoint(self, *, target: bool) -> MoveEndpoint:
        return SqliteEndpoint(self.home, target=target)

    def inspect(self) -> AbstractContextManager[SqliteInspection]:
        return inspect_desk(self.home.desk)
