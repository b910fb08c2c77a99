"""Purchases of portfolios, on any engine: who may buy, stops, and the next one (contract 20.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from balcao.core.budgets import iso_instant
from balcao.core.calendar import civil_month
from balcao.core.events import NewEvent
from balcao.core.purchases import UNPLANNED_MS, StopReason
from balcao.storage.connection import SqlConnection, Statements
from balcao.storage.desk.clock_runs import clock_run_of
from balcao.storage.desk.events import lock_account, write_events
from balcao.storage.engine import Engine

# Conditions of statements that name the portfolio `w`. Nothing is bought without a ceiling above 0.
HAS_CEILING: Final = (
    "EXISTS (SELECT 1 FROM budget AS b WHERE b.account_id = w.account_id"
    " AND b.owner_kind = 'carteira' AND b.ended_ms IS NULL AND b.credits_max > 0)"
)
MAY_BUY: Final = f"w.stopped_reason IS NULL AND {HAS_CEILING}"

_OLDEST = (
    "SELECT (SELECT min(i.recheck_ms) FROM wallet_item AS i JOIN wallet AS w"  # noqa: S608 - ours
    " ON w.account_id = i.account_id WHERE i.recheck_ms > ? AND i.recheck_ms <= ?"
    f" AND i.ended_ms IS NULL AND w.clock_ms IS NULL AND {MAY_BUY}),"
    " (SELECT min(p.next_ms) FROM wallet_paper AS p JOIN wallet AS w"
    " ON w.account_id = p.account_id WHERE p.next_ms > ? AND p.next_ms <= ?"
    f" AND w.clock_ms IS NULL AND {MAY_BUY})"
)
_NEXT = (
    "SELECT min(at_ms) FROM (SELECT min(i.recheck_ms) AS at_ms FROM wallet_item AS i"  # noqa: S608
    " WHERE i.account_id = ? AND i.recheck_ms > ? AND i.ended_ms IS NULL"
    " UNION ALL SELECT min(p.next_ms) FROM wallet_paper AS p"
    " WHERE p.account_id = ? AND p.next_ms > ?) AS found"
    f" WHERE EXISTS (SELECT 1 FROM wallet AS w WHERE w.account_id = ? AND {HAS_CEILING})"
)
# A certificate whose renewal has failed keeps the instant of its next attempt.
_REPLAN = (
    "UPDATE wallet_item SET recheck_ms = ? WHERE account_id = ? AND ended_ms IS NULL",
    "UPDATE wallet_paper SET next_ms = ? WHERE account_id = ? AND kind <> 'outra'"
    " AND (failures = 0 OR next_ms IS NULL)",
)
_STOP = (
    "UPDATE wallet SET stopped_reason = ?, stopped_ms = ?, resumes_ms = ?"
    " WHERE account_id = ? AND stopped_reason IS NULL RETURNING 1"
)
_RESUME = (
    "UPDATE wallet SET stopped_reason = NULL, stopped_ms = NULL, resumes_ms = NULL"
    " WHERE account_id = ? AND stopped_reason = ? AND stopped_ms = ? RETURNING 1"
)
_STOPPED = (
    "SELECT account_id, stopped_reason, stopped_ms, resumes_ms, buyer_key_id, buyer_user_id"
    " FROM wallet WHERE stopped_reason IS NOT NULL"
)
_STOPPED_IN_REAL_TIME = f"{_STOPPED} AND clock_ms IS NULL"
_STOPPED_BY_CLOCK = f"{_STOPPED} AND clock_ms IS NOT NULL AND account_id = ?"
_AFFECTED = (
    "SELECT count(*) FROM wallet_item AS i WHERE i.account_id = ? AND i.ended_ms IS NULL"
    " AND ((i.recheck_ms > ? AND i.recheck_ms <= ?) OR EXISTS (SELECT 1 FROM wallet_item_paper AS l"
    " JOIN wallet_paper AS p ON p.paper_id = l.paper_id"
    " WHERE l.item_id = i.item_id AND p.next_ms > ? AND p.next_ms <= ?))"
)


class OldestDue(NamedTuple):
    """When the oldest due purchase of each kind was due; None: none is."""

    recheck_ms: int | None
    renewal_ms: int | None


@dataclass(frozen=True, slots=True)
class StoppedWallet:
    """A portfolio whose purchases have stopped."""

    account_id: int
    reason: StopReason
    stopped_ms: int
    resumes_ms: int | None
    buyer_key_id: int | None
    buyer_user_id: int | None


class Purchases:
    """The stops of portfolios' purchases on one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer

    async def stop(
        self, account_id: int, reason: StopReason, now_ms: int, resumes_ms: int | None
    ) -> None:
        """Stop the purchases of a portfolio. Each reason has one event in a month."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                lock_account(connection, account_id)
                values = (reason, now_ms, resumes_ms, account_id)
                if connection.execute(_STOP, values).fetchall():
                    body = _body(connection, account_id, reason, now_ms, resumes_ms)
                    event = _event(account_id, "carteira.parada", reason, now_ms, now_ms, body)
                    _write(connection, event)

        await self._run_in_writer(work)

    async def resume(self, stopped: StoppedWallet, now_ms: int) -> None:
        """Resume the purchases of a portfolio, unless it has stopped anew."""
        account_id, reason = stopped.account_id, stopped.reason

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                lock_account(connection, account_id)
                values = (account_id, reason, stopped.stopped_ms)
                if connection.execute(_RESUME, values).fetchall():
                    body = _body(connection, account_id, reason, now_ms, None)
                    event = _event(
                        account_id, "carteira.retomada", reason, now_ms, stopped.stopped_ms, body
                    )
                    _write(connection, event)

        await self._run_in_writer(work)

    async def stopped(self, account_id: int | None = None) -> Sequence[StoppedWallet]:
        """Return the stopped portfolios that have the real time, or the one with a clock."""
        sql = _STOPPED_IN_REAL_TIME if account_id is None else _STOPPED_BY_CLOCK
        values = () if account_id is None else (account_id,)
        rows: Any = await self._run_in_writer(
            lambda connection: connection.execute(sql, values).fetchall()
        )
        return [StoppedWallet(*row) for row in rows]

    async def oldest_due(self, now_ms: int) -> OldestDue:
        """Return since when the oldest purchases wait, of portfolios in real time that may buy."""
        return await self._run_in_writer(lambda connection: oldest_due(connection, now_ms))


def oldest_due(connection: Statements, now_ms: int) -> OldestDue:
    """Return since when the oldest purchases wait, of portfolios in real time that may buy."""
    due = UNPLANNED_MS, now_ms
    row: Any = connection.execute(_OLDEST, (*due, *due)).fetchone()
    return OldestDue(*row)


def has_no_job(about: str) -> str:
    """Return the condition that a row has no open job of a kind; one that failed waits for a day.

    Its values: the kind, and the instant a day ago.
    """
    return (
        f"NOT EXISTS (SELECT 1 FROM job AS j WHERE j.kind = ? AND j.about = {about}"  # noqa: S608
        " AND j.state <> 'done' AND (j.state <> 'failed' OR j.changed_ms > ?))"
    )


def next_purchase_ms(connection: Statements, account_id: int) -> int | None:
    """Return when a portfolio buys next; None: never, or it is not computed yet."""
    values = (account_id, UNPLANNED_MS, account_id, UNPLANNED_MS, account_id)
    row: Any = connection.execute(_NEXT, values).fetchone()
    at_ms: int | None = row[0]
    return at_ms


def plan_again(connection: Statements, account_id: int) -> None:
    """Let all purchases of an account be planned again, within the change of its settings."""
    for sql in _REPLAN:
        connection.execute(sql, (UNPLANNED_MS, account_id))


def _write(connection: SqlConnection, event: NewEvent) -> None:
    run = clock_run_of(connection, event.account_id)
    write_events(connection, [msgspec.structs.replace(event, clock_run=run)])


def _event(  # noqa: PLR0917
    account_id: int, kind: str, reason: StopReason, now_ms: int, stopped_ms: int, body: str
) -> NewEvent:
    cause = f"{kind}/{reason}/{civil_month(stopped_ms)}"
    return NewEvent(account_id, kind, now_ms, body, cause)


def _body(
    connection: SqlConnection,
    account_id: int,
    reason: StopReason,
    now_ms: int,
    resumes_ms: int | None,
) -> str:
    due = UNPLANNED_MS, now_ms
    ((affected,),) = connection.execute(_AFFECTED, (account_id, *due, *due)).fetchall()
    body = {"motivo": reason, "atingidos": affected, "volta_em": iso_instant(resumes_ms)}
    return msgspec.json.encode(body).decode()
