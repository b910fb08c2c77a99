"""Backups of a desk on PostgreSQL, and restores into one, while nodes serve or none does."""

import multiprocessing
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from balcao.core.errors import StorageNewer
from balcao.lifeline import end_with_parent
from balcao.storage.failure import failure
from balcao.storage.moved import TABLE, check_not_moved
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import (
    TimedConnection,
    address_of,
    connect_without_timeouts,
    is_outdated,
)
from balcao.storage.postgresql.node import LOCK_CLASS
from balcao.storage.postgresql.schema import (
    OnMigrated,
    check_older_stopped,
    create,
    migrate,
    newest_version,
    own_names,
    version,
)
from balcao.storage.postgresql.tables import PostgresTables
from balcao.storage.sqlite.backups import opened, save_tables
from balcao.storage.statements import HISTORY
from balcao.storage.transfer.copying import Stopped, check_stopped, copy_desk, never
from balcao.storage.transfer.errors import BackupRefused
from balcao.storage.transfer.sums import DeskSums, sums_of

# The `application_name` of these connections.
_CALLED = "balcao backup"

# Advisory locks: of the node that makes backups; of the one that downloads months ("balg"); of the
# one that saves and migrates the desk.
BACKUP_LOCK = 0x62616C65
FETCH_LOCK = 0x62616C67
_SAVER_LOCK = 0x62616C66

_LOOK_SECONDS = 0.1

_NODES_HERE = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
# Errors due to other objects in the database, or missing permissions. The connection survives them.
_REFUSALS = (
    psycopg.ProgrammingError,
    psycopg.IntegrityError,
    psycopg.errors.DependentObjectsStillExist,
)
# Operations that were under way at the backup are given to a dead node, so that the next start
# releases their holds.
_GONE = (
    "WITH gone AS (INSERT INTO node (started_ms, heartbeat_ms) VALUES (0, 0) RETURNING node_id),"
    " held AS (UPDATE open_operation SET node_id = (SELECT node_id FROM gone))"
    " UPDATE idempotency SET node_id = (SELECT node_id FROM gone) WHERE state = 'running'"
)


def save(
    address: str, target: Path, pepper: bytes | None = None, stopped: Stopped = never
) -> DeskSums:
    """Copy a snapshot of the desk into a SQLite file, while nodes serve.

    `pepper`: the one that the keys must be hashed with; None: skip this check and that for a move.
    Raises
    `BackupRefused`, `BackupStopped`, `PepperDiffers`, `StorageMoved`, `StorageIncomplete`,
    `StorageNewer`, `StorageFailed`.
    """
    with _connected(address) as connection:
        if pepper is not None:
            check_not_moved(connection, QUERIES)
        schema = version(connection, "desk")
        _check_known(schema)
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            source = PostgresTables(connection)
            books = sums_of(schema, source.query, source.has_table)
            if pepper is not None:
                books.check_pepper(pepper)
            (snapshot,) = connection.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
            _save_in_process((address_of(connection, address), snapshot, target, schema), stopped)
        finally:
            if not connection.closed:
                connection.execute("ROLLBACK")
        return books


def _save_in_process(rows: tuple[str, str, Path, int], stopped: Stopped) -> None:
    """Copy the rows in another process, so that requests do not wait for this one's GIL."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_save_rows, args=(sender, *rows), daemon=True)
    process.start()
    sender.close()
    try:
        while process.is_alive():
            check_stopped(stopped)
            process.join(_LOOK_SECONDS)
    finally:
        process.kill()
        process.join()
    if process.exitcode != 0:
        name = f"código {process.exitcode}"
        with suppress(EOFError):  # it ended without a message
            name = receiver.recv()
        raise BackupRefused(
            f"O banco de dados não pôde ser copiado ({name}). Verifique o disco, a conexão e as"
            " permissões do usuário do banco."
        )


def _save_rows(sender: Connection, address: str, snapshot: str, target: Path, schema: int) -> None:
    end_with_parent()
    try:
        with _connected(address) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(snapshot))
            save_tables(PostgresTables(connection), target, schema)
    except Exception as error:
        sender.send(type(error.__cause__ or error).__name__)
        sys.exit(1)


def _check_known(schema: int) -> None:
    if schema == 0:
        raise BackupRefused("Não há dados para copiar no banco de dados de BALCAO_DATABASE.")
    if schema > newest_version("desk"):
        raise StorageNewer(f"schema {schema} is newer than this program's")


def is_occupied(address: str) -> bool:
    """Return whether there is a desk. Raises `BackupRefused` if a node uses it."""
    if nodes_here(address):
        raise BackupRefused(
            "Há um servidor ou outro comando usando este banco de dados. Encerre todos os nós."
        )
    with _connected(address) as connection:
        return version(connection, "desk") > 0


def load(address: str, copy: Path) -> None:
    """Replace the desk with that of a backup, all of it or nothing.

    Drops only our own tables and functions. Raises `BackupRefused`, `StorageFailed`.
    """
    with opened(copy) as (source, schema), _connected(address) as connection:
        try:
            with connection.transaction():
                target = PostgresTables(connection)
                if target.has_table("schema_version"):
                    _drop(connection)
                create(connection, "desk", schema)
                copy_desk(source, target, schema)
                connection.execute(_GONE)
        except _REFUSALS as error:
            raise BackupRefused(
                f"O banco de dados recusou o backup ({type(error).__name__}) e nada foi alterado."
                " Verifique as permissões do usuário do banco e se algo externo ao Balcão depende"
                " das tabelas dele ou usa os mesmos nomes."
            ) from error


def _drop(connection: psycopg.Connection[Any]) -> None:
    tables = ", ".join([*own_names("TABLE"), "schema_version", HISTORY, TABLE])
    connection.execute(f"DROP TABLE IF EXISTS {tables}".encode())
    connection.execute(f"DROP FUNCTION IF EXISTS {', '.join(own_names('FUNCTION'))}".encode())


def migrate_saved(
    address: str,
    save_old: Callable[[int], Path | None],
    wait: Callable[[], None],
    on_migrated: OnMigrated = lambda number, seconds: None,
) -> None:
    """Save a desk of an older schema with `save_old`, and migrate it.

    Of nodes that start together the first one does both; the others call `wait` and wait for it.
    A database that is empty, up to date or newer is left unchanged. Raises `OlderNodesRunning`.
    """
    with _connected(address) as connection:
        if not _is_older(connection):
            return
        row = connection.execute("SELECT pg_try_advisory_lock(%s)", (_SAVER_LOCK,)).fetchone()
        if row is None or not row[0]:
            wait()
            connection.execute("SELECT pg_advisory_lock(%s)", (_SAVER_LOCK,))
        if _is_older(connection):
            check_older_stopped(connection, "desk")  # before a backup for nothing
            saved = save_old(version(connection, "desk"))
            migrate(
                connection,
                "desk",
                saved_in=None if saved is None else str(saved),
                on_migrated=on_migrated,
            )


def nodes_here(address: str) -> int:
    """Return the number of nodes that have this database open. Raises `StorageFailed`."""
    with _connected(address) as connection:
        (count,) = connection.execute(_NODES_HERE, (LOCK_CLASS,)).fetchone() or (0,)
        return int(count)


def _is_older(connection: psycopg.Connection[Any]) -> bool:
    return 0 < version(connection, "desk") < newest_version("desk")


class NodeTaskLock:
    """A `TaskLock` that one node on a database has while it is connected.

    Used by one thread at a time.
    """

    def __init__(self, address: str, lock: int) -> None:
        """`lock`: the number of the advisory lock."""
        self._address = address
        self._lock = lock
        self._connection: TimedConnection | None = None

    def try_acquire(self) -> bool:
        if self._connection is not None:
            if not is_outdated(self._connection):
                with suppress(psycopg.Error):
                    self._connection.execute("SELECT 1")
                    return True
            self.close()
        connection = connect_without_timeouts(self._address, _CALLED)
        try:
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", (self._lock,)).fetchone()
        except psycopg.Error as error:
            connection.close()
            raise failure(error) from error
        if row is None or not row[0]:
            connection.close()
            return False
        self._connection = connection
        return True

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def _connected(address: str) -> Iterator[psycopg.Connection[Any]]:
    with closing(connect_without_timeouts(address, _CALLED)) as connection:
        try:
            yield connection
        except psycopg.Error as error:
            raise failure(error) from error
