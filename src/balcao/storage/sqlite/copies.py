"""A SQLite desk: copied while it is written to, and looked at when it was brought back."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from balcao.home import Home
from balcao.storage.copies.copies import CopySeen, DeskSums, Maker, Stopped, never
from balcao.storage.copies.errors import BackupRefused, BackupStopped
from balcao.storage.copies.sums import Ask, add_up, digests_in, mark_in
from balcao.storage.moved import check_here
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.files import connect, newest_version, version

# 4 MB at a stroke; between two of them others get the disk.
PAGES_PER_STEP = 1024
PAUSE_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class SqliteCopies:
    """See `storage.copies.copies.Copies`."""

    home: Home

    @property
    def where(self) -> str:
        """See the contract."""
        return f"em {self.home.path}"

    def newest_schema(self) -> int:
        """See the contract."""
        return newest_version("desk")

    def dump(
        self,
        target: Path,
        stopped: Stopped = never,
        *,
        pepper: bytes | None = None,
        moved_too: bool = False,
    ) -> tuple[DeskSums, Mapping[str, Any]]:
        """See the contract. What has moved away is not copied from here."""
        desk = self.home.desk
        if not desk.is_file():
            raise BackupRefused(f"Não há o que copiar em {self.home.path}: falta {desk.name}.")
        # The backup takes as much room again, for a while: better to know before.
        _check_room(target.parent, desk.stat().st_size)
        return copy(desk, target, stopped, pepper=pepper), {}

    def examine(self, copy: Path, told: Mapping[str, Any]) -> CopySeen:
        """See the contract."""
        looked = copy.with_name("looked-at.db")
        # Of our own: it is brought up to date, and the backup must stay as it is.
        shutil.copyfile(copy, looked)
        try:
            return examine(looked)
        except (apsw.CorruptError, apsw.NotADBError):
            return CopySeen(None, ["o banco de dados está danificado"])
        finally:
            for file in looked.parent.glob("looked-at.db*"):
                file.unlink()

    def occupied(self) -> bool:
        """See the contract. Who restores has the folder's lock."""
        return self.home.desk.exists() or self.home.secret.exists()

    def load(self, copy: Path, told: Mapping[str, Any], *, replace: bool) -> None:
        """See the contract."""
        raise AssertionError("a file is put in place")

    def migrate_saved(self, save: Callable[[int], None], wait: Callable[[], None]) -> None:
        """See the contract. Whoever opens the desk next brings it up to date."""
        desk = self.home.desk
        if desk.is_file() and 0 < (has := schema_of(desk)) < self.newest_schema():
            save(has)

    def maker(self) -> Maker:
        """See the contract."""
        return Alone()


class Alone:
    """The only process on these files."""

    def is_ours(self) -> bool:
        """Always."""
        return True

    def close(self) -> None:
        """Nothing to let go of."""


def _check_room(folder: Path, desk_bytes: int) -> None:
    if shutil.disk_usage(folder).free < 2 * desk_bytes:
        raise BackupRefused(
            f"Não há espaço para a cópia em {folder}: são precisos duas vezes o tamanho do banco"
            f" de dados ({2 * desk_bytes // 1_000_000} MB). Libere espaço, ou indique outra pasta."
        )


def copy(
    source: Path, target: Path, stopped: Stopped = never, *, pepper: bytes | None = None
) -> DeskSums:
    """Copy a desk as it is at this moment, however much is written meanwhile.

    A read transaction holds that moment to the end: else every commit would begin the copy anew.
    It keeps nobody from writing; the log grows until it ends. `pepper` is what the keys must be of.
    Raises `BackupStopped`, `PepperDiffers`, `StorageMoved`, `StorageIncomplete`,
    `StorageUnreleased`, `apsw.Error`.
    """
    with closing(connect(source, synchronous="FULL")) as here, _one_moment(here) as ask:
        check_here(here, QUERIES)
        books = _books(here, ask)
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


def examine(path: Path) -> CopySeen:
    """What a copy adds up to as it is, and then what its books say for themselves.

    It is brought up to this program's schema meanwhile. Raises `StorageNewer`, `apsw.Error`.
    """
    with closing(connect(path, synchronous="OFF")) as here:
        (damage,) = here.execute("PRAGMA quick_check(1)").fetchone() or ("",)
        if damage != "ok":
            raise apsw.CorruptError(str(damage))
        with _one_moment(here) as ask:
            books = _books(here, ask)
    with closing(SqliteDesk(path)) as desk:
        return CopySeen(books, desk.check().complaints)


def schema_of(path: Path) -> int:
    """The version of a file's schema; 0: nothing of ours yet."""
    with closing(connect(path, synchronous="FULL")) as connection:
        return version(connection)


@contextmanager
def _one_moment(connection: apsw.Connection) -> Iterator[Ask]:
    connection.execute("BEGIN")
    try:
        yield lambda sql: connection.execute(sql).fetchall()
    finally:
        connection.execute("ROLLBACK")


def _books(connection: apsw.Connection, ask: Callable[[str], Any]) -> DeskSums:
    schema = version(connection)
    tables = frozenset(name for (name,) in ask("SELECT name FROM sqlite_master"))
    return DeskSums(schema, add_up(ask, tables), digests_in(ask, tables), mark_in(ask, tables))
