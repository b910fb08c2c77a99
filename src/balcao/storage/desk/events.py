"""The stored events of all accounts, on any engine (contract 19)."""

import asyncio
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from balcao.core.event_feed import FeedFilter, StoredPage
from balcao.core.events import NewEvent, StoredEvent
from balcao.storage.batch import Row
from balcao.storage.connection import OpenReader, SqlConnection, Statements
from balcao.storage.engine import Engine

PURGED_AT_ONCE = 1_000

EVENT_COLUMNS = NewEvent.__struct_fields__
# Of an INSERT: a second event of one cause is not written.
ONCE = "ON CONFLICT (account_id, cause) WHERE cause IS NOT NULL DO NOTHING"

# An account's events are numbered while it is locked: their order is that of their commits.
_LOCK = "UPDATE account SET budgets = budgets WHERE account_id = ?"
_INSERT = (
    f"INSERT INTO event ({', '.join(EVENT_COLUMNS)})"  # noqa: S608 - columns of ours
    f" VALUES ({', '.join('?' * len(EVENT_COLUMNS))}) {ONCE} RETURNING event_id"
)
STORED_COLUMNS = ("event_id", *StoredEvent.__struct_fields__[1:])
_STORED = ", ".join(STORED_COLUMNS)
_AFTER = (
    f"SELECT {_STORED} FROM event"  # noqa: S608 - columns of ours
    " WHERE account_id = ? AND event_id > ? ORDER BY event_id LIMIT ?"
)
_SHOWN = "account_id = ? AND webhook_id IS NULL AND at_ms >= ?"
_OLDEST = f"SELECT {_STORED} FROM event WHERE {_SHOWN} ORDER BY event_id LIMIT 1"  # noqa: S608
_LAST_OF = "SELECT coalesce(max(event_id), 0) FROM event WHERE account_id = ?"
_KINDS_AFTER = "SELECT event_id, kind FROM event WHERE event_id > ? ORDER BY event_id"
_LAST = "SELECT coalesce(max(event_id), 0) FROM event"
_PURGE = (
    "DELETE FROM event WHERE event_id IN"
    " (SELECT event_id FROM event WHERE at_ms < ? ORDER BY at_ms LIMIT ?) RETURNING 1"
)


class Events:
    """The events of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer
        self._open_reader: OpenReader = engine.open_reader
        self._last_number = engine.queries["last_event_number"]

    def after(self, account_id: int, number: int, limit: int) -> Sequence[StoredEvent]:
        """Return an account's events with greater numbers, in the order of their commits."""
        with self._open_reader() as reading:
            return events_after(reading, account_id, number, limit)

    async def page(
        self, account_id: int, after: int, limit: int, since_ms: int, only: FeedFilter
    ) -> StoredPage:
        """Return some of an account's events of a feed, in the order of their commits.

        Those after a number, not older than an instant. Events for one endpoint are in no feed.
        """
        where, values = _filtered(only)

        def read() -> StoredPage:
            with self._open_reader() as reading:
                # First: what is committed meanwhile has a greater number.
                last = _last_of(reading, account_id)
                rows = reading.execute(
                    f"SELECT {_STORED} FROM event WHERE {_SHOWN} AND event_id > ?"  # noqa: S608
                    f" AND event_id <= ?{where} ORDER BY event_id LIMIT ?",
                    (account_id, since_ms, after, last, *values, limit),
                ).fetchall()
            return StoredPage([stored_event(row) for row in rows], last)

        return await asyncio.to_thread(read)

    async def oldest(self, account_id: int, since_ms: int) -> tuple[StoredEvent | None, int]:
        """Return the oldest event of an account's feed, and the number of the last."""

        def read() -> tuple[StoredEvent | None, int]:
            with self._open_reader() as reading:
                row = reading.execute(_OLDEST, (account_id, since_ms)).fetchone()
                return None if row is None else stored_event(row), _last_of(reading, account_id)

        return await asyncio.to_thread(read)

    async def last_number(self) -> int:
        """Return the greatest number given so far, also if that event is gone."""

        def read() -> int:
            with self._open_reader() as reading:
                row: Any = reading.execute(self._last_number).fetchone()
            return int(row[0])

        return await asyncio.to_thread(read)

    async def last(self) -> int:
        """Return the number of the last event of any account; 0: there was none."""
        ((last,),) = await self._run_in_writer(
            lambda connection: connection.execute(_LAST).fetchall()
        )
        return int(last)

    async def kinds_after(self, number: int) -> Sequence[tuple[int, str]]:
        """Return numbers and kinds of later events, of any account, in order of their numbers.

        On PostgreSQL a lower number of another account may be committed after a higher one.
        """
        rows: Any = await self._run_in_writer(
            lambda connection: connection.execute(_KINDS_AFTER, (number,)).fetchall()
        )
        return [(int(number), kind) for number, kind in rows]

    async def purge(self, before_ms: int) -> int:
        """Delete some events before an instant. Return the count."""

        def work(connection: SqlConnection) -> int:
            return len(connection.execute(_PURGE, (before_ms, PURGED_AT_ONCE)).fetchall())

        return await self._run_in_writer(work)


def _last_of(reading: Statements, account_id: int) -> int:
    row: Any = reading.execute(_LAST_OF, (account_id,)).fetchone()
    return int(row[0])


def _filtered(only: FeedFilter) -> tuple[str, Sequence[object]]:
    """Return further conditions and their values."""
    where, values = [""], list[object]()
    if only.kinds is not None:
        where.append(f"kind IN ({', '.join('?' * len(only.kinds))})")
        values += sorted(only.kinds)
    if only.client is not None:
        where.append("client = ?")
        values.append(only.client)
    if only.item_id is not None:
        where.append("item_id = ?")
        values.append(only.item_id)
    if only.items_only:
        where.append("item_id IS NOT NULL")
    if only.month is not None:
        # Quotes within texts are escaped: this is a member.
        where.append("body LIKE ?")
        values.append(f'%"competencia":"{only.month}"%')
    return " AND ".join(where), values


def events_after(
    connection: Statements, account_id: int, number: int, limit: int
) -> Sequence[StoredEvent]:
    """Return an account's events with greater numbers, in the order of their commits."""
    rows = connection.execute(_AFTER, (account_id, number, limit)).fetchall()
    return [stored_event(row) for row in rows]


def lock_accounts(connection: Statements, accounts: Collection[int]) -> None:
    """Lock accounts until the end of the transaction: no event of theirs is committed meanwhile."""
    for account_id in sorted(accounts):
        lock_account(connection, account_id)


def write_events(connection: Statements, events: Sequence[NewEvent]) -> Sequence[int | None]:
    """Write events within the transaction of their cause. Lock their accounts.

    Returns the number of each; None: its cause had one.
    """
    for account_id in sorted({event.account_id for event in events}):
        lock_account(connection, account_id)
    numbers: list[int | None] = []
    for event in events:
        row = connection.execute(_INSERT, event_row(event)).fetchall()
        numbers.append(row[0][0] if row else None)
    return numbers


def lock_account(connection: Statements, account_id: int) -> None:
    """Lock an account until the end of the transaction."""
    connection.execute(_LOCK, (account_id,))


def event_row(event: NewEvent) -> Row:
    """Return the values of `EVENT_COLUMNS`."""
    *values, silent, clock_run = msgspec.structs.astuple(event)
    return (*values, int(silent), clock_run)


def stored_event(row: Any) -> StoredEvent:
    """Return the event of a row of `STORED_COLUMNS`."""
    event = StoredEvent(*row)
    return msgspec.structs.replace(event, silent=bool(event.silent))
