"""Correction of accounts after a clock that was ahead (ADR 0025)."""

from typing import Any, Final

from balcao.core.calendar import HOUR_MS, civil_day, civil_month, day_starts_ms
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.periods import LEDGER

# At the turn of the month another node may be slightly ahead of us, and right.
_MONTH_AHEAD_MS: Final = HOUR_MS

_AHEAD = "SELECT 1 FROM account WHERE month > ? LIMIT 1"
# Changes nothing, but locks the rows.
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


def has_future_month(connection: SqlConnection, now_ms: int) -> bool:
    """Return whether an account is in a future month."""
    ahead: Any = connection.execute(_AHEAD, (civil_month(now_ms + _MONTH_AHEAD_MS),)).fetchone()
    return ahead is not None


def correct_future_months(connection: SqlConnection, now_ms: int) -> int:
    """Move accounts in a future month back to this one, with its credits from the ledger.

    Returns their count. Charges made meanwhile stay in the month of their entries.
    """
    month, ahead = civil_month(now_ms), civil_month(now_ms + _MONTH_AHEAD_MS)
    begins_ms = day_starts_ms(civil_day(now_ms).replace(day=1))
    with connection.transaction():
        connection.execute(_KEEP, (ahead,))
        accounts: Any = connection.execute(_ACCOUNTS, (ahead,)).fetchall()
        for account_id, held, ceiling in accounts:
            spent: Any = connection.execute(_SPENT, (account_id, begins_ms, month)).fetchone()
            (credits,) = spent
            if ceiling is not None:  # the schema enforces it, holds included
                credits = min(credits, ceiling - held)
            connection.execute(_TURN, (month, credits, account_id))
    return len(accounts)
