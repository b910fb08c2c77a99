"""Clocks of test portfolios: moved, stopped at what is due, and given up (contract 20.8).

What a portfolio had in real time is copied before its first move, and restored at the end.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from balcao.core.budgets import iso_instant
from balcao.core.errors import ClockMoving
from balcao.core.events import NewEvent
from balcao.core.ledger import Enqueue
from balcao.core.portfolio_clock import PortfolioClock, check_move
from balcao.core.purchases import UNPLANNED_MS
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.events import lock_account, write_events
from balcao.storage.desk.jobs import enqueue
from balcao.storage.desk.purchases import MAY_BUY
from balcao.storage.desk.recorded_answer import MakeAnswer, record_answer
from balcao.storage.desk.wallet.settings import begin
from balcao.storage.engine import Engine

CLOCK: Final = "carteira_relogio"  # the kind of its jobs; each is about an account
ARRIVED: Final = "carteira.relogio"

_ITEM_STATE = (
    "registry", "record", "record_ms", "registrations", "suframa", "verified_ms", "checked",
    "handled_ms", "recheck_attempts",
)  # fmt: skip
_PAPER_STATE = (
    "verdict", "issued_on", "validity", "extended_until", "act", "last_day", "answered_ms",
    "request_id", "receipt_id", "media_type", "purchases", "attempts", "failures", "reason", "told",
)  # fmt: skip

_CLOCK = (
    "SELECT account_id, clock_run, clock_from_ms, clock_ms, clock_until_ms FROM wallet"
    " WHERE account_id = ? AND clock_ms IS NOT NULL"
)
_LEAVE = (
    "UPDATE wallet SET clock_ms = ?, clock_from_ms = ?, clock_run = clock_run + 1"
    " WHERE account_id = ?"
)
_MOVE = "UPDATE wallet SET clock_until_ms = ? WHERE account_id = ?"
_ADVANCE = (
    "UPDATE wallet SET clock_ms = ?"
    " WHERE account_id = ? AND clock_run = ? AND clock_ms = ? AND clock_until_ms IS NOT NULL"
    " RETURNING 1"
)
_ARRIVE = (
    "UPDATE wallet SET clock_ms = clock_until_ms, clock_until_ms = NULL"
    " WHERE account_id = ? AND clock_run = ? AND clock_until_ms = ? RETURNING 1"
)
_END = (
    "UPDATE wallet SET clock_ms = NULL, clock_from_ms = NULL, clock_until_ms = NULL,"
    " compared_month = NULL, compared_ms = NULL, compared = 0, changed = 0, unverified = 0,"
    " stopped_reason = NULL, stopped_ms = NULL, resumes_ms = NULL WHERE account_id = ?"
)
_OPEN_JOB = "SELECT 1 FROM job WHERE kind = ? AND about = ? AND state IN ('waiting', 'running')"
_FORGET_EVENTS = "DELETE FROM event WHERE account_id = ? AND clock_run IS NOT NULL"
# Of a portfolio that may buy.
_ITEMS = (
    "FROM wallet_item AS i JOIN wallet AS w ON w.account_id = i.account_id"
    f" WHERE i.account_id = ? AND i.ended_ms IS NULL AND {MAY_BUY} AND i.recheck_ms > ?"
)
_PAPERS = (
    "FROM wallet_paper AS p JOIN wallet AS w ON w.account_id = p.account_id"
    f" WHERE p.account_id = ? AND {MAY_BUY} AND p.next_ms > ?"
)
_ITEMS_DUE = f"SELECT i.item_id {_ITEMS} AND i.recheck_ms <= ? ORDER BY i.recheck_ms, i.item_id"
_PAPERS_DUE = f"SELECT p.paper_id {_PAPERS} AND p.next_ms <= ? ORDER BY p.next_ms, p.paper_id"
_NEXT_DUE = (
    f"SELECT min(at_ms) FROM (SELECT min(i.recheck_ms) AS at_ms {_ITEMS}"  # noqa: S608 - ours
    f" UNION ALL SELECT min(p.next_ms) {_PAPERS}) AS found"
)

_ANY_UNPLANNED = (
    "SELECT 1 FROM wallet_item WHERE account_id = ? AND recheck_ms = ? AND ended_ms IS NULL"
    " UNION ALL SELECT 1 FROM wallet_paper WHERE account_id = ? AND next_ms = ? LIMIT 1"
)
_STOPPED = "SELECT 1 FROM wallet WHERE account_id = ? AND stopped_reason IS NOT NULL"


def _copied(name: str, key: str, state: Sequence[str]) -> tuple[str, str, str, str]:
    """Return the statements that copy, restore, reset and delete the state of a table's rows."""
    columns = ", ".join(state)
    begin_with = {"registrations": "'[]'"} | dict.fromkeys(
        ("purchases", "attempts", "failures", "recheck_attempts"), "0"
    )
    new = ", ".join(f"{each} = {begin_with.get(each, 'NULL')}" for each in state)
    before = f"{name}_before"
    matches = f"SELECT {columns} FROM {before} AS b WHERE b.{key} = {name}.{key}"  # noqa: S608
    return (
        f"INSERT INTO {before} ({key}, account_id, {columns})"  # noqa: S608 - names of ours
        f" SELECT {key}, account_id, {columns} FROM {name} WHERE account_id = ?",
        f"UPDATE {name} SET ({columns}) = ({matches})"  # noqa: S608
        f" WHERE account_id = ? AND EXISTS ({matches})",
        f"UPDATE {name} SET {new} WHERE account_id = ? AND NOT EXISTS ({matches})",  # noqa: S608
        f"DELETE FROM {before} WHERE account_id = ?",  # noqa: S608
    )


_COPY_ITEMS, _RESTORE_ITEMS, _RESET_ITEMS, _DROP_ITEMS = _copied(
    "wallet_item", "item_id", _ITEM_STATE
)
_COPY_PAPERS, _RESTORE_PAPERS, _RESET_PAPERS, _DROP_PAPERS = _copied(
    "wallet_paper", "paper_id", _PAPER_STATE
)
_IN_FORCE = " AND ended_ms IS NULL"
# What a person entered by hand stays as it is.
_BOUGHT = " AND kind <> 'outra'"
_TELL_AGAIN = "UPDATE wallet_paper SET told = NULL WHERE account_id = ? AND kind = 'outra'"
_PLAN_ITEMS = "UPDATE wallet_item SET recheck_ms = ? WHERE account_id = ? AND ended_ms IS NULL"
_PLAN_PAPERS = (
    "UPDATE wallet_paper SET next_ms = ?, renewing_ms = NULL WHERE account_id = ?"
    " AND kind <> 'outra'"
)


class DuePurchases(NamedTuple):
    """The purchases of a portfolio that are due, and the instant of the next ones."""

    items: Sequence[str]
    papers: Sequence[str]
    next_ms: int | None
    unplanned: bool  # some have no instant yet
    stopped: bool  # nothing is bought for now


class PortfolioClocks:
    """The clocks of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer

    async def find(self, account_id: int) -> PortfolioClock | None:
        """Return the clock of an account's portfolio; None: it has the real time."""
        return await self._run_in_writer(lambda connection: _find(connection, account_id))

    async def move(
        self,
        account_id: int,
        until_ms: int,
        now_ms: int,
        keep: MakeAnswer[PortfolioClock] = lambda clock: None,
    ) -> PortfolioClock:
        """Let a clock move, from the real time at first. Records the answer.

        `now_ms`: the real time. Raises `InvalidParameter`, `ClockMoving`, `StillRunning`.
        """

        def work(connection: SqlConnection) -> PortfolioClock:
            with connection.transaction():
                lock_account(connection, account_id)
                begin(connection, account_id, now_ms)
                clock = _find(connection, account_id)
                if clock is not None and clock.until_ms is not None:
                    raise ClockMoving
                check_move(now_ms if clock is None else clock.now_ms, until_ms)
                if clock is None:
                    connection.execute(_COPY_ITEMS + _IN_FORCE, (account_id,))
                    connection.execute(_COPY_PAPERS + _BOUGHT, (account_id,))
                    connection.execute(_LEAVE, (now_ms, now_ms, account_id))
                connection.execute(_MOVE, (until_ms, account_id))
                enqueue(connection, [Enqueue(CLOCK, str(account_id), now_ms)])
                moving = _find(connection, account_id)
                assert moving is not None
                record_answer(connection, keep(moving))
                return moving

        return await self._run_in_writer(work)

    async def advance(self, clock: PortfolioClock, to_ms: int) -> bool:
        """Set a moving clock to its next stop. Return False if another process was first."""
        values = (to_ms, clock.account_id, clock.run, clock.now_ms)

        def work(connection: SqlConnection) -> bool:
            with connection.transaction():
                return bool(connection.execute(_ADVANCE, values).fetchall())

        return await self._run_in_writer(work)

    async def arrive(self, clock: PortfolioClock) -> None:
        """Stop a clock at the end of its move, with its event, in one commit."""
        account_id, until_ms = clock.account_id, clock.until_ms
        assert until_ms is not None
        body = msgspec.json.encode({"agora": iso_instant(until_ms)}).decode()
        event = NewEvent(
            account_id,
            ARRIVED,
            until_ms,
            body,
            f"{ARRIVED}/{clock.run}/{until_ms}",
            clock_run=clock.run,
        )

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                lock_account(connection, account_id)
                if connection.execute(_ARRIVE, (account_id, clock.run, until_ms)).fetchall():
                    write_events(connection, [event])

        await self._run_in_writer(work)

    async def give_up(self, account_id: int) -> None:
        """Return a portfolio to the real time, and forget what its clock brought.

        Raises `ClockMoving`, unless the job that moves the clock has failed for good.
        """

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                lock_account(connection, account_id)
                clock = _find(connection, account_id)
                if clock is None:
                    return
                moving = clock.until_ms is not None
                if moving and connection.execute(_OPEN_JOB, (CLOCK, str(account_id))).fetchall():
                    raise ClockMoving
                _restore(connection, account_id)

        await self._run_in_writer(work)

    async def due(self, clock: PortfolioClock) -> DuePurchases:
        """Return what a portfolio buys now, and when it buys next."""
        account_id, now_ms = clock.account_id, clock.now_ms
        due, later = (account_id, UNPLANNED_MS, now_ms), (account_id, now_ms)

        def work(connection: SqlConnection) -> DuePurchases:
            items: Any = connection.execute(_ITEMS_DUE, due).fetchall()
            papers: Any = connection.execute(_PAPERS_DUE, due).fetchall()
            ((next_ms,),) = connection.execute(_NEXT_DUE, (*later, *later)).fetchall()
            unplanned = connection.execute(_ANY_UNPLANNED, (*due[:2], *due[:2])).fetchone()
            stopped = connection.execute(_STOPPED, due[:1]).fetchone()
            return DuePurchases(
                [one for (one,) in items],
                [one for (one,) in papers],
                next_ms,
                unplanned is not None,
                stopped is not None,
            )

        return await self._run_in_writer(work)


def _find(connection: SqlConnection, account_id: int) -> PortfolioClock | None:
    row = connection.execute(_CLOCK, (account_id,)).fetchone()
    return None if row is None else PortfolioClock(*row)


def _restore(connection: SqlConnection, account_id: int) -> None:
    account = (account_id,)
    connection.execute(_RESTORE_ITEMS + _IN_FORCE, account)
    connection.execute(_RESET_ITEMS + _IN_FORCE, account)
    connection.execute(_RESTORE_PAPERS + _BOUGHT, account)
    connection.execute(_RESET_PAPERS + _BOUGHT, account)
    connection.execute(_TELL_AGAIN, account)
    connection.execute(_PLAN_ITEMS, (UNPLANNED_MS, account_id))
    connection.execute(_PLAN_PAPERS, (UNPLANNED_MS, account_id))
    for drop in (_DROP_ITEMS, _DROP_PAPERS, _FORGET_EVENTS, _END):
        connection.execute(drop, account)
