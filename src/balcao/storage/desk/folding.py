""" "Folding": aggregation of charges into daily totals, some time after they are made (ADR 0050).

Each step is one commit under the lock on the account's row, which charges take too: so a later
charge reads up to where the totals go, and resets them if it is for an earlier day.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from balcao.core.calendar import HOUR_MS, civil_day, civil_day_text, day_starts_ms
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.totals import (
    FOLDED,
    NO_DAY,
    PARTS,
    TotalsQueries,
    hours_of,
)
from balcao.storage.engine import Engine
from balcao.storage.numbers import NUMBERED_BEFORE_MS_MAX, least_number, made_ms
from balcao.storage.totals import Fingerprint

# Charges that one commit folds: some milliseconds in which no lookup is written.
FOLDED_AT_ONCE = 2_000
# Days whose details are removed in one call, each in a commit of its own.
COARSENED_AT_ONCE = 20
_ROWS_PER_STATEMENT = 64

_COLUMNS = (
    "account_id", "part", "day", "value", "operation", "key_id", "user_id", "origin", "rule",
    "requests", "credits",
)  # fmt: skip
# The lock that charges take, too.
_LOCK = "UPDATE account SET folded_ms = folded_ms WHERE account_id = ? RETURNING folded_ms"
_SET = "UPDATE account SET folded_ms = ? WHERE account_id = ?"
_UNFOLD = "DELETE FROM daily_total WHERE account_id = ? AND day >= ?"
# The end of a step: before the charge that would be one too many.
_ENTRY_TOO_MANY = (
    "SELECT at_ms FROM ledger_entry WHERE account_id = ? AND at_ms >= ? AND at_ms < ?"
    " ORDER BY at_ms LIMIT 1 OFFSET ?"
)
_CHARGED_LOOKUP_TOO_MANY = (
    "SELECT request_id FROM charged_lookup"
    " WHERE account_id = ? AND request_id >= ? AND request_id < ?"
    " ORDER BY request_id LIMIT 1 OFFSET ?"
)
_LEFT = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM ledger_entry WHERE account_id = ? AND at_ms >= ?"
    " AND kind IN ('charge', 'post'))"
    " OR EXISTS (SELECT 1 FROM charged_lookup WHERE account_id = ? AND request_id >= ?)"
)
# Charged lookups that are in the totals by their number, but not by their instant: as entries they
# would be added again.
_ACROSS = (
    "SELECT 1 FROM charged_lookup WHERE account_id = ? AND request_id >= ? AND request_id < ?"
    " AND opened_ms >= ? LIMIT 1"
)
_SEAL = (
    "INSERT INTO month_seal (account_id, month, entries, digest) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (account_id, month) DO UPDATE"
    " SET entries = excluded.entries, digest = excluded.digest"
)
_DETAIL = "(user_id > 0 OR (part IN ('uf', 'uf_alone') AND value <> ''))"
_WITH_DETAILS = (
    f"SELECT DISTINCT account_id, day FROM daily_total WHERE {_DETAIL} AND day < ? LIMIT ?"  # noqa: S608
)
_OF_DAY = (
    f"SELECT {', '.join(_COLUMNS[1:])} FROM daily_total WHERE account_id = ? AND day = ?"  # noqa: S608
    " AND part = ?"
)


class DailyTotals(TotalsQueries):
    """The totals of a desk. Methods that write raise `StorageFailed`."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine.open_reader)
        self._engine = engine
        # Balance and `folded_ms` of accounts without unfolded charges: while both stay the same,
        # there was no charge and no reset.
        self._quiet: dict[int, tuple[int, int]] = {}

    async def fold(self, until_ms: int) -> int:
        """Aggregate a limited number of each account's charges before an instant.

        Returns the count of charges; 0: none are left.
        """
        folded = 0
        for account_id, balance, done_ms in await self._engine.run_in_writer(_standings):
            if done_ms >= until_ms or self._quiet.get(account_id) == (balance, done_ms):
                continue

            def work(connection: SqlConnection, account_id: int = account_id) -> _Step:
                with connection.transaction():
                    return _fold(connection, account_id, until_ms)

            step = await self._engine.run_in_writer(work)
            folded += step.charges
            if step.rests:
                self._quiet[account_id] = step.balance_credits, step.folded_ms
        return folded

    async def coarsen(self, before: date) -> int:
        """Remove users and UFs from some days before this one. Return the count of days.

        One commit per day, so that none takes long or locks a second account.
        """
        values = (before.isoformat(), COARSENED_AT_ONCE)
        days: Sequence[Any] = await self._engine.run_in_writer(
            lambda connection: connection.execute(_WITH_DETAILS, values).fetchall()
        )
        for account_id, day in days:

            def work(
                connection: SqlConnection, account_id: int = account_id, day: str = day
            ) -> None:
                with connection.transaction():
                    connection.execute(_LOCK, (account_id,)).fetchall()
                    for part in PARTS:
                        _coarsen(connection, account_id, day, part)

            await self._engine.run_in_writer(work)
        return len(days)

    async def seal(self, account_id: int, month: str, found: Fingerprint) -> None:
        """Store a month's fingerprint, so that it is not computed again."""
        values = (account_id, month, found.entries, found.digest)

        def work(connection: SqlConnection) -> None:
            connection.execute(_SEAL, values)

        await self._engine.run_in_writer(work)

    async def reset(self, account_id: int) -> None:
        """Delete an account's totals, to be folded again from the ledger."""

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                connection.execute(_LOCK, (account_id,)).fetchall()
                connection.execute(_UNFOLD, (account_id, NO_DAY))
                connection.execute(_SET, (0, account_id))

        await self._engine.run_in_writer(work)


def before_charged_lookups_go(connection: SqlConnection, account_id: int, before_ms: int) -> None:
    """Prepare the totals for the conversion of charged lookups to ledger entries.

    Charged lookups are folded by their number's time, entries by their instant: if `folded_ms` lies
    between the two, these days are folded again (ADR 0062). Within the converting transaction.
    """
    ((folded_ms, _),) = connection.execute(FOLDED, (account_id,)).fetchall()
    if not 0 < folded_ms < before_ms:
        return  # all of them are on one side of it
    ((folded_ms,),) = connection.execute(_LOCK, (account_id,)).fetchall()
    # The earliest number of a charged lookup of this instant, which may be of the day before.
    since_ms = folded_ms - NUMBERED_BEFORE_MS_MAX
    numbered = (account_id, least_number(since_ms), least_number(folded_ms), folded_ms)
    if connection.execute(_ACROSS, numbered).fetchall():
        day = civil_day(max(since_ms, 0))
        connection.execute(_UNFOLD, (account_id, day.isoformat()))
        connection.execute(_SET, (day_starts_ms(day), account_id))


@dataclass(frozen=True, slots=True)
class _Step:
    charges: int
    rests: bool  # the account has no unfolded charges, not even recent ones
    balance_credits: int
    folded_ms: int


def _standings(connection: SqlConnection) -> Sequence[Any]:
    return connection.execute(
        "SELECT account_id, balance_credits, folded_ms FROM account"
    ).fetchall()


def _fold(connection: SqlConnection, account_id: int, until_ms: int) -> _Step:
    """Fold one step, from `folded_ms` on, within a transaction."""
    ((begins_ms,),) = connection.execute(_LOCK, (account_id,)).fetchall()
    ((_, balance),) = connection.execute(FOLDED, (account_id,)).fetchall()
    if begins_ms >= until_ms:
        return _Step(0, False, balance, begins_ms)
    ends_ms = _end_of_step(connection, account_id, begins_ms, until_ms)
    sums: dict[tuple[Any, ...], list[int]] = {}
    charges = 0
    for hour, operation, key, user, origin, rule, uf, client, requests, credits in hours_of(
        connection, account_id, fold=(begins_ms, ends_ms)
    ):
        day = civil_day_text(hour * HOUR_MS)
        whole = (operation, key, user, origin, rule)
        alone = ("", 0, 0, origin, "")
        for part, value, columns in (
            ("all", "", whole),
            ("uf", uf, whole),
            ("client", client, whole),
            ("uf_alone", uf, alone),
            ("client_alone", client, alone),
        ):
            group = (account_id, part, day, value, *columns)
            both = sums.setdefault(group, [0, 0])
            both[0] += requests
            both[1] += credits
        charges += requests
    if charges:
        _add(connection, sums)
        connection.execute(_SET, (ends_ms, account_id))
    left = (account_id, until_ms, account_id, least_number(until_ms))
    rests = ends_ms == until_ms and not connection.execute(_LEFT, left).fetchall()
    if not charges and ends_ms < until_ms:
        # Only holds: nothing to add up.
        connection.execute(_SET, (ends_ms, account_id))
        return _Step(1, False, balance, ends_ms)
    return _Step(charges, rests, balance, ends_ms if charges else begins_ms)


def _end_of_step(connection: SqlConnection, account_id: int, begins_ms: int, until_ms: int) -> int:
    ranged = (account_id, begins_ms, until_ms, FOLDED_AT_ONCE)
    numbered = (account_id, least_number(begins_ms), least_number(until_ms), FOLDED_AT_ONCE)
    entries = connection.execute(_ENTRY_TOO_MANY, ranged).fetchall()
    charged_lookups = connection.execute(_CHARGED_LOOKUP_TOO_MANY, numbered).fetchall()
    ends = [at_ms for (at_ms,) in entries] + [made_ms(number) for (number,) in charged_lookups]
    # At least one millisecond, however many charges it has.
    return int(max(min([until_ms, *ends]), begins_ms + 1))


def _add(connection: SqlConnection, sums: dict[tuple[Any, ...], list[int]]) -> None:
    # In the order of the key, so that pages are written once.
    rows = [(*group, *both) for group, both in sorted(sums.items())]
    for start in range(0, len(rows), _ROWS_PER_STATEMENT):
        some = rows[start : start + _ROWS_PER_STATEMENT]
        marks = ", ".join(["(" + ", ".join("?" * len(_COLUMNS)) + ")"] * len(some))
        connection.execute(
            f"INSERT INTO daily_total ({', '.join(_COLUMNS)}) VALUES {marks}"  # noqa: S608
            f" ON CONFLICT ({', '.join(_COLUMNS[:-2])}) DO UPDATE SET"
            " requests = daily_total.requests + excluded.requests,"
            " credits = daily_total.credits + excluded.credits",
            [value for row in some for value in row],
        )


def _coarsen(connection: SqlConnection, account_id: int, day: str, part: str) -> None:
    sums: dict[tuple[Any, ...], list[int]] = {}
    rows = connection.execute(_OF_DAY, (account_id, day, part)).fetchall()
    for _, _, value, operation, key, _, origin, rule, requests, credits in rows:
        kept = "" if part in {"uf", "uf_alone"} else value
        both = sums.setdefault(
            (account_id, part, day, kept, operation, key, 0, origin, rule), [0, 0]
        )
        both[0] += requests
        both[1] += credits
    connection.execute(
        "DELETE FROM daily_total WHERE account_id = ? AND part = ? AND day = ?",
        (account_id, part, day),
    )
    _add(connection, sums)
