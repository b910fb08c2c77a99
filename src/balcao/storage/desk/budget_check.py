"""Consistency check of budgets: recorded use against entries."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from balcao.storage.connection import SqlConnection

# Grouped by the stored list of budgets: few groups, whatever the number of entries.
_SPENT = """
SELECT budgets, CAST(sum(credits) AS BIGINT), count(*) FROM (
    SELECT budgets, -balance_change AS credits FROM ledger_entry
    WHERE budgets IS NOT NULL AND kind IN ('charge', 'post')
    UNION ALL SELECT budgets, credits FROM charged_lookup WHERE budgets IS NOT NULL
) AS counted GROUP BY budgets
"""
_HELD = (
    "SELECT budgets, CAST(sum(credits) AS BIGINT), count(*) FROM open_operation"
    " WHERE budgets IS NOT NULL GROUP BY budgets"
)
_USES = """
SELECT u.budget_id, u.period, u.spent_credits, u.held_credits, u.calls, b.number, b.credits_max,
       b.calls_max
FROM budget_use AS u JOIN budget AS b ON b.budget_id = u.budget_id
ORDER BY u.budget_id, u.period
"""
_CHANGES = "SELECT detail FROM audit_entry WHERE action = 'budget.change'"
_COUNTS = """
SELECT a.name FROM account AS a
WHERE a.budgets <> (SELECT count(*) FROM budget AS b
                    WHERE b.account_id = a.account_id AND b.ended_ms IS NULL)
"""


def check_budgets(connection: SqlConnection) -> tuple[Sequence[str], Sequence[str]]:
    """Return complaints and remarks (correct but surprising facts), on the caller's snapshot."""
    complaints, remarks = list[str](), list[str]()
    spent, held, calls = Counter[Any](), Counter[Any](), Counter[Any]()
    for named, credits, count in _each(connection, _SPENT):
        spent[named] += credits
        calls[named] += count
    for named, credits, count in _each(connection, _HELD):
        held[named] += credits
        calls[named] += count
    known = set()
    uses: Any = connection.execute(_USES)
    for budget_id, period, *recorded, number, credits_max, calls_max in uses:
        named = (budget_id, period)
        known.add(named)
        found = [spent[named], held[named], calls[named]]
        what = f"orçamento {number} ({period or 'de uma vez'})"
        if recorded != found:
            complaints.append(
                f"{what}: gastos, retidos e consultas {recorded}; lançamentos {found}"
            )
        over = credits_max is not None and recorded[0] + recorded[1] > credits_max
        if over or (calls_max is not None and recorded[2] > calls_max):
            if _was_changed(connection, number):
                remarks.append(f"{what}: acima do limite, que foi reduzido depois")
            else:
                complaints.append(f"{what}: acima do limite")
    for budget_id, period in sorted((spent.keys() | held.keys()) - known):
        complaints.append(f"lançamentos contam em um orçamento sem uso: {budget_id}, {period}")
    for (name,) in connection.execute(_COUNTS):
        complaints.append(f"conta {name}: outro número de orçamentos em vigor")
    return complaints, remarks


def _was_changed(connection: SqlConnection, number: str) -> bool:
    """Return whether the budget's ceiling was changed: otherwise its use cannot exceed it."""
    details: Any = connection.execute(_CHANGES)
    return any(number in detail and "limite em" in detail for (detail,) in details)


def _each(connection: SqlConnection, sql: str) -> Iterator[tuple[tuple[int, str], int, int]]:
    rows: Any = connection.execute(sql)
    for text, credits, count in rows:
        for budget_id, period in json.loads(text):
            yield (budget_id, period), credits, count
