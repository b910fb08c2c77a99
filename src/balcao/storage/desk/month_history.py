"""Recorded changes of the month in use: the last one's comparison, and removal of old ones."""

from balcao.core.month_switch import ComparisonFigures, MonthSwitch
from balcao.core.questions import Mode
from balcao.storage.connection import SqlConnection, Statements

PURGED_AT_ONCE = 1_000

SWITCH = "switch_id, from_month, to_month, base_date, at_ms, ended_ms, mode, files_ms"
_LAST = f"SELECT {SWITCH} FROM month_switch WHERE mode = ? ORDER BY switch_id DESC LIMIT 1"  # noqa: S608 - ours
_COUNTS = (
    "SELECT CAST(coalesce(sum(compared), 0) AS BIGINT), CAST(coalesce(sum(changed), 0) AS BIGINT),"
    " CAST(coalesce(sum(unverified), 0) AS BIGINT) FROM month_comparison WHERE switch_id = ?"
)
# The last change of each mode is kept: nodes compare their month with it.
_OLDEST = (
    "SELECT switch_id FROM month_switch AS s WHERE at_ms < ? AND ended_ms IS NOT NULL"
    " AND switch_id < (SELECT max(l.switch_id) FROM month_switch AS l WHERE l.mode = s.mode)"
    " ORDER BY switch_id LIMIT 1"
)
_PURGE_PORTFOLIOS = (
    "DELETE FROM month_comparison WHERE switch_id = ? AND account_id IN"
    " (SELECT account_id FROM month_comparison WHERE switch_id = ? LIMIT ?) RETURNING 1"
)
_PURGE = "DELETE FROM month_switch WHERE switch_id = ?"


def last_switch(connection: Statements, mode: Mode = "live") -> MonthSwitch | None:
    """Return the last recorded change of the month in use of a mode."""
    row = connection.execute(_LAST, (mode,)).fetchone()
    return None if row is None else MonthSwitch(*row)


def last_comparison(connection: Statements) -> ComparisonFigures | None:
    """Return the comparison after the last change of the live month; None: none is recorded."""
    switch = last_switch(connection)
    if switch is None:
        return None
    counts = connection.execute(_COUNTS, (switch.switch_id,)).fetchone()
    return ComparisonFigures(switch, *counts)


def purge_switch(connection: SqlConnection, before_ms: int) -> int:
    """Remove some rows of the oldest change, if it is older; return the number."""
    with connection.transaction():
        row = connection.execute(_OLDEST, (before_ms,)).fetchone()
        if row is None:
            return 0
        (switch_id,) = row
        values = (switch_id, switch_id, PURGED_AT_ONCE)
        removed = len(connection.execute(_PURGE_PORTFOLIOS, values).fetchall())
        if removed < PURGED_AT_ONCE:
            connection.execute(_PURGE, (switch_id,))
            removed += 1
        return removed
