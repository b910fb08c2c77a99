"""The writing connection: all waiting changes share the next commit (group commit).

Without timers: the changes of one event-loop turn, or those that arrive while a batch is made
durable, are the next batch. Each batch takes a few statements, whatever its size.
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

from balcao.core.batches import RowStatus
from balcao.core.ledger import Balance, Change
from balcao.core.observations import Observation
from balcao.core.observed_items import FindInMonth
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
from balcao.storage.budgets import USE_COLUMNS
from balcao.storage.desk import jobs
from balcao.storage.desk.events import EVENT_COLUMNS, ONCE, event_row
from balcao.storage.desk.observations import nothing_in_month
from balcao.storage.desk.own_answers import write_observations
from balcao.storage.disk_reserve import DiskReserve
from balcao.storage.failure import failure
from balcao.storage.group_commit import Worker, run_in
from balcao.storage.sqlite import QUERIES
from balcao.storage.sqlite.budgets import UPDATE_USE, FileBudgets
from balcao.storage.sqlite.connection import SqliteConnection
from balcao.storage.sqlite.files import BUSY_TIMEOUT_MS, connect, free_disk_space, is_full

log = logging.getLogger(__name__)

# Comparing an answer with a watched subject takes up to half a millisecond. A job with more of them
# is decided in the thread.
COMPARED_ON_LOOP_MAX = 8

ROWS_PER_STATEMENT_MAX = 128  # powers of two up to here: few statements to keep prepared

WAL_PAGES_MAX = 4_000  # 16 MB: then the log is checkpointed into the file

T = TypeVar("T")


@dataclass(slots=True)
class Job:
    """Change lists to commit together."""

    lists: Sequence[Sequence[Change]]
    limits: Sequence[tuple[str, float]] = field(default_factory=tuple)  # rate limits, best effort
    at_ms: int | None = None  # the present time, for `latest_instant` at the next start


class FileWriter:
    """Owns the writing connection, and waits for the disk in its own thread.

    A sync takes an unpredictable time, seconds if the disk stalls, so the event loop never waits
    for one. The statements before it work in memory and run on the event loop's thread: switching
    threads for each statement would cost more than the statements (ADR 0010).
    """

    def __init__(self, connection: apsw.Connection, path: Path, reserve: DiskReserve) -> None:
        self._connection = connection
        self._path = path
        self._reserve = reserve
        self._budgets = FileBudgets(connection)
        self.find_in_month: FindInMonth = nothing_in_month
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        self._wal_pages = 0
        # Whether the first part of a checkpoint is done; None: none is under way.
        self._checkpointed: bool | None = None
        connection.set_wal_hook(self._note_wal)
        # Jobs handed to the thread, and jobs finished by it. If equal, the thread is idle.
        self._submitted = 0
        self._finished = 0
        # Held from the beginning of a transaction on the event loop to its end in the thread, and
        # during the second part of a checkpoint. Never waited for.
        self._transaction_lock = threading.Lock()
        self.worker = Worker("desk-writer")
        self._checkpointer = Worker("desk-checkpoint")

    def begin(self, job: Job) -> Callable[[], Sequence[Outcome]]:
        """Decide a job and write it in memory. The returned function commits it in the thread.

        It must be submitted to the thread at once. If the thread is busy, the job compares many
        answers with watched subjects, or anything fails, the function does everything.
        """
        idle = self._submitted == self._finished and not _compares_many(job.lists)
        self._submitted += 1
        if not idle or not self._transaction_lock.acquire(blocking=False):
            return partial(self._write_counted, job)
        try:
            self._connection.set_busy_timeout(0)
            outcomes = self._decide(job)
        except Exception:  # busy, full or a broken constraint: the thread tries again and reports
            self._transaction_lock.release()
            return partial(self._write_counted, job)
        finally:
            self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        return partial(self._commit_begun, job, outcomes)

    async def run(self, work: Callable[[apsw.Connection], T]) -> T:
        """Run `work` in the thread, which may wait for a busy file.

        Work of several statements opens its own transaction. Raises our own errors and
        `LookupError` of `work` unchanged, others as `StorageFailed`.
        """
        self._submitted += 1
        return await run_in(self.worker, partial(self._run_counted, work), shielded=True)

    def close(self, limits: Sequence[tuple[str, float]]) -> None:
        """Finish the queued work, write these rate limits, and close the file."""
        self._submitted += 1
        self.worker.submit(partial(self._write_counted, Job((), limits)))
        self.worker.close()
        self._checkpointer.close()
        self._connection.close()

    # In the thread.

    def write(self, job: Job) -> Sequence[Outcome]:
        """Write a job, waiting as long as it takes. Never raises."""
        outcomes = self._write_or_free_space(job)
        self._checkpoint_soon()
        return outcomes

    def _write_counted(self, job: Job) -> Sequence[Outcome]:
        try:
            return self.write(job)
        finally:
            self._finished += 1

    def _commit_begun(self, job: Job, begun: Sequence[Outcome]) -> Sequence[Outcome]:
        """Commit a job that was begun. Never raises."""
        try:
            return self._write_or_free_space(job, begun)
        finally:
            self._transaction_lock.release()
            self._checkpoint_soon()
            self._finished += 1

    def _write_or_free_space(
        self, job: Job, begun: Sequence[Outcome] | None = None
    ) -> Sequence[Outcome]:
        try:
            return self._write_together(job, begun)
        except _DiskFull:
            self.free_disk_space()
            try:
                return self._write_together(job)
            except (apsw.BusyError, _DiskFull) as error:
                return [_failure(error.__cause__ or error)] * len(job.lists)
        except apsw.BusyError as error:  # locked by another process for longer than we wait
            return [_failure(error)] * len(job.lists)

    def _run_counted(self, work: Callable[[apsw.Connection], T]) -> T:
        try:
            return work(self._connection)
        except Exception as error:
            if is_full(error):
                self.free_disk_space()  # for the next attempt
            raise
        finally:
            self._checkpoint_soon()
            self._finished += 1

    def free_disk_space(self) -> None:
        """Free space on a full disk. Called in the thread."""
        free_disk_space(self._connection, self._reserve)
        self._wal_pages = 0

    def _checkpoint_soon(self) -> None:
        """Checkpoint a long log, after the results of a commit are ready.

        The first part runs in another thread, in parallel to commits. The second part runs in this
        thread and covers what they wrote meanwhile: SQLite restarts the log from the beginning only
        when all of it is checkpointed.
        """
        if self._wal_pages <= WAL_PAGES_MAX:
            return
        if self._checkpointed is None:
            self._checkpointed = False
            self._checkpointer.submit(self._checkpoint_beside)
        elif self._checkpointed:
            self.worker.submit(self._checkpoint)

    def _checkpoint_beside(self) -> None:
        """Run the first part of a checkpoint, in the checkpointer's thread."""
        try:
            with closing(connect(self._path, synchronous="FULL")) as beside:
                beside.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except Exception as error:  # the second part does everything
            log.warning("checkpoint failed: %s", type(error).__name__)
        finally:
            self._checkpointed = True

    def _checkpoint(self) -> None:
        if self._wal_pages <= WAL_PAGES_MAX or not self._transaction_lock.acquire(blocking=False):
            return  # the next transaction has begun; after its commit this is called again
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error as error:  # the log keeps growing; nothing is lost
            log.warning("checkpoint failed: %s", type(error).__name__)
        finally:
            self._wal_pages = 0
            self._checkpointed = None
            self._transaction_lock.release()

    def _note_wal(self, _: apsw.Connection, __: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def _write_together(
        self, job: Job, begun: Sequence[Outcome] | None = None
    ) -> Sequence[Outcome]:
        try:
            if begun is None:
                begun = self._decide(job)
            _commit(self._connection, self._budgets)
            return begun
        except apsw.BusyError:
            raise
        except (apsw.ConstraintError, AssertionError, LookupError, UnicodeError):
            # A broken constraint, or an invalid list: the other lists must not fail with it.
            return [self._write_list(changes) for changes in job.lists]
        except Exception as error:
            if is_full(error):
                raise _DiskFull from error
            return [_failure(error)] * len(job.lists)

    def _write_list(self, changes: Sequence[Change]) -> Outcome:
        try:
            return write(self._connection, [changes], self._budgets, self.find_in_month)[0]
        except Exception as error:
            return _failure(error)

    def _decide(self, job: Job) -> Sequence[Outcome]:
        return _decide(self._connection, job, self._budgets, self.find_in_month)


def _compares_many(lists: Sequence[Sequence[Change]]) -> bool:
    """Return whether a job would keep the event loop busy with watched subjects."""
    if len(lists) <= COMPARED_ON_LOOP_MAX:
        return False
    seen = sum(bool(changes) and type(changes[-1]) is Observation for changes in lists)
    return seen > COMPARED_ON_LOOP_MAX


class _DiskFull(Exception):
    """The disk is full and nothing was committed. The cause is SQLite's own error."""


def _failure(error: BaseException) -> Exception:
    log.error("commit failed: %s", type(error).__name__)
    assert isinstance(error, Exception)
    return failure(error)


def write(
    connection: apsw.Connection,
    lists: Sequence[Sequence[Change]],
    budgets: FileBudgets | None = None,
    find_in_month: FindInMonth = nothing_in_month,
) -> Sequence[Outcome]:
    """Decide the lists in order, and commit the admitted ones in one durable transaction.

    `budgets`: the connection's cache of budgets.
    """
    budgets = budgets or FileBudgets(connection)
    outcomes = _decide(connection, Job(lists), budgets, find_in_month)
    _commit(connection, budgets)
    return outcomes


def _decide(
    connection: apsw.Connection,
    job: Job,
    budgets: FileBudgets,
    find_in_month: FindInMonth,
) -> Sequence[Outcome]:
    """Begin a transaction with the admitted lists. On an error it is rolled back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        batch = _read(connection, job.lists, budgets)
        outcomes: list[Outcome] = [batch.admit(changes) for changes in job.lists]
        _store(connection, batch, job.limits)
        if batch.observations:
            write_observations(SqliteConnection(connection), batch.observations, find_in_month)
        if job.at_ms is not None:
            connection.execute(QUERIES["heartbeat"], (job.at_ms,))
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
    needed: Needs = needs(lists)
    balances = {row[0]: Balance(*row[1:]) for row in _by_key(connection, "purses", needed.accounts)}
    holds = {row[0]: OpenHold(*row[1:]) for row in _by_key(connection, "holds", needed.holds)}
    bound: dict[tuple[int, str], str] = {}
    for (account_id, digest), at_ms in needed.keys.items():
        for (request_id,) in connection.execute(QUERIES["bound"], (account_id, digest, at_ms)):
            bound[account_id, digest] = request_id
    forms = {form_id for (form_id,) in _by_key(connection, "forms", needed.forms)}
    rows: dict[tuple[str, int], RowStatus] = {}
    for key in needed.rows:
        for standing in connection.execute(QUERIES["batch_rows"], key):
            rows[key] = RowStatus(*standing)
    return Batch(balances, holds, bound, forms, budgets.book(), rows=rows)


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
    # An expired key may be used again; one in force was refused before.
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
        # Only duplicates are skipped. INSERT OR IGNORE would also hide broken constraints.
        known = "ON CONFLICT (receipt_id) DO NOTHING"
        _insert(connection, "receipt", RECEIPT_COLUMNS, batch.receipts, conflict=known)
    if batch.traces:
        known = "ON CONFLICT (account_id, request_id) DO NOTHING"
        _insert(connection, "trace", GIST_COLUMNS, batch.traces, conflict=known)
    if batch.certificates:
        known = "ON CONFLICT (account_id, request_id) DO NOTHING"
        rows = batch.certificates
        _insert(connection, "certificate_trace", CERTIFICATE_COLUMNS, rows, conflict=known)
    _insert(connection, "audit_entry", AUDIT_COLUMNS, batch.audits)
    uses, events = batch.book.close()
    _insert(connection, "budget_use", USE_COLUMNS, uses.inserts)
    for budget_id, period, *use in uses.updates:
        connection.execute(UPDATE_USE, (*use, budget_id, period))
    if events or batch.events:
        rows = [event_row(event) for event in (*batch.events, *events)]
        _insert(connection, "event", EVENT_COLUMNS, rows, conflict=ONCE)
    if batch.jobs:
        rows = [jobs.row_of(job) for job in batch.jobs.values()]
        _insert(connection, "job", jobs.COLUMNS, rows, conflict=jobs.ON_CONFLICT)
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
    """Split rows into chunks of powers of two, so that few statements have to stay prepared."""
    chunks: list[Sequence[Any]] = []
    start, left = 0, len(rows)
    while left:
        size = min(ROWS_PER_STATEMENT_MAX, 1 << (left.bit_length() - 1))
        chunks.append(rows[start : start + size])
        start += size
        left -= size
    return chunks
