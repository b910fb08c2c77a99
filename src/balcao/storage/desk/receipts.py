"""Deletion of receipts' records on any engine, and of their bytes by a job."""

from collections.abc import Iterable, Sequence

from balcao.core.ledger import Enqueue
from balcao.core.receipts import DELETE_BYTES
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.jobs import enqueue

_PURGE = (
    "DELETE FROM receipt WHERE receipt_id IN"
    " (SELECT receipt_id FROM receipt WHERE created_ms < ? ORDER BY created_ms LIMIT ?)"
    " RETURNING receipt_id, digest"
)
# Certificates of portfolios name receipts only as long as there are such.
_FORGET = "UPDATE wallet_paper SET receipt_id = NULL, media_type = NULL WHERE receipt_id = ?"


def purge(connection: SqlConnection, before_ms: int, limit: int, now_ms: int) -> Sequence[str]:
    """Delete old records and return their numbers."""
    with connection.transaction():
        gone = connection.execute(_PURGE, (before_ms, limit)).fetchall()
        for receipt_id, _ in gone:
            connection.execute(_FORGET, (receipt_id,))
        leave_bytes(connection, (digest for _, digest in gone), now_ms)
    return [number for number, _ in gone]


def leave_bytes(connection: SqlConnection, digests: Iterable[str], now_ms: int) -> None:
    """Enqueue jobs that delete the bytes of records deleted in this transaction."""
    enqueue(connection, [Enqueue(DELETE_BYTES, one, now_ms) for one in sorted(set(digests))])
