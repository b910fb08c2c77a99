"""Sums of the books: written into a backup's manifest, and compared with what was restored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from balcao.core.errors import PepperDiffers
from balcao.storage.pepper import mark_of

Sums: TypeAlias = Mapping[str, int]
# One statement to all its rows.
Ask: TypeAlias = Callable[[str], Sequence[Sequence[Any]]]

# By the table each needs: an older schema has fewer. The text after FROM is the table alone.
_SUMS: Mapping[str, tuple[str, str]] = {
    "accounts": ("account", "count(*)"),
    "balances": ("account", "coalesce(sum(balance_credits), 0)"),
    "holds": ("account", "coalesce(sum(held_credits), 0)"),
    "keys": ("api_key", "count(*)"),
    "entries": ("ledger_entry", "count(*)"),
    "entries_sum": ("ledger_entry", "coalesce(sum(balance_change), 0)"),
    "charged_lookups": ("charged_lookup", "count(*)"),
    "charged_lookups_sum": ("charged_lookup", "coalesce(sum(credits), 0)"),
    "open_operations": ("open_operation", "count(*)"),
    "receipts": ("receipt", "count(*)"),
    "receipt_digests": ("receipt", "count(DISTINCT digest)"),
    "people": ("person", "count(*)"),
    "budgets": ("budget", "count(*)"),
    "budgets_spent": ("budget_use", "coalesce(sum(spent_credits), 0)"),
    "budgets_held": ("budget_use", "coalesce(sum(held_credits), 0)"),
    "budgets_calls": ("budget_use", "coalesce(sum(calls), 0)"),
    "events": ("event", "count(*)"),
    "audit_entries": ("audit_entry", "count(*)"),
}

_DIGESTS = "SELECT digest, max(size_bytes) FROM receipt GROUP BY digest ORDER BY digest"


@dataclass(frozen=True, slots=True)
class DeskSums:
    """Sums of one moment of a desk; the digests that its receipts name, with their bytes."""

    schema: int
    sums: Sums
    digests: Mapping[str, int]
    mark: bytes | None  # of the `secret.key` with which its keys were made, if one is known

    def check_pepper(self, pepper: bytes) -> None:
        """Refuse the keys of another secret. Raises `PepperDiffers`."""
        if self.mark not in (None, mark_of(pepper)):
            raise PepperDiffers


@dataclass(frozen=True, slots=True)
class DeskSeen:
    """Result of examining a desk: its sums (None: it could not be opened), and complaints."""

    sums: DeskSums | None
    complaints: Sequence[str]


def sums_of(schema: int, ask: Ask, is_there: Callable[[str], bool]) -> DeskSums:
    """Add a desk up, within one transaction of the caller's. An older schema has fewer tables."""
    tables = {table for table in {"pepper", *(one for one, _ in _SUMS.values())} if is_there(table)}
    sums = {
        name: int(ask(f"SELECT {what} FROM {table}")[0][0])  # noqa: S608 - names of ours
        for name, (table, what) in _SUMS.items()
        if table in tables
    }
    marks = ask("SELECT mark FROM pepper") if "pepper" in tables else ()
    return DeskSums(
        schema,
        sums,
        {digest: int(size) for digest, size in ask(_DIGESTS)} if "receipt" in tables else {},
        bytes(marks[0][0]) if marks else None,
    )


def differences(told: Sums, found: Sums) -> Sequence[str]:
    """Return the sums that are not those of the manifest, one sentence each."""
    return [
        f"{name}: o manifesto diz {told.get(name)}, a cópia soma {found.get(name)}"
        for name in sorted({*told, *found})
        if told.get(name) != found.get(name)
    ]
