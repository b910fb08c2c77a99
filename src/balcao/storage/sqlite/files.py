"""SQLite files: opening, migrations, write-ahead log, full disks."""

import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from balcao import __version__
from balcao.core.errors import StorageFailed, StorageUnreleased
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.statements import (
    EDITION,
    HISTORY,
    LATER_HISTORY,
    migrations,
    newer_schema,
    oldest_compatible,
)

log = logging.getLogger(__name__)

# `PRAGMA application_id` of our files: "Blc" and the edition. Files from before the first release
# have none, or another edition; their schema versions have other meanings.
APPLICATION_ID = 0x426C6330 + EDITION

# Another process (the command line beside a running server) locks the file for milliseconds.
BUSY_TIMEOUT_MS = 10_000
LOG_TRIES_MAX = 200
LOG_TRY_SECONDS = 0.01

# On a full disk other writers cannot proceed anyway.
ROOM_TIMEOUT_MS = 1_000

# A backup keeps its snapshot for about this long; writers are not blocked meanwhile.
EMPTY_SECONDS_MAX = 10.0
EMPTY_TRY_SECONDS = 0.05


# The size that the log reaches before (`writer.WAL_PAGES_MAX`) and during a checkpoint.
LOG_BYTES = 20_000_000
_BLOCK_BYTES = 1 << 20


def connect(path: Path, *, synchronous: str) -> apsw.Connection:
    """Open or create a file in WAL mode. FULL `synchronous` survives power loss, NORMAL a crash."""
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        _enable_wal(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        # Overwrite deleted content: it may be personal data.
        connection.execute("PRAGMA secure_delete = ON")
        # Otherwise INSERT OR REPLACE does not run the DELETE triggers of replaced rows.
        connection.execute("PRAGMA recursive_triggers = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _enable_wal(connection: apsw.Connection) -> None:
    """Switch the file to WAL mode permanently.

    Of two processes that create a file at the same time, one gets a busy error at once, whatever
    the time-out, to avoid a deadlock. It has to try again.
    """
    for _ in range(LOG_TRIES_MAX):
        with suppress(apsw.BusyError):
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        time.sleep(LOG_TRY_SECONDS)
    raise StorageFailed("busy")


def log_of(path: Path) -> Path:
    """Return the path of a file's write-ahead log."""
    return path.with_name(f"{path.name}-wal")


def is_log_short(path: Path) -> bool:
    """Return whether a file's log is shorter than usual, and there is space to extend it."""
    try:
        return (
            log_of(path).stat().st_size < LOG_BYTES
            and shutil.disk_usage(path.parent).free > 4 * LOG_BYTES
        )
    except OSError:
        return False


def preallocate_log(connection: apsw.Connection, path: Path) -> None:
    """Extend the log to its usual length at once, for a long-running writer.

    A sync that makes a file longer also writes its new length, and takes twice as long, at times
    ten times. SQLite uses the log from its beginning and reads it up to the first invalid page.
    Failures are logged and ignored.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")  # no other writer extends it meanwhile
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
    """Return whether an error means a full disk: for the file, its log or the log's index."""
    if isinstance(error, apsw.FullError):
        return True
    code = getattr(error, "extendedresult", None)
    return bool(code == apsw.SQLITE_IOERR_SHMSIZE)


def free_disk_space(connection: apsw.Connection, reserve: DiskReserve) -> None:
    """Release the reserve on a full disk, and checkpoint and truncate the log."""
    reserve.release()
    connection.set_busy_timeout(ROOM_TIMEOUT_MS)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error as error:  # a read is open: try again next time
        log.warning("no checkpoint on a full disk: %s", type(error).__name__)
    finally:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)


def truncate_log(connection: apsw.Connection) -> None:
    """Checkpoint and truncate the log, which still contains former versions of pages.

    Open reads have to end first. SQLite would wait for them with the file locked against writers;
    so this polls instead. Raises `apsw.BusyError` after `EMPTY_SECONDS_MAX`.
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
    """Open a write transaction: no other writer runs until it ends."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


_HAS_HISTORY = f"SELECT 1 FROM sqlite_schema WHERE name = '{HISTORY}'"  # noqa: S608 - ours
_MAKE_HISTORY = f"""
CREATE TABLE IF NOT EXISTS {HISTORY} (
    folder            TEXT    NOT NULL,
    version           INTEGER NOT NULL,
    oldest_compatible INTEGER NOT NULL,
    program           TEXT    NOT NULL,
    saved_in          TEXT    NULL,
    at_ms             INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER)),
    PRIMARY KEY (folder, version)
) STRICT
"""
_RECORD = (
    f"INSERT INTO {HISTORY} (folder, version, oldest_compatible, program, saved_in)"  # noqa: S608
    " VALUES (?, ?, ?, ?, ?)"
)


def migrate(
    connection: apsw.Connection,
    folder: str,
    up_to: int | None = None,
    *,
    saved_in: str | None = None,
    on_migrated: Callable[[int, float], None] = lambda number, seconds: None,
) -> None:
    """Bring the schema up to the newest numbered file of `migrations/{folder}`, or to `up_to`.

    All files or none. `saved_in`: the backup that was made before. `on_migrated` is called with the
    number of each file and the seconds it took.

    Triggers are disabled meanwhile, on this connection only: a migration may change append-only
    rows. Raises `StorageNewer` when the file was written by a newer version of this program, and
    `StorageUnreleased` when by one from before the first release.
    """
    files = migrations("sqlite", folder)
    newest = max(files) if up_to is None else up_to
    triggers = connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, -1)
    connection.execute("BEGIN IMMEDIATE")
    try:
        has = version(connection)
        if has > newest:
            raise newer_schema(has, newest, _later(connection, folder, newest))
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        if has < newest:
            connection.execute(_MAKE_HISTORY)
        for number in sorted(number for number in files if has < number <= newest):
            began = time.monotonic()
            sql = files[number].read_text("utf-8")
            connection.execute(sql)
            row = (folder, number, oldest_compatible(number, sql), __version__, saved_in)
            connection.execute(_RECORD, row)
            connection.execute(f"PRAGMA user_version = {number}")
            on_migrated(number, time.monotonic() - began)
        if has == 0:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    except BaseException:
        if connection.in_transaction:  # on a full disk SQLite has rolled back itself
            connection.execute("ROLLBACK")
        raise
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, triggers)
    connection.execute("COMMIT")


def _later(
    connection: apsw.Connection, folder: str, number: int
) -> Sequence[tuple[str, str | None, int, int]]:
    """Return the history of a file beyond a schema, oldest first."""
    if connection.execute(_HAS_HISTORY).fetchone() is None:
        return ()
    found: Any = connection.execute(LATER_HISTORY, (folder, number)).fetchall()
    return list(found)


def version(connection: apsw.Connection) -> int:
    """Return the version of a file's schema; 0: nothing of ours yet. Raises `StorageUnreleased`."""
    has = int(str(connection.execute("PRAGMA user_version").get))
    if has and connection.execute("PRAGMA application_id").get != APPLICATION_ID:
        raise StorageUnreleased(f"schema {has}")
    return has


def newest_version(folder: str) -> int:
    """Return the newest schema version of this program."""
    return max(migrations("sqlite", folder))


def skip_numbers(connection: apsw.Connection, table: str, least: int) -> None:
    """Issue no number below `least` in a table any more, within a transaction.

    SQLite itself keeps a counter only for AUTOINCREMENT tables. Inserts into the others read
    `number_floor`.
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
