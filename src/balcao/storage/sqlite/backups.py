"""The desk of a backup, which is a SQLite file: copied, made anew from other tables, examined."""

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from balcao.core.errors import StorageNewer
from balcao.home import Home
from balcao.storage.moved import TABLE, check_here
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.files import connect, migrate, newest_version, version
from balcao.storage.sqlite.tables import SqliteTables
from balcao.storage.transfer.copying import Stopped, check_stopped, copy_desk
from balcao.storage.transfer.end import Tables
from balcao.storage.transfer.errors import BackupRefused
from balcao.storage.transfer.sums import DeskSeen, DeskSums, sums_of

# 4 MB at a stroke; between two of them others get the disk.
PAGES_PER_STEP = 1024
PAUSE_SECONDS = 0.001

# Tables of SQLite's own have no text. The mark of a move is not made by a migration.
_OBJECTS = (
    "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"  # noqa: S608
    f" AND name NOT LIKE 'sqlite|_%' ESCAPE '|' AND (type, name) != ('table', '{TABLE}')"
)
_NOT_MEANT = re.compile(r"--[^\n]*|[\s\"]+")

_INDEXES = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"


def save(home: Home, target: Path, pepper: bytes | None, stopped: Stopped) -> DeskSums:
    """Copy the desk of a folder as it is at this moment, however much is written meanwhile.

    A read transaction holds that moment to the end: else every commit would begin the copy anew.
    It keeps nobody from writing; the log grows until it ends. `pepper` is what the keys must be of.
    Raises `BackupRefused`, `BackupStopped`, `PepperDiffers`, `StorageMoved`, `StorageIncomplete`,
    `StorageUnreleased`, `apsw.Error`.
    """
    desk = home.desk
    if not desk.is_file():
        raise BackupRefused(f"Não há o que copiar em {home.path}: falta {desk.name}.")
    # The backup takes as much room again, for a while: better to know before.
    _check_room(target.parent, desk.stat().st_size)
    with closing(connect(desk, synchronous="FULL")) as here, _one_moment(here):
        check_here(here, QUERIES)
        books = _books(here)
        if pepper is not None:
            books.check_pepper(pepper)
        with closing(apsw.Connection(str(target))) as there:
            there.execute("PRAGMA synchronous = OFF")  # it is synced where it goes in the end
            with there.backup("main", here, "main") as copying:
                while not copying.done:
                    check_stopped(stopped)
                    copying.step(PAGES_PER_STEP)
                    time.sleep(PAUSE_SECONDS)
    return books


def _check_room(folder: Path, desk_bytes: int) -> None:
    if shutil.disk_usage(folder).free < 2 * desk_bytes:
        raise BackupRefused(
            f"Não há espaço para a cópia em {folder}: são precisos duas vezes o tamanho do banco"
            f" de dados ({2 * desk_bytes // 1_000_000} MB). Libere espaço, ou indique outra pasta."
        )


def save_tables(source: Tables, target: Path, schema: int) -> None:
    """Make a desk of this schema that has the rows of another engine's tables.

    The indexes are made at the end, so that those of a large desk do not outgrow the page cache.
    """
    with closing(apsw.Connection(str(target))) as there:
        # Half of it is worth nothing, and it is synced where it goes in the end.
        there.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        migrate(there, "desk", schema)
        there.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        indexes = there.execute(_INDEXES).fetchall()
        for name, _ in indexes:
            there.execute(f"DROP INDEX {name}")
        copy_desk(source, SqliteTables(there), schema)
        for _, sql in indexes:
            there.execute(str(sql))


def examine(copy: Path) -> DeskSeen:
    """Add up a backup's desk without changing it. Raises `StorageNewer`."""
    looked = copy.with_name("looked-at.db")
    # A copy is brought up to date: the backup must stay as it is.
    shutil.copyfile(copy, looked)
    try:
        return _examine(looked)
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError):
        return DeskSeen(None, ["o banco de dados está danificado"])
    finally:
        for file in looked.parent.glob("looked-at.db*"):
            file.unlink()


def _examine(path: Path) -> DeskSeen:
    with closing(connect(path, synchronous="OFF")) as here:
        (damage,) = here.execute("PRAGMA quick_check(1)").fetchone() or ("",)
        if damage != "ok":
            raise apsw.CorruptError(str(damage))
        if _objects(here) != _objects_of(version(here)):
            return DeskSeen(None, ["o banco de dados não tem as tabelas e regras do seu esquema"])
        with _one_moment(here):
            books = _books(here)
    with closing(SqliteDesk(path)) as desk:
        return DeskSeen(books, desk.check().complaints)


def _objects_of(schema: int) -> set[tuple[str, ...]]:
    if schema > newest_version("desk"):
        raise StorageNewer(f"schema {schema} is newer than this program's")
    with closing(apsw.Connection(":memory:")) as fresh:
        migrate(fresh, "desk", schema)
        return _objects(fresh)


def _objects(connection: apsw.Connection) -> set[tuple[str, ...]]:
    """Return tables, indexes, views and triggers: one more or less would change what is charged."""
    return {
        (str(kind), str(name), _NOT_MEANT.sub(" ", str(sql)).strip())
        for kind, name, sql in connection.execute(_OBJECTS)
    }


@contextmanager
def opened(copy: Path) -> Iterator[tuple[SqliteTables, int]]:
    """Open a backup's desk to be read from; also returns its schema."""
    with closing(connect(copy, synchronous="OFF")) as here, _one_moment(here):
        yield SqliteTables(here), version(here)


def migrate_saved(desk: Path, save_old: Callable[[int], None]) -> None:
    """Have a desk of an older schema saved before somebody opens it, which migrates it."""
    if desk.is_file() and 0 < (has := schema_of(desk)) < newest_version("desk"):
        save_old(has)


def schema_of(path: Path) -> int:
    """Return the version of a file's schema; 0: nothing of ours yet."""
    with closing(connect(path, synchronous="FULL")) as connection:
        return version(connection)


class OnlyProcess:
    """The only process on the files of a folder: see `storage.places.Maker`."""

    def is_ours(self) -> bool:
        """See the contract."""
        return True

    def close(self) -> None:
        """See the contract."""


@contextmanager
def _one_moment(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _books(connection: apsw.Connection) -> DeskSums:
    tables = SqliteTables(connection)
    return sums_of(version(connection), tables.ask, tables.is_there)
