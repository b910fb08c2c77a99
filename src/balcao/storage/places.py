"""An installation's data, before anything is opened: `place_of` chooses the engine.

The only module that imports both engines. Other rooms ask the `DataPlace`. Engines are imported
where they are used: PostgreSQL's modules take a tenth of a second to load.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Protocol

from pydantic import SecretStr

from balcao.core.database_server import ServerFacts
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.ballast import Ballast
from balcao.storage.connection import SqlConnection
from balcao.storage.contract import Cache, EngineName, Maker
from balcao.storage.desk.desk import Desk
from balcao.storage.transfer.copying import Stopped
from balcao.storage.transfer.end import End
from balcao.storage.transfer.sums import DeskSeen, DeskSums


class WhereSettings(Protocol):
    """What of the settings says where the data are."""

    @property
    def home(self) -> Path:
        """The data folder."""
        ...

    @property
    def database(self) -> SecretStr:
        """A database's address; empty: the data folder's own files."""
        ...


class Look(Protocol):
    """A desk that is looked at as it is: nothing is made, nothing brought up to date."""

    @property
    def connection(self) -> SqlConnection:
        """To ask whatever there is to ask."""
        ...

    @property
    def server(self) -> str | None:
        """What serves it, with its version. None: nothing does, it is a file."""
        ...

    @property
    def newest(self) -> int:
        """What this program brings its schema up to."""
        ...

    def schema(self) -> int:
        """What it has; 0: nothing of ours."""
        ...

    def check_here(self) -> None:
        """Raises `StorageMoved`, `StorageIncomplete` when its data are elsewhere."""
        ...

    def clock_seconds(self) -> float | None:
        """Its own clock, since 1970. None: it has none of its own."""
        ...

    def server_facts(self) -> ServerFacts | None:
        """Return how the server is set up. None: nothing serves it, it is a file."""
        ...

    def latest_instant(self) -> int | None:
        """When something was committed last, where that tells of this machine's clock."""
        ...


class DataPlace(Protocol):
    """A data folder's files, or a database beside it."""

    @property
    def name(self) -> EngineName:
        """The engine's name, as OpenTelemetry and manifests of backups call it."""
        ...

    @property
    def desk_file(self) -> Path | None:
        """The file that is the desk. None: it lies in no file of this folder."""
        ...

    @property
    def serves_many(self) -> bool:
        """Whether several processes may serve the same data."""
        ...

    def is_begun(self) -> bool:
        """Whether a service was ever started on this data folder."""
        ...

    def lock(self) -> IO[bytes] | None:
        """Be the only server here. None: any number may serve. Raises `HomeInUse`."""
        ...

    def alone_at_first_start(self) -> AbstractContextManager[bool]:
        """Keeps other nodes from having their first start too: whether there may be others.

        Raises `StorageFailed`.
        """
        ...

    def ballast(self, size_mb: int) -> Ballast:
        """Room to be set aside; none where the disk is another's."""
        ...

    def open_desk(
        self,
        *,
        pepper: bytes,
        observe_batch: Callable[[int], None] = lambda size: None,
        ballast: Ballast | None = None,
    ) -> Desk:
        """Raises `StorageFailed`, `StorageNewer`, `StorageUnreleased`, `PepperDiffers`."""
        ...

    def open_cache(
        self,
        mode: Mode,
        *,
        pepper: bytes,
        ballast: Ballast | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> Cache:
        """The cache of one mode. A database that is away is no reason not to start."""
        ...

    def fetcher(self) -> Maker:
        """Return the lock of the node that downloads months: one node at a time."""
        ...

    def backup_maker(self) -> Maker:
        """Return the lock of the node that makes the backups."""
        ...

    def save_desk(self, target: Path, pepper: bytes | None, stopped: Stopped) -> DeskSums:
        """Copy the desk into a SQLite file, as it is at one moment, while processes serve.

        Returns the sums of the very same moment. `pepper`: of which the keys must be; None: save
        what a restore is about to replace, whatever its keys and wherever its data.

        Raises `BackupRefused`, `BackupStopped`, `PepperDiffers`, `StorageMoved`,
        `StorageIncomplete`, `StorageNewer`, `StorageFailed`.
        """
        ...

    def is_occupied(self) -> bool:
        """Return whether there are data. Raises `BackupRefused` where they are in use."""
        ...

    def load_desk(self, copy: Path) -> None:
        """Restore a backup's desk into a database instead of its own, all of it or nothing."""
        ...

    def migrate_saved(self, save: Callable[[int], None], wait: Callable[[], None]) -> None:
        """Have a desk of an older schema saved before it is migrated; `save` is given its schema.

        Nothing is migrated when it raises. `wait` is called before waiting for another node that
        does the same.
        """
        ...

    def end(self, *, target: bool) -> End:
        """One end of a move; where data go to, what is missing is made.

        Raises `MoveRefused`, `PepperDiffers`, `StorageNewer`, `StorageFailed`.
        """
        ...

    def look(self) -> AbstractContextManager[Look]:
        """Look at the desk that is there. Raises `StorageFailed`."""
        ...


def place_of(settings: WhereSettings) -> DataPlace:
    """PostgreSQL where its address is set, else SQLite in the data folder."""
    return place_at(settings.database.get_secret_value(), Home(settings.home))


def place_at(address: str, home: Home) -> DataPlace:
    """The database at this address, or the files of this folder if it is empty."""
    if not address:
        from balcao.storage.sqlite.place import SqlitePlace  # noqa: PLC0415

        return SqlitePlace(home)
    from balcao.storage.postgresql.place import PostgresPlace  # noqa: PLC0415

    return PostgresPlace(address, home)


def examine_desk(copy: Path) -> DeskSeen:
    """Add up a backup's desk, whichever engine it is of. Raises `StorageNewer`."""
    from balcao.storage.sqlite.backups import examine  # noqa: PLC0415

    return examine(copy)
