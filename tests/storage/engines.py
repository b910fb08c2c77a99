"""The storage engines under test: opening, running, failures, and raw SQL.

The contract tests do not depend on an engine. A new one needs a class here and its name in
`ENGINES`.
"""

import asyncio
import re
import resource
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import apsw
import psycopg

from balcao.core.ledger import Change, Refusal
from balcao.storage.desk.desk import Desk
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.files import APPLICATION_ID
from balcao.storage.statements import EDITION
from tests.storage import postgres

T = TypeVar("T")


class Engine(Protocol):
    """One engine with one database, and the event loop of one server process."""

    # The error when raw SQL breaks a constraint of the schema.
    wall: type[Exception]

    def open(self) -> Desk:
        """Open another desk on the same database, as another process would."""
        ...

    def kill(self, desk: Desk) -> None:
        """Let the desk's process die at once, without closing anything."""
        ...

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""
        ...

    def commit(self, desk: Desk, *changes: Change) -> Refusal | None:
        """Commit one list of changes and wait for it."""
        ...

    def together(
        self, desk: Desk, *lists: Sequence[Change]
    ) -> Sequence[Refusal | BaseException | None]:
        """Commit several lists in one commit, and return the outcome of each."""
        ...

    def batches(self) -> list[int]:
        """Return the sizes of the commits so far, of all desks."""
        ...

    def sql(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Run raw SQL on another connection."""
        ...

    def wall_off(self, table: str) -> AbstractContextManager[None]:
        """Make the schema refuse every new row of a table."""
        ...

    def cannot_write(self, desk: Desk) -> AbstractContextManager[None]:
        """Make the storage full."""
        ...

    def pretend_newer_schema(self) -> None:
        """Change the database to one of a newer version of the program."""
        ...

    def pretend_unreleased_schema(self, version: int) -> None:
        """Change the database to one from before the first release."""
        ...

    def pretend_earlier_edition(self) -> None:
        """Change the database to one made by the first migration before its last change."""
        ...

    def close(self) -> None:
        """Close all desks and the loop."""
        ...


class _OneLoop:
    """The common part of engines."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._batches: list[int] = []

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(work)

    def commit(self, desk: Desk, *changes: Change) -> Refusal | None:
        return self.run(desk.commit(changes))

    def together(
        self, desk: Desk, *lists: Sequence[Change]
    ) -> Sequence[Refusal | BaseException | None]:
        async def all_at_once() -> Sequence[Refusal | BaseException | None]:
            work = [desk.commit(changes) for changes in lists]
            return await asyncio.gather(*work, return_exceptions=True)

        before = len(self._batches)
        outcomes = self.run(all_at_once())
        assert self._batches[before:] == [len(lists)], "they did not share one commit"
        return outcomes

    def batches(self) -> list[int]:
        return self._batches


class SqliteEngine(_OneLoop):
    """SQLite with one file."""

    wall: type[Exception] = apsw.ConstraintError

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "balcao.db"
        self._desks: list[SqliteDesk] = []

    def open(self) -> SqliteDesk:
        desk = SqliteDesk(self.path, observe_batch=self._batches.append)
        self._desks.append(desk)
        return desk

    def kill(self, desk: Desk) -> None:
        """Its files stay open, but nothing that it still does affects the next desk."""

    def sql(self, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
        with closing(apsw.Connection(str(self.path))) as connection:
            connection.set_busy_timeout(10_000)
            connection.execute("PRAGMA foreign_keys = ON")
            return connection.execute(statement, arguments).fetchall()

    @contextmanager
    def wall_off(self, table: str) -> Iterator[None]:
        wall = "BEGIN SELECT RAISE(ABORT, 'no'); END"
        self.sql(f"CREATE TRIGGER no_more BEFORE INSERT ON {table} {wall}")
        yield
        self.sql("DROP TRIGGER no_more")

    @contextmanager
    def cannot_write(self, desk: Desk) -> Iterator[None]:
        """Let no file of this process grow, so that the log cannot take another page."""
        log = self.path.with_name(self.path.name + "-wal")
        with file_size_limit(log.stat().st_size):
            yield

    def pretend_newer_schema(self) -> None:
        self.sql("PRAGMA user_version = 9999")

    def pretend_unreleased_schema(self, version: int) -> None:
        self.sql("PRAGMA application_id = 0")
        self.sql(f"PRAGMA user_version = {version}")

    def pretend_earlier_edition(self) -> None:
        self.sql(f"PRAGMA application_id = {APPLICATION_ID - 1}")

    def close(self) -> None:
        for desk in self._desks:
            desk.close()
        self._runner.close()


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Make writes beyond `size` bytes of any file fail (EFBIG), as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class PostgresEngine(_OneLoop):
    """PostgreSQL with one database, and a node for each desk."""

    wall: type[Exception] = psycopg.IntegrityError

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.address = postgres.new_address()
        self._desks: list[PostgresDesk] = []

    def open(self) -> PostgresDesk:
        desk = PostgresDesk(self.address, observe_batch=self._batches.append)
        self._desks.append(desk)
        return desk

    def kill(self, desk: Desk) -> None:
        """End its connections, and wait until the server has noticed."""
        assert isinstance(desk, PostgresDesk)
        desk.engine._workers["writer"]._on_idle = lambda: None  # a dead process does not reconnect
        pid = desk.engine._writing.get().info.backend_pid
        self.sql("SELECT pg_terminate_backend(?::int, 10000)", pid)

    def sql(self, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
        text = re.sub(r"\bx'([0-9a-f]*)'", r"'\\x\1'::bytea", statement.replace("?", "%s"))
        with psycopg.connect(self.address, autocommit=True) as connection:
            cursor = connection.execute(text.encode(), arguments or None)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def wall_off(self, table: str) -> Iterator[None]:
        self.sql(
            f"CREATE TRIGGER no_more BEFORE INSERT ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION never('no')"
        )
        yield
        self.sql(f"DROP TRIGGER no_more ON {table}")

    @contextmanager
    def cannot_write(self, desk: Desk) -> Iterator[None]:
        """Make every writing statement fail with a full disk."""
        tables = [table for (table,) in self.sql(_TABLES)]
        self.sql(_NO_ROOM)
        for table in tables:
            self.sql(
                f"CREATE TRIGGER a_no_room BEFORE INSERT OR UPDATE OR DELETE ON {table}"
                " FOR EACH STATEMENT EXECUTE FUNCTION no_room()"
            )
        try:
            yield
        finally:
            self.sql("DROP FUNCTION no_room CASCADE")

    def pretend_newer_schema(self) -> None:
        self.sql("UPDATE schema_version SET version = 9999")

    def pretend_unreleased_schema(self, version: int) -> None:
        self.sql("DELETE FROM schema_version WHERE folder = 'released'")
        self.sql("UPDATE schema_version SET version = ?", version)

    def pretend_earlier_edition(self) -> None:
        self.sql("UPDATE schema_version SET version = ? WHERE folder = 'released'", EDITION - 1)

    def close(self) -> None:
        for desk in self._desks:
            desk.close()
        self._runner.close()
        postgres.server().drop_database(self.address)


_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
_NO_ROOM = """
CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$
"""


ENGINES: dict[str, Callable[[Path], Engine]] = {
    "sqlite": SqliteEngine,
    "postgresql": PostgresEngine,
}
