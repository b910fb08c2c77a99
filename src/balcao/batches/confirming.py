"""The start of a batch that was quoted, with its ceiling."""

from balcao.batches.batch_context import RUN, BatchContext
from balcao.core.budgets import CEILING_MAX, WARN_PERCENT, Budget, default_name
from balcao.core.errors import InvalidParameter
from balcao.core.ledger import Enqueue
from balcao.core.people import Signature
from balcao.storage.batches import StoredBatch
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.budgets import make_budget


async def start(context: BatchContext, batch: StoredBatch, ceiling: int, signed: Signature) -> bool:
    """Start a quoted batch. False: its state does not allow it. Raises `InvalidParameter`."""
    check_ceiling(ceiling)
    now_ms = context.now_ms()
    budget = Budget(
        0,
        batch.account_id,
        context.new_id(),
        # Not the batch's name, which is erased with its data: it may be a person's name.
        default_name("lote", batch.batch_id),
        "lote",
        batch.batch_id,
        "uma_vez",
        ceiling,
        None,
        None,
        WARN_PERCENT,
        now_ms,
    )

    def also(connection: SqlConnection) -> None:
        make_budget(connection, budget, signed)

    jobs = [Enqueue(RUN, batch.batch_id, now_ms)]
    return await context.parts.desk.batches.confirm(batch.batch_id, ceiling, now_ms, jobs, also)


def creator_of(batch: StoredBatch) -> Signature:
    """Return the signature of the key or person that made a batch."""
    return Signature("web" if batch.key_id is None else "api", batch.user_id, key_id=batch.key_id)


def check_ceiling(ceiling: int) -> None:
    """Raise `InvalidParameter` for a ceiling that no budget may have."""
    if not 0 <= ceiling <= CEILING_MAX:
        raise InvalidParameter(f"teto_creditos: um número inteiro, de 0 a {CEILING_MAX}.")
