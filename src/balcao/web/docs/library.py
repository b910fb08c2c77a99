"""The documentation put together.

A page is a `Leaf` in the chapter that it belongs to, a route below `/docs` in `web/routes.py`, and
a template that extends `docs/frame.html` (blocks `title` and `content_of`), shown by `frame.page`.
"""

from collections.abc import Mapping
from typing import Any

from balcao.web.docs import start
from balcao.web.docs.leaves import Library


def library_of(document: Mapping[str, Any]) -> Library:
    """Every chapter, in the order of the navigation."""
    return Library(document, [start.CHAPTER])
