"""The documentation as pages are given it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from balcao.web.docs.codes import CodePage
from balcao.web.docs.leaves import Chapter
from balcao.web.docs.reference import Entry

if TYPE_CHECKING:
    from balcao.web.docs.guides import Guide
    from balcao.web.docs.search import Indexed


@dataclass(frozen=True, slots=True)
class Library:
    """All of it, made once of the document that `/openapi.json` is."""

    chapters: Sequence[Chapter]
    entries: Mapping[str, Entry]  # operations, by the name in the page's address
    codes: Mapping[str, CodePage]  # of errors
    guides: "Mapping[str, Guide]"  # likewise
    indexed: "Sequence[Indexed]"

    def has(self, href: str) -> bool:
        """Whether there is a page of this address."""
        return any(leaf.href == href for chapter in self.chapters for leaf in chapter.leaves)
