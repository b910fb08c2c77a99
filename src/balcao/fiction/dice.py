"""Deterministic pseudo-random draws from a document, and weighted tables ("decks").

One BLAKE2b digest of a document is split into 32 numbers of 16 bits. Each fact about the document
is the value ("card") at one of these indexes in a deck, which contains each value as often as it is
likely. So a fact costs an index instead of a hash, and does not depend on platform, Python version
or random state.
"""

import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from math import fsum
from typing import TypeVar

Card = TypeVar("Card")

# 4 096 cards resolve 0.02 %: enough for all but the places and statuses, which use FINE.
DECK = 4096
FINE = 65536

_cut = struct.Struct("<32H").unpack


def draws(document: str) -> tuple[int, ...]:
    """Return 32 independent numbers, each 0 to 65535.

    Roots have 8 characters, CPFs 11, CNPJs 14 and partners more, so different kinds never collide.
    """
    return _cut(blake2b(document.encode("ascii")).digest())


def deck(weights: Iterable[tuple[Card, float]], size: int = DECK) -> tuple[Card, ...]:
    """Return a table of `size` cards with each card's share, by largest remainder."""
    pairs = list(weights)
    # Exact: the plain sum of floats is not the same in all Python versions.
    total = fsum(weight for _, weight in pairs)
    shares = [weight * size / total for _, weight in pairs]
    counts = [int(share) for share in shares]
    # Ties are broken by position, so the deck does not depend on how sorting is implemented.
    by_remainder = sorted(range(len(pairs)), key=lambda i: (counts[i] - shares[i], i))
    for i in by_remainder[: size - sum(counts)]:
        counts[i] += 1
    cards: list[Card] = []
    for (card, _), count in zip(pairs, counts, strict=True):
        cards.extend([card] * count)
    return tuple(cards)


def skewed(words: Sequence[str]) -> tuple[str, ...]:
    """Return a deck in which the n-th word has a weight of 1/(n+6): a few common ones, a long tail.

    Evenly distributed text would compress worse than the real files (`rfb-open-data.md`, section
    11).
    """
    return deck([(word, 1 / (n + 6)) for n, word in enumerate(words)])
