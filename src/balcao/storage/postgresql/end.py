"""One end of a move: a PostgreSQL."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import psycopg

from balcao.storage.contract import LedgerCheck
from balcao.storage.desk.check import check_books
from balcao.storage.pepper import check_pepper
from balcao.storage.postgresql.backups import nodes_here
from balcao.storage.postgresql.connections import connect_at_leisure, opened_to_add_up
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.schema import migrate, newest_version, version
from balcao.storage.postgresql.tables import PostgresTables
from balcao.storage.transfer.end import check_version
from balcao.storage.transfer.errors import MoveRefused
from balcao.storage.transfer.tables import all_tables

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


class PostgresEnd(PostgresTables):
    """See `storage.transfer.end.End`."""

    def __init__(self, address: str, pepper: bytes, *, target: bool) -> None:
        """Connect, and bring the schema up to date where data go to.

        Raises `MoveRefused`, `PepperDiffers`, `StorageNewer`, `StorageFailed`.
        """
        self._address = address
        self._pepper = pepper
        super().__init__(connect_at_leisure(address, "balcao storage move"))
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
        info = self._connection.info
        return f"postgresql://{info.host or 'localhost'}:{info.port}/{info.dbname}"

    def claim(self) -> None:
        if not _before_long(lambda: not nodes_here(self._address)):
            raise MoveRefused(
                f"Há um servidor ou outro comando usando {self.place}. Encerre todos os nós e"
                " repita."
            )

    @contextmanager
    def one_moment(self, *, alone: bool) -> Iterator[None]:
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
        return self._connection.transaction()

    def wall_up(self) -> None:
        walled = {name for (name,) in self.ask(_WALLED)}
        for name in self._ours():
            if name not in walled:
                self.ask(
                    f"CREATE TRIGGER moved_away BEFORE INSERT OR UPDATE OR DELETE ON {name}"
                    " FOR EACH STATEMENT EXECUTE FUNCTION never('the data were moved away')"
                )

    def tear_down(self) -> None:
        for (name,) in self.ask(_WALLED):
            self.ask(f"DROP TRIGGER moved_away ON {name}")

    def _ours(self) -> Sequence[str]:
        names = [*dict.fromkeys(table.name for table in all_tables()), *_OF_NODES]
        return sorted(name for (name,) in self._connection.execute(_OURS, (names,)))

    def recover(self, now_ms: int) -> int:
        with closing(PostgresDesk(self._address, pepper=self._pepper)) as desk:
            return desk.recover(now_ms)

    def books(self) -> LedgerCheck:
        with opened_to_add_up(self._address) as line:
            return check_books(line)

    def close(self) -> None:
        self._connection.close()


def _before_long(so: Callable[[], bool]) -> bool:
    """Whether it is so, now or as soon as the server notices who is gone."""
    until = time.monotonic() + _SEVERAL_SECONDS
    while not so():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True
