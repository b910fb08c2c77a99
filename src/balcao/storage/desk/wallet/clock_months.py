"""Months that a test portfolio's clock passes: comparisons of its items (contract 20.8)."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from balcao.core.company_record import stored_record
from balcao.core.events import NewEvent
from balcao.core.item_events import ItemEvent
from balcao.core.month_comparison import (
    SOURCE,
    Comparison,
    RegistrySummary,
    WatchedSubject,
    cause,
    watches_month,
)
from balcao.core.portfolio_clock import PortfolioClock
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.clock_runs import clock_run_of
from balcao.storage.desk.events import lock_account, write_events
from balcao.storage.desk.item_events import HEAD_COLUMNS, head_of, write_item_events
from balcao.storage.desk.months import COMPARED, SWITCHED
from balcao.storage.engine import Engine

_ITEMS = (
    f"SELECT {', '.join(HEAD_COLUMNS)}, watched, record, record_ms FROM wallet_item"  # noqa: S608
    " WHERE account_id = ? AND item_id > ? AND root IS NOT NULL AND ended_ms IS NULL"
    " ORDER BY item_id LIMIT ?"
)
_SHOW = "UPDATE wallet_item SET registry = ? WHERE item_id = ? AND ended_ms IS NULL"
_COMPARED = (
    "UPDATE wallet SET compared_month = ?, compared_ms = ?, compared = ?, changed = ?,"
    " unverified = ? WHERE account_id = ? AND clock_run = ? AND clock_ms IS NOT NULL"
)

_topics = msgspec.json.Decoder(frozenset[str]).decode
_summary = msgspec.json.Decoder(RegistrySummary).decode


class PassedMonth(NamedTuple):
    """A month of the sandbox that a clock passes."""

    month: str  # YYYY-MM
    base_date: str  # of its data
    establishments: int


class MonthCounts(NamedTuple):
    """The outcome of comparing a portfolio."""

    compared: int = 0
    changed: int = 0
    unverified: int = 0

    def with_outcomes(self, outcomes: Sequence[Comparison]) -> "MonthCounts":
        """Return the counts with some items more."""
        unverified = sum(not each.verified for each in outcomes)
        return MonthCounts(
            self.compared + len(outcomes) - unverified,
            self.changed + sum(bool(each.changes) for each in outcomes),
            self.unverified + unverified,
        )


class ItemsToCompare(NamedTuple):
    """Some items of a portfolio that watch the month. `until`: the position behind them."""

    heads: Sequence[Sequence[Any]]  # rows of `HEAD_COLUMNS`
    subjects: Sequence[WatchedSubject]
    until: str | None  # None: these are the last


class ClockMonths:
    """Comparisons by the clocks of one desk. All methods raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        self._run_in_writer = engine.run_in_writer

    async def items(self, account_id: int, after: str, limit: int) -> ItemsToCompare:
        """Return the items to compare next."""
        rows: Any = await self._run_in_writer(
            lambda connection: connection.execute(_ITEMS, (account_id, after, limit)).fetchall()
        )
        heads, subjects = [], []
        for row in rows:
            watched, record, record_ms = row[len(HEAD_COLUMNS) :]
            topics = _topics(watched)
            if watches_month(topics):
                own = None if record is None else stored_record(bytes(record))
                heads.append(row[: len(HEAD_COLUMNS)])
                subjects.append(WatchedSubject(row[2], topics, own, record_ms or 0))
        return ItemsToCompare(heads, subjects, rows[-1][0] if len(rows) == limit else None)

    async def write(
        self,
        clock: PortfolioClock,
        month: PassedMonth,
        heads: Sequence[Sequence[Any]],
        outcomes: Sequence[Comparison],
    ) -> None:
        """Write the events of compared items, each once."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                lock_account(connection, clock.account_id)
                if clock_run_of(connection, clock.account_id) != clock.run:
                    return
                for row, outcome in zip(heads, outcomes, strict=True):
                    if outcome.changes:
                        head = head_of(row)
                        events = _events(clock, month, head.item_id, outcome)
                        write_item_events(connection, head, events)
                    if outcome.registry is not None:
                        shown = _as_of(outcome.registry, month.month)
                        connection.execute(_SHOW, (shown, row[0]))

        await self._run_in_writer(work)

    async def end(
        self, clock: PortfolioClock, month: PassedMonth, counts: MonthCounts, duration_ms: int
    ) -> None:
        """Record that a portfolio is compared, with its events."""
        body = {
            "competencia": month.month,
            "itens": counts.compared + counts.unverified,
            "comparados": counts.compared,
            "com_mudanca": counts.changed,
            "nao_verificados": counts.unverified,
            "duracao_ms": duration_ms,
        }

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                lock_account(connection, clock.account_id)
                if clock_run_of(connection, clock.account_id) != clock.run:
                    return
                write_events(connection, [_of_account(clock, month, COMPARED, body)])
                connection.execute(
                    _COMPARED, (month.month, clock.now_ms, *counts, clock.account_id, clock.run)
                )

        await self._run_in_writer(work)

    async def begin(self, clock: PortfolioClock, month: PassedMonth) -> None:
        """Write that the month in use has changed."""
        body = {
            "competencia": month.month,
            "estabelecimentos": month.establishments,
            "volta": False,
        }

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                lock_account(connection, clock.account_id)
                if clock_run_of(connection, clock.account_id) == clock.run:
                    write_events(connection, [_of_account(clock, month, SWITCHED, body)])

        await self._run_in_writer(work)


def _events(
    clock: PortfolioClock, month: PassedMonth, item_id: str, outcome: Comparison
) -> Sequence[ItemEvent]:
    return [
        ItemEvent(
            change.kind,
            cause(item_id, change.kind, _occasion(clock, month)),
            clock.now_ms,
            SOURCE,
            change.data,
            outcome.is_person,
            month.base_date,
            month.month,
            head_office=outcome.head_office,
        )
        for change in outcome.changes
    ]


def _of_account(
    clock: PortfolioClock, month: PassedMonth, kind: str, body: dict[str, object]
) -> NewEvent:
    return NewEvent(
        clock.account_id,
        kind,
        clock.now_ms,
        msgspec.json.encode(body).decode(),
        f"{kind}/{_occasion(clock, month)}",
        clock_run=clock.run,
    )


def _occasion(clock: PortfolioClock, month: PassedMonth) -> str:
    return f"relogio-{clock.run}/{month.month}"


def _as_of(registry: str, month: str) -> str:
    """Return the registry data of an item as those of another month."""
    shown = msgspec.structs.replace(_summary(registry), competencia=month)
    return msgspec.json.encode(shown).decode()
