"""Comparison of a desk with the store of its receipts, and renewal of the mark they share.

ADR 0074. The store is always read before the desk, so that the desk has every mark that another
node may have committed and written meanwhile.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from balcao.core.store_mark import DeskMark, Standing, StoreMark, compare_marks, may_delete
from balcao.storage.contract import Blobs

MARK_EVERY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Renewal:
    """Result of renewing the mark.

    `refused`: the store rejected the new mark although no other process had written one.
    """

    standing: Standing
    refused: bool = False


class _Marks(Protocol):
    async def all(self) -> Sequence[DeskMark]: ...

    async def next(
        self, in_store: StoreMark | None, drawn: str, now_ms: int
    ) -> StoreMark | None: ...


class _Desk(Protocol):
    @property
    def receipt_marks(self) -> _Marks: ...


async def standing(desk: _Desk, blobs: Blobs) -> Standing:
    """Return the result of comparing the marks of desk and store. Raises `StorageFailed`."""
    in_store, _ = await blobs.read_mark()
    return compare_marks(in_store, await desk.receipt_marks.all())


async def may_delete_now(desk: _Desk, blobs: Blobs) -> bool:
    """Return whether bytes without a record in the desk may be deleted. Raises `StorageFailed`."""
    return may_delete(await standing(desk, blobs))


async def renew(desk: _Desk, blobs: Blobs, now_ms: int) -> Renewal:
    """Give desk and store a new mark, if the store is the desk's. Raises `StorageFailed`."""
    in_store, version = await blobs.read_mark()
    following = await desk.receipt_marks.next(in_store, drawn(), now_ms)
    if following is None:
        return Renewal(compare_marks(in_store, await desk.receipt_marks.all()))
    if await blobs.write_mark(following, version):
        return Renewal("current")
    # Another node was faster, or another desk uses the store: the next renewal finds out. If the
    # mark is the same, it is the store that accepts no conditional write.
    _, now = await blobs.read_mark()
    return Renewal("current", refused=now == version)


def drawn() -> str:
    """Return a random name that no other mark has."""
    return secrets.token_hex(16)
