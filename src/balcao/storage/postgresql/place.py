"""A database that nodes share: see `storage.places.DataPlace`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.ballast import Ballast
from balcao.storage.contract import Cache, EngineName, Maker
from balcao.storage.desk.desk import Desk
from balcao.storage.postgresql import backups
from balcao.storage.postgresql.backups import FETCH_LOCK, MAKER_LOCK, NodeMaker
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.postgresql.connections import first_start
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.end import PostgresEnd
from balcao.storage.postgresql.look import PostgresLook, looked_at
from balcao.storage.postgresql.timeline import TIMELINES
from balcao.storage.transfer.copying import Stopped
from balcao.storage.transfer.end import End
from balcao.storage.transfer.sums import DeskSums


@dataclass(frozen=True)
class PostgresPlace:
    """See the contract. `home` has all the rest, the pepper for one."""

    address: str = field(repr=False)  # there may be a password in it
    home: Home
    serves_many: ClassVar[bool] = True
    name: ClassVar[EngineName] = "postgresql"
    desk_file: ClassVar[None] = None

    def __post_init__(self) -> None:
        TIMELINES.keep_in(self.home.timelines)

    def is_begun(self) -> bool:
        return self.home.secret.is_file()

    def lock(self) -> None:
        """See the contract. The database knows its nodes itself."""

    @contextmanager
    def alone_at_first_start(self) -> Iterator[bool]:
        with first_start(self.address):
            yield True

    def ballast(self, size_mb: int) -> Ballast:
        """See the contract. The disk is the server's."""
        return Ballast(self.home.path)

    def open_desk(
        self,
        *,
        pepper: bytes,
        observe_batch: Callable[[int], None] = lambda size: None,
        ballast: Ballast | None = None,
    ) -> Desk:
        return PostgresDesk(self.address, pepper=pepper, observe_batch=observe_batch)

    def open_cache(
        self,
        mode: Mode,
        *,
        pepper: bytes,
        ballast: Ballast | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> Cache:
        return PostgresCache(self.address, mode, pepper, now_ms)

    def fetcher(self) -> Maker:
        return NodeMaker(self.address, FETCH_LOCK)

    def backup_maker(self) -> Maker:
        return NodeMaker(self.address, MAKER_LOCK)

    def save_desk(self, target: Path, pepper: bytes | None, stopped: Stopped) -> DeskSums:
        return backups.save(self.address, target, pepper, stopped)

    def is_occupied(self) -> bool:
        return backups.is_occupied(self.address)

    def load_desk(self, copy: Path) -> None:
        backups.load(self.address, copy)

    def migrate_saved(self, save: Callable[[int], None], wait: Callable[[], None]) -> None:
        """See the contract. The first of the nodes that start saves and migrates it."""
        backups.migrate_saved(self.address, save, wait)

    def end(self, *, target: bool) -> End:
        return PostgresEnd(self.address, self.home.pepper(), target=target)

    def look(self) -> AbstractContextManager[PostgresLook]:
        return looked_at(self.address)
