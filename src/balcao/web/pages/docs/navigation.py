"""The documentation's pages, for their navigation and for the search."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from balcao.core.text import unaccented

FOUND_MAX = 40
_WORD = re.compile(r"[a-z0-9_]{2,}")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One page of the documentation."""

    href: str
    title: str
    summary: str = ""  # a sentence
    words: str = ""  # further words for the search
    listed: bool = True  # in the navigation; else only linked from its chapter's first page


@dataclass(frozen=True, slots=True)
class Chapter:
    """Pages under one title of the navigation."""

    title: str
    leaves: Sequence[Leaf]
    folded: bool = False  # collapsed, unless one of its pages is open


@dataclass(frozen=True, slots=True)
class Indexed:
    """One page, and the words that a search finds it by."""

    leaf: Leaf
    chapter: str
    title: str  # without accents
    words: str

    def rank(self, wanted: Sequence[str]) -> int:
        """Return how well the page fits: 1 is best; 0: a word is missing."""
        if not all(word in self.words for word in wanted):
            return 0
        whole = sum(f" {word} " in self.words for word in wanted) == len(wanted)
        if all(word in self.title for word in wanted):
            return 1
        return 2 if whole else 3


def index(chapters: Sequence[Chapter]) -> Sequence[Indexed]:
    """Return the search index: for every page, each of its words once."""
    return [_indexed(leaf, chapter.title) for chapter in chapters for leaf in chapter.leaves]


def _indexed(leaf: Leaf, chapter: str) -> Indexed:
    text = unaccented(f"{leaf.title} {chapter} {leaf.summary} {leaf.words} {leaf.href}")
    words = " ".join(dict.fromkeys(_WORD.findall(text)))
    return Indexed(leaf, chapter, unaccented(leaf.title), f" {words} ")


def find(indexed: Sequence[Indexed], text: str) -> Sequence[Indexed]:
    """Return the pages that have all of these words, the best first."""
    wanted = _WORD.findall(unaccented(text))
    if not wanted:
        return []
    ranked = [(rank, each) for each in indexed if (rank := each.rank(wanted))]
    return [each for _, each in sorted(ranked, key=lambda pair: pair[0])[:FOUND_MAX]]
