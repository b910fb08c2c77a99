"""The source or target of a move: a PostgreSQL."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

import psycopg

from balcao.storage.contract import LedgerCheck
from balcao.storage.desk.check import check_books
from balcao.storage.pepper import check_pepper
from balcao.storage.postgresql.backups import nodes_here
from balcao.storage.postgresql.connections import connect_without_timeouts, open_for_full_scan
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.schema import migrate, newest_version, version
from balcao.storage.postgresql.tables import PostgresTables
from balcao.storage.transfer.endpoint import check_version
from balcao.storage.transfer.errors import MoveRefused
from balcao.storage.transfer.tables import all_tables

_MOVE_LOCK = 0x62616C6D  # "balm": one move at a time reads or writes a database

_SEVERAL_SECONDS = 3.0  # until the server has noticed that a client process has ended

_OURS = (
    "SELECT c.oid::regclass::text FROM pg_class AS c"
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')"
    " AND NOT c.relispartition AND c.relname = ANY(%s)"
)
_WALLED = "SELECT tgrelid::regclass::text FROM pg_trigger WHERE tgname = 'moved_away'"
# Tables that are not moved, but written by nodes that start.
_OF_NODES = ("node", "heartbeat")


class PostgresEndpoint(PostgresTables):
    """A `storage.transfer.endpoint.MoveEndpoint` of a database."""

    def __init__(self, address: str, pepper: bytes, *, target: bool) -> None:
        """Connect, and migrate the schema of a target.

        Raises `MoveRefused`, `PepperDiffers`, `StorageNewer`, `StorageFailed`.
        """
        self._address = address
        self._pepper = pepper
        super().__init__(connect_without_timeouts(address, "balcao storage move"))
        try:
            self._prepare(target=target)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, *, target: bool) -> None:
        connection = self._connection
        if not _before_long(self._is_alone):
            raise MoveRefused(
                "Outra mudança está usando este banco de dados, ou ele é a própria origem."
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
        """Try to take the lock that allows one move of this database at a time."""
        return self.query("SELECT pg_try_advisory_lock(?)", (_MOVE_LOCK,)) == [(True,)]

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
    def snapshot(self, *, alone: bool) -> Iterator[None]:
        how = "" if alone else " READ ONLY"
        ours = self._ours()  # not within: the first query determines the snapshot
        self.query(f"BEGIN ISOLATION LEVEL REPEATABLE READ{how}")
        try:
            if alone:
                # Before anything is read, so that the snapshot begins when writers are blocked. A
                # node that starts now waits to write its row, and is then refused.
                self.query("SET LOCAL lock_timeout = '10s'")
                for name in ours:
                    self.query(f"LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE")
                self.claim()
            yield
            self.query("COMMIT")
        finally:
            if (
                not self._connection.closed
                and self._connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE
            ):
                self._connection.rollback()

    def transaction(self) -> AbstractContextManager[Any]:
        return self._connection.transaction()

    def block_writes(self) -> None:
        walled = {name for (name,) in self.query(_WALLED)}
        for name in self._ours():
            if name not in walled:
                self.query(
                    f"CREATE TRIGGER moved_away BEFORE INSERT OR UPDATE OR DELETE ON {name}"
                    " FOR EACH STATEMENT EXECUTE FUNCTION never('the data were moved away')"
                )

    def allow_writes(self) -> None:
        for (name,) in self.query(_WALLED):
            self.query(f"DROP TRIGGER moved_away ON {name}")

    def _ours(self) -> Sequence[str]:
        names = [*dict.fromkeys(table.name for table in all_tables()), *_OF_NODES]
        return sorted(name for (name,) in self._connection.execute(_OURS, (names,)))

    def recover(self, now_ms: int) -> int:
        with closing(PostgresDesk(self._address, pepper=self._pepper)) as desk:
            return desk.recover(now_ms)

    def books(self) -> LedgerCheck:
        with open_for_full_scan(self._address) as database:
            return check_books(database)

    def close(self) -> None:
        self._connection.close()


def _before_long(so: Callable[[], bool]) -> bool:
    """Return whether a condition holds, now or soon: the server notices ended processes late."""
    until = time.monotonic() + _SEVERAL_SECONDS
    while not so():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True
