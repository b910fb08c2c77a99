"""A desk on PostgreSQL: dumped at one moment while nodes serve, and brought back."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from balcao.storage.copies.copies import CopySeen, DeskSums, Maker, Stopped, never
from balcao.storage.copies.errors import BackupDamaged, BackupRefused
from balcao.storage.copies.sums import TABLES, Ask, add_up, digests_in, mark_in
from balcao.storage.failure import failure
from balcao.storage.moved import check_here
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import (
    Punctual,
    address_of,
    connect_at_leisure,
    is_left_behind,
)
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.node import LOCK_CLASS
from balcao.storage.postgresql.programs import Programs, programs_for
from balcao.storage.postgresql.schema import migrate, newest_version, version

# Everything that our schemas make; a test compares this with a new database.
OWN_TABLES = (
    "schema_version",
    "account",
    "api_key",
    "ledger_entry",
    "charged_lookup",
    "node",
    "open_operation",
    "idempotency",
    "heartbeat",
    "rate_limit",
    "pepper",
    "receipt",
    "person",
    "web_session",
    "one_time_link",
    "seat",
    "certificate_extension",
    "audit_entry",
    "trace",
    "certificate_trace",
    "job",
    "budget",
    "budget_use",
    "event",
    "batch",
    "batch_piece",
    "batch_row",
    "batch_count",
    "daily_total",
    "month_seal",
    "export",
    "export_piece",
    "availability_count",
    "availability_episode",
    "availability_mark",
    "receipt_mark",
    "number_floor",
    "entry",
    "storage_move",
)
OWN_FUNCTIONS = (
    "never",
    "make_partition",
    "ledger_settlement_frees_its_hold",
    "ledger_entries_move_the_balance",
    "ledger_entry_opens_its_request",
    "charged_lookups_move_the_balance",
    "charged_lookups_become_entries",
    "budget_begins",
    "budget_ends",
    "budget_use_keeps_to_its_ceiling",
    "seat_is_of_an_operator",
)

# The cache may be lost, and limits begin anew after a crash too. Their tables stay, empty.
_WITHOUT_ROWS = ("entry", "rate_limit")

# By this name the server knows who asks.
_CALLED = "balcao backup"

_MAKER_LOCK = 0x62616C65  # whoever has it makes the backups of this database
FETCH_LOCK = 0x62616C67  # whoever has it downloads a month: "balg"
_SAVER_LOCK = 0x62616C66  # whoever has it may save the books and migrate them

_IN_SCHEMA = (
    "SELECT c.relname FROM pg_class AS c WHERE c.relnamespace = current_schema()::regnamespace"
    " AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
)
# A partition belongs to whom its table belongs to.
_PARTITIONS_IN_SCHEMA = (
    "SELECT c.relname, root.relname FROM pg_class AS c"
    " JOIN pg_class AS root ON root.oid = pg_partition_root(c.oid)"
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relispartition"
)
_NODES_HERE = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


@dataclass(frozen=True, slots=True)
class PostgresCopies:
    """See `storage.copies.copies.Copies`."""

    address: str = field(repr=False)

    where: ClassVar[str] = "no banco de dados de BALCAO_DATABASE"

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
        """See the contract."""
        with _connected(self.address) as connection:
            if not moved_too:
                check_here(connection, QUERIES)
            server = connection.info.server_version // 10_000
            tools = programs_for(server)
            # pg_dump looks at the books as they are in here.
            with _one_moment(connection) as ask:
                books = _books(connection, ask)
                if pepper is not None:
                    books.check_pepper(pepper)
                schema, snapshot = ask("SELECT current_schema(), pg_export_snapshot()")[0]
                parts = {name for name, root in ask(_PARTITIONS_IN_SCHEMA) if root in OWN_TABLES}
                others = {name for (name,) in ask(_IN_SCHEMA)} - {*OWN_TABLES, *parts}
                hidden = [f"--exclude-table={_pattern(schema, name)}" for name in sorted(others)]
                hidden += [f"--exclude-table-data={_pattern(schema, one)}" for one in _WITHOUT_ROWS]
                tools.run(
                    "pg_dump",
                    address_of(connection, self.address),
                    *hidden,
                    "--format=custom",
                    "--no-owner",
                    "--no-privileges",
                    f"--file={target}",
                    f"--schema={_quoted(schema)}",
                    f"--snapshot={snapshot}",
                    stopped=stopped,
                )
                return books, {"schema": schema, "server": server}

    def examine(self, copy: Path, told: Mapping[str, Any]) -> CopySeen:
        """See the contract. In a database of its own beside this one, which is dropped again.

        Without sums: this user may make no database, but the dump can be read.
        """
        name = f"balcao_verify_{uuid.uuid4().hex[:12]}"
        with _connected(self.address) as connection:
            tools = _tools(connection)
            try:
                connection.execute(
                    _named("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'", name)
                )
            except psycopg.errors.InsufficientPrivilege:
                _look_at(tools, copy)
                return CopySeen(None, ())
            except psycopg.Error as error:
                raise failure(error) from error
        beside = make_conninfo("", **{**conninfo_to_dict(self.address), "dbname": name})
        try:
            with _connected(beside) as connection:
                schema = str(told.get("schema", "public"))
                connection.execute(_named("CREATE SCHEMA IF NOT EXISTS {}", schema))
                connection.execute(_named("ALTER DATABASE {} SET search_path = {}", name, schema))
            PostgresCopies(beside).load(copy, told, replace=False)
            with _connected(beside) as connection, _one_moment(connection) as ask:
                books = _books(connection, ask)
            with closing(PostgresDesk(beside)) as desk:
                return CopySeen(books, desk.check().complaints)
        finally:
            with _connected(self.address) as connection:
                connection.execute(_named("DROP DATABASE {} WITH (FORCE)", name))

    def occupied(self) -> bool:
        """See the contract. Any table of ours will do."""
        if nodes_here(self.address):
            raise BackupRefused(
                "Há um servidor ou outro comando usando este banco de dados. Encerre todos os nós."
            )
        with _connected(self.address) as connection:
            found = connection.execute(_IN_SCHEMA).fetchall()
            return any(name in OWN_TABLES for (name,) in found)

    def load(self, copy: Path, told: Mapping[str, Any], *, replace: bool) -> None:
        """See the contract. In one transaction, in which `replace` drops our own tables too."""
        with _connected(self.address) as connection:
            tools = _tools(connection)
            address = address_of(connection, self.address)
            (schema,) = connection.execute("SELECT current_schema()").fetchone() or ("",)
            wanted = told.get("schema", "public")
            if schema != wanted:
                raise BackupRefused(
                    f"A cópia é do esquema {wanted}, e o banco de dados usa {schema}: ajuste o"
                    " search_path do usuário do banco."
                )
        contents = _look_at(tools, copy)
        chosen, script = copy.with_suffix(".list"), copy.with_suffix(".sql")
        # The schema itself is there already.
        chosen.write_bytes(
            b"\n".join(one for one in contents.splitlines() if b" SCHEMA " not in one) + b"\n"
        )
        try:
            tools.run(
                "pg_restore",
                "",
                "--no-owner",
                "--no-privileges",
                f"--use-list={chosen}",
                f"--file={script}",
                str(copy),
            )
            drop = _drop(wanted) if replace else "SELECT 1"
            # In the order in which they stand here, and all of them or none.
            tools.run(
                "psql",
                address,
                "--no-psqlrc",
                "--quiet",
                "--single-transaction",
                "--set=ON_ERROR_STOP=1",
                f"--command={drop}",
                f"--file={script}",
            )
        finally:
            chosen.unlink(missing_ok=True)
            script.unlink(missing_ok=True)

    def migrate_saved(self, save: Callable[[int], None], wait: Callable[[], None]) -> None:
        """See the contract. Of nodes that start together the first does both, the others wait.

        An empty database, or one that is up to date or newer, is left alone.
        """
        with _connected(self.address) as connection:
            if not _is_older(connection):
                return
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", (_SAVER_LOCK,)).fetchone()
            if row is None or not row[0]:
                wait()
                connection.execute("SELECT pg_advisory_lock(%s)", (_SAVER_LOCK,))
            if _is_older(connection):
                save(version(connection, "desk"))
                migrate(connection, "desk")

    def maker(self) -> Maker:
        """See the contract."""
        return NodeMaker(self.address, _MAKER_LOCK)


def nodes_here(address: str) -> int:
    """How many processes have a desk open on this database now. Raises `StorageFailed`."""
    with _connected(address) as connection:
        (count,) = connection.execute(_NODES_HERE, (LOCK_CLASS,)).fetchone() or (0,)
        return int(count)


def _is_older(connection: psycopg.Connection[Any]) -> bool:
    return 0 < version(connection, "desk") < newest_version("desk")


class NodeMaker:
    """Of all nodes on a database, the one that does something (makes its backups): while connected.

    Used by one thread at a time.
    """

    def __init__(self, address: str, lock: int) -> None:
        """`lock`: the number of the advisory lock that stands for it."""
        self._address = address
        self._lock = lock
        self._connection: Punctual | None = None

    def is_ours(self) -> bool:
        """Whether this node is the one, or becomes it now. Raises `StorageFailed`."""
        if self._connection is not None:
            if not is_left_behind(self._connection):
                with suppress(psycopg.Error):
                    self._connection.execute("SELECT 1")
                    return True
            self.close()
        connection = connect_at_leisure(self._address, _CALLED)
        try:
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", (self._lock,)).fetchone()
        except psycopg.Error as error:
            connection.close()
            raise failure(error) from error
        if row is None or not row[0]:
            connection.close()
            return False
        self._connection = connection
        return True

    def close(self) -> None:
        """Let another node be the one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def _connected(address: str) -> Iterator[psycopg.Connection[Any]]:
    with closing(connect_at_leisure(address, _CALLED)) as connection:
        try:
            yield connection
        except psycopg.Error as error:
            raise failure(error) from error


@contextmanager
def _one_moment(connection: psycopg.Connection[Any]) -> Iterator[Ask]:
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        yield lambda text: connection.execute(text.encode()).fetchall()
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")


def _books(connection: psycopg.Connection[Any], ask: Callable[[str], Any]) -> DeskSums:
    there = {name for (name,) in ask(_IN_SCHEMA)} & TABLES
    tables = frozenset(there)
    has = version(connection, "desk")
    return DeskSums(has, add_up(ask, tables), digests_in(ask, tables), mark_in(ask, tables))


def _tools(connection: psycopg.Connection[Any]) -> Programs:
    return programs_for(connection.info.server_version // 10_000)


def _look_at(tools: Programs, archive: Path) -> bytes:
    """What is in a dump. Raises `BackupDamaged`."""
    contents = archive.with_suffix(".contents")
    try:
        tools.run("pg_restore", "", "--list", f"--file={contents}", str(archive))
        return contents.read_bytes()
    except BackupRefused as error:
        raise BackupDamaged("O banco de dados da cópia não pode ser lido.") from error
    finally:
        contents.unlink(missing_ok=True)


def _drop(schema: str) -> str:
    tables = ", ".join(_pattern(schema, name) for name in OWN_TABLES)
    functions = ", ".join(_pattern(schema, name) for name in OWN_FUNCTIONS)
    return f"DROP TABLE IF EXISTS {tables}; DROP FUNCTION IF EXISTS {functions}"


def _named(statement: LiteralString, *names: str) -> sql.Composed:
    return sql.SQL(statement).format(*map(sql.Identifier, names))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _pattern(schema: str, name: str) -> str:
    return f"{_quoted(schema)}.{_quoted(name)}"
