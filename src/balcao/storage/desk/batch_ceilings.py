"""Effects of a batch's states on other tables: its budget, its events and the audit log.

All within the transaction of their cause (ADR 0043, ADR 0044).
"""

import msgspec

from balcao.core.people import Action, Signature
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.account_admin import write_audit

_LOCK = "UPDATE account SET budgets = budgets WHERE account_id = ?"
_OF_BATCH = "owner_kind = 'lote' AND owner = ? AND account_id = ? AND ended_ms IS NULL"


def audit_batch(  # noqa: PLR0917
    connection: SqlConnection,
    signed: Signature,
    action: Action,
    account_id: int,
    batch_id: str,
    now_ms: int,
    detail: str = "",
) -> None:
    """Log an action on a batch, within the transaction that does it.

    The entry has no form id (that of the ceiling has it): the batch's state ensures that the action
    is done only once.
    """
    signed = msgspec.structs.replace(signed, form_id=None)
    target = f"lote {batch_id}"
    write_audit(
        connection, signed, action, now_ms, account_id=account_id, target=target, detail=detail
    )


def raise_ceiling(  # noqa: PLR0917
    connection: SqlConnection,
    account_id: int,
    batch_id: str,
    ceiling: int,
    signed: Signature,
    now_ms: int,
) -> None:
    """Raise a batch's budget, within the transaction that resumes the batch."""
    connection.execute(_LOCK, (account_id,))
    connection.execute(
        f"UPDATE budget SET credits_max = ? WHERE {_OF_BATCH}",  # noqa: S608 - ours
        (ceiling, batch_id, account_id),
    )
    connection.execute(
        "UPDATE budget_use SET warned_percent = 0 WHERE budget_id IN"  # noqa: S608 - ours
        f" (SELECT budget_id FROM budget WHERE {_OF_BATCH})",
        (batch_id, account_id),
    )
    write_audit(
        connection,
        signed,
        "budget.change",
        now_ms,
        account_id=account_id,
        target=f"orçamento do lote {batch_id}",
        detail=f"limite em créditos {ceiling}",
    )


def end_ceiling(connection: SqlConnection, account_id: int, batch_id: str, now_ms: int) -> None:
    """End the budget of a batch, within the transaction that ends the batch."""
    connection.execute(_LOCK, (account_id,))
    connection.execute(
        f"UPDATE budget SET ended_ms = ? WHERE {_OF_BATCH}",  # noqa: S608 - ours
        (now_ms, batch_id, account_id),
    )


def forget_row(connection: SqlConnection, batch_id: str, line: int, erased: str) -> None:
    """Erase the personal data of a row. An open one is cancelled and its hold released.

    Its cost stays, so that the sums of the batch still match.
    """
    where = "batch_id = ? AND line = ?"
    ended = connection.execute(
        "UPDATE batch_row SET document = ?, document_hash = NULL, same = NULL, ref = NULL,"  # noqa: S608
        f" cells = NULL, answer = NULL WHERE {where} RETURNING state, credits",
        (erased, batch_id, line),
    ).fetchall()
    for state, credits in ended:
        if state in {"pendente", "em_andamento"}:
            connection.execute(
                f"UPDATE batch_row SET state = 'cancelada', credits = 0 WHERE {where}",  # noqa: S608
                (batch_id, line),
            )
            for moved in ((-1, -credits, batch_id, state), (1, 0, batch_id, "cancelada")):
                connection.execute(
                    "UPDATE batch_count SET rows = rows + ?, credits = credits + ?"
                    " WHERE batch_id = ? AND state = ?",
                    moved,
                )
