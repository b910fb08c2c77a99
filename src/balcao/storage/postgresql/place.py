"""The data of an installation on PostgreSQL."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.contract import Cache, EngineName, TaskLock
from balcao.storage.desk.desk import Desk
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.postgresql import backups
from balcao.storage.postgresql.backups import BACKUP_LOCK, FETCH_LOCK, NodeTaskLock
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.postgresql.connections import first_start
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.endpoint import PostgresEndpoint
from balcao.storage.postgresql.inspection import PostgresInspection, inspect_desk
from balcao.storage.postgresql.timeline import TIMELINES
from balcao.storage.transfer.copying import Stopped
from balcao.storage.transfer.endpoint import MoveEndpoint
from balcao.storage.transfer.sums import DeskSums


@dataclass(frozen=True)
class PostgresPlace:
    """A `storage.places.DataPlace` of a shared database. `home` has the other files."""

    address: str = field(repr=False)  # may contain a password
    home: Home
    serves_many: ClassVar[bool] = True
    name: ClassVar[EngineName] = "postgresql"
    desk_file: ClassVar[None] = None

    def __post_init__(self) -> None:
        TIMELINES.keep_in(self.home.timelines)

    def is_initialized(self) -> bool:
        return self.home.secret.is_file()

    def lock(self) -> None:
        """Return None: any number of nodes may serve."""

    @contextmanager
    def first_start_lock(self) -> Iterator[bool]:
        with first_start(self.address):
            yield True

    def disk_reserve(self, size_mb: int) -> DiskReserve:
        """Return an empty reserve: the server manages the disk."""
        return DiskReserve(self.home.path)

    def open_desk(
        self,
        *,
        pepper: bytes,
        observe_batch: Callable[[int], None] = lambda size: None,
        reserve: DiskReserve | None = None,
    ) -> Desk:
        return PostgresDesk(self.address, pepper=pepper, observe_batch=observe_batch)

    def open_cache(
        self,
        mode: Mode,
        *,
        pepper: bytes,
        reserve: DiskReserve | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> Cache:
        return PostgresCache(self.address, mode, pepper, now_ms)

    def fetch_lock(self) -> TaskLock:
        return NodeTaskLock(self.address, FETCH_LOCK)

    def backup_lock(self) -> TaskLock:
        return NodeTaskLock(self.address, BACKUP_LOCK)

    def save_desk(self, target: Path, pepper: bytes | None, stopped: Stopped) -> DeskSums:
        return backups.save(self.address, target, pepper, stopped)

    def is_occupied(self) -> bool:
        return backups.is_occupied(self.address)

    def load_desk(self, copy: Path) -> None:
        backups.load(self.address, copy)

    def migrate_saved(
        self,
        save: Callable[[int], Path | None],
        wait: Callable[[], None],
        on_migrated: Callable[[int, float], None],
    ) -> None:
        """See `DataPlace`. The first node to start saves and migrates the desk."""
        backups.migrate_saved(self.address, save, wait, on_migrated)

    def endpoint(self, *, target: bool) -> MoveEndpoint:
        return PostgresEndpoint(self.address, self.home.pepper(), target=target)

    def inspect(self) -> AbstractContextManager[PostgresInspection]:
        return inspect_desk(self.address)
