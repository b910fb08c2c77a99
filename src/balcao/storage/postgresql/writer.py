"""Commits a batch of change lists on PostgreSQL in two round trips, whatever its size.

    1  begin; lock the accounts in the order of their numbers; read the present state
       (`Batch` decides, in this process)
    2  insert all rows; store the number of the batch; commit

Everything that a list reads or writes belongs to a locked account (idempotency keys and holds
included), so that nodes write for an account one after another, on its present state.
"""

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeAlias

import msgspec
import psycopg
from psycopg import errors

from balcao.core.batches import RowStatus
from balcao.core.budgets import periods_of
from balcao.core.errors import CommitUncertain, StorageFailed
from balcao.core.ledger import Balance, Change
from balcao.core.observed_items import FindInMonth
from balcao.core.rate_limit import all_allow
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
from balcao.storage.budgets import (
    USE_COLUMNS,
    budget_needs,
)
from balcao.storage.desk import jobs
from balcao.storage.desk.events import EVENT_COLUMNS, ONCE, event_row
from balcao.storage.desk.observations import document_values, nothing_in_month
from balcao.storage.desk.own_answers import paper_values, write_observations
from balcao.storage.failure import failure
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import OpenTransaction, ReconnectingConnection
from balcao.storage.postgresql.limits import BEGIN_BUCKETS, Buckets, Count, Verdicts, names_of
from balcao.storage.postgresql.node import Node
from balcao.storage.postgresql.pipeline import Pipeline, pipelined
from balcao.storage.postgresql.rows import arrays, integers, texts, unnest

log = logging.getLogger(__name__)

# After deadlocks and serialization failures.
TRIES_MAX = 3

# How long to look for the outcome of a batch whose connection was lost; callers wait for it.
OUTCOME_SECONDS_MAX = 8.0
OUTCOME_EVERY_SECONDS = 0.2

_NOT_TEXT: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "account_id", "at_ms", "balance_change", "held_change", "key_id", "bound_ms",
            "expires_ms", "status", "fresh_ms", "size_bytes", "created_ms", "credits", "opened_ms",
            "settled_ms", "asked_ms", "user_id", "due_ms", "attempts", "causes", "changed_ms",
            "budget_id", "spent_credits", "held_credits", "calls", "warned_percent",
        ),
        "bigint",
    ),
    "body": "bytea",
    "document_hash": "bytea",
    "person_hash": "bytea",
    "refresh": "smallint",
    "silent": "smallint",
    "clock_run": "bigint",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Table:
    """The INSERT of a table, and the types of its columns."""

    types: Sequence[str]
    sql: str


def _table(
    name: str,
    columns: Sequence[str],
    more: str = "",
    conflict: str = "",
    texts: Collection[str] = (),
) -> _Table:
    types = ["text" if name in texts else _NOT_TEXT.get(name, "text") for name in columns]
    with_node = ", node_id" if more else ""
    return _Table(
        types,
        f"INSERT INTO {name} ({', '.join(columns)}{with_node})"
        f" SELECT *{more} FROM {unnest(types)} {conflict}",
    )


_CHARGED_LOOKUPS = _table("charged_lookup", CHARGED_LOOKUP_COLUMNS)
_FULL_CHARGED_LOOKUPS = _table("charged_lookup", FULL_CHARGED_LOOKUP_COLUMNS)
_ENTRIES = _table("ledger_entry", ENTRY_COLUMNS)
_OPENED = _table("open_operation", OPENED_COLUMNS, ", %s::bigint")
# An expired key may be used again; one in force was refused before.
_BINDINGS = _table(
    "idempotency",
    BINDING_COLUMNS,
    ", %s::bigint",
    "ON CONFLICT (account_id, key_digest) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in (*BINDING_COLUMNS[2:], "node_id")),
)
_RECEIPTS = _table("receipt", RECEIPT_COLUMNS, conflict="ON CONFLICT (receipt_id) DO NOTHING")
_TRACES = _table("trace", GIST_COLUMNS, conflict="ON CONFLICT (account_id, request_id) DO NOTHING")
_CERTIFICATES = _table(
    "certificate_trace",
    CERTIFICATE_COLUMNS,
    conflict="ON CONFLICT (account_id, request_id) DO NOTHING",
)
_AUDITS = _table("audit_entry", AUDIT_COLUMNS)
_JOBS = _table("job", jobs.COLUMNS, conflict=jobs.ON_CONFLICT)

# One upsert for new and existing rows: a separate UPDATE of few rows is planned as a full scan.
_USES = _table(
    "budget_use",
    USE_COLUMNS,
    conflict="ON CONFLICT (budget_id, period) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in USE_COLUMNS[2:]),
)
_EVENTS = _table("event", EVENT_COLUMNS, conflict=ONCE, texts=("body",))

# Which answers are about watched subjects.
_WATCHED = (
    "SELECT wanted.request_id"
    " FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[], %s::bytea[], %s::text[],"
    " %s::text[], %s::text[])"
    " AS wanted (request_id, account_id, cnpj, root, document_hash, kind, uf, subject)"
    " WHERE EXISTS (SELECT 1 FROM wallet_item AS i WHERE i.account_id = wanted.account_id"
    " AND i.document IN (wanted.cnpj, wanted.root) AND i.document_hash IS NULL"
    " AND i.ended_ms IS NULL)"
    " OR EXISTS (SELECT 1 FROM wallet_item AS i WHERE i.account_id = wanted.account_id"
    " AND i.document_hash = wanted.document_hash AND i.ended_ms IS NULL)"
    # Certificates of a company are those of all its establishments.
    " OR EXISTS (SELECT 1 FROM wallet_paper AS p WHERE p.account_id = wanted.account_id"
    " AND p.kind = wanted.kind AND p.uf = wanted.uf AND p.subject = wanted.subject)"
)
_OBSERVED = ("text", "bigint", "text", "text", "bytea", "text", "text", "text")
_FINISHED = ("bigint", "bytea", "bigint", "bigint", "text")
_MOVED = (
    "text", "text", "bigint", "text", "bigint", "bytea", "bigint", "text", "bigint",
)  # fmt: skip
_COUNTED = ("bigint", "bigint", "text", "text")

_LIST_ERRORS = (
    psycopg.IntegrityError,
    psycopg.DataError,
    AssertionError,
    LookupError,
    UnicodeError,
)
# The last: a prepared plan that no longer fits the schema, which a newer node has changed.
_RETRYABLE = (errors.SerializationFailure, errors.DeadlockDetected, errors.FeatureNotSupported)


class ChargeRequest(msgspec.Struct, frozen=True, gc=False):
    """A request to be counted, and changes to commit if no limit refuses it."""

    count: Count
    changes: Sequence[Change]


WriteRequest: TypeAlias = Sequence[Change] | ChargeRequest
# The result of a `ChargeRequest` has its verdicts, None if a limit refuses it, and the outcome of
# its changes; or it is the error of both.
WriteResult: TypeAlias = Outcome | tuple[Verdicts | None, Outcome]


class NodeWriter:
    """Writes batches on one connection. For one thread at a time."""

    def __init__(self, database: ReconnectingConnection, node: Node) -> None:
        self._database = database
        self._node = node
        # Accounts that had budgets when read last: their budgets are read together with them. If
        # this guess is wrong, it takes another round trip.
        self._budgeted: set[int] = set()
        self.find_in_month: FindInMonth = nothing_in_month

    def write(self, requests: Sequence[WriteRequest]) -> list[WriteResult]:
        """Count and decide requests in order, and commit the admitted ones in one transaction.

        Never raises: if the batch cannot be written, each result is `StorageFailed`.
        """
        with self._database.lock:
            for _ in range(TRIES_MAX):
                try:
                    return self._write_together(requests)
                except _MissingBuckets as new:  # inserted while no accounts are locked
                    with suppress(StorageFailed), self._database.guarded() as connection:
                        connection.execute(BEGIN_BUCKETS.encode(), (texts(new.names),))
                except _RETRYABLE as error:
                    log.warning("batch again: %s", type(error).__name__)
                    continue
                except _LIST_ERRORS as error:
                    # A broken constraint, or an invalid list: the others must not fail with it.
                    if len(requests) == 1:
                        return [_storage_failure(error)]
                    return [answer for each in requests for answer in self.write([each])]
                except _ConnectionLost:
                    continue  # nothing was committed: try again on a new connection
                except Exception as error:
                    return [_storage_failure(error)] * len(requests)
            return [StorageFailed("no turn") for _ in requests]

    def _write_together(self, requests: Sequence[WriteRequest]) -> list[WriteResult]:
        connection = self._database.get()
        number = self._node.next_batch()
        sent = changed = False
        answers: list[WriteResult] = []
        lists = [each.changes if isinstance(each, ChargeRequest) else each for each in requests]
        names = names_of([each.count for each in requests if isinstance(each, ChargeRequest)])
        try:
            with pipelined(connection) as pipeline:
                pipeline.queue("BEGIN")
                # Buckets are locked before accounts everywhere, to avoid deadlocks.
                buckets = Buckets(pipeline, names)
                batch, watched = _read(pipeline, lists, self._budgeted, at_least=len(names))
                if missing := buckets.missing():
                    raise _MissingBuckets(missing)
                for each in requests:
                    if isinstance(each, ChargeRequest):
                        verdicts = buckets.count(each.count)
                        if all_allow(verdicts):
                            answers.append((verdicts, batch.admit(each.changes)))
                        else:
                            answers.append((None, None))
                    else:
                        answers.append(batch.admit(each))
                changed = buckets.keep()
                for sql, values in _statements(batch, self._node.node_id):
                    pipeline.queue(sql, values)
                    changed = True
                seen = [each for each in batch.observations if each.request_id in watched]
                if seen:  # rare, so by plain statements
                    changed = True
                    with pipeline.paused():
                        write_observations(OpenTransaction(connection), seen, self.find_in_month)
                if changed:
                    pipeline.queue(self._node.COUNT, (number, self._node.node_id))
                    pipeline.queue("COMMIT")
                else:  # everything was refused: a commit would wait for the disk
                    pipeline.queue("ROLLBACK")
                sent = True
                pipeline.sync()
        except BaseException as error:
            if isinstance(error, errors.ReadOnlySqlTransaction):
                self._database.drop()  # a demoted primary; nothing was committed
                raise
            if _rolled_back(connection):
                raise
            self._database.drop()
            if not sent:
                raise _ConnectionLost from error
            log.error("connection lost in a commit of %d lists", len(requests))
            if changed and not self._was_committed(number):
                raise
        return answers

    def _was_committed(self, number: int) -> bool:
        """Return whether a batch was committed whose COMMIT got no answer. Raises `StorageFailed`.

        The node's row has the number of the last committed batch. The old connection's server
        process is ended first: otherwise it might still commit after this read.
        """
        until = time.monotonic() + OUTCOME_SECONDS_MAX
        while True:
            try:
                return self._node.last_batch(self._database.get()) == number
            except (psycopg.Error, StorageFailed) as error:
                self._database.drop()
                if time.monotonic() >= until:
                    log.error(
                        "outcome of batch %d of node %d is unknown", number, self._node.node_id
                    )
                    raise CommitUncertain("outcome unknown") from error
            time.sleep(OUTCOME_EVERY_SECONDS)


class _MissingBuckets(Exception):
    """Some buckets of rate limits have no rows yet."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names


class _ConnectionLost(Exception):
    """The connection broke before the commit was sent."""


def _rolled_back(connection: psycopg.Connection[Any]) -> bool:
    """Roll back; return whether it is certain that nothing was committed.

    False: the connection is lost.
    """
    if connection.closed:
        return False
    try:
        connection.rollback()
    except psycopg.Error:
        return False
    return True


def _storage_failure(error: Exception) -> Exception:
    if isinstance(error, StorageFailed):
        return error
    log.error("commit failed: %s", type(error).__name__)
    return failure(error)


def _read(
    pipeline: Pipeline, lists: Sequence[Sequence[Change]], budgeted: set[int], *, at_least: int
) -> tuple[Batch, Collection[str]]:
    """Lock the accounts and read the present state in one round trip, or none if not needed.

    `at_least`: the number of buckets that are locked, too. `budgeted`: accounts that probably have
    budgets; it is updated. Also returns the requests whose answers are about watched subjects.
    """
    needed: Needs = needs(lists)
    accounts = needed.accounts | {account_id for account_id, _ in needed.keys}
    balances, holds, bound, forms = list[Row](), list[Row](), list[Row](), list[Row]()
    if accounts:
        balances = pipeline.queue(QUERIES["purses"], (integers(sorted(accounts)),))
    if needed.holds:
        holds = pipeline.queue(QUERIES["holds"], (texts(needed.holds),))
    if needed.keys:
        keys = [(*key, at_ms) for key, at_ms in needed.keys.items()]
        bound = pipeline.queue(QUERIES["bound"], arrays(("bigint", "text", "bigint"), keys))
    if needed.forms:
        forms = pipeline.queue(QUERIES["forms"], (texts(needed.forms),))
    rows = list[Row]()
    if needed.rows:
        rows = pipeline.queue(QUERIES["batch_rows"], arrays(("text", "bigint"), [*needed.rows]))
    watched = list[Row]()
    if needed.observations:
        values = [
            (each.request_id, each.account_id, *document_values(each), *paper_values(each))
            for each in needed.observations
        ]
        watched = pipeline.queue(_WATCHED, arrays(_OBSERVED, values))
    guessed = _queue_budgets(pipeline, lists, budgeted & accounts, needed.holds)
    if at_least or accounts or needed.forms:
        pipeline.sync()  # the server's time-out for idle transactions runs from here on
    batch = Batch(
        {row[0]: Balance(*row[1:]) for row in balances},
        {row[0]: OpenHold(*row[1:]) for row in holds},
        {(row[0], row[1]): row[2] for row in bound},
        {row[0] for row in forms},
        rows={(row[0], row[1]): RowStatus(*row[2:]) for row in rows},
    )
    batch.book.load(guessed)
    have = {account_id for account_id, balance in batch.balances.items() if balance.budgets}
    texts_of_holds = [hold.budgets for hold in batch.holds.values() if hold.budgets is not None]
    missed = not have <= budgeted or not all(map(batch.book.has_loaded, texts_of_holds))
    if missed:
        more = _queue_budgets(pipeline, lists, have, needed.holds, always=True)
        pipeline.sync()
        batch.book.load(more)
    budgeted -= batch.balances.keys() - have
    budgeted |= have
    return batch, {request_id for (request_id,) in watched}


def _queue_budgets(
    pipeline: Pipeline,
    lists: Sequence[Sequence[Change]],
    accounts: Collection[int],
    holds: Collection[str],
    *,
    always: bool = False,
) -> Iterable[Row]:
    """Queue the query for the budgets that these charges and holds count against.

    The accounts are locked; changes of budgets take the same locks.
    """
    if not accounts and not always:
        return ()
    found = []
    owners, instants = budget_needs(lists, accounts)
    if owners:
        values = arrays(("bigint", "text", "text"), [*owners])
        periods = texts({each for at_ms in instants for each in periods_of(at_ms)})
        found.append(pipeline.queue(QUERIES["budgets"], (*values, periods)))
    if holds:
        found.append(pipeline.queue(QUERIES["budgets_of_holds"], (texts(holds),)))
    return chain.from_iterable(found)


def _statements(batch: Batch, node_id: int) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the statements of a decided batch, in the order that the constraints need.

    Rows that other nodes may write, too, are in the order of their keys, to avoid deadlocks.
    """
    if batch.charged_lookups:
        yield _insert(_CHARGED_LOOKUPS, batch.charged_lookups)
    if batch.full_charged_lookups:
        yield _insert(_FULL_CHARGED_LOOKUPS, batch.full_charged_lookups)
    if batch.entries:
        yield _insert(_ENTRIES, batch.entries)
    if batch.opened:
        yield _insert(_OPENED, batch.opened, node_id)
    if batch.bindings:
        # Of each key the last one: it may be unbound and bound again within the batch.
        last = {(row[0], row[1]): row for row in batch.bindings}
        yield _insert(_BINDINGS, [*last.values()], node_id)
    if batch.closed:
        yield QUERIES["close_operations"], (texts(row[0] for row in batch.closed),)
    if batch.unbound:
        yield QUERIES["unbind"], arrays(("bigint", "text", "text"), batch.unbound)
    if batch.finished:
        yield QUERIES["finish"], arrays(_FINISHED, batch.finished)
    if batch.receipts:
        yield _insert(
            _RECEIPTS, sorted({row[0]: row for row in batch.receipts}.values(), key=_first)
        )
    if batch.traces:
        yield _insert(_TRACES, batch.traces)
    if batch.certificates:
        yield _insert(_CERTIFICATES, batch.certificates)
    if batch.audits:
        yield _insert(_AUDITS, batch.audits)
    uses, events = batch.book.close()
    if uses.inserts or uses.updates:
        yield _insert(_USES, sorted([*uses.inserts, *uses.updates]))
    if events or batch.events:
        yield _insert(_EVENTS, [event_row(each) for each in (*batch.events, *events)])
    if batch.jobs:
        yield _insert(_JOBS, [jobs.row_of(batch.jobs[key]) for key in sorted(batch.jobs)])
    if batch.moved:
        yield QUERIES["move_rows"], arrays(_MOVED, [*batch.moved.values()])
        if counted := tally_rows(batch):  # empty if one row was taken and another given back
            yield QUERIES["count_rows"], arrays(_COUNTED, counted)
    if batch.late:
        for account_id, day, begins_ms in unfolded(batch):
            yield QUERIES["unfold_totals"], (account_id, day)
            yield QUERIES["unfold_account"], (begins_ms, account_id)
    if batch.touched:
        yield QUERIES["touch"], arrays(("bigint", "bigint"), sorted(batch.touched.items()))


def _first(row: Row) -> Any:
    return row[0]


def _insert(table: _Table, rows: Sequence[Row], *more: int) -> tuple[str, Sequence[Any]]:
    return table.sql, (*more, *arrays(table.types, rows))
