"""Versions and migrations of a database's schema."""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.resources.abc import Traversable
from typing import Any, Literal

import psycopg

from balcao.core.database_server import OLDEST_VERSION
from balcao.core.errors import StorageNewer, StorageUnreleased
from balcao.storage import statements
from balcao.storage.failure import failure
from balcao.storage.postgresql.connections import with_timeout

MIGRATION_SECONDS_MAX = 3_600
COMMIT_SECONDS_MAX = 60
_LOCK = 0x62616C64  # one node at a time migrates


class ServerTooOld(psycopg.NotSupportedError):
    """The server's version is older than `OLDEST_VERSION`."""


# The row of `schema_version` with the edition. Databases from before the first release have none,
# or an earlier edition; their schema versions have other meanings.
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
    # Usually there is nothing to do: then nothing is written, and no disk or standby waited for.
    if _found(connection, folder, newest) == newest:
        return
    with with_timeout(connection, MIGRATION_SECONDS_MAX):
        connection.execute("BEGIN")
        try:
            _bring_up(connection, folder, files)
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
        raise StorageNewer(f"schema {has} is newer than this program's {newest}")
    return has


def _bring_up(
    connection: psycopg.Connection[Any], folder: str, files: Mapping[int, Traversable]
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
    for number in sorted(number for number in files if number > has):
        connection.execute(files[number].read_text("utf-8").encode())
    if has != newest:  # else another node was first
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
    """Return an `on_connect` that migrates on the first connection only."""
    done = False

    def on_connect(connection: psycopg.Connection[Any]) -> None:
        nonlocal done
        if not done:
            migrate(connection, folder)
            done = True

    return on_connect
