"""A browser as its owner would call it, so that a list of sessions can be read.

Only words of ours are kept, never what the browser says itself: that tells machines apart.
"""

from collections.abc import Sequence

# Many claim to be others, too: the first one that fits is meant.
_BROWSERS: Sequence[tuple[str, str]] = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("CriOS/", "Chrome"),
    ("Safari/", "Safari"),
    ("curl/", "curl"),
)
_SYSTEMS: Sequence[tuple[str, str]] = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def name_of(user_agent: str) -> str | None:
    """`Firefox em Linux`, from the header; None: nothing in it is known."""
    found = (_first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent))
    return " em ".join(word for word in found if word) or None


def _first(known: Sequence[tuple[str, str]], text: str) -> str | None:
    return next((word for mark, word in known if mark in text), None)
