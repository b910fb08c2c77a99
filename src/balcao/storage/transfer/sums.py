"""Sums of the books: written into a backup's manifest, and compared after a restore."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from balcao.core.errors import PepperDiffers
from balcao.core.secrets import secret_id
from balcao.storage.pepper import mark_of

Sums: TypeAlias = Mapping[str, int]
# Runs a statement and returns all its rows.
Query: TypeAlias = Callable[[str], Sequence[Sequence[Any]]]

# With the table of each sum: an older schema has fewer tables.
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

_ROTATIONS = "SELECT secret_id, finished_ms FROM secret_rotation ORDER BY activated_ms DESC LIMIT 2"
_SECRETS_OF_BATCHES = (
    "SELECT DISTINCT secret_id FROM batch WHERE erased_ms IS NULL AND secret_id IS NOT NULL"
)
_DIGESTS = "SELECT digest, max(size_bytes) FROM receipt GROUP BY digest ORDER BY digest"


@dataclass(frozen=True, slots=True)
class DeskSums:
    """Sums of a snapshot of a desk, and the digests of its receipts with their sizes."""

    schema: int
    sums: Sums
    digests: Mapping[str, int]
    mark: bytes | None  # of the `secret.key` that hashed its keys, if it has one
    secret_ids: frozenset[str] = frozenset()  # of further secrets that its rows need (ADR 0106)

    def check_pepper(self, pepper: bytes) -> None:
        """Raise `PepperDiffers` if the keys were hashed with another secret."""
        if self.mark not in (None, mark_of(pepper)):
            raise PepperDiffers

    def check_secrets(self, secrets: Sequence[bytes]) -> None:
        """Raise `PepperDiffers` if a secret that the rows need is not among these, oldest first."""
        self.check_pepper(secrets[0])
        if not self.secret_ids <= {secret_id(each) for each in secrets}:
            raise PepperDiffers


@dataclass(frozen=True, slots=True)
class DeskExamination:
    """Result of examining a desk: its sums (None: it could not be opened), and complaints."""

    sums: DeskSums | None
    complaints: Sequence[str]


def sums_of(schema: int, query: Query, has_table: Callable[[str], bool]) -> DeskSums:
    """Compute the sums of a desk, within a transaction of the caller's."""
    tables = {
        table
        for table in {"pepper", "secret_rotation", *(one for one, _ in _SUMS.values())}
        if has_table(table)
    }
    sums = {
        name: int(query(f"SELECT {what} FROM {table}")[0][0])  # noqa: S608 - names of ours
        for name, (table, what) in _SUMS.items()
        if table in tables
    }
    marks = query("SELECT mark FROM pepper") if "pepper" in tables else ()
    return DeskSums(
        schema,
        sums,
        {digest: int(size) for digest, size in query(_DIGESTS)} if "receipt" in tables else {},
        bytes(marks[0][0]) if marks else None,
        _secret_ids(query) if "secret_rotation" in tables else frozenset(),
    )


def _secret_ids(query: Query) -> frozenset[str]:
    """Return the ids of the secret in use, of one still accepted, and of those of batches."""
    rotations = query(_ROTATIONS)
    is_unfinished = bool(rotations) and rotations[0][1] is None
    in_use = rotations[: 2 if is_unfinished else 1]
    return frozenset(row[0] for row in (*in_use, *query(_SECRETS_OF_BATCHES)))


def differences(expected: Sums, found: Sums) -> Sequence[str]:
    """Return a sentence for each sum that differs from the manifest."""
    return [
        f"{name}: o manifesto informa {expected.get(name)}, o backup soma {found.get(name)}"
        for name in sorted({*expected, *found})
        if expected.get(name) != found.get(name)
    ]
