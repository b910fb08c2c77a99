"""The location of an installation's data: `place_of` chooses the engine.

The only module that imports both engines; other rooms use the `DataPlace`. Engines are imported
on use, because PostgreSQL's modules take a tenth of a second to load.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Protocol

from pydantic import SecretStr

from balcao.core.database_server import ServerFacts
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.connection import SqlConnection
from balcao.storage.contract import Cache, EngineName, TaskLock
from balcao.storage.desk.desk import Desk
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.transfer.copying import Stopped
from balcao.storage.transfer.endpoint import MoveEndpoint
from balcao.storage.transfer.sums import DeskExamination, DeskSums


class PlaceSettings(Protocol):
    """The settings that locate the data."""

    @property
    def home(self) -> Path:
        """The data folder."""
        ...

    @property
    def database(self) -> SecretStr:
        """The address of a database; empty: files in the data folder."""
        ...


class DeskInspection(Protocol):
    """A desk opened for inspection: nothing is created or migrated."""

    @property
    def connection(self) -> SqlConnection:
        """The connection for queries."""
        ...

    @property
    def server(self) -> str | None:
        """The database server with its version; None for a file."""
        ...

    @property
    def newest(self) -> int:
        """The newest schema version that this program has."""
        ...

    def schema(self) -> int:
        """Return the version of its schema; 0: nothing of ours."""
        ...

    def check_not_moved(self) -> None:
        """Raise `StorageMoved` or `StorageIncomplete` if its data are elsewhere."""
        ...

    def clock_seconds(self) -> float | None:
        """Return the time of its own clock, since 1970. None: it has no clock of its own."""
        ...

    def server_facts(self) -> ServerFacts | None:
        """Return the server's configuration; None for a file."""
        ...

    def nodes_without_secret(self, secret_id: str) -> Sequence[int]:
        """Return the numbers of serving nodes that lack a secret."""
        ...

    def latest_instant(self) -> int | None:
        """Return the time of the last commit, if it was written by this machine's clock."""
        ...


class DataPlace(Protocol):
    """The data of an installation: files in its data folder, or a database beside it."""

    @property
    def name(self) -> EngineName:
        """The engine's name, as in OpenTelemetry and in manifests of backups."""
        ...

    @property
    def desk_file(self) -> Path | None:
        """The desk's file; None if it is in a database server."""
        ...

    @property
    def serves_many(self) -> bool:
        """Whether several processes may serve the same data."""
        ...

    def is_initialized(self) -> bool:
        """Whether a service was ever started on this data folder."""
        ...

    def lock(self) -> IO[bytes] | None:
        """Lock the data for one server. None: any number may serve. Raises `HomeInUse`."""
        ...

    def first_start_lock(self) -> AbstractContextManager[bool]:
        """Hold back the first start of other nodes. Gives whether there may be other nodes.

        Raises `StorageFailed`.
        """
        ...

    def disk_reserve(self, size_mb: int) -> DiskReserve:
        """Return the reserve of disk space; an empty one if a server manages the disk."""
        ...

    def open_desk(
        self,
        *,
        pepper: bytes,
        observe_batch: Callable[[int], None] = lambda size: None,
        reserve: DiskReserve | None = None,
    ) -> Desk:
        """Open the desk.

        Raises `StorageFailed`, `StorageNewer`, `StorageUnreleased`, `PepperDiffers`.
        """
        ...

    def open_cache(
        self,
        mode: Mode,
        *,
        pepper: bytes,
        reserve: DiskReserve | None = None,
        now_ms: Callable[[], int] | None = None,
    ) -> Cache:
        """Open the cache of one mode, even if its database cannot be reached now."""
        ...

    def fetch_lock(self) -> TaskLock:
        """Return the lock of the node that downloads months: one node at a time."""
        ...

    def backup_lock(self) -> TaskLock:
        """Return the lock of the node that makes the backups."""
        ...

    def save_desk(self, target: Path, pepper: bytes | None, stopped: Stopped) -> DeskSums:
        """Copy a snapshot of the desk into a SQLite file, while processes serve.

        Returns the sums of the same snapshot. `pepper`: the one that the keys must be hashed with;
        None: save what a restore is about to replace, without these checks.

        Raises `BackupRefused`, `BackupStopped`, `PepperDiffers`, `StorageMoved`,
        `StorageIncomplete`, `StorageNewer`, `StorageFailed`.
        """
        ...

    def is_occupied(self) -> bool:
        """Return whether there are data. Raises `BackupRefused` if they are in use."""
        ...

    def load_desk(self, copy: Path) -> None:
        """Replace the desk in a database with that of a backup, all of it or nothing."""
        ...

    def migrate_saved(
        self,
        save: Callable[[int], Path | None],
        wait: Callable[[], None],
        on_migrated: Callable[[int, float], None],
    ) -> None:
        """Migrate a desk of an older schema, after `save` was called with its version.

        If it raises, nothing is migrated; it returns the backup, None if the operator has one.
        `wait` is called before waiting for another node that does the same, `on_migrated` with the
        number of each migration and the seconds it took. Raises `HomeInUse`, `OlderNodesRunning`.
        """
        ...

    def endpoint(self, *, target: bool) -> MoveEndpoint:
        """Open the source or the target of a move; a missing target is created.

        Raises `MoveRefused`, `PepperDiffers`, `StorageNewer`, `StorageFailed`.
        """
        ...

    def inspect(self) -> AbstractContextManager[DeskInspection]:
        """Open the existing desk for inspection. Raises `StorageFailed`."""
        ...


def place_of(settings: PlaceSettings) -> DataPlace:
    """Return PostgreSQL if its address is set, else SQLite in the data folder."""
    return place_at(settings.database.get_secret_value(), Home(settings.home))


def place_at(address: str, home: Home) -> DataPlace:
    """Return the database at this address, or the files of this folder if it is empty."""
    if not address:
        from balcao.storage.sqlite.place import SqlitePlace  # noqa: PLC0415

        return SqlitePlace(home)
    from balcao.storage.postgresql.place import PostgresPlace  # noqa: PLC0415

    return PostgresPlace(address, home)


def examine_desk(copy: Path) -> DeskExamination:
    """Add up a backup's desk, of either engine. Raises `StorageNewer`."""
    from balcao.storage.sqlite.backups import examine  # noqa: PLC0415

    return examine(copy)


def give_up_deliveries(copy: Path) -> None:
    """Give up the deliveries that wait in a backup's desk, of either engine."""
    from balcao.storage.sqlite.backups import give_up_deliveries  # noqa: PLC0415

    give_up_deliveries(copy)


def skip_event_numbers(copy: Path) -> None:
    """Number the next events of a backup's desk, of either engine, after all that may be lost."""
    from balcao.storage.sqlite.backups import skip_event_numbers  # noqa: PLC0415

    skip_event_numbers(copy)
