"""The languages of the documentation: Portuguese, and its translation into English.

Short texts are translated by `english/phrases.toml`, whose keys are the Portuguese texts, so that a
changed text has no translation any more. Longer texts have an English file beside the Portuguese
one: guides in `english/guides/`, error codes in `english/errors.toml`, pages in
`templates/docs/en/`. `english/sources.toml` records the digest of the text that each translates
([0100](../../../../../docs/adr/0100-english-beside-portuguese.md)).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import msgspec

from balcao.core.problems import PAGES

ROOT = "/docs"
_HOURS = re.compile(r"\b[0-9]+ horas?\b")
ENGLISH = resources.files(__package__).joinpath("english")


@dataclass(frozen=True, eq=False)
class Language:
    """One language of the documentation. The default values are those of Portuguese."""

    tag: str = "pt-BR"  # as in HTML
    root: str = ROOT  # address of its first page
    folder: str = "docs"  # of the templates of whole pages
    phrases: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_source(self) -> bool:
        """Whether its texts are the originals."""
        return self.root == ROOT

    def say(self, text: str) -> str:
        """Return a short text in this language; without a translation, in Portuguese."""
        return self.phrases.get(key(text), text)

    def has(self, text: str) -> bool:
        """Return whether a short text exists in this language."""
        return self.is_source or key(text) in self.phrases

    def href(self, path: str) -> str:
        """Return the address of a page of the documentation in this language."""
        return self.root + path.removeprefix(ROOT)

    def page_of(self, code: str) -> str:
        """Return the address of an error code's page."""
        return self.href(PAGES + code)


def key(text: str) -> str:
    """Return a text without the number of hours, which is a setting of each service."""
    return _HOURS.sub("HORAS", text)


PORTUGUESE = Language()


@cache
def english() -> Language:
    """Return English, with its phrases."""
    text = ENGLISH.joinpath("phrases.toml").read_bytes()
    phrases = msgspec.toml.decode(text, type=dict[str, str])
    return Language("en", f"{ROOT}/en", "docs/en", phrases)


def language_of(path: str) -> Language:
    """Return the language of the page at this address."""
    root = f"{ROOT}/en"
    return english() if path == root or path.startswith(f"{root}/") else PORTUGUESE


def other_address(path: str) -> str:
    """Return the address of the same page in the other language."""
    language = language_of(path)
    below = path.removeprefix(language.root)
    return (english() if language.is_source else PORTUGUESE).root + below
