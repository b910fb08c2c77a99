"""`/docs/busca`: pages by what stands in them. The index is made once, of the same pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from starlette.responses import Response

from balcao.core.text import unaccented
from balcao.web.kit.context import PageContext
from balcao.web.pages.docs import frame
from balcao.web.pages.docs.leaves import Chapter, Leaf

FOUND_MAX = 40
_WORD = re.compile(r"[a-z0-9_]{2,}")


@dataclass(frozen=True, slots=True)
class Indexed:
    """One page, and the words that it is found by."""

    leaf: Leaf
    chapter: str
    title: str  # as people type it
    words: str

    def rank(self, wanted: Sequence[str]) -> int:
        """How well it fits, less is better; 0: not at all. Every word must stand in it."""
        if not all(word in self.words for word in wanted):
            return 0
        whole = sum(f" {word} " in self.words for word in wanted) == len(wanted)
        if all(word in self.title for word in wanted):
            return 1
        return 2 if whole else 3


def index(chapters: Sequence[Chapter]) -> Sequence[Indexed]:
    """Of every page, each of its words once."""
    return [_indexed(leaf, chapter.title) for chapter in chapters for leaf in chapter.leaves]


def _indexed(leaf: Leaf, chapter: str) -> Indexed:
    text = unaccented(f"{leaf.title} {chapter} {leaf.summary} {leaf.words} {leaf.href}")
    words = " ".join(dict.fromkeys(_WORD.findall(text)))
    return Indexed(leaf, chapter, unaccented(leaf.title), f" {words} ")


def find(indexed: Sequence[Indexed], text: str) -> Sequence[Indexed]:
    """The pages in which all of these words stand, the best first."""
    wanted = _WORD.findall(unaccented(text))
    if not wanted:
        return []
    ranked = [(rank, each) for each in indexed if (rank := each.rank(wanted))]
    return [each for _, each in sorted(ranked, key=lambda pair: pair[0])[:FOUND_MAX]]


async def show(context: PageContext) -> Response:
    """What is found."""
    sought = context.query("q")[:100]
    found = find(context.tools.documentation.indexed, sought)
    return frame.page(context, "docs/busca.html", sought=sought, found=found)


async def as_json(context: PageContext) -> Response:
    """The whole index, for programs that look by themselves."""
    body = [
        {
            "titulo": each.leaf.title,
            "endereco": each.leaf.href,
            "capitulo": each.chapter,
            "resumo": each.leaf.summary,
            "palavras": each.words.strip(),
        }
        for each in context.tools.documentation.indexed
    ]
    return Response(msgspec.json.encode(body), media_type="application/json")
