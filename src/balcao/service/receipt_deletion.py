"""Jobs that delete the bytes of purged and erased receipts."""

from balcao.core.receipts import DELETE_BYTES
from balcao.service.jobs.durable import JobKind
from balcao.storage.contract import Blobs
from balcao.storage.desk.desk import Desk
from balcao.storage.receipt_standing import may_delete_now

# Wait for the operator's confirmation between two looks.
UNCONFIRMED_SECONDS = 600.0


def receipt_deletion_jobs(desk: Desk, blobs: Blobs) -> JobKind:
    """Return the kind of jobs that delete a receipt's bytes once no record names them.

    A job waits while the store may hold receipts newer than the desk's records (ADR 0074).
    """

    async def delete(digest: str) -> float | None:
        if not await may_delete_now(desk, blobs):
            return UNCONFIRMED_SECONDS
        if await desk.is_unnamed(digest):
            await blobs.delete(digest)
        return None

    return JobKind(DELETE_BYTES, delete)
