"""Events about batches, written in the commit that changes their state (contract 13.7)."""

from collections.abc import Mapping

import msgspec

from balcao.core.batches import FINISHED_STATES, BatchState
from balcao.core.budgets import iso_instant
from balcao.core.events import NewEvent
from balcao.storage.batches import StoredBatch
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.batch_queries import found
from balcao.storage.desk.events import lock_account, write_events

QUOTED, PAUSED, ENDED = "lote.cotado", "lote.pausado", "lote.concluido"
_KINDS: Mapping[BatchState, str] = {
    "cotado": QUOTED,
    "pausado": PAUSED,
    **dict.fromkeys(FINISHED_STATES, ENDED),
}
# How often it was in this state before: by a part of the cause, which has no wildcards.
_EARLIER = "SELECT count(*) FROM event WHERE account_id = ? AND cause LIKE ?"


def write_batch_event(connection: SqlConnection, batch_id: str, now_ms: int) -> None:
    """Write the event of the state that a batch has just got, if there is one."""
    (batch,) = found(connection, "batch_id = ?", batch_id)
    kind = _KINDS.get(batch.state)
    if kind is None:
        return
    lock_account(connection, batch.account_id)
    cause = f"lote/{batch_id}/{kind}/"
    if kind != ENDED:  # there is one end
        earlier = connection.execute(_EARLIER, (batch.account_id, f"{cause}%")).fetchone()
        assert earlier is not None
        cause += str(earlier[0] + 1)
    body = msgspec.json.encode(_data(kind, batch)).decode()
    write_events(connection, [NewEvent(batch.account_id, kind, now_ms, body, cause)])


def _data(kind: str, batch: StoredBatch) -> Mapping[str, object]:
    data: dict[str, object] = {
        "id": batch.batch_id,
        "estado": batch.state,
        "motivo": batch.reason,
        "linhas": {state: tally.rows for state, tally in batch.tallies.items() if tally.rows},
        "creditos_gastos": batch.spent,
        "lote": batch.batch_id,
        "operacao": batch.operation,
    }
    if kind != QUOTED:
        return data | {"codigo": batch.code}
    assert batch.quote is not None
    return data | {
        "creditos_min": batch.quote.least,
        "creditos_max": batch.quote.greatest,
        "validas": batch.quote.valid,
        "valida_ate": iso_instant(batch.quote.until_ms),
    }
