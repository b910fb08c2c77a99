"""Storing receipts' bytes before their record is committed, and finding orphaned bytes.

A process that dies in between leaves bytes without a record, never the reverse; `orphans` finds
them. When a record is deleted, a job deletes its bytes.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from math import inf

import structlog

from balcao.core.certificates import MediaType, StoredReceipt
from balcao.core.errors import SourceError, StorageFailed
from balcao.core.receipts import RECEIPT_BYTES_MAX, digest_of
from balcao.storage.contract import Blobs
from balcao.storage.desk.desk import Desk

log = structlog.get_logger()

# The certificate waits for this check, and must not be lost because of its receipt.
CHECK_SECONDS_MAX = 10.0


@dataclass(frozen=True, slots=True)
class ReceiptKeeping:
    """A `sources.contract.ReceiptStorage`.

    `fetch` gets the bytes from a provider's address, until a time of the event loop's clock, and
    raises `SourceError`. `inspect` returns their media type, or raises `SourceError` if they may
    not be stored; it may be slow.
    """

    blobs: Blobs
    fetch: Callable[[str, float], Awaitable[bytes]]
    inspect: Callable[[bytes], MediaType]

    async def keep(
        self, source: str, receipt: bytes | str, until: float = inf
    ) -> StoredReceipt | None:
        """Fetch a receipt if it is an address, check it, and store it. None: that failed.

        A certificate without its receipt is still a certificate: any error here, bugs included, is
        logged and costs the caller only the receipt.
        """
        step = "fetch"
        try:
            content = receipt if isinstance(receipt, bytes) else await self.fetch(receipt, until)
            step = "size"
            if not 0 < len(content) <= RECEIPT_BYTES_MAX:
                raise SourceError(f"{len(content)} bytes")
            step = "check"
            async with asyncio.timeout(CHECK_SECONDS_MAX):
                media_type, digest = await asyncio.to_thread(self._examine, content)
            step = "store"
            await self.blobs.put(digest, content)
        except Exception as error:
            # Only the class of other errors: their text may contain an address or a document.
            known = isinstance(error, SourceError | StorageFailed) and error.detail
            log.warning(
                "receipt.unusable",
                source=source,
                reason=step,
                detail=known or type(error).__name__,
            )
            return None
        return StoredReceipt(digest, media_type, len(content))

    def _examine(self, content: bytes) -> tuple[MediaType, str]:
        return self.inspect(content), digest_of(content)


async def orphans(desk: Desk, blobs: Blobs, before_ms: int) -> AsyncIterator[Sequence[str]]:
    """Yield names of stored bytes without a record, some at a time, for `Blobs.delete`.

    Only bytes stored before an instant, which must be some minutes ago: the record of a receipt is
    committed after its bytes. Raises `StorageFailed`.
    """
    async for names in blobs.names(before_ms):
        if unnamed := desk.unnamed(names):
            yield unnamed
