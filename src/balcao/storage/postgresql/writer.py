"""One batch of change lists on PostgreSQL: two round trips, whatever its size.

    1  begin; lock the accounts in the order of their numbers; read what decides
       (`Batch` decides, here)
    2  insert all rows; count the batch; commit

Everything a list reads or writes belongs to an account that is locked (idempotency keys and holds
included), so that nodes that write for one account follow one another and decide on what is true.
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

from balcao.core.batches import RowStanding
from balcao.core.budgets import periods_of
from balcao.core.errors import CommitUncertain, StorageFailed
from balcao.core.ledger import Change, Purse
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
    EVENT_COLUMNS,
    USE_COLUMNS,
    budget_needs,
)
from balcao.storage.desk import jobs
from balcao.storage.failure import failure
from balcao.storage.postgresql import QUERIES
from balcao.storage.postgresql.connections import LastingConnection
from balcao.storage.postgresql.limits import BEGIN_BUCKETS, Buckets, Count, Verdicts, names_of
from balcao.storage.postgresql.node import Node
from balcao.storage.postgresql.pipeline import Pipeline, pipelined
from balcao.storage.postgresql.rows import arrays, integers, texts, unnest

log = logging.getLogger(__name__)

# Deadlocks and the like: somebody else went first, and it is our turn then.
TRIES_MAX = 3

# What a batch did before it lost its connection is looked for this long; the callers wait.
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
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Table:
    """How rows get into a table."""

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
# A key that ran out may be taken again; one that did not was refused before this point.
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
_DEEDS = _table("audit_entry", AUDIT_COLUMNS)
_JOBS = _table("job", jobs.COLUMNS, conflict=jobs.ASKED_AGAIN)

# Of new rows and known ones: an update of so few is planned as a scan of them all.
_USES = _table(
    "budget_use",
    USE_COLUMNS,
    conflict="ON CONFLICT (budget_id, period) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in USE_COLUMNS[2:]),
)
_EVENTS = _table("event", EVENT_COLUMNS, texts=("body",))

_FINISHED = ("bigint", "bytea", "bigint", "bigint", "text")
_MOVED = (
    "text", "text", "bigint", "text", "bigint", "bytea", "bigint", "text", "bigint",
)  # fmt: skip
_COUNTED = ("bigint", "bigint", "text", "text")

_GUILTY = (psycopg.IntegrityError, psycopg.DataError, AssertionError, LookupError, UnicodeError)
# The last: a plan that a newer node's change of the schema has overtaken.
_AGAIN = (errors.SerializationFailure, errors.DeadlockDetected, errors.FeatureNotSupported)


class Paying(msgspec.Struct, frozen=True, gc=False):
    """A request to be counted, and a list that is kept if no limit refuses it."""

    count: Count
    changes: Sequence[Change]


ToWrite: TypeAlias = Sequence[Change] | Paying
# What is paid for is answered with its verdicts, None if a limit refuses; an error where both were
# in vain.
BatchAnswer: TypeAlias = Outcome | tuple[Verdicts | None, Outcome]


class NodeWriter:
    """Writes batches on one line. One thread at a time."""

    def __init__(self, line: LastingConnection, node: Node) -> None:
        self._line = line
        self._node = node
        # Accounts that had budgets when they were read last: those are read together with them.
        # A guess that may be wrong: then it takes another round trip.
        self._budgeted: set[int] = set()

    def write(self, asked: Sequence[ToWrite]) -> list[BatchAnswer]:
        """Count and decide in order, and commit what was admitted, durably, all at once.

        Raises nothing: what cannot be written is `StorageFailed` for all that was asked.
        """
        with self._line.lock:
            for _ in range(TRIES_MAX):
                try:
                    return self._together(asked)
                except _NewBuckets as new:  # nobody makes them while accounts are locked
                    with suppress(StorageFailed), self._line.guarded() as connection:
                        connection.execute(BEGIN_BUCKETS.encode(), (texts(new.names),))
                except _AGAIN as error:
                    log.warning("batch again: %s", type(error).__name__)
                    continue
                except _GUILTY as error:
                    # A wall of the schema, or a list that makes no sense: only that list may
                    # suffer.
                    if len(asked) == 1:
                        return [_told(error)]
                    return [answer for each in asked for answer in self.write([each])]
                except _Lost:
                    continue  # before anything could be committed: once more on a new connection
                except Exception as error:
                    return [_told(error)] * len(asked)
            return [StorageFailed("no turn") for _ in asked]

    def _together(self, asked: Sequence[ToWrite]) -> list[BatchAnswer]:
        connection = self._line.get()
        number = self._node.next_batch()
        sent = changed = False
        answers: list[BatchAnswer] = []
        lists = [each.changes if isinstance(each, Paying) else each for each in asked]
        names = names_of([each.count for each in asked if isinstance(each, Paying)])
        try:
            with pipelined(connection) as pipeline:
                pipeline.queue("BEGIN")
                # Before the accounts, as everywhere: who waits for both waits in one order.
                buckets = Buckets(pipeline, names)
                batch = _read(pipeline, lists, self._budgeted, at_least=len(names))
                if missing := buckets.missing():
                    raise _NewBuckets(missing)
                for each in asked:
                    if isinstance(each, Paying):
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
                if changed:
                    pipeline.queue(self._node.COUNT, (number, self._node.node_id))
                    pipeline.queue("COMMIT")
                else:  # all was refused: to commit that would wait for the disk
                    pipeline.queue("ROLLBACK")
                sent = True
                pipeline.sync()
        except BaseException as error:
            if isinstance(error, errors.ReadOnlySqlTransaction):
                self._line.drop()  # a primary that was demoted; nothing was committed
                raise
            if _rolled_back(connection):
                raise
            self._line.drop()
            if not sent:
                raise _Lost from error
            log.error("connection lost in a commit of %d lists", len(asked))
            if changed and not self._was_committed(number):
                raise
        return answers

    def _was_committed(self, number: int) -> bool:
        """What became of a batch whose commit nobody answered. Raises `StorageFailed`.

        The node's row was written with it, and says so. The server's end of the old connection is
        ended first: else it might still commit after we have looked.
        """
        until = time.monotonic() + OUTCOME_SECONDS_MAX
        while True:
            try:
                return self._node.last_batch(self._line.get()) == number
            except (psycopg.Error, StorageFailed) as error:
                self._line.drop()
                if time.monotonic() >= until:
                    log.error(
                        "outcome of batch %d of node %d is unknown", number, self._node.node_id
                    )
                    raise CommitUncertain("outcome unknown") from error
            time.sleep(OUTCOME_EVERY_SECONDS)


class _NewBuckets(Exception):
    """Some of the limits' buckets are not there yet."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names


class _Lost(Exception):
    """The connection broke before the commit was sent."""


def _rolled_back(connection: psycopg.Connection[Any]) -> bool:
    """Whether nothing was committed, for certain. False: the connection is lost."""
    if connection.closed:
        return False
    try:
        connection.rollback()
    except psycopg.Error:
        return False
    return True


def _told(error: Exception) -> Exception:
    if isinstance(error, StorageFailed):
        return error
    log.error("commit failed: %s", type(error).__name__)
    return failure(error)


def _read(
    pipeline: Pipeline, lists: Sequence[Sequence[Change]], budgeted: set[int], *, at_least: int
) -> Batch:
    """Lock and read what decides, in one round trip; none if nothing does.

    `at_least`: so many rows are locked besides. `budgeted`: the accounts that are guessed to
    have budgets. It learns which of these have.
    """
    wanted: Needs = needs(lists)
    accounts = wanted.accounts | {account_id for account_id, _ in wanted.keys}
    purses, holds, bound, forms = list[Row](), list[Row](), list[Row](), list[Row]()
    if accounts:
        purses = pipeline.queue(QUERIES["purses"], (integers(sorted(accounts)),))
    if wanted.holds:
        holds = pipeline.queue(QUERIES["holds"], (texts(wanted.holds),))
    if wanted.keys:
        keys = [(*key, at_ms) for key, at_ms in wanted.keys.items()]
        bound = pipeline.queue(QUERIES["bound"], arrays(("bigint", "text", "bigint"), keys))
    if wanted.forms:
        forms = pipeline.queue(QUERIES["forms"], (texts(wanted.forms),))
    rows = list[Row]()
    if wanted.rows:
        rows = pipeline.queue(QUERIES["batch_rows"], arrays(("text", "bigint"), [*wanted.rows]))
    guessed = _queue_budgets(pipeline, lists, budgeted & accounts, wanted.holds)
    if at_least or accounts or wanted.forms:
        pipeline.sync()  # from here on the server counts how long we keep them locked in silence
    batch = Batch(
        {row[0]: Purse(*row[1:]) for row in purses},
        {row[0]: OpenHold(*row[1:]) for row in holds},
        {(row[0], row[1]): row[2] for row in bound},
        {row[0] for row in forms},
        rows={(row[0], row[1]): RowStanding(*row[2:]) for row in rows},
    )
    batch.book.learn(guessed)
    have = {account_id for account_id, purse in batch.purses.items() if purse.budgets}
    texts_of_holds = [hold.budgets for hold in batch.holds.values() if hold.budgets is not None]
    missed = not have <= budgeted or not all(map(batch.book.knows, texts_of_holds))
    if missed:
        more = _queue_budgets(pipeline, lists, have, wanted.holds, always=True)
        pipeline.sync()
        batch.book.learn(more)
    budgeted -= batch.purses.keys() - have
    budgeted |= have
    return batch


def _queue_budgets(
    pipeline: Pipeline,
    lists: Sequence[Sequence[Change]],
    accounts: Collection[int],
    holds: Collection[str],
    *,
    always: bool = False,
) -> Iterable[Row]:
    """The budgets of these accounts' charges and holds, and of operations that are open.

    Read behind the lock on their accounts, whose owners' changes wait for it too.
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
    """Everything that was decided, in the order in which the walls let it pass.

    Rows that other nodes may write too go in the order of their keys: no deadlocks.
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
        # The last one of a key that was let go and taken again within the batch.
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
    if batch.deeds:
        yield _insert(_DEEDS, batch.deeds)
    uses, told = batch.book.close()
    if uses.first or uses.again:
        yield _insert(_USES, sorted([*uses.first, *uses.again]))
    if told or batch.events:
        yield _insert(_EVENTS, [msgspec.structs.astuple(each) for each in (*batch.events, *told)])
    if batch.jobs:
        yield _insert(_JOBS, [jobs.row_of(batch.jobs[key]) for key in sorted(batch.jobs)])
    if batch.moved:
        yield QUERIES["move_rows"], arrays(_MOVED, [*batch.moved.values()])
        if counted := tally_rows(batch):  # none, where one row was taken and one given back
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
