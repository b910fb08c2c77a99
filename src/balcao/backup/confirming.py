"""Confirm that a restore is final, so that receipts may be deleted and numbers are not reused.

ADR 0074. Until then a service on restored data deletes nothing from the store of receipts.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from balcao.core.store_mark import Standing, StoreMark, compare_marks, least_numbers, may_delete
from balcao.settings import Settings
from balcao.storage.blobs import StoredBlobs, open_blobs
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.receipt_marks import issued_in
from balcao.storage.receipt_standing import drawn

# A service that uses the store updates its mark every minute.
IN_USE_SECONDS = 300.0

_CODE_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """The state of a restore. The operator types `code` to confirm it."""

    standing: Standing
    where: str  # the store of receipts
    code: str
    in_store: StoreMark | None
    desk_ms: int | None  # when the desk last set its mark
    mark_age_seconds: float | None
    least: Mapping[str, int]  # the first number of each kind, once it is confirmed

    @property
    def is_pending(self) -> bool:
        return not may_delete(self.standing)

    @property
    def is_in_use(self) -> bool:
        """Whether another service uses the store, which then must not be assigned to this desk."""
        return self.mark_age_seconds is not None and self.mark_age_seconds < IN_USE_SECONDS


class NotConfirmed(Exception):
    """The mark changed during confirmation: another service uses the store."""


async def check(desk: Desk, settings: Settings) -> Unconfirmed:
    """Compare the desk's marks with the store's. Raises `StorageFailed`."""
    return await _check(desk, *_store(settings))


async def confirm(desk: Desk, settings: Settings, code: str, now_ms: int) -> bool:
    """Assign the store to this desk. False: the code is wrong or there is nothing to confirm.

    Raises `NotConfirmed`, `StorageFailed`.
    """
    blobs, where = _store(settings)
    found = await _check(desk, blobs, where)
    if code != found.code or found.is_in_use or not found.is_pending:
        return False
    in_store, version = await blobs.read_mark()
    if in_store != found.in_store:
        raise NotConfirmed
    mark = await desk.receipt_marks.take_over(in_store, drawn(), now_ms)
    if not await blobs.write_mark(mark, version):
        raise NotConfirmed
    return True


async def _check(desk: Desk, blobs: StoredBlobs, where: str) -> Unconfirmed:
    in_store, _ = await blobs.read_mark()
    known = await desk.receipt_marks.all()
    standing = compare_marks(in_store, known)
    named = in_store.mark if in_store is not None else known[-1].mark if known else ""
    return Unconfirmed(
        standing,
        where,
        named[:_CODE_CHARACTERS],
        in_store,
        known[-1].at_ms if known else None,
        await blobs.mark_age_seconds(),
        least_numbers(in_store, issued_in(desk.engine.connection)),
    )


def _store(settings: Settings) -> tuple[StoredBlobs, str]:
    folder = settings.receipts_folder
    where = settings.receipts if folder is None else folder
    return open_blobs(where), str(where)
