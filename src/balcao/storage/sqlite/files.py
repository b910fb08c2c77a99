"""Opening a SQLite file: settings, migrations, and what its errors mean."""

import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from balcao.core.errors import StorageFailed, StorageNewer, StorageUnreleased
from balcao.storage.ballast import Ballast
from balcao.storage.statements import EDITION, migrations

log = logging.getLogger(__name__)

# `PRAGMA application_id` of our files, "Blc" and the edition. Files from before the first release
# have none or that of another edition, and their schemas were numbered otherwise.
APPLICATION_ID = 0x426C6330 + EDITION

# Another process (the command line beside a running server) holds the file for milliseconds.
BUSY_TIMEOUT_MS = 10_000
LOG_TRIES_MAX = 200
LOG_TRY_SECONDS = 0.01

# On a full disk nobody writes meanwhile anyway.
ROOM_TIMEOUT_MS = 1_000

# A backup reads its rows of one moment for about this long; nobody waits for it meanwhile.
EMPTY_SECONDS_MAX = 10.0
EMPTY_TRY_SECONDS = 0.05


# What the log grows to until it is carried over (`writer.WAL_PAGES_MAX`), and while it is.
LOG_BYTES = 20_000_000
_BLOCK_BYTES = 1 << 20


def connect(path: Path, *, synchronous: str) -> apsw.Connection:
    """Open or create a file in WAL mode. FULL `synchronous` survives power loss, NORMAL a crash."""
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        _use_log(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        # What was removed, or became something else, is overwritten: it may be about a person.
        connection.execute("PRAGMA secure_delete = ON")
        # Else INSERT OR REPLACE would remove a row without its DELETE trigger being asked.
        connection.execute("PRAGMA recursive_triggers = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _use_log(connection: apsw.Connection) -> None:
    """Go over to WAL mode, which then stays with the file.

    Of two processes that make a new file at once, one is told at once that the file is busy,
    whatever the time-out: so that both do not wait for each other. It has to try again.
    """
    for _ in range(LOG_TRIES_MAX):
        with suppress(apsw.BusyError):
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        time.sleep(LOG_TRY_SECONDS)
    raise StorageFailed("busy")


def log_of(path: Path) -> Path:
    """Where SQLite keeps the log of changes of a file."""
    return path.with_name(f"{path.name}-wal")


def is_log_short(path: Path) -> bool:
    """Whether a file's log of changes has not its usual length, and there is room for it."""
    try:
        return (
            log_of(path).stat().st_size < LOG_BYTES
            and shutil.disk_usage(path.parent).free > 4 * LOG_BYTES
        )
    except OSError:
        return False


def lengthen_log(connection: apsw.Connection, path: Path) -> None:
    """Give the log of changes its usual length at once, for who writes for long.

    A flush of what makes a file longer also has to write down how long it is: it takes twice as
    long as one of bytes in the middle, at times ten times. SQLite uses a log from its beginning,
    and reads it up to the first page that is none. What cannot be done is left.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")  # so that nobody else makes it longer meanwhile
        try:
            with log_of(path).open("r+b") as log_file:
                while (length := log_file.seek(0, os.SEEK_END)) < LOG_BYTES:
                    log_file.write(bytes(min(_BLOCK_BYTES, LOG_BYTES - length)))
                log_file.flush()
                os.fsync(log_file.fileno())
        finally:
            connection.execute("ROLLBACK")
    except (OSError, apsw.Error) as error:
        log.warning("log not lengthened: %s", type(error).__name__)


def is_full(error: Exception) -> bool:
    """Whether the disk has no room: for the file, for its log, or for the log's index."""
    if isinstance(error, apsw.FullError):
        return True
    code = getattr(error, "extendedresult", None)
    return bool(code == apsw.SQLITE_IOERR_SHMSIZE)


def make_room(connection: apsw.Connection, ballast: Ballast) -> None:
    """On a full disk: give up the ballast, and carry the log over, which frees it."""
    ballast.give_up()
    connection.set_busy_timeout(ROOM_TIMEOUT_MS)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error as error:  # somebody still reads; the next time, then
        log.warning("no checkpoint on a full disk: %s", type(error).__name__)
    finally:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)


def empty_log(connection: apsw.Connection) -> None:
    """Carry the log of changes over into the file: it still has the pages as they were.

    Whoever reads older rows has to end first. SQLite would wait for that with the file locked, so
    that nobody writes for as long; here we wait, and try. Raises `apsw.BusyError` in the end.
    """
    until = time.monotonic() + EMPTY_SECONDS_MAX
    connection.set_busy_timeout(0)
    try:
        while True:
            try:
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                return
            except (apsw.BusyError, apsw.LockedError):
                if time.monotonic() >= until:
                    raise
            time.sleep(EMPTY_TRY_SECONDS)
    finally:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """All that is written within, or none of it. What is read within stays true to the end."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def migrate(connection: apsw.Connection, folder: str, up_to: int | None = None) -> None:
    """Bring the schema up to the newest numbered file of `migrations/{folder}`, or to `up_to`.

    Triggers rest meanwhile, on this connection alone: a new form is given also to rows that never
    change. Raises `StorageNewer` when the file was written by a newer version of this program, and
    `StorageUnreleased` when by one from before the first release.
    """
    files = migrations("sqlite", folder)
    newest = max(files) if up_to is None else up_to
    triggers = connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, -1)
    connection.execute("BEGIN IMMEDIATE")
    try:
        has = version(connection)
        if has > newest:
            raise StorageNewer(f"schema {has} is newer than this program's {newest}")
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        for number in sorted(number for number in files if has < number <= newest):
            connection.execute(files[number].read_text("utf-8"))
            connection.execute(f"PRAGMA user_version = {number}")
        if has == 0:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, triggers)
    connection.execute("COMMIT")


def version(connection: apsw.Connection) -> int:
    """Return the version of a file's schema; 0: nothing of ours yet. Raises `StorageUnreleased`."""
    has = int(str(connection.execute("PRAGMA user_version").get))
    if has and connection.execute("PRAGMA application_id").get != APPLICATION_ID:
        raise StorageUnreleased(f"schema {has}")
    return has


def newest_version(folder: str) -> int:
    """What this program brings a schema up to."""
    return max(migrations("sqlite", folder))


def skip_numbers(connection: apsw.Connection, table: str, least: int) -> None:
    """Issue no number below `least` in a table any more. Part of a transaction.

    SQLite itself remembers numbers of AUTOINCREMENT tables alone. The statements that insert into
    the others look at the floor.
    """
    connection.execute(
        "INSERT INTO number_floor (numbered, least) VALUES (?, ?)"
        " ON CONFLICT (numbered) DO UPDATE SET least = max(least, excluded.least)",
        (table, least),
    )
    made_by = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,))
    if "AUTOINCREMENT" not in str(made_by.fetchone()):
        return
    given = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
    last = max(least - 1, *(int(str(seq)) for (seq,) in given.fetchall()), 0)
    connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
    connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, last))
