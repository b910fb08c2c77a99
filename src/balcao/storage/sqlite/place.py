"""The files of a data folder: see `storage.places.DataPlace`."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, ClassVar

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.ballast import Ballast
from balcao.storage.contract import Cache, EngineName
from balcao.storage.copies.copies import Copies, Maker
from balcao.storage.desk.desk import Desk
from balcao.storage.ends.end import End
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.copies import Alone, SqliteCopies
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.end import SqliteEnd
from balcao.storage.sqlite.look import SqliteLook, looked_at


@dataclass(frozen=True)
class SqlitePlace:
    """See the contract."""

    home: Home
    serves_many: ClassVar[bool] = False
    name: ClassVar[EngineName] = "sqlite"

    @property
    def desk_file(self) -> Path:
        """See the contract."""
        return self.home.desk

    def is_begun(self) -> bool:
        """See the contract."""
        return self.home.desk.is_file()

    def lock(self) -> IO[bytes]:
        """See the contract."""
        return self.home.lock()

    def alone_at_first_start(self) -> AbstractContextManager[bool]:
        """See the contract. The folder's lock does."""
        return nullcontext(False)

    def ballast(self, size_mb: int) -> Ballast:
        """See the contract."""
        return Ballast(self.home.path, size_mb << 20)

    def open_desk(
        self,
        *,
        pepper: bytes,
        observe_batch: Callable[[int], None] = lambda size: None,
        ballast: Ballast | None = None,
    ) -> Desk:
        """See the contract."""
        return SqliteDesk(self.home.desk, observe_batch, pepper=pepper, ballast=ballast)

    def open_cache(
        self,
        mode: Mode,
        *,
        pepper: bytes,
        ballast: Ballast | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> Cache:
        """See the contract."""
        return SqliteCache(self.home.cache(mode), pepper, ballast, now_ms)

    def fetcher(self) -> Maker:
        """See the contract. There is no other."""
        return Alone()

    def copies(self) -> Copies:
        """See the contract."""
        return SqliteCopies(self.home)

    def end(self, *, target: bool) -> End:
        """See the contract."""
        return SqliteEnd(self.home, target=target)

    def look(self) -> AbstractContextManager[SqliteLook]:
        """See the contract."""
        return looked_at(self.home.desk)
