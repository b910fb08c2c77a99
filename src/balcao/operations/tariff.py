"""All rules of the tariff, and the words of a code."""

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
    """A rule in short; a code that a newer version wrote, as it is. None while nothing is known."""
    known = RULES.get(code or "")
    return code if known is None else known.sentence


def meaning(code: str | None) -> str | None:
    """A rule in full; None of a code that is not known."""
    known = RULES.get(code or "")
    return None if known is None else known.meaning


def with_addresses(code: str | None) -> bool:
    """Whether one of the credits is for addresses."""
    known = RULES.get(code or "")
    return known is not None and known.with_addresses


@cache
def version() -> str:
    """Another one, whenever a price or its words are another: who was quoted is told."""
    digest = hashlib.blake2b(digest_size=8)
    for code, rule in sorted(RULES.items()):
        digest.update(f"{code}\0{rule.sentence}\0{rule.meaning}\0".encode())
    return digest.hexdigest()
