"""Storing PDFs that customers send, checked as those of sources are."""

import asyncio

from balcao.core.certificates import StoredReceipt
from balcao.core.errors import InvalidParameter, SourceError
from balcao.core.receipts import digest_of
from balcao.storage.contract import Blobs
from balcao.storage.receipts.keeping import CHECK_SECONDS_MAX

_REFUSED = "arquivo: deve ser um PDF que abre, sem senha, sem anexos e sem conteúdo executável."


async def store_pdf(blobs: Blobs, content: bytes) -> StoredReceipt:
    """Store a PDF under its digest, before its record is committed.

    Raises `InvalidParameter` for any other content, and `StorageFailed`.
    """
    try:
        async with asyncio.timeout(CHECK_SECONDS_MAX):
            stored = await asyncio.to_thread(_examine, content)
    except (SourceError, TimeoutError):
        raise InvalidParameter(_REFUSED) from None
    if stored.media_type != "application/pdf":
        raise InvalidParameter(_REFUSED)
    await blobs.put(stored.digest, content)
    return stored


def _examine(content: bytes) -> StoredReceipt:
    from balcao.storage.receipts.check import checked_media_type  # noqa: PLC0415 - slow to import

    return StoredReceipt(digest_of(content), checked_media_type(content), len(content))
