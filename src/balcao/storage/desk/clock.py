"""Putting right what a clock that was ahead has left in the books (ADR 0025)."""

from typing import Any, Final

from balcao.core.calendar import HOUR_MS, civil_day, civil_month, day_starts_ms
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.periods import LEDGER

# Whoever is a moment ahead of us at the turn of the month is right to have turned.
_MONTH_AHEAD_MS: Final = HOUR_MS

_AHEAD = "SELECT 1 FROM account WHERE month > ? LIMIT 1"
# Changes nothing, and so nobody else changes them either until we are done.
_KEEP = "UPDATE account SET month = month WHERE month > ?"
_ACCOUNTS = (
    "SELECT account_id, held_credits, ceiling_credits FROM account WHERE month > ?"
    " ORDER BY account_id"
)
_SPENT = (
    f"SELECT CAST(coalesce(-sum(balance_change), 0) AS BIGINT) FROM {LEDGER} AS ledger"  # noqa: S608 - ours
    " WHERE account_id = ? AND at_ms >= ? AND month = ? AND kind IN ('charge', 'post')"
)
_TURN = "UPDATE account SET month = ?, month_credits = ? WHERE account_id = ?"


def is_month_ahead(connection: SqlConnection, now_ms: int) -> bool:
    """Whether an account is in a month that is not yet."""
    ahead: Any = connection.execute(_AHEAD, (civil_month(now_ms + _MONTH_AHEAD_MS),)).fetchone()
    return ahead is not None


def turn_months_back(connection: SqlConnection, now_ms: int) -> int:
    """Bring accounts back from months that are not yet, with what the ledger says of this one.

    Returns how many. What was charged meanwhile stays where its entries say.
    """
    month, ahead = civil_month(now_ms), civil_month(now_ms + _MONTH_AHEAD_MS)
    begins_ms = day_starts_ms(civil_day(now_ms).replace(day=1))
    with connection.transaction():
        connection.execute(_KEEP, (ahead,))
        accounts: Any = connection.execute(_ACCOUNTS, (ahead,)).fetchall()
        for account_id, held, ceiling in accounts:
            spent: Any = connection.execute(_SPENT, (account_id, begins_ms, month)).fetchone()
            (credits,) = spent
            if ceiling is not None:  # which the schema holds, whatever was held meanwhile
                credits = min(credits, ceiling - held)
            connection.execute(_TURN, (month, credits, account_id))
    return len(accounts)
