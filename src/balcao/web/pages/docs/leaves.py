"""Pages of the documentation as the navigation and the search know them."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Leaf:
    """One page."""

    href: str
    title: str
    summary: str = ""  # a sentence
    words: str = ""  # what else it is found by
    listed: bool = True  # in the navigation; else it is reached from its chapter's first page


@dataclass(frozen=True, slots=True)
class Chapter:
    """Pages that stand together in the navigation."""

    title: str
    leaves: Sequence[Leaf]
    folded: bool = False  # only its title is seen, unless one of its pages is open
