"""Whether this desk may delete from the store of its receipts, and the mark that tells it.

Decision 0074. The store is always read before the desk: marks that another node commits meanwhile
are then known.
"""

import secrets
from collections.abc import Sequence
from typing import Protocol

from balcao.core.standing import DeskMark, Standing, StoreMark, may_delete, standing_of
from balcao.storage.contract import Blobs

MARK_EVERY_SECONDS = 60.0


class _Marks(Protocol):
    async def all(self) -> Sequence[DeskMark]: ...

    async def next(
        self, in_store: StoreMark | None, drawn: str, now_ms: int
    ) -> StoreMark | None: ...


class _Desk(Protocol):
    @property
    def receipt_marks(self) -> _Marks: ...


async def standing(desk: _Desk, blobs: Blobs) -> Standing:
    """How the desk stands to the store now. Raises `StorageFailed`."""
    in_store, _ = await blobs.read_mark()
    return standing_of(in_store, await desk.receipt_marks.all())


async def may_delete_now(desk: _Desk, blobs: Blobs) -> bool:
    """Whether bytes that the desk does not name may be deleted. Raises `StorageFailed`."""
    return may_delete(await standing(desk, blobs))


async def renew(desk: _Desk, blobs: Blobs, now_ms: int) -> Standing:
    """Give desk and store a new mark, if the store is the desk's. Raises `StorageFailed`."""
    in_store, version = await blobs.read_mark()
    following = await desk.receipt_marks.next(in_store, drawn(), now_ms)
    if following is None:
        return standing_of(in_store, await desk.receipt_marks.all())
    # Refused: another node was faster, or it is another desk's store. The next look tells.
    await blobs.write_mark(following, version)
    return "current"


def drawn() -> str:
    """A name that no other mark has."""
    return secrets.token_hex(16)
