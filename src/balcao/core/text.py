"""Texts of others, as they may be kept and handed on (contract 1.6, 9.5)."""

import re
import unicodedata
from typing import TypeVar

import msgspec

# A street, a name, a reason: the longest ones that are known have some hundred characters.
TEXT_CHARACTERS_MAX = 4_000

# C0 and C1, but those that end a line or stand for a blank; and halves of surrogate pairs.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")

# What a control character looks like in JSON. Too many suspicions do no harm.
_SUSPICIONS = re.compile(rb'\\[^"\\/]|\x7f|\xc2[\x80-\x9f]')

T = TypeVar("T", bound=msgspec.Struct)


class TextTooLong(ValueError):
    """A text that nobody would have written into such a field."""


def clean(raw: str) -> str:
    """Composed (NFC), on one line: no control characters, one blank for white space, none around.

    Raises `TextTooLong`.
    """
    if len(raw) > TEXT_CHARACTERS_MAX:
        raise TextTooLong
    if not raw.isprintable():
        raw = _CONTROLS.sub("", raw)
    return unicodedata.normalize("NFC", " ".join(raw.split()))


def unaccented(text: str) -> str:
    """In lower case (folded), and without what is written above or below its letters."""
    if text.isascii():
        return text.casefold()
    letters = unicodedata.normalize("NFD", text).casefold()
    return "".join(char for char in letters if not unicodedata.combining(char))


def cleaned(record: T) -> T:
    """The record with all its texts clean. Raises `TextTooLong`, and whatever no JSON can hold."""
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
