"""The storage engines under test: how to open each, run it, starve it and look behind its back.

The contract suite knows no engine. A new one joins by another class here and its name in
`ENGINES`.
"""

import asyncio
import math
import resource
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import apsw

from balcao.core.ledger import Change, Refusal
from balcao.storage.contract import Desk
from balcao.storage.sqlite.desk import SqliteDesk

T = TypeVar("T")


class Engine(Protocol):
    """One engine with one database, and the event loop of one server process."""

    # What it raises when raw SQL breaks a rule of the schema.
    wall: type[Exception]

    def open(self) -> Desk:
        """Another desk on the same database, as another process would open it."""
        ...

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end."""
        ...

    def commit(self, desk: Desk, *changes: Change) -> Refusal | None:
        """One list of changes, waited for."""
        ...

    def together(
        self, desk: Desk, *lists: Sequence[Change]
    ) -> Sequence[Refusal | BaseException | None]:
        """Several lists that share one commit; what became of each."""
        ...

    def batches(self) -> list[int]:
        """Sizes of the shared commits so far, of all desks opened."""
        ...

    def sql(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        """Raw SQL behind the desk's back."""
        ...

    def cannot_write(self, desk: Desk) -> AbstractContextManager[None]:
        """While this is open, the storage has no room."""
        ...

    def pretend_newer_schema(self) -> None:
        """Leave the database as a newer version of the program would."""
        ...

    def close(self) -> None:
        """Close every desk that was opened, and the loop."""
        ...


class SqliteEngine:
    """SQLite, one file."""

    wall: type[Exception] = apsw.ConstraintError

    def __init__(self, folder: Path) -> None:
        self.path = folder / "balcao.db"
        self._runner = asyncio.Runner()
        self._desks: list[SqliteDesk] = []
        self._batches: list[int] = []

    def open(self) -> SqliteDesk:
        desk = SqliteDesk(self.path, observe_batch=self._batches.append)
        self._desks.append(desk)
        return desk

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

    def sql(self, statement: str, *arguments: Any) -> list[tuple[Any, ...]]:
        with closing(apsw.Connection(str(self.path))) as connection:
            connection.set_busy_timeout(10_000)
            connection.execute("PRAGMA foreign_keys = ON")
            return connection.execute(statement, arguments).fetchall()

    @contextmanager
    def cannot_write(self, desk: Desk) -> Iterator[None]:
        """No file of this process may grow: the log of changes cannot take another page."""
        log = self.path.with_name(self.path.name + "-wal")
        with file_size_limit(log.stat().st_size):
            yield

    def pretend_newer_schema(self) -> None:
        self.sql("PRAGMA user_version = 9999")

    def close(self) -> None:
        for desk in self._desks:
            desk.close()
        self._runner.close()


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Writing past `size` bytes into any file fails (EFBIG), as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class SqliteOnSlowDisk(SqliteEngine):
    """The same, written by the thread instead of in place."""

    def open(self) -> SqliteDesk:
        desk = super().open()
        desk._writer._in_place_from = math.inf
        return desk


ENGINES: dict[str, Callable[[Path], Engine]] = {
    "sqlite": SqliteEngine,
    "sqlite on a slow disk": SqliteOnSlowDisk,
}
