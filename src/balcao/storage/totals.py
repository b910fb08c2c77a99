"""What is asked of an account's daily totals, and what they tell (ADR 0050)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from balcao.core.ledger import Origin
from balcao.storage.contract import ConsumptionRow, LedgerEntry

# By what charges are added up apart. Of `uf` and `client` at most one is quick: both at once are
# read from the ledger.
Dimension: TypeAlias = Literal["day", "operation", "key", "user", "uf", "client", "origin", "rule"]

DIMENSIONS: Sequence[Dimension] = (
    "day", "operation", "key", "user", "uf", "client", "origin", "rule",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TotalsWanted:
    """Which charges; None: all of them.

    0 as a key: through none, in the web application. 0 as a user, an empty UF or client: those
    without one.
    """

    operation: str | None = None
    key_id: int | None = None
    user_id: int | None = None
    uf: str | None = None
    client: str | None = None
    origin: Origin | None = None

    @property
    def columns(self) -> Sequence[tuple[Dimension, object]]:
        """What is wanted of which dimension."""
        every: Sequence[tuple[Dimension, object]] = (
            ("operation", self.operation),
            ("key", self.key_id),
            ("user", self.user_id),
            ("uf", self.uf),
            ("client", self.client),
            ("origin", self.origin),
        )
        return [(name, value) for name, value in every if value is not None]


EVERY_CHARGE = TotalsWanted()


@dataclass(frozen=True, slots=True)
class Total:
    """So many charges of so many credits; what they were not added up by is None.

    0 as a key or user and an empty text say that there is none, as in `TotalsWanted`.
    """

    requests: int
    credits: int
    day: str | None = None
    operation: str | None = None
    key: int | None = None
    user: int | None = None
    uf: str | None = None
    client: str | None = None
    origin: Origin | None = None
    rule: str | None = None


def consumption_row(total: Total) -> ConsumptionRow:
    """A total by day, operation, key, origin and client, as statements list it."""
    assert total.day is not None
    assert total.operation is not None
    assert total.origin is not None
    return ConsumptionRow(
        total.day, total.operation, total.key or None, total.origin,
        total.requests, total.credits, total.client or None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PeriodBooks:
    """An account's books around a period, all as of one moment. Credits."""

    balance_credits: int
    added_before: int  # by operators; below zero: taken back
    charged_before: int
    top_ups: Sequence[LedgerEntry]  # in the period, oldest first
    charged: int  # in the period
    requests: int  # that were charged in it
    added_after: int
    charged_after: int
    entries: int  # in the period that moved credits: charges and top-ups


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """All that moved credits in a period, in one number."""

    entries: int
    digest: str  # SHA-256, in hexadecimal
