"""The documents of a month, by a function from the number of a root to the root."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from balcao.fiction.dice import deck
from balcao.fiction.digits import cnpj
from balcao.fiction.month.mixing import I64, mix, mix_one, permute, permute_without, salt
from balcao.fiction.root_facts import root_facts
from balcao.fiction.sandbox import (
    ABSENT_COMPANIES,
    EARLIER_ESTABLISHMENTS,
    MISBEHAVING_COMPANIES,
    ROOT_OF_1000_PARTNERS,
    ROOT_OF_5000_ESTABLISHMENTS,
)

# Finished rows of one chunk are about 20 MB: small enough for several in flight.
CHUNK_ROOTS = 50_000

ESTABLISHMENTS_PER_ROOT = 1.047

# With this many branches, one root with 5 000 of them does not dominate the month.
BRANCHES_FOR_A_GIANT = 10_000
GIANT_BRANCHES = 4_999

# There are 100 million roots of 8 digits; some are reserved or explicit.
ROOTS_MAX = 99_000_000

_DIGITS_HALF = 10**4
_LETTERS_HALF = 36**4
# Alphanumeric roots start at the first one that begins with a letter: A0000000.
_LETTERS_START = 10 * 36**7
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# Roots of the sandbox: 9001 to 9003, 00000000 and 99999999.
_RESERVED = np.concatenate([[0], np.arange(90_010_000, 90_040_000), [99_999_999]]).astype(np.int64)

# The number of branches of roots with branches.
_GROUP_SIZES = np.array(
    deck([(1, 62), (2, 17), (3, 7.5), (4, 3.5), (5, 2.5), (7, 2.5), (10, 1.7), (15, 1.3),
          (25, 0.9), (50, 0.6), (100, 0.3), (300, 0.15), (1000, 0.03)])
)  # fmt: skip


@dataclass(frozen=True)
class MonthPlan:
    """The content of a month. `explicit`: CNPJs that it includes in any case."""

    establishments: int
    seed: int
    alphanumeric_share: float
    explicit: tuple[str, ...]
    drawn_roots: int
    branches: int
    giant: bool  # the first branches belong to ROOT_OF_5000_ESTABLISHMENTS
    earlier: bool = False  # the month before: promised companies as they were then

    def month_before(self) -> "MonthPlan":
        """Return the plan of the month before: different in `EARLIER_ESTABLISHMENTS` alone."""
        kept = [each for each in self.explicit if each not in EARLIER_ESTABLISHMENTS]
        earlier = [cnpj for cnpj, each in EARLIER_ESTABLISHMENTS.items() if each is not None]
        return replace(self, explicit=(*kept, *earlier), earlier=True)

    @property
    def chunks(self) -> int:
        """The number of chunks, independent of the number of workers."""
        return max(1, -(-self.drawn_roots // CHUNK_ROOTS))

    @cached_property
    def _excluded_digits(self) -> I64:
        taken = [int(c[:8]) for c in self.explicit if c[:8].isdigit()]
        return np.union1d(_RESERVED, np.array(taken, dtype=np.int64))

    @cached_property
    def _excluded_letters(self) -> I64:
        taken = [int(c[:8], 36) for c in self.explicit if not c[:8].isdigit()]
        return np.unique(np.array(taken, dtype=np.int64))

    def roots(self, numbers: I64) -> list[str]:
        """Return the roots with these numbers; different numbers have different roots."""
        found = permute_without(
            numbers, _DIGITS_HALF, salt(self.seed, "roots"), self._excluded_digits
        )
        texts = [f"{root:08d}" for root in found.tolist()]
        dice = mix(numbers.astype(np.uint64), salt(self.seed, "which roots have letters"))
        lettered = np.flatnonzero(dice.astype(np.float64) < self.alphanumeric_share * 2.0**64)
        if len(lettered):
            for place, text in zip(
                lettered.tolist(), self._lettered_roots(numbers[lettered]), strict=True
            ):
                texts[place] = text
        return texts

    def _lettered_roots(self, numbers: I64) -> list[str]:
        key = salt(self.seed, "roots with letters")
        excluded = self._excluded_letters
        found = permute_without(numbers, _LETTERS_HALF, key, excluded, _LETTERS_START)
        texts = []
        for place, root in enumerate(found.tolist()):
            text = _base36(root, 8)
            # One in 30 000 has no letter: permute it again.
            step = found[place : place + 1]
            while text.isdigit() or step[0] in excluded:
                step = permute(step, _LETTERS_HALF, key)
                text = _base36(int(step[0]), 8)
            texts.append(text)
        return texts

    def numbers_of(self, chunk: int) -> I64:
        """Return the root numbers of a chunk."""
        first = chunk * CHUNK_ROOTS
        return np.arange(first, min(first + CHUNK_ROOTS, self.drawn_roots), dtype=np.int64)

    @cached_property
    def _groups(self) -> tuple[I64, I64]:
        """Return the roots with branches (-1: the giant), and the cumulative counts of branches."""
        dice = mix(np.arange(self.branches, dtype=np.uint64), salt(self.seed, "groups"))
        sizes = _GROUP_SIZES[dice & np.uint64(4095)]
        if self.giant:
            sizes[0] = GIANT_BRANCHES
        ends = np.cumsum(sizes)
        ends = ends[: int(np.searchsorted(ends, self.branches)) + 1]
        numbers = np.arange(len(ends), dtype=np.int64)
        if self.giant:
            numbers -= 1
        spread = _coprime_near(int(self.drawn_roots * 0.618), self.drawn_roots)
        return np.where(numbers < 0, -1, numbers * spread % self.drawn_roots), ends

    def documents_of(self, chunk: int) -> Iterator[str]:
        """Yield a chunk's generated CNPJs: its roots' head offices, and branches of any root."""
        branches = self.branches_of(chunk)
        for root in self.roots(self.numbers_of(chunk)):
            yield cnpj(root, "0001")
            order = root_facts(root).head_office_order
            if order != "0001" and branches:
                # The head office moved; it replaces some branch.
                branches.pop()
                yield cnpj(root, order)
        for root, number in branches:
            yield self.branch_cnpj(root, number)

    def branches_of(self, chunk: int) -> list[tuple[str, int]]:
        """Return the branches of a chunk as root and number of the branch, from 0."""
        first = self.branches * chunk // self.chunks
        last = self.branches * (chunk + 1) // self.chunks
        if first == last:
            return []
        roots, ends = self._groups
        wanted = np.arange(first, last, dtype=np.int64)
        group = np.searchsorted(ends, wanted, side="right")
        numbers = roots[group]
        texts = self.roots(np.maximum(numbers, 0))
        for place in np.flatnonzero(numbers < 0).tolist():
            texts[place] = ROOT_OF_5000_ESTABLISHMENTS
        places = wanted - np.concatenate([[0], ends])[group]
        return list(zip(texts, places.tolist(), strict=True))

    def branch_cnpj(self, root: str, number: int) -> str:
        """Return the CNPJ of a root's n-th branch (from 0): 0002 and on, or one with letters."""
        key = salt(self.seed, root, "order")
        share = min(1.0, self.alphanumeric_share * self.establishments / max(1, self.branches))
        if mix_one(number, key) < share * 2.0**64:
            # Distinct for distinct numbers: 7919 is prime, and no factor of the 26 * 36**3 orders.
            order = _base36(10 * 36**3 + (number * 7919 + key % 1000) % (26 * 36**3), 4)
        else:
            order = f"{number + 2:04d}"
            if order == root_facts(root).head_office_order:
                order = f"{number + 9002:04d}"
        return cnpj(root, order)


def plan(
    establishments: int, seed: int, alphanumeric_share: float, include: Sequence[str]
) -> MonthPlan:
    """Return the plan of a month with this number of establishments.

    Raises `ValueError` if there are too many documents in `include`, or one that must not be in a
    month (`sandbox.md`: the companies whose sources misbehave, and the absent one).
    """
    if not 0 <= alphanumeric_share <= 1:
        raise ValueError("a parte de CNPJs com letras vai de 0 a 1")
    explicit = list(dict.fromkeys(include))
    for document in explicit:
        if document in MISBEHAVING_COMPANIES or document in ABSENT_COMPANIES:
            raise ValueError(f"{document} não pode estar em mês nenhum")
        if document != cnpj(document[:8], document[8:12]):
            raise ValueError(f"{document} não é um CNPJ sem pontuação")
    expected_branches = establishments - round(establishments / ESTABLISHMENTS_PER_ROOT)
    giant = expected_branches >= BRANCHES_FOR_A_GIANT
    if giant:
        heads = (
            cnpj(root, "0001") for root in (ROOT_OF_5000_ESTABLISHMENTS, ROOT_OF_1000_PARTNERS)
        )
        explicit = list(dict.fromkeys((*explicit, *heads)))
    if establishments < max(1, len(explicit)):
        raise ValueError(f"um mês assim tem ao menos {max(1, len(explicit))} estabelecimentos")
    # The registry's own proportion, but never more branches than there are roots to own them.
    rest = establishments - len(explicit)
    roots = round(establishments / ESTABLISHMENTS_PER_ROOT) - len({c[:8] for c in explicit})
    drawn = min(rest, max(roots, -int(-rest // ESTABLISHMENTS_PER_ROOT)))
    if drawn > ROOTS_MAX:
        raise ValueError(f"um mês tem no máximo {ROOTS_MAX} empresas")
    return MonthPlan(
        establishments=establishments,
        seed=seed,
        alphanumeric_share=alphanumeric_share,
        explicit=tuple(explicit),
        drawn_roots=drawn,
        branches=rest - drawn,
        giant=giant,
    )


def _base36(number: int, width: int) -> str:
    text = ""
    for _ in range(width):
        number, digit = divmod(number, 36)
        text = _ALPHABET[digit] + text
    return text


def _coprime_near(number: int, modulus: int) -> int:
    number = max(1, number)
    while int(np.gcd(number, modulus)) != 1:
        number += 1
    return number
