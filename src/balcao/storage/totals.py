"""Filters and results of an account's daily totals (ADR 0050)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec

from balcao.core.ledger import Origin
from balcao.storage.contract import LedgerEntry

# A column by which charges are grouped. `uf` and `client` together are slow: such totals are read
# from the ledger.
Dimension: TypeAlias = Literal["day", "operation", "key", "user", "uf", "client", "origin", "rule"]

DIMENSIONS: Sequence[Dimension] = (
    "day", "operation", "key", "user", "uf", "client", "origin", "rule",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TotalsFilter:
    """A filter of charges; None: any value.

    0 as a key selects the web application's. 0 as a user, and an empty UF or client, select
    charges without one.
    """

    operation: str | None = None
    key_id: int | None = None
    user_id: int | None = None
    uf: str | None = None
    client: str | None = None
    origin: Origin | None = None

    @property
    def columns(self) -> Sequence[tuple[Dimension, object]]:
        """Return the dimensions that are filtered, with their values."""
        every: Sequence[tuple[Dimension, object]] = (
            ("operation", self.operation),
            ("key", self.key_id),
            ("user", self.user_id),
            ("uf", self.uf),
            ("client", self.client),
            ("origin", self.origin),
        )
        return [(name, value) for name, value in every if value is not None]


EVERY_CHARGE = TotalsFilter()


class Total(msgspec.Struct, frozen=True, gc=False):
    """The number and credits of a group of charges; dimensions that were not grouped are None.

    0 as a key or user, and an empty text, stand for none, as in `TotalsFilter`.
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


@dataclass(frozen=True, slots=True)
class PeriodBooks:
    """An account's credits before, in and after a period, from one snapshot."""

    balance_credits: int
    added_before: int  # by operators; negative if more was taken back
    charged_before: int
    top_ups: Sequence[LedgerEntry]  # in the period, oldest first
    charged: int  # in the period
    requests: int  # charged in it
    added_after: int
    charged_after: int
    entries: int  # in the period that moved credits: charges and top-ups


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A digest of all entries that moved credits in a period."""

    entries: int
    digest: str  # SHA-256, in hexadecimal
