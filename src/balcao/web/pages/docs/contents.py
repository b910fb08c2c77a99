"""The documentation as pages are given it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from balcao.operations.company.operation import CompanyLookup
from balcao.web.pages.docs.codes import CodePage
from balcao.web.pages.docs.leaves import Chapter
from balcao.web.pages.docs.reference import Entry

if TYPE_CHECKING:
    from balcao.web.pages.docs.guides import Guide
    from balcao.web.pages.docs.search import Indexed


@dataclass(frozen=True, slots=True)
class Documentation:
    """All of it, made once of the document that `/openapi.json` is."""

    chapters: Sequence[Chapter]
    entries: Mapping[str, Entry]  # operations, by the name in the page's address
    codes: Mapping[str, CodePage]  # of errors
    guides: "Mapping[str, Guide]"  # likewise
    indexed: "Sequence[Indexed]"

    @property
    def first(self) -> Entry:
        """The lookup to begin with, which everybody understands."""
        return self.entries[CompanyLookup.path]
