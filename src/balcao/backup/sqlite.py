"""A SQLite desk: copied while it is written to, and looked at when it was brought back."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from balcao.backup.archive import Stopped, never
from balcao.backup.errors import BackupStopped
from balcao.backup.sums import Ask, Sums, add_up, digests_in, mark_in
from balcao.errors import PepperDiffers
from balcao.storage.moved import check_here
from balcao.storage.pepper import mark_of
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.files import connect, migrate

# 4 MB at a stroke; between two of them others get the disk.
PAGES_PER_STEP = 1024
PAUSE_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Books:
    """What one moment of a desk adds up to."""

    schema: int
    sums: Sums
    digests: Mapping[str, int]
    mark: bytes | None

    def check_pepper(self, pepper: bytes) -> None:
        """Refuse the keys of another secret. Raises `PepperDiffers`."""
        if self.mark not in (None, mark_of(pepper)):
            raise PepperDiffers


def copy(
    source: Path, target: Path, stopped: Stopped = never, *, pepper: bytes | None = None
) -> Books:
    """Copy a desk as it is at this moment, however much is written meanwhile.

    A read transaction holds that moment to the end: else every commit would begin the copy anew.
    It keeps nobody from writing; the log grows until it ends. `pepper` is what the keys must be of.
    Raises `BackupStopped`, `PepperDiffers`, `StorageMoved`, `StorageIncomplete`, `apsw.Error`.
    """
    with closing(connect(source, synchronous="FULL")) as here, _one_moment(here) as ask:
        check_here(here, QUERIES)
        books = _books(ask)
        if pepper is not None:
            books.check_pepper(pepper)
        with closing(apsw.Connection(str(target))) as there:
            there.execute("PRAGMA synchronous = OFF")  # it is synced where it goes in the end
            with there.backup("main", here, "main") as copying:
                while not copying.done:
                    if stopped():
                        raise BackupStopped("A cópia de segurança foi interrompida.")
                    copying.step(PAGES_PER_STEP)
                    time.sleep(PAUSE_SECONDS)
    return books


def examine(path: Path) -> tuple[Books, Sequence[str]]:
    """What a copy adds up to as it is, and then what its books say for themselves.

    It is brought up to this program's schema meanwhile. Raises `StorageNewer`, `apsw.Error`.
    """
    with closing(connect(path, synchronous="OFF")) as here:
        (damage,) = here.execute("PRAGMA quick_check(1)").fetchone() or ("",)
        if damage != "ok":
            raise apsw.CorruptError(str(damage))
        with _one_moment(here) as ask:
            books = _books(ask)
    with closing(SqliteDesk(path)) as desk:
        return books, desk.check().complaints


def schema_of(path: Path) -> int:
    """The version of a file's schema; 0: nothing of ours yet."""
    with closing(connect(path, synchronous="FULL")) as connection:
        return int(str(connection.execute("PRAGMA user_version").get))


def newest_schema() -> int:
    """What this program brings a schema up to."""
    with closing(apsw.Connection(":memory:")) as fresh:
        migrate(fresh, "desk")
        return int(str(fresh.execute("PRAGMA user_version").get))


@contextmanager
def _one_moment(connection: apsw.Connection) -> Iterator[Ask]:
    connection.execute("BEGIN")
    try:
        yield lambda sql: connection.execute(sql).fetchall()
    finally:
        connection.execute("ROLLBACK")


def _books(ask: Callable[[str], Any]) -> Books:
    schema = int(ask("PRAGMA user_version")[0][0])
    tables = frozenset(name for (name,) in ask("SELECT name FROM sqlite_master"))
    return Books(schema, add_up(ask, tables), digests_in(ask, tables), mark_in(ask, tables))
