"""What is kept about a natural person, as it is told."""

from collections.abc import Sequence
from dataclasses import dataclass, field


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
class HeldRow:
    """A row of a batch that is about a person, or names them."""

    account_id: int
    batch_id: str
    line: int
    created_ms: int  # the batch


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A batch's file that names a person and is not read yet."""

    account_id: int
    batch_id: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class Held:
    """What the desk holds about a person, the oldest first, and when they were erased before."""

    requests: Sequence[HeldRequest]
    receipts: Sequence[HeldReceipt]
    answers: Sequence[HeldAnswer]
    erased_ms: Sequence[int]
    rows: Sequence[HeldRow] = ()
