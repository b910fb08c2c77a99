"""Changes of the month in use, and the comparison of every portfolio, on any engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from balcao.core.company_record import stored_record
from balcao.core.events import NewEvent
from balcao.core.ledger import Enqueue
from balcao.core.month_comparison import (
    Comparison,
    WatchedSubject,
    month_of_registry,
    starts_with_new_month,
    watches_month,
)
from balcao.core.month_switch import ComparisonFigures, MonthInUse, MonthSwitch, month_left
from balcao.core.questions import Mode
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.events import lock_account, write_events
from balcao.storage.desk.item_events import HEAD_COLUMNS, head_of, write_item_events
from balcao.storage.desk.jobs import enqueue
from balcao.storage.desk.month_events import events_of_item, reverted
from balcao.storage.desk.month_history import SWITCH, last_comparison, last_switch, purge_switch
from balcao.storage.engine import Engine

COMPARISON = "month_comparison"  # the kind of its jobs; `about` is the number of the change
COMPARED_AT_ONCE = 500
SWITCHED, COMPARED = "base.trocada", "carteira.comparada"

_FIND = f"SELECT {SWITCH} FROM month_switch WHERE switch_id = ?"  # noqa: S608 - ours
_EARLIER_OPEN = "SELECT 1 FROM month_switch WHERE switch_id < ? AND ended_ms IS NULL LIMIT 1"
_OPEN = f"SELECT {SWITCH} FROM month_switch WHERE ended_ms IS NULL ORDER BY switch_id"  # noqa: S608
_NOTE_FILES = "UPDATE month_switch SET files_ms = ? WHERE switch_id = ?"
_PREVIOUS = "SELECT coalesce(max(at_ms), 0) FROM month_switch WHERE mode = ? AND switch_id < ?"
_RECORD = (
    "INSERT INTO month_switch (from_month, to_month, base_date, establishments, at_ms, mode)"
    " VALUES (?, ?, ?, ?, ?, ?) RETURNING switch_id"
)
_END = "UPDATE month_switch SET ended_ms = ? WHERE switch_id = ? AND ended_ms IS NULL"
# The clock of a test account passes months of its own.
_REAL_TIME = (
    "NOT EXISTS (SELECT 1 FROM wallet AS t WHERE t.account_id = a.account_id"
    " AND t.clock_ms IS NOT NULL)"
)
_WALLETS = (
    f"SELECT a.account_id FROM account AS a WHERE a.mode = ? AND {_REAL_TIME} AND"  # noqa: S608 - ours
    " (a.watched > 0 OR EXISTS (SELECT 1 FROM wallet AS w WHERE w.account_id = a.account_id))"
    " ORDER BY a.account_id"
)
# Items that were added after the change have the new month as their baseline.
_NEXT_ACCOUNT = (
    "SELECT a.account_id FROM account AS a WHERE a.mode = ? AND a.watched > 0"  # noqa: S608 - ours
    f" AND {_REAL_TIME} AND a.account_id > ?"
    " AND NOT EXISTS (SELECT 1 FROM month_comparison AS c WHERE c.switch_id = ?"
    " AND c.account_id = a.account_id AND c.ended_ms IS NOT NULL)"
    " AND EXISTS (SELECT 1 FROM wallet_item AS i WHERE i.account_id = a.account_id"
    " AND i.ended_ms IS NULL AND i.created_ms <= ?) ORDER BY a.account_id LIMIT 1"
)
_POSITION = (
    "SELECT last_item, ended_ms FROM month_comparison WHERE switch_id = ? AND account_id = ?"
)
_ITEMS = (
    f"SELECT {', '.join(HEAD_COLUMNS)}, watched, root, created_ms, registry, record, record_ms"  # noqa: S608
    " FROM wallet_item WHERE account_id = ? AND item_id > ? AND ended_ms IS NULL"
    " ORDER BY item_id LIMIT ?"
)
_RECORD_MS = "SELECT record_ms FROM wallet_item WHERE item_id = ?"
_BEGIN = (
    "INSERT INTO month_comparison"
    " (switch_id, account_id, last_item, compared, changed, unverified, began_ms)"
    " VALUES (?, ?, '', 0, 0, 0, ?) ON CONFLICT (switch_id, account_id) DO NOTHING"
)
_ADVANCE = (
    "UPDATE month_comparison SET last_item = ?, compared = compared + ?, changed = changed + ?,"
    " unverified = unverified + ?, ended_ms = ? WHERE switch_id = ? AND account_id = ?"
    " RETURNING compared, changed, unverified, began_ms"
)
_COMPARED = (
    "INSERT INTO wallet (account_id, created_ms, compared_month, compared_ms, compared, changed,"
    " unverified) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (account_id) DO UPDATE SET"
    " compared_month = excluded.compared_month, compared_ms = excluded.compared_ms,"
    " compared = excluded.compared, changed = excluded.changed, unverified = excluded.unverified"
)

_decode = msgspec.json.decode


@lru_cache(maxsize=1_024)
def _topics(watched: str) -> frozenset[str]:
    return frozenset(_decode(watched, type=list[str]))


@dataclass(frozen=True, slots=True)
class Portion:
    """Items of an account that are compared in one commit."""

    switch: MonthSwitch
    account_id: int
    after: str  # the position that it begins after
    until: str
    last: bool  # the account has no more
    heads: Sequence[Sequence[object]]  # rows of `HEAD_COLUMNS`, of the subjects
    subjects: Sequence[WatchedSubject]


class Months:
    """The months of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer
        self._set_registry = engine.queries["set_registry"]

    async def last_comparison(self) -> ComparisonFigures | None:
        """Return the comparison after the last change of the month; None: none is recorded."""
        return await self._run_in_writer(last_comparison)

    async def purge(self, before_ms: int) -> int:
        """Remove some rows of an older change; the last one is kept. Return the number."""
        return await self._run_in_writer(lambda connection: purge_switch(connection, before_ms))

    async def find(self, switch_id: int) -> MonthSwitch | None:
        """Return a change of the month in use."""
        row = await self._run_in_writer(
            lambda connection: connection.execute(_FIND, (switch_id,)).fetchone()
        )
        return None if row is None else MonthSwitch(*row)

    async def waits(self, switch_id: int) -> bool:
        """Return whether an earlier change is not compared yet."""
        row = await self._run_in_writer(
            lambda connection: connection.execute(_EARLIER_OPEN, (switch_id,)).fetchone()
        )
        return row is not None

    async def open_switches(self) -> Sequence[MonthSwitch]:
        """Return the changes that are not compared yet, oldest first."""
        rows: Any = await self._run_in_writer(
            lambda connection: connection.execute(_OPEN).fetchall()
        )
        return [MonthSwitch(*row) for row in rows]

    async def note_files(self, switch_id: int, now_ms: int) -> None:
        """Record that a node has both months of a change."""
        await self._run_in_writer(
            lambda connection: connection.execute(_NOTE_FILES, (now_ms, switch_id))
        )

    async def record(
        self, seen: str | None, now: MonthInUse, now_ms: int, mode: Mode = "live"
    ) -> int | None:
        """Record a node's change of the month in use, if it is the first to make it.

        `seen`: the month that it used before. Writes `base.trocada`, and queues the comparison.
        Returns the number of the change; None: it is not one of the installation.
        """

        def work(connection: SqlConnection) -> int | None:
            with connection.transaction():
                last = last_switch(connection, mode)
                left = month_left(seen, now.month, None if last is None else last.to_month)
                if left is None:
                    return None
                values = (left, now.month, now.day.isoformat(), now.establishments, now_ms, mode)
                ((switch_id,),) = connection.execute(_RECORD, values).fetchall()
                body = {
                    "competencia": now.month,
                    "estabelecimentos": now.establishments,
                    "volta": now.month < left,
                }
                text = msgspec.json.encode(body).decode()
                accounts = connection.execute(_WALLETS, (mode,)).fetchall()
                write_events(
                    connection,
                    [
                        NewEvent(account_id, SWITCHED, now_ms, text, f"{SWITCHED}/{switch_id}")
                        for (account_id,) in accounts
                    ],
                )
                enqueue(connection, [Enqueue(COMPARISON, str(switch_id), now_ms)])
                return int(switch_id)

        return await self._run_in_writer(work)

    async def portion(
        self,
        switch: MonthSwitch,
        limit: int = COMPARED_AT_ONCE,
        before: Portion | None = None,
    ) -> Portion | None:
        """Return the items to compare next; None: all are compared.

        `before`: as if this portion were complete; None then: it is the last of those that follow.
        """
        return await self._run_in_writer(
            lambda connection: _next_portion(connection, switch, limit, before)
        )

    async def complete(self, portion: Portion, outcomes: Sequence[Comparison], now_ms: int) -> bool:
        """Write the events of a portion's items and its position, in one commit.

        Returns whether it was written: not if another node was first, or if a changed item had an
        own lookup meanwhile; then the next portion begins after the same items, or later.
        """

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                return self._complete(connection, portion, outcomes, now_ms)

        return await self._run_in_writer(work)

    async def end(self, switch: MonthSwitch, now_ms: int) -> None:
        """Record that every portfolio is compared."""

        def work(connection: SqlConnection) -> None:
            connection.execute(_END, (now_ms, switch.switch_id))

        await self._run_in_writer(work)

    def _complete(
        self,
        connection: SqlConnection,
        portion: Portion,
        outcomes: Sequence[Comparison],
        now_ms: int,
    ) -> bool:
        switch, account_id = portion.switch, portion.account_id
        place = (switch.switch_id, account_id)
        lock_account(connection, account_id)
        connection.execute(_BEGIN, (*place, now_ms))
        after, ended_ms = connection.execute(_POSITION, place).fetchone()
        if after != portion.after or ended_ms is not None:
            return False
        changed = [
            (head_of(row), subject, outcome)
            for row, subject, outcome in zip(portion.heads, portion.subjects, outcomes, strict=True)
            if outcome.changes
        ]
        for head, subject, _ in changed:
            row = connection.execute(_RECORD_MS, (head.item_id,)).fetchone()
            if row is not None and (row[0] or 0) != subject.record_ms:
                return False  # compared again, with that lookup
        contrary = reverted(connection, switch) if changed else None
        for head, _, outcome in changed:
            events = events_of_item(connection, switch, head, outcome, contrary, now_ms)
            write_item_events(connection, head, events)
        self._update_registry(connection, portion, outcomes)
        unverified = sum(not outcome.verified for outcome in outcomes)
        values = (
            portion.until,
            len(outcomes) - unverified,
            len(changed),
            unverified,
            now_ms if portion.last else None,
            *place,
        )
        *counts, began_ms = advance(connection, values)
        if portion.last:
            _end_account(connection, portion, counts, began_ms, now_ms)
        return True

    def _update_registry(
        self, connection: SqlConnection, portion: Portion, outcomes: Sequence[Comparison]
    ) -> None:
        shown = [
            (row[0], outcome.registry, subject.record_ms)
            for row, subject, outcome in zip(portion.heads, portion.subjects, outcomes, strict=True)
            if outcome.registry is not None
        ]
        if shown:
            connection.execute(self._set_registry, (msgspec.json.encode(shown).decode(),))


def advance(connection: SqlConnection, values: Sequence[object]) -> Sequence[Any]:
    """Store a portfolio's position and counts. Return the counts and the beginning."""
    (row,) = connection.execute(_ADVANCE, values).fetchall()
    return tuple(row)


def _next_portion(
    connection: SqlConnection, switch: MonthSwitch, limit: int, before: Portion | None
) -> Portion | None:
    if before is not None and not before.last:
        account_id, after = before.account_id, before.until
    else:
        values = (switch.mode, before.account_id if before else 0, switch.switch_id, switch.at_ms)
        found = connection.execute(_NEXT_ACCOUNT, values).fetchone()
        if found is None:
            return None
        (account_id,) = found
        position = connection.execute(_POSITION, (switch.switch_id, account_id)).fetchone()
        after = "" if position is None else position[0]
    (previous_ms,) = connection.execute(_PREVIOUS, (switch.mode, switch.switch_id)).fetchone()
    rows = connection.execute(_ITEMS, (account_id, after, limit)).fetchall()
    heads: list[Sequence[object]] = []
    subjects: list[WatchedSubject] = []
    for row in rows:
        watched, root, created_ms, registry, record, record_ms = row[len(HEAD_COLUMNS) :]
        topics = _topics(watched)
        if root is None or not watches_month(topics):
            continue
        month = None if record is not None else month_of_registry(registry)
        if starts_with_new_month(switch, created_ms, month, previous_ms):
            continue
        heads.append(row[: len(HEAD_COLUMNS)])
        subjects.append(
            WatchedSubject(
                row[2],
                topics,
                None if record is None else stored_record(bytes(record)),
                record_ms or 0,
            )
        )
    until = rows[-1][0] if rows else after
    return Portion(switch, account_id, after, until, len(rows) < limit, heads, subjects)


def _end_account(
    connection: SqlConnection,
    portion: Portion,
    counts: Sequence[Any],
    began_ms: int,
    now_ms: int,
) -> None:
    compared, changed, unverified = counts
    switch, account_id = portion.switch, portion.account_id
    body = {
        "competencia": switch.to_month,
        "itens": compared + unverified,
        "comparados": compared,
        "com_mudanca": changed,
        "nao_verificados": unverified,
        "duracao_ms": max(0, now_ms - began_ms),
    }
    text = msgspec.json.encode(body).decode()
    write_events(
        connection,
        [NewEvent(account_id, COMPARED, now_ms, text, f"{COMPARED}/{switch.switch_id}")],
    )
    values = (account_id, now_ms, switch.to_month, now_ms, compared, changed, unverified)
    connection.execute(_COMPARED, values)
