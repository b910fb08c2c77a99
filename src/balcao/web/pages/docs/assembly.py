"""The documentation put together.

A page is a `Leaf` in the chapter that it belongs to, a route below `/docs` in `web/routes.py`, and
a template that extends `docs/frame.html` (blocks `title` and `content_of`), shown by `frame.page`.
"""

from collections.abc import Mapping
from typing import Any

from balcao.web.pages.docs import codes, errors, guides, reference, search, start
from balcao.web.pages.docs.contents import Documentation


def documentation_of(document: Mapping[str, Any], address: str) -> Documentation:
    """Every chapter, in the order of the navigation. `address` is where this service is."""
    entries = reference.entries(document, address)
    explained = codes.pages(entries)
    told = guides.guides(document, address)
    lookups, *others = reference.chapters(document, entries)
    chapters = [
        start.CHAPTER,
        lookups,
        guides.chapter(told),
        errors.chapter(explained),
        *others,
    ]
    return Documentation(chapters, entries, explained, told, search.index(chapters))
