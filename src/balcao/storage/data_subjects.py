"""What storage promises of natural persons whose data is kept: finding it, and erasing it.

Implemented by the same engines as the desk. The ledger is no part of this: it never knew them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from balcao.core.data_subject import DataSubject
from balcao.core.people import Signature


@dataclass(frozen=True, slots=True)
class HeldRequest:
    """The details of a request about a person."""

    account_id: int
    request_id: str
    operation: str  # its path
    opened_ms: int


@dataclass(frozen=True, slots=True)
class HeldReceipt:
    """The record of a receipt about a person."""

    account_id: int | None
    receipt_id: str
    operation: str  # its path
    created_ms: int


@dataclass(frozen=True, slots=True)
class HeldAnswer:
    """An answer that names a person, recorded under an idempotency key until it runs out."""

    account_id: int
    request_id: str
    key_digest: str = field(repr=False)
    expires_ms: int


@dataclass(frozen=True, slots=True)
class Held:
    """What the desk holds about a person, the oldest first, and when they were erased before."""

    requests: Sequence[HeldRequest]
    receipts: Sequence[HeldReceipt]
    answers: Sequence[HeldAnswer]
    erased_ms: Sequence[int]


class DataSubjects(Protocol):
    """What the desk holds about natural persons. Everything here raises `StorageFailed`."""

    def held(self, person: DataSubject) -> Held:
        """All of it. Reads every trace and every recorded answer: seconds for a million."""
        ...

    async def erase(self, person: DataSubject, now_ms: int) -> tuple[Held, Sequence[str]]:
        """Remove it, in short strokes: what there was, and digests of its receipts.

        Receipts' records go, and with each the job to delete its bytes is left. Requests' details
        stay without the document, recorded answers as empty ones, which are not sent again; so
        every statement still adds up.
        """
        ...

    async def scrub(self) -> None:
        """Take what was erased out of the files too, as far as the engine can.

        Others go on writing. Fails while somebody reads older rows for long: do it again.
        """
        ...

    async def log_erasure(
        self, person: DataSubject, detail: str, signed: Signature, now_ms: int
    ) -> None:
        """Enter it into the audit log, under a mark by which only this installation knows whom."""
        ...

    async def erasures(self) -> int:
        """How many entries about erasures the audit log has; whoever sees it grow forgets."""
        ...

    def forget(self) -> None:
        """Remember no receipt as recorded: another process erased some."""
        ...
