"""The source or target of a move: the files of a data folder."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

import apsw

from balcao.core.errors import HomeInUse, PepperDiffers
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.contract import LedgerCheck
from balcao.storage.desk.check import check_books
from balcao.storage.pepper import check_pepper, may_be_pepper
from balcao.storage.sqlite.connection import SqliteConnection
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.files import (
    connect,
    migrate,
    newest_version,
    transaction,
    version,
)
from balcao.storage.sqlite.tables import SqliteTables
from balcao.storage.transfer.endpoint import check_version
from balcao.storage.transfer.errors import MoveRefused
from balcao.storage.transfer.tables import MODES

_OURS = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    " AND name <> 'storage_move'"
)
_WALLS = (
    "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'moved\\_%' ESCAPE '\\'"
)


class SqliteEndpoint(SqliteTables):
    """A `storage.transfer.endpoint.MoveEndpoint` of files."""

    def __init__(self, home: Home, *, target: bool) -> None:
        """Open the files; those of a target are created if missing.

        Raises `MoveRefused`, `PepperDiffers`, `StorageNewer`, `apsw.Error`.
        """
        if not target and not home.desk.is_file():
            raise MoveRefused(f"Não há dados do Balcão em {home.path}. Não há nada para mover.")
        self._home = home
        if target:
            home.create()
        self._pepper = home.pepper()
        self._lock: IO[bytes] | None = None
        if target:
            self.claim()
        caches: dict[Mode, apsw.Connection] = {}
        try:
            super().__init__(self._open("desk", home.desk, target=target), caches)
        except BaseException:
            if self._lock is not None:
                self._lock.close()
            raise
        for mode in MODES:
            if target or home.cache(mode).is_file():
                caches[mode] = self._open("cache", home.cache(mode), target=target)

    def _open(self, folder: str, path: Path, *, target: bool) -> apsw.Connection:
        connection = connect(path, synchronous="FULL")
        if target:
            migrate(connection, folder)
            if folder == "desk":
                check_pepper(connection, self._pepper, parameter="?")
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            return connection
        has = version(connection)
        check_version(has, newest_version(folder))
        if folder == "desk" and not may_be_pepper(connection, self._pepper):
            raise PepperDiffers
        return connection

    @property
    def place(self) -> str:
        return f"SQLite em {self._home.path.resolve()}"

    def claim(self) -> None:
        if self._lock is None:
            try:
                self._lock = self._home.lock()
            except HomeInUse:  # its message suggests another folder, which does not help here
                raise MoveRefused(
                    f"Há um servidor usando a pasta de dados {self._home.path}. Encerre o"
                    " servidor e repita."
                ) from None

    @contextmanager
    def snapshot(self, *, alone: bool) -> Iterator[None]:
        """See `MoveEndpoint`. Writing commands wait, and are then refused by `block_writes`."""
        connections = [self._desk, *self._caches.values()]
        try:
            for connection in connections:
                write = alone and connection is self._desk
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            yield
            for connection in connections:
                connection.execute("COMMIT")
        finally:
            for connection in connections:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def transaction(self) -> Any:
        return transaction(self._desk)

    def block_writes(self) -> None:
        for (name,) in self.query(_OURS):
            for verb in ("INSERT", "UPDATE", "DELETE"):
                self.query(
                    f"CREATE TRIGGER IF NOT EXISTS moved_{name}_{verb.lower()} BEFORE {verb}"
                    f" ON {name} BEGIN SELECT RAISE(ABORT, 'the data were moved away'); END"
                )

    def allow_writes(self) -> None:
        for (name,) in self.query(_WALLS):
            self.query(f"DROP TRIGGER {name}")

    def recover(self, now_ms: int) -> int:
        with closing(SqliteDesk(self._home.desk)) as desk:
            return desk.recover(now_ms)

    def books(self) -> LedgerCheck:
        with closing(connect(self._home.desk, synchronous="FULL")) as connection:
            return check_books(SqliteConnection(connection))

    def close(self) -> None:
        for connection in (self._desk, *self._caches.values()):
            connection.close()
        if self._lock is not None:
            self._lock.close()
