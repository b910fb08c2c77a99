"""A database that nodes share: see `storage.places.DataPlace`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.ballast import Ballast
from balcao.storage.contract import Cache, EngineName
from balcao.storage.copies.copies import Copies, Maker
from balcao.storage.desk.desk import Desk
from balcao.storage.ends.end import End
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.postgresql.connections import first_start
from balcao.storage.postgresql.copies import FETCH_LOCK, NodeMaker, PostgresCopies
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.end import PostgresEnd
from balcao.storage.postgresql.look import PostgresLook, looked_at
from balcao.storage.postgresql.timeline import TIMELINES


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
        """See the contract."""
        return self.home.secret.is_file()

    def lock(self) -> None:
        """See the contract. The database knows its nodes itself."""

    @contextmanager
    def alone_at_first_start(self) -> Iterator[bool]:
        """See the contract."""
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
        """See the contract."""
        return PostgresDesk(self.address, pepper=pepper, observe_batch=observe_batch)

    def open_cache(
        self,
        mode: Mode,
        *,
        pepper: bytes,
        ballast: Ballast | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> Cache:
        """See the contract."""
        return PostgresCache(self.address, mode, pepper, now_ms)

    def fetcher(self) -> Maker:
        """See the contract."""
        return NodeMaker(self.address, FETCH_LOCK)

    def copies(self) -> Copies:
        """See the contract."""
        return PostgresCopies(self.address)

    def end(self, *, target: bool) -> End:
        """See the contract."""
        return PostgresEnd(self.address, self.home.pepper(), target=target)

    def look(self) -> AbstractContextManager[PostgresLook]:
        """See the contract."""
        return looked_at(self.address)
