"""The one writing connection: everything that waits shares the next commit.

No timers: what arrives in one turn of the event loop, or while a batch is being made durable, is
the next batch (group commit). Each batch is a handful of statements, whatever its size.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import apsw

from balcao.core.ledger import Change, Purse
from balcao.storage.ballast import Ballast
from balcao.storage.batch import (
    AUDIT_COLUMNS,
    BINDING_COLUMNS,
    CERTIFICATE_COLUMNS,
    ENTRY_COLUMNS,
    OPENED_COLUMNS,
    RECEIPT_COLUMNS,
    TRACE_COLUMNS,
    VISIT_COLUMNS,
    Batch,
    Needs,
    OpenHold,
    Outcome,
    Row,
    needs,
)
from balcao.storage.desk import jobs
from balcao.storage.failure import failure
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.files import BUSY_TIMEOUT_MS, is_full, make_room
from balcao.storage.turns import Worker, in_thread

log = logging.getLogger(__name__)

ROWS_PER_STATEMENT_MAX = 128  # powers of two up to here: few statements to keep prepared
# A commit in place that takes longer sends the next second's batches to the thread.
IN_PLACE_SECONDS_MAX = 0.005
IN_PLACE_AGAIN_SECONDS = 1.0

WAL_PAGES_MAX = 4_000  # 16 MB: then what was committed is carried over into the file itself

T = TypeVar("T")


@dataclass(slots=True)
class Job:
    """Change lists to be made durable together."""

    lists: Sequence[Sequence[Change]]
    limits: Sequence[tuple[str, float]] = field(default_factory=tuple)  # rate limits, best effort
    at_ms: int | None = None  # the instant, to be found in the books at the next start


class FileWriter:
    """Owns the writing connection. Whoever holds its lock uses it: the thread, or `at_once`.

    Handing a batch to another thread and back costs more than writing it to a quick disk,
    because both threads want the interpreter. So a batch is written where it is, as long as
    that takes less than a moment; a slow disk, a checkpoint or another process that holds the
    file never keep the event loop: then the thread waits for them.
    """

    def __init__(self, connection: apsw.Connection, ballast: Ballast) -> None:
        self._connection = connection
        self._ballast = ballast
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._wal_pages = 0
        connection.set_wal_hook(self._note_wal)
        self._lock = threading.Lock()
        self._in_place_from = 0.0  # on the monotonic clock: until then, everything to the thread
        self.worker = Worker("desk-writer")

    def at_once(self, job: Job) -> Sequence[Outcome] | None:
        """Write a job in place, or None: it is for `patiently`."""
        began = time.monotonic()
        if began < self._in_place_from or not self._lock.acquire(blocking=False):
            return None
        try:
            self._connection.set_busy_timeout(0)
            outcomes = self._together(job)
        except (apsw.BusyError, _Full):
            return None
        finally:
            self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            self._lock.release()
        now = time.monotonic()
        if now - began > IN_PLACE_SECONDS_MAX:
            self._in_place_from = now + IN_PLACE_AGAIN_SECONDS
        self._checkpoint_soon()
        return outcomes

    def close(self, limits: Sequence[tuple[str, float]]) -> None:
        """Finish what is queued, and these rate limits; then let go of the file."""
        self.worker.submit(partial(self.patiently, Job((), limits)))
        self.worker.close()
        self._connection.close()

    # In the thread.

    def patiently(self, job: Job) -> Sequence[Outcome]:
        """Write a job, however long that takes. Raises nothing."""
        with self._lock:
            outcomes = self._trying_twice(job)
        self._checkpoint_soon()
        return outcomes

    async def in_turn(self, work: Callable[[apsw.Connection], T]) -> T:
        """Have some work done in the thread, which may wait for a busy file.

        Of several statements it makes a transaction itself. Raises what the work refuses (our own
        errors, `LookupError`), and else `StorageFailed`.
        """
        return await in_thread(self.worker, partial(self._beside, work), in_any_case=True)

    def _trying_twice(self, job: Job) -> Sequence[Outcome]:
        try:
            return self._together(job)
        except _Full:
            self.make_room()
            try:
                return self._together(job)
            except (apsw.BusyError, _Full) as error:
                return [_failure(error.__cause__ or error)] * len(job.lists)
        except apsw.BusyError as error:  # held by another process for longer than we wait
            return [_failure(error)] * len(job.lists)

    def _beside(self, work: Callable[[apsw.Connection], T]) -> T:
        with self._lock:
            try:
                return work(self._connection)
            except Exception as error:
                if is_full(error):
                    self.make_room()  # for the next one
                raise
            finally:
                self._checkpoint_soon()

    def make_room(self) -> None:
        """Free what can be on a full disk. In the thread, in its turn."""
        make_room(self._connection, self._ballast)
        self._wal_pages = 0

    def _checkpoint_soon(self) -> None:
        """In the thread, after those who wait were told."""
        if self._wal_pages > WAL_PAGES_MAX:
            self.worker.submit(self._checkpoint)

    def _checkpoint(self) -> None:
        with self._lock:
            if self._wal_pages <= WAL_PAGES_MAX:
                return
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            except apsw.Error as error:  # the log goes on growing; nothing is lost
                log.warning("checkpoint failed: %s", type(error).__name__)
            self._wal_pages = 0

    def _note_wal(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    # In either thread, with the lock.

    def _together(self, job: Job) -> Sequence[Outcome]:
        try:
            return write(self._connection, job.lists, job.limits, job.at_ms)
        except apsw.BusyError:
            raise
        except (apsw.ConstraintError, AssertionError, LookupError, UnicodeError):
            # A wall of the schema, or a list that makes no sense: only that list may suffer.
            return [self._alone(changes) for changes in job.lists]
        except Exception as error:
            if is_full(error):
                raise _Full from error
            return [_failure(error)] * len(job.lists)

    def _alone(self, changes: Sequence[Change]) -> Outcome:
        try:
            return write(self._connection, [changes])[0]
        except Exception as error:
            return _failure(error)


class _Full(Exception):
    """The disk has no room, and nothing was kept. The cause is SQLite's own error."""


def _failure(error: BaseException) -> Exception:
    log.error("commit failed: %s", type(error).__name__)
    assert isinstance(error, Exception)
    return failure(error)


def write(
    connection: apsw.Connection,
    lists: Sequence[Sequence[Change]],
    limits: Sequence[tuple[str, float]] = (),
    at_ms: int | None = None,
) -> list[Outcome]:
    """Decide the lists in order and commit what was admitted, durably, all at once."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        batch = _read(connection, needs(lists))
        outcomes: list[Outcome] = [batch.admit(changes) for changes in lists]
        _store(connection, batch, limits)
        if at_ms is not None:
            connection.execute(QUERIES["heartbeat"], (at_ms,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return outcomes


def _read(connection: apsw.Connection, wanted: Needs) -> Batch:
    purses = {row[0]: Purse(*row[1:]) for row in _by_key(connection, "purses", wanted.accounts)}
    holds = {row[0]: OpenHold(*row[1:]) for row in _by_key(connection, "holds", wanted.holds)}
    bound: dict[tuple[int, str], str] = {}
    for (account_id, digest), at_ms in wanted.keys.items():
        for (request_id,) in connection.execute(QUERIES["bound"], (account_id, digest, at_ms)):
            bound[account_id, digest] = request_id
    forms = {form_id for (form_id,) in _by_key(connection, "forms", wanted.forms)}
    return Batch(purses, holds, bound, forms)


def _by_key(connection: apsw.Connection, query: str, keys: Collection[Any]) -> list[Row]:
    rows: list[Row] = []
    for chunk in _chunks(sorted(keys)):
        marks = ",".join("?" * len(chunk))
        rows.extend(connection.execute(f"{QUERIES[query]} ({marks})", tuple(chunk)).fetchall())
    return rows


def _store(connection: apsw.Connection, batch: Batch, limits: Sequence[tuple[str, float]]) -> None:
    _insert(connection, "visit", VISIT_COLUMNS, batch.visits)
    _insert(connection, "ledger_entry", ENTRY_COLUMNS, batch.entries)
    _insert(connection, "open_operation", OPENED_COLUMNS, batch.opened)
    # A key that ran out may be taken again; one that did not was refused before this point.
    _insert(connection, "idempotency", BINDING_COLUMNS, batch.bindings, verb="INSERT OR REPLACE")
    if batch.closed:
        connection.executemany(QUERIES["close_operations"], batch.closed)
    if batch.unbound:
        connection.executemany(QUERIES["unbind"], batch.unbound)
    if batch.finished:
        connection.executemany(QUERIES["finish"], batch.finished)
    if batch.touched:
        touched = [(at_ms, key_id) for key_id, at_ms in batch.touched.items()]
        connection.executemany(QUERIES["touch"], touched)
    if batch.receipts:
        # Only a number that is there already is passed over: a broken rule is an error (which
        # INSERT OR IGNORE would hide).
        known = "ON CONFLICT (receipt_id) DO NOTHING"
        _insert(connection, "receipt", RECEIPT_COLUMNS, batch.receipts, conflict=known)
    if batch.traces:
        known = "ON CONFLICT (account_id, request_id) DO NOTHING"
        _insert(connection, "trace", TRACE_COLUMNS, batch.traces, conflict=known)
    if batch.certificates:
        known = "ON CONFLICT (account_id, request_id) DO NOTHING"
        rows = batch.certificates
        _insert(connection, "certificate_trace", CERTIFICATE_COLUMNS, rows, conflict=known)
    _insert(connection, "audit_entry", AUDIT_COLUMNS, batch.deeds)
    if batch.jobs:
        rows = [jobs.row_of(job) for job in batch.jobs.values()]
        _insert(connection, "job", jobs.COLUMNS, rows, conflict=jobs.ASKED_AGAIN)
    if limits:
        connection.executemany(QUERIES["keep_limits"], limits)


def _insert(
    connection: apsw.Connection,
    table: str,
    columns: Sequence[str],
    rows: Sequence[Row],
    *,
    verb: str = "INSERT",
    conflict: str = "",
) -> None:
    for chunk in _chunks(rows):
        values: list[Any] = []
        for row in chunk:
            values.extend(row)
        connection.execute(_insert_sql(verb, table, columns, len(chunk), conflict), values)


_statements: dict[tuple[str, int], str] = {}


def _insert_sql(verb: str, table: str, columns: Sequence[str], rows: int, conflict: str) -> str:
    sql = _statements.get((table, rows))
    if sql is None:
        marks = "(" + ",".join("?" * len(columns)) + ")"
        sql = f"{verb} INTO {table} ({','.join(columns)}) VALUES " + ",".join([marks] * rows)
        sql = f"{sql} {conflict}"
        _statements[table, rows] = sql
    return sql


def _chunks(rows: Sequence[Any]) -> list[Sequence[Any]]:
    """Cut into powers of two, so that few statements have to be kept prepared."""
    chunks: list[Sequence[Any]] = []
    start, left = 0, len(rows)
    while left:
        size = min(ROWS_PER_STATEMENT_MAX, 1 << (left.bit_length() - 1))
        chunks.append(rows[start : start + size])
        start += size
        left -= size
    return chunks
