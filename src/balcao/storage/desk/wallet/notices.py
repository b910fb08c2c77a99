"""Notices of certificates that expire, on any engine (contract 20.6)."""

import asyncio
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final

from balcao.core.calendar import civil_day
from balcao.core.observed_items import FindInMonth
from balcao.core.paper_notices import (
    FAILING_DAYS,
    failing_event,
    failing_near_end,
    notice_due,
    notice_event,
)
from balcao.core.wallet import Notices
from balcao.storage.connection import OpenReader, SqlConnection, Statements
from balcao.storage.desk.events import lock_account
from balcao.storage.desk.purchases import MAY_BUY
from balcao.storage.desk.wallet.papers import PAPER_COLUMNS, paper_of
from balcao.storage.desk.wallet.renewals import write_paper_event
from balcao.storage.desk.wallet.rows import notices_of
from balcao.storage.engine import Engine

# Certificates in one commit: other commits wait meanwhile.
AT_ONCE: Final = 50

_ACCOUNTS = (
    "SELECT w.account_id, w.notices FROM wallet AS w WHERE w.clock_ms IS NULL ORDER BY w.account_id"
)
_NOTICES = "SELECT notices FROM wallet WHERE account_id = ?"
_EXPIRES = (
    "p.account_id = ? AND p.last_day IS NOT NULL"
    " AND (p.kind = 'outra' OR p.verdict IN ('CND', 'CPEND'))"
)
# Without the event about an end that is near, of one of its items.
_FAILING = (
    "p.failures > 0 AND p.last_day >= ? AND p.last_day <= ? AND EXISTS (SELECT 1"
    " FROM wallet_item_paper AS l JOIN wallet_item AS i ON i.item_id = l.item_id"
    " WHERE l.paper_id = p.paper_id AND i.ended_ms IS NULL AND NOT EXISTS (SELECT 1 FROM event AS e"
    " WHERE e.account_id = p.account_id AND e.cause = l.item_id || '/certidao.nao_renovada/'"
    " || p.paper_id || '/' || p.last_day || ?))"
)
_PAPER = (
    f"SELECT {', '.join(f'p.{name}' for name in PAPER_COLUMNS)}, CASE WHEN {MAY_BUY}"  # noqa: S608
    " AND p.next_ms IS NOT NULL THEN 1 ELSE 0 END FROM wallet_paper AS p"
    " JOIN wallet AS w ON w.account_id = p.account_id WHERE p.paper_id = ?"
)
_TOLD = "UPDATE wallet_paper SET told = ? WHERE paper_id = ?"


class PaperNotices:
    """The notices of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._run_in_writer = engine.run_in_writer
        self._open_reader: OpenReader = engine.open_reader

    async def accounts(self, now_ms: int) -> Sequence[int]:
        """Return the accounts in real time with certificates that are due a notice."""

        def read() -> Sequence[int]:
            with self._open_reader() as reading:
                rows: Any = reading.execute(_ACCOUNTS).fetchall()
                return [
                    account_id
                    for account_id, notices in rows
                    if _due(reading, account_id, notices_of(notices), now_ms, 1)
                ]

        return await asyncio.to_thread(read)

    async def write(self, account_id: int, now_ms: int) -> int:
        """Write the notices of some certificates of an account that are due. Return the count.

        `now_ms`: the instant of the portfolio's clock.
        """

        def work(connection: SqlConnection) -> int:
            with connection.transaction():
                lock_account(connection, account_id)
                row = connection.execute(_NOTICES, (account_id,)).fetchone()
                if row is None:
                    return 0
                notices: Any = row[0]
                days = notices_of(notices)
                found = _due(connection, account_id, days, now_ms, AT_ONCE)
                today, find_in_month = civil_day(now_ms), self._engine.find_in_month
                for paper_id in found:
                    _write(connection, paper_id, days, today, now_ms, find_in_month)
                return len(found)

        return await self._run_in_writer(work)


def _due(
    connection: Statements, account_id: int, notices: Notices, now_ms: int, limit: int
) -> Sequence[str]:
    """Return the numbers of certificates that are due a notice, in the order of their ends."""
    today = civil_day(now_ms)
    where = ["(p.last_day < ? AND coalesce(p.told, 1) > 0)"]
    values: list[object] = [_text(today)]
    for days in notices.dias:
        where.append("(p.last_day > ? AND p.last_day <= ? AND (p.told IS NULL OR p.told > ?))")
        values += [_text(today), _text(today, days), days]
    where.append(f"({_FAILING})")
    values += [_text(today), _text(today, FAILING_DAYS), f"/{FAILING_DAYS}"]
    rows: Any = connection.execute(
        f"SELECT p.paper_id FROM wallet_paper AS p WHERE {_EXPIRES} AND ({' OR '.join(where)})"  # noqa: S608
        " ORDER BY p.last_day LIMIT ?",
        (account_id, *values, limit),
    ).fetchall()
    return [paper_id for (paper_id,) in rows]


def _write(  # noqa: PLR0917
    connection: SqlConnection,
    paper_id: str,
    notices: Notices,
    today: date,
    now_ms: int,
    find_in_month: FindInMonth,
) -> None:
    row = connection.execute(_PAPER, (paper_id,)).fetchone()
    if row is None:
        return
    *columns, renews_itself = row
    paper = paper_of(columns)
    notice = notice_due(paper, notices.dias, today)
    if notice is not None:
        event = notice_event(paper, notice, today, renews_itself=bool(renews_itself))
        write_paper_event(connection, paper, event, now_ms, find_in_month)
        connection.execute(_TOLD, (notice, paper_id))
    if failing_near_end(paper, today):
        write_paper_event(connection, paper, failing_event(paper), now_ms, find_in_month)


def _text(today: date, days: int = 0) -> str:
    return (today + timedelta(days=days)).isoformat()
