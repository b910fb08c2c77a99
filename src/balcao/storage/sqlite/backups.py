"""The desk of a backup, which is a SQLite file: copied, built from other tables, examined."""

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from balcao.core.errors import StorageNewer
from balcao.home import Home
from balcao.storage.moved import TABLE, check_not_moved
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.files import (
    connect,
    migrate,
    newest_version,
    skip_numbers,
    transaction,
    version,
)
from balcao.storage.sqlite.tables import SqliteTables
from balcao.storage.transfer.copying import Stopped, check_stopped, copy_desk
from balcao.storage.transfer.endpoint import Tables
from balcao.storage.transfer.errors import BackupRefused
from balcao.storage.transfer.sums import DeskExamination, DeskSums, sums_of

# 4 MB per step, with pauses in which others can use the disk.
PAGES_PER_STEP = 1024
PAUSE_SECONDS = 0.001

# Without SQLite's own tables, which have no SQL, and the mark of a move, which no migration makes.
_OBJECTS = (
    "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"  # noqa: S608
    f" AND name NOT LIKE 'sqlite|_%' ESCAPE '|' AND (type, name) != ('table', '{TABLE}')"
)
_NOT_MEANT = re.compile(r"--[^\n]*|[\s\"]+")

_INDEXES = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"

_EVENTS_SKIPPED = 1_000_000_000  # more than the events of any backup's lifetime


def save(home: Home, target: Path, pepper: bytes | None, stopped: Stopped) -> DeskSums:
    """Copy a snapshot of the desk of a folder, while others write.

    A read transaction keeps the snapshot: otherwise every commit would restart the copy. It does
    not block writers, but the log grows until it ends. `pepper`: the one that the keys must be
    hashed with. Raises `BackupRefused`, `BackupStopped`, `PepperDiffers`, `StorageMoved`,
    `StorageIncomplete`, `StorageUnreleased`, `apsw.Error`.
    """
    desk = home.desk
    if not desk.is_file():
        raise BackupRefused(f"Não há dados para copiar em {home.path}: falta {desk.name}.")
    # The copy takes as much space again for a while: fail early.
    _check_room(target.parent, desk.stat().st_size)
    with closing(connect(desk, synchronous="FULL")) as connection, _snapshot(connection):
        check_not_moved(connection, QUERIES)
        books = _books(connection)
        if pepper is not None:
            books.check_pepper(pepper)
        with closing(apsw.Connection(str(target))) as copy:
            copy.execute("PRAGMA synchronous = OFF")  # the archive is synced
            with copy.backup("main", connection, "main") as copying:
                while not copying.done:
                    check_stopped(stopped)
                    copying.step(PAGES_PER_STEP)
                    time.sleep(PAUSE_SECONDS)
            # A restored service must not send messages again.
            copy.execute("PRAGMA secure_delete = ON; DELETE FROM mail")
    return books


def _check_room(folder: Path, desk_bytes: int) -> None:
    if shutil.disk_usage(folder).free < 2 * desk_bytes:
        raise BackupRefused(
            f"Não há espaço para o backup em {folder}: é preciso o dobro do tamanho do banco de"
            f" dados ({2 * desk_bytes // 1_000_000} MB). Libere espaço, ou indique outra pasta."
        )


def save_tables(source: Tables, target: Path, schema: int) -> None:
    """Build a SQLite database of this schema from the rows of another engine's tables.

    The indexes are built at the end, so that those of a large desk do not exceed the page cache.
    """
    with closing(apsw.Connection(str(target))) as copy:
        # An incomplete file is discarded, and the archive is synced.
        copy.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        migrate(copy, "desk", schema)
        copy.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        indexes = copy.execute(_INDEXES).fetchall()
        for name, _ in indexes:
            copy.execute(f"DROP INDEX {name}")
        copy_desk(source, SqliteTables(copy), schema)
        for _, sql in indexes:
            copy.execute(str(sql))


def examine(copy: Path) -> DeskExamination:
    """Check and sum a backup's desk without changing it. Raises `StorageNewer`."""
    looked = copy.with_name("looked-at.db")
    # Of a copy, since opening it migrates it.
    shutil.copyfile(copy, looked)
    try:
        return _examine(looked)
    except (apsw.CorruptError, apsw.NotADBError, UnicodeDecodeError):
        return DeskExamination(None, ["o banco de dados está danificado"])
    finally:
        for file in looked.parent.glob("looked-at.db*"):
            file.unlink()


def give_up_deliveries(copy: Path) -> None:
    """Give up the deliveries that wait in a backup's desk: they may have been sent since.

    People can send them again (contract 19.4).
    """
    with closing(apsw.Connection(str(copy))) as connection:
        known = "SELECT 1 FROM sqlite_master WHERE name = 'webhook_delivery'"
        if connection.execute(known).fetchone():
            connection.execute(
                "UPDATE webhook_delivery SET state = 'desistiu', next_ms = NULL"
                " WHERE next_ms IS NOT NULL"
            )
            connection.execute("UPDATE webhook SET resend = NULL")


def skip_event_numbers(copy: Path) -> None:
    """Number the next events of a backup's desk after all that may have been lost.

    Receivers ignore an event whose number they have had, and readers of the feed skip it.
    """
    with closing(apsw.Connection(str(copy))) as connection, transaction(connection):
        given = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'event'")
        last = max([0, *(int(str(seq)) for (seq,) in given.fetchall())])
        skip_numbers(connection, "event", last + _EVENTS_SKIPPED + 1)


def _examine(path: Path) -> DeskExamination:
    with closing(connect(path, synchronous="OFF")) as connection:
        (damage,) = connection.execute("PRAGMA quick_check(1)").fetchone() or ("",)
        if damage != "ok":
            raise apsw.CorruptError(str(damage))
        if _objects(connection) != _objects_of(version(connection)):
            return DeskExamination(
                None, ["o banco de dados não tem as tabelas e regras do seu esquema"]
            )
        with _snapshot(connection):
            books = _books(connection)
    with closing(SqliteDesk(path)) as desk:
        return DeskExamination(books, desk.check().complaints)


def _objects_of(schema: int) -> set[tuple[str, ...]]:
    if schema > newest_version("desk"):
        raise StorageNewer(f"schema {schema} is newer than this program's")
    with closing(apsw.Connection(":memory:")) as fresh:
        migrate(fresh, "desk", schema)
        return _objects(fresh)


def _objects(connection: apsw.Connection) -> set[tuple[str, ...]]:
    """Return tables, indexes, views and triggers with their SQL, without comments and spaces."""
    return {
        (str(kind), str(name), _NOT_MEANT.sub(" ", str(sql)).strip())
        for kind, name, sql in connection.execute(_OBJECTS)
    }


@contextmanager
def opened(copy: Path) -> Iterator[tuple[SqliteTables, int]]:
    """Open a backup's desk for reading; also gives its schema version."""
    with closing(connect(copy, synchronous="OFF")) as connection, _snapshot(connection):
        yield SqliteTables(connection), version(connection)


def migrate_saved(
    home: Home,
    save_old: Callable[[int], Path | None],
    on_migrated: Callable[[int, float], None],
) -> None:
    """Save a desk of an older schema with `save_old`, and migrate it.

    An absent desk, or one that is up to date or newer, is left unchanged. Raises `HomeInUse` if a
    server of the older version is running.
    """
    if not _is_older(home.desk):
        return
    with home.lock():
        if not _is_older(home.desk):  # another command was first
            return
        saved = save_old(schema_of(home.desk))
        with closing(connect(home.desk, synchronous="FULL")) as connection:
            migrate(
                connection,
                "desk",
                saved_in=None if saved is None else str(saved),
                on_migrated=on_migrated,
            )


def _is_older(desk: Path) -> bool:
    return desk.is_file() and 0 < schema_of(desk) < newest_version("desk")


def schema_of(path: Path) -> int:
    """Return the version of a file's schema; 0: nothing of ours yet."""
    with closing(connect(path, synchronous="FULL")) as connection:
        return version(connection)


class SingleProcessLock:
    """A `TaskLock` that is always acquired: only one process uses the files of a folder."""

    def try_acquire(self) -> bool:
        return True

    def close(self) -> None:
        pass


@contextmanager
def _snapshot(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _books(connection: apsw.Connection) -> DeskSums:
    tables = SqliteTables(connection)
    return sums_of(version(connection), tables.query, tables.has_table)
