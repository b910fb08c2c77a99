"""Records of the data that is stored about a natural person."""

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
    """A row of a batch that is about a person or names them."""

    account_id: int
    batch_id: str
    line: int
    created_ms: int  # of the batch


@dataclass(frozen=True, slots=True)
class HeldItem:
    """An item of a portfolio about a person, in force or removed."""

    account_id: int
    item_id: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class HeldFile:
    """A batch's file that names a person and has not been read yet."""

    account_id: int
    batch_id: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class HeldData:
    """All data of the desk about a person, oldest first, and the times of earlier erasures."""

    requests: Sequence[HeldRequest]
    receipts: Sequence[HeldReceipt]
    answers: Sequence[HeldAnswer]
    erased_ms: Sequence[int]
    rows: Sequence[HeldRow] = ()
    items: Sequence[HeldItem] = ()
