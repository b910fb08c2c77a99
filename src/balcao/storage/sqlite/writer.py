"""The one writing connection: everything that waits shares the next commit.

No timers: what arrives in one turn of the event loop, or while a batch is being made durable, is
the next batch (group commit). Each batch is a handful of statements, whatever its size.
"""

import logging
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec

from balcao.core.batches import RowStanding
from balcao.core.ledger import Change, Purse
from balcao.storage.ballast import Ballast
from balcao.storage.batch import (
    AUDIT_COLUMNS,
    BINDING_COLUMNS,
    CERTIFICATE_COLUMNS,
    CHARGED_LOOKUP_COLUMNS,
    ENTRY_COLUMNS,
    FULL_CHARGED_LOOKUP_COLUMNS,
    GIST_COLUMNS,
    OPENED_COLUMNS,
    RECEIPT_COLUMNS,
    Batch,
    Needs,
    OpenHold,
    Outcome,
    Row,
    needs,
    tally_rows,
    unfolded,
)
from balcao.storage.budgets import EVENT_COLUMNS, USE_COLUMNS
from balcao.storage.desk import jobs
from balcao.storage.failure import failure
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.budgets import USE_AGAIN, FileBudgets
from balcao.storage.sqlite.files import BUSY_TIMEOUT_MS, connect, is_full, make_room
from balcao.storage.turns import Worker, in_thread

log = logging.getLogger(__name__)

ROWS_PER_STATEMENT_MAX = 128  # powers of two up to here: few statements to keep prepared

WAL_PAGES_MAX = 4_000  # 16 MB: then what was committed is carried over into the file itself

T = TypeVar("T")


@dataclass(slots=True)
class Job:
    """Change lists to be made durable together."""

    lists: Sequence[Sequence[Change]]
    limits: Sequence[tuple[str, float]] = field(default_factory=tuple)  # rate limits, best effort
    at_ms: int | None = None  # the instant, to be found in the books at the next start


class FileWriter:
    """Owns the writing connection. What waits for the disk is done in its thread.

    A flush takes as long as the disk likes, a second or two where it stalls, and nothing tells
    beforehand: so the event loop never waits for one. What comes before it is work in memory, and
    done where it is: a thread that wants the interpreter for each statement costs more than they
    do (ADR 0010).
    """

    def __init__(self, connection: apsw.Connection, path: Path, ballast: Ballast) -> None:
        self._connection = connection
        self._path = path
        self._ballast = ballast
        self._budgets = FileBudgets(connection)
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._wal_pages = 0
        self._carried: bool | None = None  # False: it is being done; None: nobody was asked to
        connection.set_wal_hook(self._note_wal)
        # The first is counted by who asks, the second by the thread: equal, it has nothing to do.
        self._given = 0
        self._done = 0
        # Held while a transaction is begun here and not ended there, and while the log is
        # carried over; nobody waits for it.
        self._begun = threading.Lock()
        self.worker = Worker("desk-writer")
        self._carrier = Worker("desk-checkpoint")

    def begin(self, job: Job) -> Callable[[], Sequence[Outcome]]:
        """Decide a job and write it into memory. What is returned makes it durable in the thread.

        It must be handed to the thread at once. Where the thread is at work, or something is in
        the way, all is left to it.
        """
        idle = self._given == self._done
        self._given += 1
        if not idle or not self._begun.acquire(blocking=False):
            return partial(self._patiently, job)
        try:
            self._connection.set_busy_timeout(0)
            outcomes = self._decide(job)
        except Exception:  # busy, full, a wall: the thread finds out, and says so
            self._begun.release()
            return partial(self._patiently, job)
        finally:
            self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        return partial(self._end, job, outcomes)

    async def in_turn(self, work: Callable[[apsw.Connection], T]) -> T:
        """Have some work done in the thread, which may wait for a busy file.

        Of several statements it makes a transaction itself. Raises what the work refuses (our own
        errors, `LookupError`), and else `StorageFailed`.
        """
        self._given += 1
        return await in_thread(self.worker, partial(self._beside, work), in_any_case=True)

    def close(self, limits: Sequence[tuple[str, float]]) -> None:
        """Finish what is queued, and these rate limits; then let go of the file."""
        self._given += 1
        self.worker.submit(partial(self._patiently, Job((), limits)))
        self.worker.close()
        self._carrier.close()
        self._connection.close()

    # In the thread.

    def patiently(self, job: Job) -> Sequence[Outcome]:
        """Write a job, however long that takes. Raises nothing."""
        outcomes = self._trying_twice(job)
        self._checkpoint_soon()
        return outcomes

    def _patiently(self, job: Job) -> Sequence[Outcome]:
        try:
            return self.patiently(job)
        finally:
            self._done += 1

    def _end(self, job: Job, begun: Sequence[Outcome]) -> Sequence[Outcome]:
        """The same of a job that was begun."""
        try:
            return self._trying_twice(job, begun)
        finally:
            self._begun.release()
            self._checkpoint_soon()
            self._done += 1

    def _trying_twice(self, job: Job, begun: Sequence[Outcome] | None = None) -> Sequence[Outcome]:
        try:
            return self._together(job, begun)
        except _Full:
            self.make_room()
            try:
                return self._together(job)
            except (apsw.BusyError, _Full) as error:
                return [_failure(error.__cause__ or error)] * len(job.lists)
        except apsw.BusyError as error:  # held by another process for longer than we wait
            return [_failure(error)] * len(job.lists)

    def _beside(self, work: Callable[[apsw.Connection], T]) -> T:
        try:
            return work(self._connection)
        except Exception as error:
            if is_full(error):
                self.make_room()  # for the next one
            raise
        finally:
            self._checkpoint_soon()
            self._done += 1

    def make_room(self) -> None:
        """Free what can be on a full disk. In the thread, in its turn."""
        make_room(self._connection, self._ballast)
        self._wal_pages = 0

    def _checkpoint_soon(self) -> None:
        """After those who wait were told.

        Most of the log is carried over beside the commits, which do not wait for it; then, in a
        turn of its own, what they wrote meanwhile: else the log would never be at its end, and
        only there does SQLite begin it anew.
        """
        if self._wal_pages <= WAL_PAGES_MAX:
            return
        if self._carried is None:
            self._carried = False
            self._carrier.submit(self._carry)
        elif self._carried:
            self.worker.submit(self._checkpoint)

    def _carry(self) -> None:
        """In the other thread."""
        try:
            with closing(connect(self._path, synchronous="FULL")) as beside:
                beside.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except Exception as error:  # whatever it is, all is left to the writer's turn
            log.warning("checkpoint failed: %s", type(error).__name__)
        finally:
            self._carried = True

    def _checkpoint(self) -> None:
        if self._wal_pages <= WAL_PAGES_MAX or not self._begun.acquire(blocking=False):
            return  # the next one was begun already, and its end asks again
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error as error:  # the log goes on growing; nothing is lost
            log.warning("checkpoint failed: %s", type(error).__name__)
        finally:
            self._wal_pages = 0
            self._carried = None
            self._begun.release()

    def _note_wal(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _together(self, job: Job, begun: Sequence[Outcome] | None = None) -> Sequence[Outcome]:
        try:
            if begun is None:
                begun = self._decide(job)
            _commit(self._connection, self._budgets)
            return begun
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
            return write(self._connection, [changes], self._budgets)[0]
        except Exception as error:
            return _failure(error)

    def _decide(self, job: Job) -> Sequence[Outcome]:
        return _decide(self._connection, job.lists, self._budgets, job.limits, job.at_ms)


class _Full(Exception):
    """The disk has no room, and nothing was kept. The cause is SQLite's own error."""


def _failure(error: BaseException) -> Exception:
    log.error("commit failed: %s", type(error).__name__)
    assert isinstance(error, Exception)
    return failure(error)


def write(
    connection: apsw.Connection,
    lists: Sequence[Sequence[Change]],
    budgets: FileBudgets | None = None,
) -> Sequence[Outcome]:
    """Decide the lists in order and commit what was admitted, durably, all at once.

    `budgets`: what the connection remembers of them.
    """
    budgets = budgets or FileBudgets(connection)
    outcomes = _decide(connection, lists, budgets)
    _commit(connection, budgets)
    return outcomes


def _decide(
    connection: apsw.Connection,
    lists: Sequence[Sequence[Change]],
    budgets: FileBudgets,
    limits: Sequence[tuple[str, float]] = (),
    at_ms: int | None = None,
) -> Sequence[Outcome]:
    """Begin a transaction of what is admitted; if it cannot be, it is rolled back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        batch = _read(connection, lists, budgets)
        outcomes: list[Outcome] = [batch.admit(changes) for changes in lists]
        _store(connection, batch, limits)
        if at_ms is not None:
            connection.execute(QUERIES["heartbeat"], (at_ms,))
    except BaseException:
        _roll_back(connection)
        raise
    return outcomes


def _commit(connection: apsw.Connection, budgets: FileBudgets) -> None:
    try:
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise
    budgets.committed()


def _roll_back(connection: apsw.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def _read(
    connection: apsw.Connection, lists: Sequence[Sequence[Change]], budgets: FileBudgets
) -> Batch:
    wanted: Needs = needs(lists)
    purses = {row[0]: Purse(*row[1:]) for row in _by_key(connection, "purses", wanted.accounts)}
    holds = {row[0]: OpenHold(*row[1:]) for row in _by_key(connection, "holds", wanted.holds)}
    bound: dict[tuple[int, str], str] = {}
    for (account_id, digest), at_ms in wanted.keys.items():
        for (request_id,) in connection.execute(QUERIES["bound"], (account_id, digest, at_ms)):
            bound[account_id, digest] = request_id
    forms = {form_id for (form_id,) in _by_key(connection, "forms", wanted.forms)}
    rows: dict[tuple[str, int], RowStanding] = {}
    for key in wanted.rows:
        for standing in connection.execute(QUERIES["batch_rows"], key):
            rows[key] = RowStanding(*standing)
    return Batch(purses, holds, bound, forms, budgets.book(), rows=rows)


def _by_key(connection: apsw.Connection, query: str, keys: Collection[Any]) -> list[Row]:
    rows: list[Row] = []
    if not keys:
        return rows
    for chunk in _chunks(sorted(keys)):
        marks = ",".join("?" * len(chunk))
        rows.extend(connection.execute(f"{QUERIES[query]} ({marks})", tuple(chunk)).fetchall())
    return rows


def _store(connection: apsw.Connection, batch: Batch, limits: Sequence[tuple[str, float]]) -> None:
    _insert(connection, "charged_lookup", CHARGED_LOOKUP_COLUMNS, batch.charged_lookups)
    _insert(connection, "charged_lookup", FULL_CHARGED_LOOKUP_COLUMNS, batch.full_charged_lookups)
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
        _insert(connection, "trace", GIST_COLUMNS, batch.traces, conflict=known)
    if batch.certificates:
        known = "ON CONFLICT (account_id, request_id) DO NOTHING"
        rows = batch.certificates
        _insert(connection, "certificate_trace", CERTIFICATE_COLUMNS, rows, conflict=known)
    _insert(connection, "audit_entry", AUDIT_COLUMNS, batch.deeds)
    uses, told = batch.book.close()
    _insert(connection, "budget_use", USE_COLUMNS, uses.first)
    for budget_id, period, *use in uses.again:
        connection.execute(USE_AGAIN, (*use, budget_id, period))
    if told or batch.events:
        rows = [msgspec.structs.astuple(event) for event in (*batch.events, *told)]
        _insert(connection, "event", EVENT_COLUMNS, rows)
    if batch.jobs:
        rows = [jobs.row_of(job) for job in batch.jobs.values()]
        _insert(connection, "job", jobs.COLUMNS, rows, conflict=jobs.ASKED_AGAIN)
    if batch.moved:
        connection.executemany(QUERIES["move_rows"], batch.moved.values())
        connection.executemany(QUERIES["count_rows"], tally_rows(batch))
    if batch.late:
        for account_id, day, begins_ms in unfolded(batch):
            connection.execute(QUERIES["unfold_totals"], (account_id, day))
            connection.execute(QUERIES["unfold_account"], (begins_ms, account_id))
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
    if not rows:
        return
    for chunk in _chunks(rows):
        values = list(chain.from_iterable(chunk))
        connection.execute(_insert_sql(verb, table, columns, len(chunk), conflict), values)


_statements: dict[tuple[str, int, int], str] = {}  # by table, columns and rows


def _insert_sql(verb: str, table: str, columns: Sequence[str], rows: int, conflict: str) -> str:
    sql = _statements.get((table, len(columns), rows))
    if sql is None:
        marks = "(" + ",".join("?" * len(columns)) + ")"
        sql = f"{verb} INTO {table} ({','.join(columns)}) VALUES " + ",".join([marks] * rows)
        sql = f"{sql} {conflict}"
        _statements[table, len(columns), rows] = sql
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
