"""Adding batches up again: sum of rows = sum of entries = use of the budget (decision 0044)."""

from collections.abc import Sequence

from balcao.storage.connection import SqlConnection

# A file that is being read has its rows counted as they come; one that is being erased has some
# of them no more, nor anything that tells how it was understood.
_COUNTS = """
SELECT c.batch_id, c.state, c.rows, c.credits FROM batch_count AS c JOIN batch AS b USING (batch_id)
WHERE b.erased_ms IS NULL AND b.state NOT IN ('recebido', 'validando')
  AND NOT (b.told IS NULL AND b.state IN ('concluido', 'encerrado', 'expirado', 'recusado'))
  AND (c.rows <> (SELECT count(*) FROM batch_row AS r
                  WHERE r.batch_id = c.batch_id AND r.state = c.state)
       OR c.credits <> (SELECT coalesce(sum(r.credits), 0) FROM batch_row AS r
                        WHERE r.batch_id = c.batch_id AND r.state = c.state))
LIMIT 20
"""

# By the account: charged lookups are found so, and by no other way.
_CHARGES = """
SELECT r.batch_id, r.line FROM batch_row AS r JOIN batch AS b USING (batch_id)
WHERE r.state = 'concluida' AND r.credits <>
    coalesce((SELECT v.credits FROM charged_lookup AS v
              WHERE v.account_id = b.account_id AND v.request_id = r.request_id), 0)
    - coalesce((SELECT sum(e.balance_change) FROM ledger_entry AS e
                WHERE e.request_id = r.request_id), 0)
LIMIT 20
"""

_BUDGETS = """
SELECT b.batch_id, coalesce(sum(c.credits), 0),
       (SELECT coalesce(sum(u.spent_credits), 0)
        FROM budget AS g JOIN budget_use AS u USING (budget_id)
        WHERE g.account_id = b.account_id AND g.owner_kind = 'lote' AND g.owner = b.batch_id)
FROM batch AS b JOIN batch_count AS c ON c.batch_id = b.batch_id AND c.state <> 'em_andamento'
WHERE b.confirmed_ms IS NOT NULL GROUP BY b.batch_id, b.account_id
"""


def check_batches(connection: SqlConnection) -> Sequence[str]:
    """What does not agree, in words; on one snapshot."""
    complaints = [
        f"lote {batch_id}: {rows} linhas {state} com {credits} créditos; elas somam outra coisa"
        for batch_id, state, rows, credits in connection.execute(_COUNTS)
    ]
    complaints += [
        f"lote {batch_id}, linha {line}: o custo não é o dos lançamentos"
        for batch_id, line in connection.execute(_CHARGES)
    ]
    complaints += [
        f"lote {batch_id}: as linhas custaram {int(rows)} e o orçamento diz {int(used)}"
        for batch_id, rows, used in connection.execute(_BUDGETS)
        if int(rows) != int(used)
    ]
    return complaints
