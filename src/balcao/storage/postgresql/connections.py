"""Connections to PostgreSQL that come back by themselves, and never keep anybody waiting for long.

Nothing here, nor any error, ever tells the address: there may be a password in it.
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
# psycopg tells there what it does not raise, in the server's own words: with rows in them.
logging.getLogger("psycopg").setLevel(logging.CRITICAL)

T = TypeVar("T")

CONNECT_SECONDS_MAX = 2  # libpq rounds one second up to two anyway
# Nobody waits for a start or a command as requests do, and a busy server takes its time.
PATIENT_CONNECT_SECONDS_MAX = 10
STATEMENT_SECONDS_MAX = 5
# The server ends a statement itself; this is for one that is stopped, or was cut off.
ANSWER_SECONDS_MAX = 6.0
APART_SECONDS_MAX = 60
ADD_UP_SECONDS_MAX = 3_600
LEISURE_SECONDS_MAX = 30 * 86_400.0
# A node that is cut off in a transaction keeps accounts locked until the server has had enough of
# it: sooner than others give up waiting for the lock, which would fail all that they write.
IDLE_SECONDS_MAX = 3
LOCK_SECONDS_MAX = 4
# While the database is away, everybody is told so at once for this long, and then one tries again.
AWAY_SECONDS = 1.0
# Who waits for an answer longer than this is probably waiting for nothing.
SILENCE_SECONDS = 1.0

# Operators' deeds follow one another on all nodes, as SQLite's writers do.
DEEDS_LOCK = 0x62616C63  # "balc"
# Of nodes that have their first start at once, one makes the accounts of the sandbox.
FIRST_START_LOCK = 0x62616C73  # "bals"

# The sequence that gives a column its numbers, whether it belongs to the column or not.
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
    # Of several hosts the primary. A standby is refused, whatever name led to it. No round trip
    # since PostgreSQL 14: the server reports it when a connection begins.
    "target_session_attrs": "read-write",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 5_000,
    "options": (
        f"-c statement_timeout={STATEMENT_SECONDS_MAX}s -c lock_timeout={LOCK_SECONDS_MAX}s"
        f" -c idle_in_transaction_session_timeout={IDLE_SECONDS_MAX}s -c timezone=UTC"
        # Everything is looked up by an index, row by row. Plans are kept for as long as their
        # connection: one that was made while a month's partition was still empty would otherwise
        # go on reading all of it when it has grown. Nothing here is worth compiling.
        " -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off"
        # The server, too, finds out soon that we are gone: our locks go with us.
        " -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=2"
        " -c tcp_user_timeout=5000"
    ),
}

# For what reads everything, on a connection of its own.
READ_FROM_END_TO_END = (
    "SET enable_seqscan = on; SET enable_hashjoin = on; SET enable_mergejoin = on"
)


class Punctual(psycopg.Connection[Any]):
    """One that never waits for an answer for ever, even from a server that stands still."""

    patience_seconds = ANSWER_SECONDS_MAX
    waiting_since: float | None = None  # on the monotonic clock, while an answer is awaited
    place: Place | None = None  # of its server

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.prepared: dict[str, bytes] = {}  # statements of `pipeline`, and their names
        self.prepares_anew = False  # none of them can be relied upon
        self._adaptation = Transformer(self)

    @contextmanager
    def waiting(self) -> Iterator[float]:
        """While an answer is awaited: until when, on the monotonic clock."""
        self.waiting_since = time.monotonic()
        try:
            yield self.waiting_since + self.patience_seconds
        finally:
            self.waiting_since = None

    def rows_of(self, result: PGresult) -> list[tuple[Any, ...]]:
        """An answer's rows, as psycopg reads their types."""
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
                self.pgconn.finish()  # half a conversation is worth nothing
                raise psycopg.OperationalError("no answer") from None
            except KeyboardInterrupt:
                # Not cancelled, as psycopg does: the server would acknowledge a commit that still
                # waits for its standby.
                self.pgconn.finish()
                raise


def _settings(address: str) -> dict[str, Any]:
    """What the address says comes first; ours fill in what it is silent about.

    Of `options`, too: whoever sets a `search_path` there wants to keep our time-outs. The encoding
    is ours: `pipeline` writes UTF-8.
    """
    given = psycopg.conninfo.conninfo_to_dict(address)
    options = f"{_SETTINGS['options']} {given.get('options') or ''}".rstrip()
    return {**_SETTINGS, **given, "options": options, "client_encoding": "UTF8"}


def _connected(settings: Mapping[str, Any], *, patient: bool) -> Punctual:
    """Connect to the first host that is a primary on the newest timeline. Raises `psycopg.Error`.

    `patient`: a server that takes no connection within `CONNECT_SECONDS_MAX` gets more time.
    """
    try:
        connection = Punctual.connect(**settings, autocommit=True)
    except psycopg.OperationalError as error:
        timed_out = "timeout expired" in str(error)  # psycopg's own words, of any of the hosts
        if not (patient and timed_out and settings["connect_timeout"] == CONNECT_SECONDS_MAX):
            raise
        longer = {**settings, "connect_timeout": PATIENT_CONNECT_SECONDS_MAX}
        connection = Punctual.connect(**longer, autocommit=True)
    try:
        _check_timeline(connection)
    except OldTimeline:
        # psycopg took the first primary that it found: the newest one may be behind it.
        for host in _hosts(settings):
            with suppress(psycopg.OperationalError):
                other = Punctual.connect(**host, autocommit=True)
                _check_timeline(other)
                return other
        raise
    return connection


def _check_timeline(connection: Punctual) -> None:
    try:
        connection.place = TIMELINES.check(connection)
    except BaseException:
        connection.close()
        raise


def _hosts(settings: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Split an address of several hosts into one address for each; none if there is only one."""
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


class LastingConnection:
    """One connection, opened when it is needed and anew when it was lost.

    Used by one thread at a time. `greet` is done on every new connection before anything else.
    On one for `pipelines` psycopg itself prepares nothing: after a rollback it lets go of all that
    is prepared (DEALLOCATE ALL), what `pipeline` did too.
    One that is `patient` gives a slow server more time for its first connection.
    One that is used on the event loop's own thread gets a `scout`: another line, in a thread of its
    own, that has to be well, so that a silent database never holds up the loop.
    """

    contains = "position(? in {column}) > 0"
    skip_locked = "FOR UPDATE SKIP LOCKED"
    new_number = "DEFAULT"

    def __init__(
        self,
        address: str,
        greet: Callable[[psycopg.Connection[Any]], None] | None = None,
        *,
        pipelines: bool = False,
        patient: bool = False,
    ) -> None:
        self._address = address
        self._pipelines = pipelines
        self._patient = patient
        self._greet = greet
        self._connection: Punctual | None = None
        self._away_until = 0.0
        self._closed = False
        self._in_transaction = False
        self.lock = RLock()
        self.broken_rule: type[Exception] = psycopg.IntegrityError
        self.scout: LastingConnection | None = None

    def is_well(self) -> bool:
        """Whether it is connected, and not waiting in vain."""
        connection = self._connection
        if connection is None or connection.closed:
            return False
        since = connection.waiting_since
        return since is None or time.monotonic() - since < SILENCE_SECONDS

    def get(self) -> Punctual:
        """The connection. Raises `StorageFailed` when the database cannot be reached."""
        if self.scout is not None and not self.scout.is_well():
            raise StorageFailed("database away")
        connection = self._connection
        if connection is not None and not connection.closed:
            if not TIMELINES.is_old(connection.place):
                return connection
            # Another connection has found a newer primary: this one leads to the old one.
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
            if self._greet is not None:
                self._greet(connection)
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
        """Whether the connection broke: the database was started anew, or a firewall forgot us."""
        return self._connection is not None and bool(self._connection.closed)

    def drop(self) -> None:
        """Let go of a connection that may be in the middle of something."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    @contextmanager
    def guarded(self) -> Iterator[Punctual]:
        """The connection, for something that is done as a whole; errors become `StorageFailed`.

        Broken rules stay as they are.
        """
        with self.lock:
            connection = self.get()
            try:
                yield connection
            except psycopg.IntegrityError:
                raise
            except psycopg.Error as error:
                if isinstance(error, errors.ReadOnlySqlTransaction):
                    self.drop()  # a primary that was demoted: the next connection looks elsewhere
                elif not connection.closed and connection.info.transaction_status != _IDLE:
                    with suppress(psycopg.Error):
                        connection.rollback()
                raise failure(error) from error

    # As `storage.connection.SqlConnection`.

    def execute(self, sql: str, values: Sequence[Any] = (), *, repeatable: bool = False) -> Rows:
        """Run one statement.

        What only reads, or may be done twice, is tried once more on a new connection: when this one
        was lost, or when it has prepared a plan that no longer fits the schema.
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

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """See the contract."""
        with self.guarded() as connection, connection.transaction():
            connection.execute(f"SELECT pg_advisory_xact_lock({DEEDS_LOCK})")
            self._in_transaction = True
            try:
                yield
            finally:
                self._in_transaction = False

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        """See the contract."""
        with self.guarded() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self._in_transaction = True
            try:
                yield
            finally:
                self._in_transaction = False
                connection.execute("ROLLBACK")

    def skip_numbers(self, table: str, column: str, least: int) -> None:
        """See the contract. What was issued since is greater: a sequence only moves forward."""
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
        """See the contract. The server reuses the room by itself."""

    def close(self) -> None:
        """Let go of it for good."""
        with self.lock:
            self._closed = True
            self.drop()


_IDLE = psycopg.pq.TransactionStatus.IDLE


@lru_cache(maxsize=1024)
def translated(sql: str) -> str:
    """Question marks as psycopg writes them."""
    return sql.replace("?", "%s")


def is_left_behind(connection: Punctual) -> bool:
    """Return whether a newer primary was found since this connection was made."""
    return TIMELINES.is_old(connection.place)


def address_of(connection: psycopg.Connection[Any], address: str) -> str:
    """Return an address that leads to the very server of a connection.

    Other programs would take the first host that answers: a standby, or an old primary.
    """
    info = connection.info
    one = {**conninfo_to_dict(address), "host": info.host, "port": info.port}
    one.pop("load_balance_hosts", None)
    if info.hostaddr:  # not of a socket
        one["hostaddr"] = info.hostaddr
    return make_conninfo("", **one)


def connect_at_leisure(address: str, name: str) -> Punctual:
    """A plain connection for what may take long, and for who leads it. Raises `StorageFailed`.

    `name`: what the server calls it.
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
        connection.patience_seconds = LEISURE_SECONDS_MAX
        connection.execute("SET idle_in_transaction_session_timeout = 0")
        connection.execute("SET statement_timeout = 0")
    except psycopg.Error as error:
        raise failure(error) from error
    return connection


@contextmanager
def opened_to_add_up(address: str) -> Iterator[LastingConnection]:
    """One that reads every row there is, which takes minutes where there are a billion.

    Raises `StorageFailed`.
    """
    line = LastingConnection(address, partial(_patiently, ADD_UP_SECONDS_MAX), patient=True)
    try:
        line.execute(READ_FROM_END_TO_END)
        yield line
    finally:
        line.close()


@contextmanager
def opened_apart(address: str) -> Iterator[LastingConnection]:
    """A connection of its own for what may take long; usable in any thread.

    Statements may take a minute there.
    """
    line = LastingConnection(address, partial(_patiently, APART_SECONDS_MAX), patient=True)
    try:
        yield line
    finally:
        line.close()


@contextmanager
def first_start(address: str) -> Iterator[None]:
    """Be the only node that has its first start; a minute is waited for another one's end.

    Raises `StorageFailed`.
    """
    with opened_apart(address) as line:
        with line.guarded() as connection:
            connection.execute("SET lock_timeout = '60s'")
            connection.execute(f"SELECT pg_advisory_lock({FIRST_START_LOCK})")
        yield  # the lock goes with the connection


@contextmanager
def taking_time(connection: psycopg.Connection[Any], seconds_max: int) -> Iterator[None]:
    """Wait for answers as long as the server may work on one, and a little longer."""
    if not isinstance(connection, Punctual):
        yield
        return
    before = connection.patience_seconds
    connection.patience_seconds = seconds_max + 5.0
    try:
        yield
    finally:
        connection.patience_seconds = before


def _patiently(seconds_max: int, connection: psycopg.Connection[Any]) -> None:
    assert isinstance(connection, Punctual)
    connection.patience_seconds = seconds_max + 5.0
    connection.execute(
        f"SET statement_timeout = '{seconds_max}s'; SET idle_in_transaction_session_timeout = '60s'"
    )
