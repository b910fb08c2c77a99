"""Cleaning of texts from sources before they are stored or sent (contract 1.6, 9.5)."""

import re
import unicodedata
from typing import TypeVar

import msgspec

# The longest known texts (a street, a name, a reason) have some hundred characters.
TEXT_CHARACTERS_MAX = 4_000

# C0 and C1 without line ends and blanks; and halves of surrogate pairs.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")

# Control characters in JSON, and some others: false positives do no harm.
_SUSPICIONS = re.compile(rb'\\[^"\\/]|\x7f|\xc2[\x80-\x9f]')

T = TypeVar("T", bound=msgspec.Struct)


class TextTooLong(ValueError):
    """A text is too long for any field."""


def clean(raw: str) -> str:
    """Return a text in NFC on one line, trimmed, without control characters and repeated blanks.

    Raises `TextTooLong`.
    """
    if len(raw) > TEXT_CHARACTERS_MAX:
        raise TextTooLong
    if not raw.isprintable():
        raw = _CONTROLS.sub("", raw)
    return unicodedata.normalize("NFC", " ".join(raw.split()))


def unaccented(text: str) -> str:
    """Return a text in lower case (folded), without accents."""
    if text.isascii():
        return text.casefold()
    letters = unicodedata.normalize("NFD", text).casefold()
    return "".join(char for char in letters if not unicodedata.combining(char))


def cleaned(record: T) -> T:
    """Return the record with all texts cleaned. Raises `TextTooLong`, or on values without JSON."""
    try:
        if _SUSPICIONS.search(msgspec.json.encode(record)) is None:
            return record
    except UnicodeEncodeError:  # half a surrogate pair
        pass
    return msgspec.convert(_all_clean(msgspec.to_builtins(record)), type(record))


def _all_clean(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [_all_clean(each) for each in value]
    if isinstance(value, dict):
        return {name: _all_clean(each) for name, each in value.items()}
    return value
