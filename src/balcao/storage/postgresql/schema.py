"""Bringing a database up to date, and whether it is ours at all."""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any, Literal

import psycopg

from balcao.core.database_server import OLDEST_VERSION
from balcao.core.errors import StorageNewer, StorageUnreleased
from balcao.storage import statements
from balcao.storage.failure import failure
from balcao.storage.postgresql.connections import taking_time

MIGRATION_SECONDS_MAX = 3_600
COMMIT_SECONDS_MAX = 60
_LOCK = 0x62616C64  # of all nodes that start together, one migrates


class ServerTooOld(psycopg.NotSupportedError):
    """The server's version is older than `OLDEST_VERSION`."""


# A row of `schema_version`, with the edition. Databases from before the first release have none or
# an earlier edition, and their schemas were numbered otherwise.
_RELEASED = "released"

_VERSION = """
SELECT
    coalesce(max(version) FILTER (WHERE folder = %s), 0),
    bool_or(folder = %s AND version >= %s)
FROM schema_version
"""


def migrate(connection: psycopg.Connection[Any], folder: str) -> None:
    """Bring the schema up to the newest numbered file of `migrations/{folder}`. Forward only.

    Raises `StorageFailed` when the server is too old (`ServerTooOld`), `StorageNewer` when the
    database was written by a newer version of this program, and `StorageUnreleased` when by one
    from before the first release.
    """
    files = statements.migrations("postgresql", folder)
    newest = max(files)
    if connection.info.server_version < OLDEST_VERSION * 10_000:
        raise failure(ServerTooOld(f"server too old: {connection.info.server_version // 10_000}"))
    # Most starts, and every command, find nothing to do. Those write nothing, and so wait neither
    # for the disk nor for a standby.
    if _found(connection, folder, newest) == newest:
        return
    with taking_time(connection, MIGRATION_SECONDS_MAX):
        connection.execute("BEGIN")
        try:
            _bring_up(connection, folder, files)
        except BaseException:
            if not connection.closed:
                connection.execute("ROLLBACK")
            raise
    with taking_time(connection, COMMIT_SECONDS_MAX):  # it may wait for a standby
        connection.execute("COMMIT")


def _found(connection: psycopg.Connection[Any], folder: str, newest: int) -> int:
    """Return the version that a database has, if this program may use it."""
    has = version(connection, folder)
    if has > newest:
        raise StorageNewer(f"schema {has} is newer than this program's {newest}")
    return has


def _bring_up(
    connection: psycopg.Connection[Any], folder: str, files: Mapping[int, Traversable]
) -> None:
    # Another node may be at it for longer than a request would wait, and what is done to a
    # billion rows takes its time: even longer if they were looked up one by one.
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
    for number in sorted(number for number in files if number > has):
        connection.execute(files[number].read_text("utf-8").encode())
    if has != newest:  # else another node was first
        connection.execute(
            "INSERT INTO schema_version VALUES (%s, %s), (%s, %s)"
            " ON CONFLICT (folder) DO UPDATE SET version = excluded.version",
            (folder, newest, _RELEASED, statements.EDITION),
        )


def create(connection: psycopg.Connection[Any], folder: str, schema: int) -> None:
    """Make an empty schema of this version, within a transaction of the caller's."""
    files = statements.migrations("postgresql", folder)
    _bring_up(connection, folder, {number: files[number] for number in files if number <= schema})


def own_names(kind: Literal["TABLE", "FUNCTION"]) -> Sequence[str]:
    """Return the names of the tables or functions that this program's schemas have made."""
    made = re.compile(rf"^CREATE (?:UNLOGGED |OR REPLACE )?{kind} (?:IF NOT EXISTS )?(\w+)", re.M)
    files = (statements.migrations("postgresql", folder) for folder in ("desk", "cache"))
    texts = (file.read_text("utf-8") for some in files for file in some.values())
    return [*dict.fromkeys(name for text in texts for name in made.findall(text))]


def newest_version(folder: str) -> int:
    """What this program brings a schema up to."""
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
    """`migrate`, for a `LastingConnection` to do on its first connection only."""
    done = False

    def greet(connection: psycopg.Connection[Any]) -> None:
        nonlocal done
        if not done:
            migrate(connection, folder)
            done = True

    return greet
