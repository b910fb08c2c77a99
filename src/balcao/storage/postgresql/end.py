"""One end of a move: a PostgreSQL."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import date
from typing import Any

import psycopg

from balcao.storage.contract import LedgerCheck
from balcao.storage.desk.check import check_books
from balcao.storage.ends.end import check_version
from balcao.storage.ends.errors import MoveRefused
from balcao.storage.ends.lines import PutAside, joined
from balcao.storage.ends.tables import MovedTable, all_tables
from balcao.storage.pepper import check_pepper
from balcao.storage.postgresql.connections import (
    SEQUENCE,
    connect_at_leisure,
    opened_to_add_up,
    translated,
)
from balcao.storage.postgresql.copies import nodes_here
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.partitions import Partitions
from balcao.storage.postgresql.schema import migrate, newest_version, version

_MOVE_LOCK = 0x62616C6D  # "balm": one move at a time reads or writes a database

_SEVERAL_SECONDS = 3.0  # until the server has noticed that a process of a moment ago is gone

_OURS = (
    "SELECT c.oid::regclass::text FROM pg_class AS c"
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')"
    " AND NOT c.relispartition AND c.relname = ANY(%s)"
)
_WALLED = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'moved_away'"
# Tables of one node that others' programs would write first.
_OF_NODES = ("node", "heartbeat")


class PostgresEnd:
    """See `storage.ends.end.End`."""

    def __init__(self, address: str, pepper: bytes, *, target: bool) -> None:
        """Connect, and bring the schema up to date where data go to.

        Raises `MoveRefused`, `PepperDiffers`, `StorageNewer`, `StorageFailed`.
        """
        self._address = address
        self._pepper = pepper
        self._connection = connect_at_leisure(address, "balcao storage move")
        try:
            self._prepare(target=target)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, *, target: bool) -> None:
        connection = self._connection
        if not _before_long(self._is_alone):
            raise MoveRefused(
                "Outra mudança usa este banco de dados agora, ou ele é a própria origem."
            )
        for folder in ("desk", "cache"):
            if target:
                migrate(connection, folder)
            else:
                has = version(connection, folder)
                if folder == "desk" and has == 0:
                    raise MoveRefused(f"Não há dados do Balcão em {self.place}.")
                if has or folder == "desk":
                    check_version(has, newest_version(folder))
        self._with_cache = version(connection, "cache") > 0
        check_pepper(connection, self._pepper, parameter="%s")
        if target:
            self.claim()

    def _is_alone(self) -> bool:
        """Whether this is the one move of the database, from now on."""
        return self.ask("SELECT pg_try_advisory_lock(?)", (_MOVE_LOCK,)) == [(True,)]

    @property
    def place(self) -> str:
        """See the contract."""
        info = self._connection.info
        return f"postgresql://{info.host or 'localhost'}:{info.port}/{info.dbname}"

    def claim(self) -> None:
        """See the contract."""
        if not _before_long(lambda: not nodes_here(self._address)):
            raise MoveRefused(
                f"Há um servidor ou outro comando usando {self.place}. Encerre todos os nós e"
                " repita."
            )

    def ask(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        """See the contract."""
        cursor = self._connection.execute(sql.replace("?", "%s").encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def is_there(self, name: str) -> bool:
        """See the contract."""
        return self.ask("SELECT to_regclass(?)", (name,)) != [(None,)]

    def lines(
        self, table: MovedTable, *, after: int | None = None, ordered: bool = True
    ) -> Iterator[bytes]:
        """See the contract."""
        if table.mode is not None and not self._with_cache:
            return
        columns = ", ".join(
            f"ceil({column.name})::bigint" if column.kind == "REAL" else column.name
            for column in table.columns
        )
        sql = f"SELECT {columns} FROM {table.name}{_where(table, after=after)}"
        if ordered:
            sql += " ORDER BY " + ", ".join(column.name for column in table.key)
        with self._connection.cursor().copy(f"COPY ({sql}) TO STDOUT".encode()) as copy:
            for line in copy:
                yield bytes(line)

    def count(
        self, table: MovedTable, *, up_to: int | None = None, after: int | None = None
    ) -> int:
        """See the contract."""
        if table.mode is not None and not self._with_cache:
            return 0
        where = _where(table, up_to=up_to, after=after)
        return int(self.ask(f"SELECT count(*) FROM {table.name}{where}")[0][0])

    def make_room(self, months: Collection[date]) -> None:
        """See the contract."""
        partitions = Partitions()
        for month in sorted(months):
            partitions.make(self._connection, month, month)

    def insert(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        """See the contract."""
        mode = "" if table.mode is None else "mode, "
        if table.mode is not None:
            prefix = table.mode.encode() + b"\t"
            lines = (prefix + line for line in lines)
        with self._untriggered(table):
            self._load(f"{table.name} ({mode}{', '.join(table.names)})", lines)

    def update(self, table: MovedTable, lines: PutAside) -> None:
        """See the contract."""
        with self._incoming(table, lines) as here:
            for name in table.unique:  # two rows may have changed their texts with each other
                self.ask(
                    f"UPDATE {table.name} AS t SET {name} = 'moving ' || t.{table.names[0]}"
                    f" FROM incoming AS i WHERE {here}"
                )
            values = ", ".join(f"{name} = i.{name}" for name in table.names[table.key_columns :])
            self.ask(f"UPDATE {table.name} AS t SET {values} FROM incoming AS i WHERE {here}")

    def delete(self, table: MovedTable, lines: Iterable[bytes]) -> None:
        """See the contract."""
        with self._incoming(table, lines) as here:
            self.ask(f"DELETE FROM {table.name} AS t USING incoming AS i WHERE {here}")

    @contextmanager
    def _incoming(self, table: MovedTable, lines: Iterable[bytes]) -> Iterator[str]:
        """The lines in a table of their own, `incoming`; gives what joins it with the table."""
        here = " AND ".join(f"t.{column.name} = i.{column.name}" for column in table.key)
        if table.mode is not None:
            here += f" AND t.mode = '{table.mode}'"
        with self._untriggered(table):
            self.ask(
                f"CREATE TEMPORARY TABLE incoming ON COMMIT DROP AS"
                f" SELECT {', '.join(table.names)} FROM {table.name} WITH NO DATA"
            )
            self._load("incoming", lines)
            yield here

    @contextmanager
    def _untriggered(self, table: MovedTable) -> Iterator[None]:
        """A transaction in which the triggers rest; whoever owns a table may say so."""
        with self._connection.transaction():
            self.ask(f"ALTER TABLE {table.name} DISABLE TRIGGER USER")
            yield
            self.ask(f"ALTER TABLE {table.name} ENABLE TRIGGER USER")

    def _load(self, into: str, lines: Iterable[bytes]) -> None:
        with self._connection.cursor().copy(f"COPY {into} FROM STDIN".encode()) as copy:
            for block in joined(lines):
                copy.write(block)

    def greatest(self, table: MovedTable) -> int:
        """See the contract."""
        key = table.names[0]
        return int(self.ask(f"SELECT coalesce(max({key}), 0) FROM {table.name}")[0][0])

    def last_number(self, table: MovedTable) -> int:
        """See the contract."""
        sequence = self._sequence(table)
        given = 0
        if sequence is not None:
            called = f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}"
            given = self.ask(called)[0][0]
        return max(self.greatest(table), int(given))

    def go_on_after(self, table: MovedTable, number: int) -> None:
        """See the contract."""
        sequence = self._sequence(table)
        number = max(number, self.last_number(table))
        if sequence is not None and number:
            self.ask("SELECT setval(?::regclass, ?)", (sequence, number))

    def _sequence(self, table: MovedTable) -> str | None:
        found = self._connection.execute(
            translated(SEQUENCE), (table.name, table.names[0]) * 2
        ).fetchone()
        return None if found is None else found[0]

    @contextmanager
    def one_moment(self, *, alone: bool) -> Iterator[None]:
        """See the contract."""
        how = "" if alone else " READ ONLY"
        ours = self._ours()  # not within: the first question of all begins the moment
        self.ask(f"BEGIN ISOLATION LEVEL REPEATABLE READ{how}")
        try:
            if alone:
                # Before anything is read: the moment begins when nobody can write any more. A node
                # that starts now waits for its own row, and then finds the wall.
                self.ask("SET LOCAL lock_timeout = '10s'")
                for name in ours:
                    self.ask(f"LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE")
                self.claim()
            yield
            self.ask("COMMIT")
        finally:
            if (
                not self._connection.closed
                and self._connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
            ):
                self._connection.rollback()

    def together(self) -> AbstractContextManager[Any]:
        """See the contract."""
        return self._connection.transaction()

    def wall_up(self) -> None:
        """See the contract."""
        walled = {name for (name,) in self.ask(_WALLED)}
        for name in self._ours():
            if name not in walled:
                self.ask(
                    f"CREATE TRIGGER moved_away BEFORE INSERT OR UPDATE OR DELETE ON {name}"
                    " FOR EACH STATEMENT EXECUTE FUNCTION never('the data were moved away')"
                )

    def tear_down(self) -> None:
        """See the contract."""
        for (name,) in self.ask(_WALLED):
            self.ask(f"DROP TRIGGER moved_away ON {name}")

    def _ours(self) -> Sequence[str]:
        names = [*dict.fromkeys(table.name for table in all_tables()), *_OF_NODES]
        return sorted(name for (name,) in self._connection.execute(_OURS, (names,)))

    def recover(self, now_ms: int) -> int:
        """See the contract."""
        with closing(PostgresDesk(self._address, pepper=self._pepper)) as desk:
            return desk.recover(now_ms)

    def books(self) -> LedgerCheck:
        """See the contract."""
        with opened_to_add_up(self._address) as line:
            return check_books(line)

    def close(self) -> None:
        """See the contract."""
        self._connection.close()


def _before_long(so: Callable[[], bool]) -> bool:
    """Whether it is so, now or as soon as the server notices who is gone."""
    until = time.monotonic() + _SEVERAL_SECONDS
    while not so():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def _where(table: MovedTable, *, up_to: int | None = None, after: int | None = None) -> str:
    said = [] if table.mode is None else [f"mode = '{table.mode}'"]
    if up_to is not None:
        said.append(f"{table.names[0]} <= {up_to:d}")
    if after is not None:
        said.append(f"{table.names[0]} > {after:d}")
    return f" WHERE {' AND '.join(said)}" if said else ""
