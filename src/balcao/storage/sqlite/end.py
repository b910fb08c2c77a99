"""One end of a move: the files of a data folder."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from typing import IO, Any

import apsw

from balcao.core.errors import HomeInUse, PepperDiffers
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.contract import LedgerCheck
from balcao.storage.desk.check import check_books
from balcao.storage.ends.end import check_version
from balcao.storage.ends.errors import MoveRefused
from balcao.storage.ends.lines import PutAside, chunks, reader, told
from balcao.storage.ends.tables import MODES, MovedTable
from balcao.storage.pepper import check_pepper, may_be_pepper
from balcao.storage.sqlite.connection import SqliteConnection
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.files import (
    connect,
    migrate,
    newest_version,
    skip_numbers,
    transaction,
    version,
)

# As many rows at a stroke as the log of changes takes without growing large.
_ROWS_AT_ONCE = 20_000

_OURS = (
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    " AND name <> 'storage_move'"
)
_WALLS = (
    "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'moved\\_%' ESCAPE '\\'"
)


class SqliteEnd:
    """See `storage.ends.end.End`."""

    def __init__(self, home: Home, *, target: bool) -> None:
        """Open the files, and make what is missing where data go to.

        Raises `MoveRefused`, `PepperDiffers`, `StorageNewer`, `apsw.Error`.
        """
        if not target and not home.desk.is_file():
            raise MoveRefused(f"Não há dados do Balcão em {home.path}: não há o que mover.")
        self._home = home
        if target:
            home.create()
        self._pepper = home.pepper()
        self._lock: IO[bytes] | None = None
        self._caches: dict[Mode, apsw.Connection] = {}
        if target:
            self.claim()
        try:
            self._desk = self._open("desk", home.desk, target=target)
        except BaseException:
            if self._lock is not None:
                self._lock.close()
            raise
        for mode in MODES:
            if target or home.cache(mode).is_file():
                self._caches[mode] = self._open("cache", home.cache(mode), target=target)

    def _open(self, folder: str, path: Path, *, target: bool) -> apsw.Connection:
        connection = connect(path, synchronous="FULL")
        if target:
            migrate(connection, folder)
            if folder == "desk":
                check_pepper(connection, self._pepper, parameter="?")
            connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            return connection
        has = version(connection)
        check_version(has, newest_version(folder))
        if folder == "desk" and not may_be_pepper(connection, self._pepper):
            raise PepperDiffers
        return connection

    @property
    def place(self) -> str:
        """See the contract."""
        return f"SQLite em {self._home.path.resolve()}"

    def claim(self) -> None:
        """See the contract."""
        if self._lock is None:
            try:
                self._lock = self._home.lock()
            except HomeInUse:  # whose words propose another folder, which is no way out here
                raise MoveRefused(
                    f"Há um servidor usando a pasta de dados {self._home.path}. Encerre-o e repita."
                ) from None

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """See the contract."""
        return self._desk.execute(sql, values).fetchall()

    def is_there(self, name: str) -> bool:
        """See the contract."""
        return bool(self.ask("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)))

    def lines(
        self, table: MovedTable, *, after: int | None = None, ordered: bool = True
    ) -> Iterator[bytes]:
        """See the contract."""
        connection = self._of(table)
        if connection is None:
            return
        columns = ", ".join(
            f"CAST(ceil({column.name}) AS INTEGER)" if column.kind == "REAL" else column.name
            for column in table.columns
        )
        sql = f"SELECT {columns} FROM {table.name}{_where(table, after=after)}"  # noqa: S608
        if ordered:
            sql += " ORDER BY " + ", ".join(column.name for column in table.key)
        for row in connection.execute(sql):
            yield told(row)

    def count(
        self, table: MovedTable, *, up_to: int | None = None, after: int | None = None
    ) -> int:
        """See the contract."""
        connection = self._of(table)
        if connection is None:
            return 0
        where = _where(table, up_to=up_to, after=after)
        return int(str(connection.execute(f"SELECT count(*) FROM {table.name}{where}").get))  # noqa: S608

    def make_room(self, months: Collection[date]) -> None:
        """See the contract. Here everything lies together."""

    def insert(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        """See the contract."""
        marks = ", ".join("?" * len(table.columns))
        names = ", ".join(table.names)
        self._many(
            table,
            f"INSERT INTO {table.name} ({names}) VALUES ({marks})",  # noqa: S608
            map(reader(table), lines),
        )

    def update(self, table: MovedTable, lines: PutAside) -> None:
        """See the contract."""
        read, count = reader(table), table.key_columns
        here = " AND ".join(f"{column.name} = ?" for column in table.key)
        with transaction(self._certain(table)):
            for name in table.unique:  # two rows may have changed their texts with each other
                self._certain(table).executemany(
                    f"UPDATE {table.name} SET {name} = 'moving ' || {table.names[0]} WHERE {here}",  # noqa: S608
                    (read(line)[:count] for line in lines),
                )
            values = ", ".join(f"{name} = ?" for name in table.names[count:])
            self._certain(table).executemany(
                f"UPDATE {table.name} SET {values} WHERE {here}",  # noqa: S608
                ((*row[count:], *row[:count]) for row in map(read, lines)),
            )

    def delete(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        """See the contract."""
        read, count = reader(table), table.key_columns
        here = " AND ".join(f"{column.name} = ?" for column in table.key)
        sql = f"DELETE FROM {table.name} WHERE {here}"  # noqa: S608
        self._many(table, sql, (read(line)[:count] for line in lines))

    def _many(self, table: MovedTable, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        connection = self._certain(table)
        for chunk in chunks(rows, _ROWS_AT_ONCE):
            with transaction(connection):
                connection.executemany(sql, chunk)

    def greatest(self, table: MovedTable) -> int:
        """See the contract."""
        key = table.names[0]
        return int(self.ask(f"SELECT coalesce(max({key}), 0) FROM {table.name}")[0][0])  # noqa: S608

    def last_number(self, table: MovedTable) -> int:
        """See the contract."""
        given = self.ask(
            "SELECT seq FROM sqlite_sequence WHERE name = ?"
            " UNION ALL SELECT least - 1 FROM number_floor WHERE numbered = ?",
            (table.name, table.name),
        )
        return max([self.greatest(table), *(int(seq) for (seq,) in given)])

    def go_on_after(self, table: MovedTable, number: int) -> None:
        """See the contract."""
        with transaction(self._desk):
            skip_numbers(self._desk, table.name, max(number, self.last_number(table)) + 1)

    @contextmanager
    def one_moment(self, *, alone: bool) -> Iterator[None]:
        """See the contract. Commands beside the server write too: they wait, and find the wall."""
        connections = [self._desk, *self._caches.values()]
        try:
            for connection in connections:
                write = alone and connection is self._desk
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
            yield
            for connection in connections:
                connection.execute("COMMIT")
        finally:
            for connection in connections:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def together(self) -> Any:
        """See the contract."""
        return transaction(self._desk)

    def wall_up(self) -> None:
        """See the contract."""
        for (name,) in self.ask(_OURS):
            for verb in ("INSERT", "UPDATE", "DELETE"):
                self.ask(
                    f"CREATE TRIGGER IF NOT EXISTS moved_{name}_{verb.lower()} BEFORE {verb}"
                    f" ON {name} BEGIN SELECT RAISE(ABORT, 'the data were moved away'); END"
                )

    def tear_down(self) -> None:
        """See the contract."""
        for (name,) in self.ask(_WALLS):
            self.ask(f"DROP TRIGGER {name}")

    def recover(self, now_ms: int) -> int:
        """See the contract."""
        with closing(SqliteDesk(self._home.desk)) as desk:
            return desk.recover(now_ms)

    def books(self) -> LedgerCheck:
        """See the contract."""
        with closing(connect(self._home.desk, synchronous="FULL")) as connection:
            return check_books(SqliteConnection(connection))

    def close(self) -> None:
        """See the contract."""
        for connection in (self._desk, *self._caches.values()):
            connection.close()
        if self._lock is not None:
            self._lock.close()

    def _of(self, table: MovedTable) -> apsw.Connection | None:
        return self._desk if table.mode is None else self._caches.get(table.mode)

    def _certain(self, table: MovedTable) -> apsw.Connection:
        connection = self._of(table)
        assert connection is not None
        return connection


def _where(table: MovedTable, *, up_to: int | None = None, after: int | None = None) -> str:
    key = table.names[0]
    if up_to is not None:
        return f" WHERE {key} <= {up_to:d}"
    return "" if after is None else f" WHERE {key} > {after:d}"
