"""Versions and migrations of a database's schema."""

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any, Literal, TypeAlias

import psycopg
from psycopg import errors

from balcao import __version__
from balcao.core.database_server import OLDEST_VERSION
from balcao.core.errors import OlderNodesRunning, StorageNewer, StorageUnreleased
from balcao.storage import statements
from balcao.storage.failure import failure
from balcao.storage.postgresql.connections import with_timeout

log = logging.getLogger(__name__)

MIGRATION_SECONDS_MAX = 3_600
COMMIT_SECONDS_MAX = 60
# A migration waits this long for a lock of a table. Meanwhile all other statements on that table
# queue behind it, so it gives up soon and starts again. The server looks for deadlocks after 1 s:
# of one with a node's commit, the migration has given way before.
_TABLE_LOCK_MS_MAX = 500
_PAUSE_SECONDS = 1.0  # between two attempts
_ATTEMPTS_SECONDS_MAX = 120.0

_LOCK = 0x62616C64  # one node at a time migrates
# Of the advisory locks by which nodes show the schema of their program, "balv". A migration that
# they do not understand takes these locks for itself.
_PROGRAMS = 0x62616C76

OnMigrated: TypeAlias = Callable[[int, float], None]


class ServerTooOld(psycopg.NotSupportedError):
    """The server's version is older than `OLDEST_VERSION`."""


class SchemaIncompatible(psycopg.OperationalError):
    """The database was migrated to a schema that this program does not understand."""


# The row of `schema_version` with the edition. Databases from before the first release have none,
# or an earlier edition; their schema versions have other meanings.
_RELEASED = "released"

_VERSION = """
SELECT
    coalesce(max(version) FILTER (WHERE folder = %s), 0),
    bool_or(folder = %s AND version >= %s)
FROM schema_version
"""

_HAS_HISTORY = f"SELECT to_regclass('{statements.HISTORY}')"
_MAKE_HISTORY = f"""
CREATE TABLE IF NOT EXISTS {statements.HISTORY} (
    folder            text   NOT NULL,
    version           bigint NOT NULL,
    oldest_compatible bigint NOT NULL,
    program           text   NOT NULL,
    saved_in          text   NULL,
    at_ms             bigint NOT NULL
        DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
    PRIMARY KEY (folder, version)
)
"""
_RECORD = (
    f"INSERT INTO {statements.HISTORY} (folder, version, oldest_compatible, program, saved_in)"
    " VALUES (%s, %s, %s, %s, %s)"
)
_SHOW_PROGRAM = f"SELECT pg_advisory_lock_shared({_PROGRAMS}, %s)"
_EXCLUDE = f"SELECT pg_try_advisory_xact_lock({_PROGRAMS}, %s)"


def migrate(
    connection: psycopg.Connection[Any],
    folder: str,
    *,
    saved_in: str | None = None,
    on_migrated: OnMigrated = lambda number, seconds: None,
) -> None:
    """Bring the schema up to the newest numbered file of `migrations/{folder}`. Forward only.

    All files or none. `saved_in`: the backup that was made before. `on_migrated` is called with the
    number of each file and the seconds it took.

    Raises `StorageFailed` when the server is too old (`ServerTooOld`), `StorageNewer` when the
    database was written by a newer version of this program, `StorageUnreleased` when by one from
    before the first release, and `OlderNodesRunning`.
    """
    files = statements.migrations("postgresql", folder)
    newest = max(files)
    if connection.info.server_version < OLDEST_VERSION * 10_000:
        raise failure(ServerTooOld(f"server too old: {connection.info.server_version // 10_000}"))
    # Usually there is nothing to do: then nothing is written, and no disk or standby waited for.
    if _found(connection, folder, newest) == newest:
        return
    until = time.monotonic() + _ATTEMPTS_SECONDS_MAX
    while True:
        try:
            _attempt(connection, folder, files, saved_in, on_migrated)
            return
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            if time.monotonic() > until:
                raise
            log.warning("migration waits for transactions under way")
            time.sleep(_PAUSE_SECONDS)


def _attempt(
    connection: psycopg.Connection[Any],
    folder: str,
    files: Mapping[int, Traversable],
    saved_in: str | None,
    on_migrated: OnMigrated,
) -> None:
    with with_timeout(connection, MIGRATION_SECONDS_MAX):
        connection.execute("BEGIN")
        try:
            _bring_up(connection, folder, files, saved_in, on_migrated)
        except BaseException:
            if not connection.closed:
                connection.execute("ROLLBACK")
            raise
    with with_timeout(connection, COMMIT_SECONDS_MAX):  # it may wait for a standby
        connection.execute("COMMIT")


def _found(connection: psycopg.Connection[Any], folder: str, newest: int) -> int:
    """Return the version of a database. Raises `StorageNewer` if this program cannot use it."""
    has = version(connection, folder)
    if has > newest:
        raise statements.newer_schema(has, newest, _later(connection, folder, newest))
    return has


def _later(
    connection: psycopg.Connection[Any], folder: str, number: int
) -> Sequence[tuple[str, str | None, int, int]]:
    """Return the history of a database beyond a schema, oldest first."""
    if connection.execute(_HAS_HISTORY).fetchone() == (None,):
        return ()
    query = statements.LATER_HISTORY.replace("?", "%s").encode()
    return connection.execute(query, (folder, number)).fetchall()


def understands(connection: psycopg.Connection[Any], folder: str) -> bool:
    """Return whether a running program may use a database that was migrated beyond its schema."""
    newest = newest_version(folder)
    later = _later(connection, folder, newest)
    if not later:
        return version(connection, folder) <= newest
    return all(oldest <= newest for _, _, _, oldest in later)


def join_programs(connection: psycopg.Connection[Any]) -> None:
    """Show the schema of this program to migrations while a connection lasts.

    Raises `SchemaIncompatible` if one has made the database unusable for it.
    """
    # It waits while such a migration is under way.
    connection.execute(_SHOW_PROGRAM, (newest_version("desk"),))
    if not understands(connection, "desk"):
        raise SchemaIncompatible("the schema is not compatible any more")


def check_older_stopped(connection: psycopg.Connection[Any], folder: str) -> None:
    """Raise `OlderNodesRunning` if nodes are running that the next migrations would break."""
    files = statements.migrations("postgresql", folder)
    has = version(connection, folder)
    with connection.transaction(force_rollback=True):
        _exclude_older(connection, [number for number in files if number > has], files)


def _exclude_older(
    connection: psycopg.Connection[Any], numbers: Sequence[int], files: Mapping[int, Traversable]
) -> None:
    """Keep programs away that do not understand these migrations, until the transaction ends."""
    oldest = max(_oldest_compatible(number, files[number]) for number in numbers)
    for number in range(1, oldest):
        if connection.execute(_EXCLUDE, (number,)).fetchone() != (True,):
            raise OlderNodesRunning(f"a node of schema {number} is running")


def _oldest_compatible(number: int, file: Traversable) -> int:
    return statements.oldest_compatible(number, file.read_text("utf-8"))


def _bring_up(
    connection: psycopg.Connection[Any],
    folder: str,
    files: Mapping[int, Traversable],
    saved_in: str | None = None,
    on_migrated: OnMigrated = lambda number, seconds: None,
) -> None:
    # A migration of another node may take longer than usual time-outs. One of a billion rows takes
    # long anyway, and longer still by index lookups.
    connection.execute(
        "SET LOCAL lock_timeout = '60s';"
        f" SET LOCAL statement_timeout = '{MIGRATION_SECONDS_MAX}s';"
        " SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on;"
        " SET LOCAL enable_mergejoin = on"
    )
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    connection.execute(
        "CREATE TABLE IF NOT EXISTS schema_version"
        " (folder text NOT NULL PRIMARY KEY, version bigint NOT NULL)"
    )
    newest = max(files)
    has = _found(connection, folder, newest)
    numbers = sorted(number for number in files if number > has)
    if not numbers:  # another node was first
        return
    if has and folder == "desk":
        _exclude_older(connection, numbers, files)
    connection.execute(_MAKE_HISTORY)
    connection.execute(f"SET LOCAL lock_timeout = '{_TABLE_LOCK_MS_MAX}ms'".encode())
    for number in numbers:
        began = time.monotonic()
        connection.execute(files[number].read_text("utf-8").encode())
        row = (folder, number, _oldest_compatible(number, files[number]), __version__, saved_in)
        connection.execute(_RECORD, row)
        on_migrated(number, time.monotonic() - began)
    connection.execute("SET LOCAL lock_timeout = '60s'")
    connection.execute(
        "INSERT INTO schema_version VALUES (%s, %s), (%s, %s)"
        " ON CONFLICT (folder) DO UPDATE SET version = excluded.version",
        (folder, newest, _RELEASED, statements.EDITION),
    )


def create(connection: psycopg.Connection[Any], folder: str, schema: int) -> None:
    """Create an empty schema of this version, within a transaction of the caller's."""
    files = statements.migrations("postgresql", folder)
    _bring_up(connection, folder, {number: files[number] for number in files if number <= schema})


def own_names(kind: Literal["TABLE", "FUNCTION"]) -> Sequence[str]:
    """Return the names of all tables or functions that this program's migrations create."""
    made = re.compile(rf"^CREATE (?:UNLOGGED |OR REPLACE )?{kind} (?:IF NOT EXISTS )?(\w+)", re.M)
    files = (statements.migrations("postgresql", folder) for folder in ("desk", "cache"))
    texts = (file.read_text("utf-8") for some in files for file in some.values())
    return [*dict.fromkeys(name for text in texts for name in made.findall(text))]


def newest_version(folder: str) -> int:
    """Return the newest schema version of this program."""
    return max(statements.migrations("postgresql", folder))


def version(connection: psycopg.Connection[Any], folder: str) -> int:
    """Return the version that a database has; 0: nothing of ours. Raises `StorageUnreleased`."""
    if connection.execute("SELECT to_regclass('schema_version')").fetchone() == (None,):
        return 0
    values = (folder, _RELEASED, statements.EDITION)
    has, released = connection.execute(_VERSION, values).fetchone() or (0, None)
    if released is False:
        raise StorageUnreleased(f"schema {has}")
    return int(has)


def migrated(folder: str) -> Callable[[psycopg.Connection[Any]], None]:
    """Return an `on_connect` that migrates on the first connection only.

    The program is already running: a newer schema is refused only if it is not compatible.
    """
    done = False

    def on_connect(connection: psycopg.Connection[Any]) -> None:
        nonlocal done
        if not done:
            try:
                migrate(connection, folder)
            except StorageNewer:
                if not understands(connection, folder):
                    raise
            done = True

    return on_connect
