"""The documentation's pages, for their navigation and for the search."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from balcao.core.text import unaccented

FOUND_MAX = 40
_WORD = re.compile(r"[a-z0-9_]{2,}")
_ANY_WORD = re.compile(r"\w{2,}")
_EXCERPT_CHARACTERS = 200

# Words of readers, and the words of these pages that mean the same.
Synonyms = Mapping[str, Sequence[str]]


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

    def rank(self, wanted: Sequence[Sequence[str]]) -> int:
        """Return how well the page fits: 1 is best; 0: a word is missing.

        Each wanted word comes with its synonyms, itself first.
        """
        if not all(any(word in self.words for word in words) for words in wanted):
            return 0
        own = [words[0] for words in wanted]
        if all(word in self.title for word in own):
            return 1
        if all(any(word in self.title for word in words) for words in wanted):
            return 2
        if any(word not in self.words for word in own):
            return 4
        return 2 if all(f" {word} " in self.words for word in own) else 3


@dataclass(frozen=True, slots=True)
class Found:
    """A page that a search found, with the words in their context."""

    leaf: Leaf
    chapter: str
    excerpt: Markup


def index(chapters: Sequence[Chapter]) -> Sequence[Indexed]:
    """Return the search index: for every page, each of its words once."""
    return [_indexed(leaf, chapter.title) for chapter in chapters for leaf in chapter.leaves]


def _indexed(leaf: Leaf, chapter: str) -> Indexed:
    text = unaccented(f"{leaf.title} {chapter} {leaf.summary} {leaf.words} {leaf.href}")
    words = " ".join(dict.fromkeys(_WORD.findall(text)))
    return Indexed(leaf, chapter, unaccented(leaf.title), f" {words} ")


def find(indexed: Sequence[Indexed], text: str, synonyms: Synonyms) -> Sequence[Found]:
    """Return the pages that have all of these words or their synonyms, the best first."""
    wanted = [(word, *synonyms.get(word, ())) for word in _WORD.findall(unaccented(text))]
    if not wanted:
        return []
    ranked = [(rank, each) for each in indexed if (rank := each.rank(wanted))]
    best = sorted(ranked, key=lambda pair: pair[0])[:FOUND_MAX]
    sought = [word for words in wanted for word in words]
    return [Found(each.leaf, each.chapter, excerpt(each.leaf, sought)) for _, each in best]


def excerpt(leaf: Leaf, sought: Sequence[str]) -> Markup:
    """Return some of the page's text, from before the first of these words, with all marked."""
    text = " ".join(f"{leaf.summary} {leaf.words}".split())
    matches = [
        each
        for each in _ANY_WORD.finditer(text)
        if any(word in unaccented(each[0]) for word in sought)
    ]
    first = matches[0].start() if matches else 0
    begin = 0
    if first > _EXCERPT_CHARACTERS // 2:  # at the beginning of a word
        begin = text.rfind(" ", 0, first - _EXCERPT_CHARACTERS // 4) + 1
    end = begin + _EXCERPT_CHARACTERS
    if end < len(text):
        end = max(text.rfind(" ", begin, end), first + len(matches[0][0]) if matches else 0)
    parts, at = [escape("… " if begin else "")], begin
    for each in matches:
        if begin <= each.start() and each.end() <= end:
            marked = Markup("<mark>{}</mark>").format(each[0])
            parts += [escape(text[at : each.start()]), marked]
            at = each.end()
    return Markup("").join((*parts, text[at:end], "" if end >= len(text) else " …"))
