"""Readable names of browsers for the list of sessions.

Only these words are stored, never the browser's own header, which identifies machines.
"""

from collections.abc import Sequence

# Many browsers name others, too: the first match counts.
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
    """Return for example `Firefox em Linux`, from the header; None: nothing in it is known."""
    found = (_first(_BROWSERS, user_agent), _first(_SYSTEMS, user_agent))
    return " em ".join(word for word in found if word) or None


def _first(known: Sequence[tuple[str, str]], text: str) -> str | None:
    return next((word for mark, word in known if mark in text), None)
