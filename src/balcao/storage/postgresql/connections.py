"""Connections to PostgreSQL that reconnect by themselves and bound every wait.

The address never appears in logs or errors: it may contain a password.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache, partial
from threading import RLock
from typing import Any, TypeVar

import psycopg
from psycopg import errors, waiting
from psycopg.abc import PQGen
from psycopg.adapt import Transformer
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq.abc import PGresult

from balcao.core.errors import StorageFailed
from balcao.storage.connection import Rows
from balcao.storage.failure import failure
from balcao.storage.postgresql.timeline import TIMELINES, OldTimeline, Place

log = logging.getLogger(__name__)
# psycopg logs errors that it does not raise, with the server's messages, which may contain rows.
logging.getLogger("psycopg").setLevel(logging.CRITICAL)

T = TypeVar("T")

CONNECT_SECONDS_MAX = 2  # libpq rounds one second up to two anyway
# For a start or a command, which may wait longer than a request for a busy server.
PATIENT_CONNECT_SECONDS_MAX = 10
STATEMENT_SECONDS_MAX = 5
# The server's own time-out is shorter: this is for a server that is stopped or cut off.
ANSWER_SECONDS_MAX = 6.0
READER_SECONDS_MAX = 60
FULL_SCAN_SECONDS_MAX = 3_600
UNLIMITED_SECONDS = 30 * 86_400.0
# A node that is cut off within a transaction keeps accounts locked until the server ends it. That
# comes before other nodes give up waiting for the lock, which would fail all their writes.
IDLE_SECONDS_MAX = 3
LOCK_SECONDS_MAX = 4
# After a failure to connect, requests fail at once for this long; then the next one tries again.
AWAY_SECONDS = 1.0
# After this time without an answer the connection counts as unhealthy.
SILENCE_SECONDS = 1.0

# Serializes transactions of `transaction()` on all nodes, as SQLite does.
TRANSACTION_LOCK = 0x62616C63  # "balc"
# One node at a time has its first start, which creates the accounts of the sandbox.
FIRST_START_LOCK = 0x62616C73  # "bals"

# The sequence that issues a column's numbers, whether it is owned by the column or not.
SEQUENCE = """
SELECT coalesce(pg_get_serial_sequence(?, ?), (
    SELECT s.oid::regclass::text FROM pg_attrdef AS d
    JOIN pg_attribute AS a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
    JOIN pg_depend AS p ON p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid
         AND p.refclassid = 'pg_class'::regclass
    JOIN pg_class AS s ON s.oid = p.refobjid AND s.relkind = 'S'
    WHERE d.adrelid = ?::regclass AND a.attname = ?
))
"""

_SETTINGS: dict[str, Any] = {
    "connect_timeout": CONNECT_SECONDS_MAX,
    "application_name": "balcao",
    # The primary of several hosts; a standby is refused. Takes no round trip since PostgreSQL 14:
    # the server reports it at the start of a connection.
    "target_session_attrs": "read-write",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 5_000,
    "options": (
        f"-c statement_timeout={STATEMENT_SECONDS_MAX}s -c lock_timeout={LOCK_SECONDS_MAX}s"
        f" -c idle_in_transaction_session_timeout={IDLE_SECONDS_MAX}s -c timezone=UTC"
        # Force index lookups. Plans live as long as their connection: a sequential scan chosen
        # while a month's partition was empty would be used when it has grown. JIT never pays off.
        " -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off"
        # The server detects soon that we are gone, and releases our locks.
        " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=2"
        " -c tcp_user_timeout=5000"
    ),
}

# For reading whole tables, on a connection of its own.
FULL_SCAN_SETTINGS = "SET enable_seqscan = on; SET enable_hashjoin = on; SET enable_mergejoin = on"


class TimedConnection(psycopg.Connection[Any]):
    """A psycopg connection whose waits for answers are bounded, even if the server is frozen."""

    patience_seconds = ANSWER_SECONDS_MAX
    waiting_since: float | None = None  # on the monotonic clock, while an answer is awaited
    place: Place | None = None  # of its server

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.prepared: dict[str, bytes] = {}  # statements of `pipeline`, and their names
        self.prepares_anew = False  # the prepared statements may be invalid
        self._adaptation = Transformer(self)

    @contextmanager
    def waiting(self) -> Iterator[float]:
        """Record a wait for an answer; gives its deadline on the monotonic clock."""
        self.waiting_since = time.monotonic()
        try:
            yield self.waiting_since + self.patience_seconds
        finally:
            self.waiting_since = None

    def rows_of(self, result: PGresult) -> list[tuple[Any, ...]]:
        """Return a result's rows, with values converted by psycopg."""
        self._adaptation.set_pgresult(result)
        return self._adaptation.load_rows(0, result.ntuples, tuple)

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """psycopg's own hook."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        with self.waiting():
            try:
                return waiting.wait(
                    gen, self.pgconn.socket, interval=interval, timeout=self.patience_seconds
                )
            except errors._WaitTimeout:
                self.pgconn.finish()  # an incomplete exchange cannot be continued
                raise psycopg.OperationalError("no answer") from None
            except KeyboardInterrupt:
                # psycopg would cancel the statement: then the server acknowledges a commit that
                # still waits for its standby.
                self.pgconn.finish()
                raise


def _settings(address: str) -> dict[str, Any]:
    """Return the connection parameters: those of the address, with our defaults.

    `options` are combined, so that an address with a `search_path` keeps our time-outs. The
    encoding is always UTF-8, as `pipeline` needs.
    """
    given = psycopg.conninfo.conninfo_to_dict(address)
    options = f"{_SETTINGS['options']} {given.get('options') or ''}".rstrip()
    return {**_SETTINGS, **given, "options": options, "client_encoding": "UTF8"}


def _connected(settings: Mapping[str, Any], *, patient: bool) -> TimedConnection:
    """Connect to the first host that is a primary on the newest timeline. Raises `psycopg.Error`.

    `patient`: try again with a longer time-out after `CONNECT_SECONDS_MAX`.
    """
    try:
        connection = TimedConnection.connect(**settings, autocommit=True)
    except psycopg.OperationalError as error:
        timed_out = "timeout expired" in str(error)  # psycopg's message, of any of the hosts
        if not (patient and timed_out and settings["connect_timeout"] == CONNECT_SECONDS_MAX):
            raise
        longer = {**settings, "connect_timeout": PATIENT_CONNECT_SECONDS_MAX}
        connection = TimedConnection.connect(**longer, autocommit=True)
    try:
        _check_timeline(connection)
    except OldTimeline:
        # psycopg took the first primary that it found; the newest one may be a later host.
        for host in _hosts(settings):
            with suppress(psycopg.OperationalError):
                other = TimedConnection.connect(**host, autocommit=True)
                _check_timeline(other)
                return other
        raise
    return connection


def _check_timeline(connection: TimedConnection) -> None:
    try:
        connection.place = TIMELINES.check(connection)
    except BaseException:
        connection.close()
        raise


def _hosts(settings: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Return one address for each of several hosts; none if there is only one host."""
    lists = {
        name: str(settings[name]).split(",")
        for name in ("host", "hostaddr", "port")
        if settings.get(name)
    }
    many = max((len(lists.get(name, ())) for name in ("host", "hostaddr")), default=0)
    if many < 2:
        return []
    return [
        {**settings, **{name: each[n if len(each) > 1 else 0] for name, each in lists.items()}}
        for n in range(many)
    ]


class ReconnectingConnection:
    """A `SqlConnection` that connects when needed, and again after it was lost.

    Used by one thread at a time. `on_connect` is called first on every new connection.
    With `pipelines` psycopg prepares no statements itself: after a rollback it would deallocate
    all prepared statements, including those of `pipeline`.
    With `patient` a slow server gets more time for the first connection.
    A connection used on the event loop's thread has a `monitor`, another connection in a thread of
    its own. While that is unhealthy this one fails at once, so that a silent database never blocks
    the loop.
    """

    contains = "position(? in {column}) > 0"
    skip_locked = "FOR UPDATE SKIP LOCKED"
    new_number = "DEFAULT"

    def __init__(
        self,
        address: str,
        on_connect: Callable[[psycopg.Connection[Any]], None] | None = None,
        *,
        pipelines: bool = False,
        patient: bool = False,
    ) -> None:
        self._address = address
        self._pipelines = pipelines
        self._patient = patient
        self._on_connect = on_connect
        self._connection: TimedConnection | None = None
        self._away_until = 0.0
        self._closed = False
        self._in_transaction = False
        self.lock = RLock()
        self.broken_rule: type[Exception] = psycopg.IntegrityError
        self.monitor: ReconnectingConnection | None = None

    def is_healthy(self) -> bool:
        """Return whether it is connected, and not waiting for an answer for too long."""
        connection = self._connection
        if connection is None or connection.closed:
            return False
        since = connection.waiting_since
        return since is None or time.monotonic() - since < SILENCE_SECONDS

    def get(self) -> TimedConnection:
        """Return the connection. Raises `StorageFailed` if the database cannot be reached."""
        if self.monitor is not None and not self.monitor.is_healthy():
            raise StorageFailed("database away")
        connection = self._connection
        if connection is not None and not connection.closed:
            if not TIMELINES.is_old(connection.place):
                return connection
            # Another connection has found a newer primary.
            within = self._in_transaction or connection.info.transaction_status != _IDLE
            self.drop()
            if within:
                raise StorageFailed("database away")
        if self._closed:
            raise StorageFailed("closed")
        if time.monotonic() < self._away_until:
            raise StorageFailed("database away")
        connection = None
        try:
            connection = _connected(_settings(self._address), patient=self._patient)
            if self._pipelines:
                connection.prepare_threshold = None
            if self._on_connect is not None:
                self._on_connect(connection)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if not isinstance(error, psycopg.Error):
                raise
            self._away_until = time.monotonic() + AWAY_SECONDS
            raise failure(error) from error
        self._connection = connection
        self._patient = False
        return connection

    def is_lost(self) -> bool:
        """Return whether the connection broke: a restart of the database, or a firewall."""
        return self._connection is not None and bool(self._connection.closed)

    def drop(self) -> None:
        """Close the connection, whatever is under way on it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    @contextmanager
    def guarded(self) -> Iterator[TimedConnection]:
        """Give the connection for several statements; errors become `StorageFailed`.

        Broken constraints are raised unchanged. An open transaction is rolled back.
        """
        with self.lock:
            connection = self.get()
            try:
                yield connection
            except psycopg.IntegrityError:
                raise
            except psycopg.Error as error:
                if isinstance(error, errors.ReadOnlySqlTransaction):
                    self.drop()  # a demoted primary: the next connection finds another one
                elif not connection.closed and connection.info.transaction_status != _IDLE:
                    with suppress(psycopg.Error):
                        connection.rollback()
                raise failure(error) from error

    # As `storage.connection.SqlConnection`.

    def execute(self, sql: str, values: Sequence[Any] = (), *, repeatable: bool = False) -> Rows:
        """Run one statement.

        A SELECT, or a `repeatable` statement, is tried again on a new connection if this one was
        lost, or has a prepared plan that no longer fits the schema.
        """
        text = translated(sql)
        try:
            with self.guarded() as connection:
                return connection.execute(text, values)
        except StorageFailed as failed:
            harmless = repeatable or text.startswith("SELECT")
            overtaken = isinstance(failed.__cause__, errors.FeatureNotSupported)
            if not (self.is_lost() or overtaken) or self._in_transaction or not harmless:
                raise
            self.drop()
            with self.guarded() as connection:
                log.info("connected anew after %s", failed.detail)
                return connection.execute(text, values)

    def insert_rows(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]
    ) -> None:
        """See `SqlConnection`. By COPY: one statement, so that triggers of statements run once."""
        if not rows:
            return
        names = ", ".join(columns)
        with (
            self.guarded() as connection,
            connection.cursor() as cursor,
            cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy,
        ):
            for row in rows:
                copy.write_row(row)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self.guarded() as connection, connection.transaction():
            connection.execute(f"SELECT pg_advisory_xact_lock({TRANSACTION_LOCK})")
            self._in_transaction = True
            try:
                yield
            finally:
                self._in_transaction = False

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self.guarded() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._in_transaction = True
            try:
                yield
            finally:
                self._in_transaction = False
                connection.execute("ROLLBACK")

    def skip_numbers(self, table: str, column: str, least: int) -> None:
        """See `SqlConnection`. Sequences only advance, so later numbers are greater."""
        self.execute(
            "INSERT INTO number_floor (numbered, least) VALUES (?, ?)"
            " ON CONFLICT (numbered) DO UPDATE"
            " SET least = greatest(number_floor.least, excluded.least)",
            (table, least),
        )
        found = self.execute(SEQUENCE, (table, column, table, column)).fetchone()
        self.execute(
            f"SELECT setval(?::regclass, greatest(?, (SELECT last_value FROM {found[0]})))",
            (found[0], least - 1),
        )

    def scrub(self) -> None:
        """Do nothing: the server reuses the space by itself."""

    def close(self) -> None:
        """Close it permanently."""
        with self.lock:
            self._closed = True
            self.drop()


class OpenTransaction:
    """Runs statements in the open transaction of a connection. Raises psycopg's own errors."""

    def __init__(self, connection: TimedConnection) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Rows:
        """Run one statement."""
        return self._connection.execute(translated(sql), values)


_IDLE = psycopg.pq.TransactionStatus.IDLE


@lru_cache(maxsize=1024)
def translated(sql: str) -> str:
    """Return SQL with psycopg's placeholders in place of question marks."""
    return sql.replace("?", "%s")


def is_outdated(connection: TimedConnection) -> bool:
    """Return whether a newer primary was found since this connection was made."""
    return TIMELINES.is_old(connection.place)


def address_of(connection: psycopg.Connection[Any], address: str) -> str:
    """Return the address of the one server that a connection leads to.

    Other programs would use the first host that answers, such as a standby or an old primary.
    """
    info = connection.info
    one = {**conninfo_to_dict(address), "host": info.host, "port": info.port}
    one.pop("load_balance_hosts", None)
    if info.hostaddr:  # not of a socket
        one["hostaddr"] = info.hostaddr
    return make_conninfo("", **one)


def connect_without_timeouts(address: str, name: str) -> TimedConnection:
    """Open a plain connection without time-outs for statements. Raises `StorageFailed`.

    `name`: the `application_name`.
    """
    usual: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS_MAX,
        "application_name": name,
        "target_session_attrs": "read-write",
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 2,
        "client_encoding": "utf-8",
    }
    try:
        usual |= conninfo_to_dict(address)
        connection = _connected(usual, patient=True)
        connection.patience_seconds = UNLIMITED_SECONDS
        connection.execute("SET idle_in_transaction_session_timeout = 0")
        connection.execute("SET statement_timeout = 0")
    except psycopg.Error as error:
        raise failure(error) from error
    return connection


@contextmanager
def open_for_full_scan(address: str) -> Iterator[ReconnectingConnection]:
    """Open a connection for reading whole tables, which may take minutes.

    Raises `StorageFailed`.
    """
    database = ReconnectingConnection(
        address, partial(_patiently, FULL_SCAN_SECONDS_MAX), patient=True
    )
    try:
        database.execute(FULL_SCAN_SETTINGS)
        yield database
    finally:
        database.close()


@contextmanager
def open_reader(address: str) -> Iterator[ReconnectingConnection]:
    """Open a connection for slow reads, of up to a minute per statement. Usable in any thread."""
    database = ReconnectingConnection(
        address, partial(_patiently, READER_SECONDS_MAX), patient=True
    )
    try:
        yield database
    finally:
        database.close()


@contextmanager
def first_start(address: str) -> Iterator[None]:
    """Lock out the first start of other nodes, waiting up to a minute for one under way.

    Raises `StorageFailed`.
    """
    with open_reader(address) as database:
        with database.guarded() as connection:
            connection.execute("SET lock_timeout = '60s'")
            connection.execute(f"SELECT pg_advisory_lock({FIRST_START_LOCK})")
        yield  # the lock ends with the connection


@contextmanager
def with_timeout(connection: psycopg.Connection[Any], seconds_max: int) -> Iterator[None]:
    """Raise the time-out for answers to this time and a little more."""
    if not isinstance(connection, TimedConnection):
        yield
        return
    before = connection.patience_seconds
    connection.patience_seconds = seconds_max + 5.0
    try:
        yield
    finally:
        connection.patience_seconds = before


def _patiently(seconds_max: int, connection: psycopg.Connection[Any]) -> None:
    assert isinstance(connection, TimedConnection)
    connection.patience_seconds = seconds_max + 5.0
    connection.execute(
        f"SET statement_timeout = '{seconds_max}s'; SET idle_in_transaction_session_timeout = '60s'"
    )
