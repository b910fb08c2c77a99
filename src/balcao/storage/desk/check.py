"""Adding the books up again: does every balance equal its entries, every hold an operation?"""

from balcao.storage.connection import SqlConnection
from balcao.storage.contract import LedgerCheck
from balcao.storage.desk.budget_check import check_budgets
from balcao.storage.desk.check_batches import check_batches
from balcao.storage.desk.periods import LEDGER
from balcao.storage.desk.totals import differences

_BALANCES = f"""
SELECT a.name, a.balance_credits, a.held_credits,
       coalesce(sum(e.balance_change), 0), coalesce(sum(e.held_change), 0)
FROM account AS a LEFT JOIN {LEDGER} AS e USING (account_id)
GROUP BY a.account_id
HAVING a.balance_credits <> coalesce(sum(e.balance_change), 0)
    OR a.held_credits <> coalesce(sum(e.held_change), 0)
"""  # noqa: S608 - ours

_HOLDS_WITHOUT_OPERATION = """
SELECT h.request_id FROM ledger_entry AS h
WHERE h.kind = 'hold'
  AND NOT EXISTS (SELECT 1 FROM ledger_entry AS s WHERE s.request_id = h.request_id
                  AND (s.kind IN ('post', 'void')) = true)
  AND NOT EXISTS (SELECT 1 FROM open_operation AS o WHERE o.request_id = h.request_id)
LIMIT 20
"""

_OPERATIONS_WITHOUT_HOLD = """
SELECT o.request_id FROM open_operation AS o
WHERE NOT EXISTS (SELECT 1 FROM ledger_entry AS h WHERE h.request_id = o.request_id
                  AND (h.kind IN ('post', 'void')) = false AND h.kind = 'hold'
                  AND h.held_change = o.credits)
   OR EXISTS (SELECT 1 FROM ledger_entry AS s WHERE s.request_id = o.request_id
              AND (s.kind IN ('post', 'void')) = true)
LIMIT 20
"""

_CHARGED_TWICE = f"""
SELECT request_id FROM {LEDGER} AS ledger
WHERE request_id IS NOT NULL
GROUP BY request_id, (kind IN ('post', 'void')) HAVING count(*) > 1
LIMIT 20
"""  # noqa: S608 - ours

_OF_NOBODY = """
SELECT request_id FROM charged_lookup AS v
WHERE NOT EXISTS (SELECT 1 FROM account AS a WHERE a.account_id = v.account_id)
LIMIT 20
"""

_OVERDRAWN = """
SELECT name FROM account
WHERE plan <> 'pos_pago' AND balance_credits < held_credits
"""


def check_books(connection: SqlConnection) -> LedgerCheck:
    """Run every check on one snapshot, so that those who serve do not disturb it."""
    complaints: list[str] = []
    with connection.one_moment():
        for name, balance, held, sum_balance, sum_held in connection.execute(_BALANCES):
            complaints.append(
                f"conta {name}: saldo {balance} e retidos {held};"
                f" lançamentos somam {sum_balance} e {sum_held}"
            )
        for (request_id,) in connection.execute(_HOLDS_WITHOUT_OPERATION):
            complaints.append(f"retenção sem operação aberta: {request_id}")
        for (request_id,) in connection.execute(_OPERATIONS_WITHOUT_HOLD):
            complaints.append(f"operação aberta sem retenção: {request_id}")
        for (request_id,) in connection.execute(_CHARGED_TWICE):
            complaints.append(f"lançada duas vezes: {request_id}")
        for (request_id,) in connection.execute(_OF_NOBODY):
            complaints.append(f"consulta de uma conta que não existe: {request_id}")
        for (name,) in connection.execute(_OVERDRAWN):
            complaints.append(f"conta {name}: retido acima do saldo")
        budget_complaints, remarks = check_budgets(connection)
        complaints += budget_complaints
        complaints += check_batches(connection)
        complaints += differences(connection)
        (counts,) = connection.execute(
            "SELECT (SELECT count(*) FROM account),"
            " (SELECT count(*) FROM ledger_entry) + (SELECT count(*) FROM charged_lookup),"
            " (SELECT count(*) FROM open_operation), (SELECT count(*) FROM budget)"
        ).fetchall()
    accounts, entries, operations, budgets = (int(str(count)) for count in counts)
    return LedgerCheck(accounts, entries, operations, complaints, budgets, remarks)
