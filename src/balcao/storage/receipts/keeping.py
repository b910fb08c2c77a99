"""Receipts' bytes on their way in and out: kept before a record names them, deleted after.

A process may die between the bytes and their record. Then there are bytes that nothing names, never
the reverse; `orphans` finds them. Of a record that goes, a job remembers the bytes.
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

# The certificate waits for it, which must not be lost over its receipt.
CHECK_SECONDS_MAX = 10.0


@dataclass(frozen=True, slots=True)
class ReceiptKeeping:
    """A `sources.contract.ReceiptKeeper`.

    `fetch` gets the bytes from a provider's address, until a time by the event loop's clock, and
    raises `SourceError`. `inspect` says what they are, or raises `SourceError` for what may not be
    kept; it may take a while.
    """

    blobs: Blobs
    fetch: Callable[[str, float], Awaitable[bytes]]
    inspect: Callable[[bytes], MediaType]

    async def keep(
        self, source: str, receipt: bytes | str, until: float = inf
    ) -> StoredReceipt | None:
        """Fetch it where it is an address, check it, store it. None: there is none to be had.

        A certificate without its receipt is a certificate: whatever happens here, a bug
        included, is told to the operator and costs the caller nothing but the receipt.
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
            # Of other errors the name alone: their text may repeat an address or a document.
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
    """Names of stored bytes that no record names, some at a time, for `Blobs.delete`.

    Of bytes put before that instant, which must lie some minutes back: the record of a receipt
    comes after its bytes. Raises `StorageFailed`.
    """
    async for names in blobs.names(before_ms):
        if unnamed := desk.unnamed(names):
            yield unnamed
