"""What the books add up to: told in the manifest, and compared with what was brought back."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

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
# Whose keys they are is told beside the sums.
TABLES = frozenset({"pepper", *(table for table, _ in _SUMS.values())})


def add_up(ask: Ask, tables: frozenset[str]) -> Sums:
    """All sums that these tables allow, to be asked within one transaction."""
    return {
        name: int(ask(f"SELECT {what} FROM {table}")[0][0])  # noqa: S608 - names of ours
        for name, (table, what) in _SUMS.items()
        if table in tables
    }


def digests_in(ask: Ask, tables: frozenset[str]) -> Mapping[str, int]:
    """The digests that receipts name, in order, with their sizes in bytes."""
    if "receipt" not in tables:
        return {}
    rows = ask("SELECT digest, max(size_bytes) FROM receipt GROUP BY digest ORDER BY digest")
    return {digest: int(size) for digest, size in rows}


def mark_in(ask: Ask, tables: frozenset[str]) -> bytes | None:
    """What tells with which `secret.key` the keys were made; None: nothing does."""
    rows = ask("SELECT mark FROM pepper") if "pepper" in tables else ()
    return bytes(rows[0][0]) if rows else None


def differences(told: Sums, found: Sums) -> Sequence[str]:
    """Sums that are not those of the manifest, one sentence each."""
    return [
        f"{name}: o manifesto diz {told.get(name)}, a cópia soma {found.get(name)}"
        for name in sorted({*told, *found})
        if told.get(name) != found.get(name)
    ]
