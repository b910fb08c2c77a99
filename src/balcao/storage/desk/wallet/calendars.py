"""Calendars of certificates: their secret addresses, and the events that each last had."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from balcao.core.calendar_feed import FeedChanges, FeedEntry
from balcao.core.errors import CalendarNotFound, TooManyCalendars
from balcao.core.papers import PaperState
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.events import lock_account
from balcao.storage.desk.recorded_answer import MakeAnswer, record_answer
from balcao.storage.desk.wallet.paper_list import PaperFilter
from balcao.storage.desk.wallet.rows import json_text, pieces
from balcao.storage.engine import Engine

CALENDARS_MAX: Final = 50
_WRITTEN_AT_ONCE: Final = 500

_COLUMNS = ("calendar_id", "account_id", "user_id", "name", "chosen", "created_ms")
_NEW = (*_COLUMNS, "token_hash")
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM wallet_calendar"  # noqa: S608 - columns of ours
_ENTRIES = (
    "SELECT paper_id, last_day, digest, sequence, changed_ms, cancelled_ms"
    " FROM wallet_calendar_entry WHERE calendar_id = ? ORDER BY last_day, paper_id"
)
_WRITE = (
    "INSERT INTO wallet_calendar_entry"
    " (calendar_id, paper_id, last_day, digest, sequence, changed_ms, cancelled_ms)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (calendar_id, paper_id) DO UPDATE SET"
    " last_day = excluded.last_day, digest = excluded.digest, sequence = excluded.sequence,"
    " changed_ms = excluded.changed_ms, cancelled_ms = excluded.cancelled_ms"
    " WHERE excluded.sequence > wallet_calendar_entry.sequence"
)
_FORGET = "DELETE FROM wallet_calendar_entry WHERE calendar_id = ? AND paper_id = ?"
_FORGET_PAPERS = (
    "DELETE FROM wallet_calendar_entry WHERE paper_id IN ({places}) AND NOT EXISTS"
    " (SELECT 1 FROM wallet_paper AS p WHERE p.paper_id = wallet_calendar_entry.paper_id)"
)


class CalendarFilter(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The certificates of a calendar; each field that is set must match."""

    client: str | None = None
    tag: str | None = None
    states: tuple[PaperState, ...] = ()

    @property
    def papers(self) -> PaperFilter:
        """The selection of certificates."""
        return PaperFilter(self.client, self.tag, states=self.states)


class StoredCalendar(msgspec.Struct, frozen=True, gc=False):
    """A calendar. Its address is not stored."""

    calendar_id: str
    account_id: int
    user_id: int | None
    name: str | None
    chosen: CalendarFilter
    created_ms: int


class NewCalendar(NamedTuple):
    """A calendar to be created. `token_hash`: of its address."""

    calendar: StoredCalendar
    token_hash: bytes


class Calendars:
    """The calendars of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer
        self._open_reader = engine.open_reader
        self._connection = engine.connection

    async def add(
        self, new: NewCalendar, keep: MakeAnswer[StoredCalendar] = lambda made: None
    ) -> StoredCalendar:
        """Create a calendar and record the answer. Raises `TooManyCalendars`, `StillRunning`."""
        made = new.calendar
        chosen = None if made.chosen == CalendarFilter() else json_text(made.chosen)
        row = (
            made.calendar_id, made.account_id, made.user_id, made.name, chosen, made.created_ms,
            new.token_hash,
        )  # fmt: skip

        def work(connection: SqlConnection) -> StoredCalendar:
            with connection.transaction():
                lock_account(connection, made.account_id)
                if len(_of_account(connection, made.account_id)) >= CALENDARS_MAX:
                    raise TooManyCalendars
                connection.insert_rows("wallet_calendar", _NEW, [row])
                record_answer(connection, keep(made))
            return made

        return await self._run_in_writer(work)

    def of_account(self, account_id: int) -> Sequence[StoredCalendar]:
        """Return the calendars of an account, oldest first."""
        return _of_account(self._connection, account_id)

    async def remove(self, account_id: int, calendar_id: str) -> StoredCalendar:
        """Delete a calendar and return it as it was. Raises `CalendarNotFound`."""

        def work(connection: SqlConnection) -> StoredCalendar:
            with connection.transaction():
                lock_account(connection, account_id)
                found = [
                    each
                    for each in _of_account(connection, account_id)
                    if each.calendar_id == calendar_id
                ]
                if not found:
                    raise CalendarNotFound
                connection.execute(
                    "DELETE FROM wallet_calendar WHERE calendar_id = ?", (calendar_id,)
                )
                return found[0]

        return await self._run_in_writer(work)

    async def by_token(
        self, token_hash: bytes
    ) -> tuple[StoredCalendar, Mapping[str, FeedEntry]] | None:
        """Return the calendar at an address with its entries; None: there is none."""

        def read() -> tuple[StoredCalendar, Mapping[str, FeedEntry]] | None:
            with self._open_reader() as reading, reading.snapshot():
                found = _found(reading, "WHERE token_hash = ?", token_hash)
                if not found:
                    return None
                rows = reading.execute(_ENTRIES, (found[0].calendar_id,)).fetchall()
            entries = [FeedEntry(row[0], row[1], bytes(row[2]), *row[3:]) for row in rows]
            return found[0], {each.paper_id: each for each in entries}

        return await asyncio.to_thread(read)

    async def write_entries(self, calendar_id: str, changes: FeedChanges) -> None:
        """Store the entries that a reading changed; one that another reading wrote is kept."""
        rows = [(calendar_id, *msgspec.structs.astuple(each)) for each in changes.changed]
        for some in pieces(rows, _WRITTEN_AT_ONCE):
            await self._write(calendar_id, some, ())
        for ids in pieces(changes.forgotten, _WRITTEN_AT_ONCE):
            await self._write(calendar_id, (), ids)

    async def _write(
        self, calendar_id: str, rows: Sequence[tuple[object, ...]], forgotten: Sequence[str]
    ) -> None:
        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                exists = "SELECT 1 FROM wallet_calendar WHERE calendar_id = ?"
                if connection.execute(exists, (calendar_id,)).fetchone() is None:
                    return
                for row in rows:
                    connection.execute(_WRITE, row)
                for paper_id in forgotten:
                    connection.execute(_FORGET, (calendar_id, paper_id))

        await self._run_in_writer(work)


def forget_entries(connection: SqlConnection, paper_ids: Sequence[str]) -> None:
    """Delete the calendar entries of those certificates that were erased."""
    for some in pieces(paper_ids, _WRITTEN_AT_ONCE):
        sql = _FORGET_PAPERS.format(places=", ".join("?" * len(some)))
        connection.execute(sql, some)


def count_calendars(connection: SqlConnection) -> int:
    """Return the number of calendars of the installation."""
    ((count,),) = connection.execute("SELECT count(*) FROM wallet_calendar").fetchall()
    return int(count)


def _of_account(connection: SqlConnection, account_id: int) -> Sequence[StoredCalendar]:
    return _found(connection, "WHERE account_id = ? ORDER BY calendar_id", account_id)


def _found(connection: SqlConnection, where: str, value: object) -> Sequence[StoredCalendar]:
    rows = connection.execute(f"{_SELECT} {where}", (value,)).fetchall()
    return [
        StoredCalendar(calendar_id, account_id, user_id, name, _chosen(chosen), created_ms)
        for calendar_id, account_id, user_id, name, chosen, created_ms in rows
    ]


def _chosen(stored: str | None) -> CalendarFilter:
    return CalendarFilter() if stored is None else msgspec.json.decode(stored, type=CalendarFilter)
