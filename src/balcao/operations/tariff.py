"""All rules of the tariff, and the texts of their codes."""

import hashlib
from functools import cache
from types import MappingProxyType

from balcao.core.tariff import NOT_CHARGED, SEARCHES, Rules
from balcao.operations import OPERATIONS

RULES: Rules = MappingProxyType(
    {
        **NOT_CHARGED,
        **SEARCHES,
        **{code: rule for each in OPERATIONS.values() for code, rule in each.rules.items()},
    }
)


def sentence(code: str | None) -> str | None:
    """Return the short text of a rule; an unknown code of a newer version is returned as it is."""
    known = RULES.get(code or "")
    return code if known is None else known.sentence


def meaning(code: str | None) -> str | None:
    """Return the complete text of a rule; None for an unknown code."""
    known = RULES.get(code or "")
    return None if known is None else known.meaning


def with_addresses(code: str | None) -> bool:
    """Return whether the rule's price includes a credit for addresses."""
    known = RULES.get(code or "")
    return known is not None and known.with_addresses


@cache
def version() -> str:
    """Return a digest that changes with any price or its text, so that quotes become invalid."""
    digest = hashlib.blake2b(digest_size=8)
    for code, rule in sorted(RULES.items()):
        digest.update(f"{code}\0{rule.sentence}\0{rule.meaning}\0".encode())
    return digest.hexdigest()
