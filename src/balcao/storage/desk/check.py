"""Consistency check of the books: balances against entries, holds against operations, and so on."""

from collections.abc import Sequence

from balcao.storage.connection import SqlConnection
from balcao.storage.contract import LedgerCheck
from balcao.storage.desk.budget_check import check_budgets
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

# Not for files that are being read or erased, whose rows and counts differ. One being erased has no
# layout (`told`) any more.
_BATCH_COUNTS = """
SELECT c.batch_id, c.state, c.rows, c.credits FROM batch_count AS c JOIN batch AS b USING (batch_id)
WHERE b.erased_ms IS NULL AND b.state NOT IN ('recebido', 'validando')
  AND NOT (b.told IS NULL AND b.state IN ('concluido', 'encerrado', 'expirado', 'recusado'))
  AND (c.rows <> (SELECT count(*) FROM batch_row AS r
                  WHERE r.batch_id = c.batch_id AND r.state = c.state)
       OR c.credits <> (SELECT coalesce(sum(r.credits), 0) FROM batch_row AS r
                        WHERE r.batch_id = c.batch_id AND r.state = c.state))
LIMIT 20
"""

# By account, the first column of the key of charged lookups.
_BATCH_CHARGES = """
SELECT r.batch_id, r.line FROM batch_row AS r JOIN batch AS b USING (batch_id)
WHERE r.state = 'concluida' AND r.credits <>
    coalesce((SELECT v.credits FROM charged_lookup AS v
              WHERE v.account_id = b.account_id AND v.request_id = r.request_id), 0)
    - coalesce((SELECT sum(e.balance_change) FROM ledger_entry AS e
                WHERE e.request_id = r.request_id), 0)
LIMIT 20
"""

_BATCH_BUDGETS = """
SELECT b.batch_id, coalesce(sum(c.credits), 0),
       (SELECT coalesce(sum(u.spent_credits), 0)
        FROM budget AS g JOIN budget_use AS u USING (budget_id)
        WHERE g.account_id = b.account_id AND g.owner_kind = 'lote' AND g.owner = b.batch_id)
FROM batch AS b JOIN batch_count AS c ON c.batch_id = b.batch_id AND c.state <> 'em_andamento'
WHERE b.confirmed_ms IS NOT NULL GROUP BY b.batch_id, b.account_id
"""


def check_books(connection: SqlConnection) -> LedgerCheck:
    """Run every check on one snapshot, undisturbed by processes that serve."""
    complaints: list[str] = []
    with connection.snapshot():
        for name, balance, held, sum_balance, sum_held in connection.execute(_BALANCES):
            complaints.append(
                f"conta {name}: saldo {balance} e reservas {held}, mas os lançamentos somam"
                f" {sum_balance} e {sum_held}"
            )
        for (request_id,) in connection.execute(_HOLDS_WITHOUT_OPERATION):
            complaints.append(f"reserva sem operação aberta: {request_id}")
        for (request_id,) in connection.execute(_OPERATIONS_WITHOUT_HOLD):
            complaints.append(f"operação aberta sem reserva: {request_id}")
        for (request_id,) in connection.execute(_CHARGED_TWICE):
            complaints.append(f"lançada duas vezes: {request_id}")
        for (request_id,) in connection.execute(_OF_NOBODY):
            complaints.append(f"consulta de uma conta que não existe: {request_id}")
        for (name,) in connection.execute(_OVERDRAWN):
            complaints.append(f"conta {name}: reserva acima do saldo")
        budget_complaints, remarks = check_budgets(connection)
        complaints += budget_complaints
        complaints += _check_batches(connection)
        complaints += differences(connection)
        (counts,) = connection.execute(
            "SELECT (SELECT count(*) FROM account),"
            " (SELECT count(*) FROM ledger_entry) + (SELECT count(*) FROM charged_lookup),"
            " (SELECT count(*) FROM open_operation), (SELECT count(*) FROM budget)"
        ).fetchall()
    accounts, entries, operations, budgets = (int(str(count)) for count in counts)
    return LedgerCheck(accounts, entries, operations, complaints, budgets, remarks)


def _check_batches(connection: SqlConnection) -> Sequence[str]:
    """Check for each batch: sum of rows = sum of entries = use of the budget (ADR 0044)."""
    complaints = [
        f"lote {batch_id}: {rows} linhas {state} com {credits} créditos; elas somam outra coisa"
        for batch_id, state, rows, credits in connection.execute(_BATCH_COUNTS)
    ]
    complaints += [
        f"lote {batch_id}, linha {line}: o custo não é o dos lançamentos"
        for batch_id, line in connection.execute(_BATCH_CHARGES)
    ]
    complaints += [
        f"lote {batch_id}: as linhas custaram {int(rows)}, mas o orçamento tem {int(used)}"
        for batch_id, rows, used in connection.execute(_BATCH_BUDGETS)
        if int(rows) != int(used)
    ]
    return complaints
