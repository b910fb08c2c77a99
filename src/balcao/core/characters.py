"""Normalization of full-width digits, dashes, typographic and invisible characters to ASCII.

The characters are those that `core.document_reader.cell_text` recognises.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from balcao.core.document_reader import cell_text

# Printable ASCII and Latin letters are plain already.
_OTHERS = re.compile("[^\x20-\x7e\u00c0-\u024f]")


def plain_text(text: str) -> str:
    """Return the text in plain ASCII characters, without invisible ones."""
    if _OTHERS.search(text) is None:
        return text
    return "".join(map(_plain, text))


def plain_text_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """Return the plain text, and for each of its characters the offset in the original text."""
    if _OTHERS.search(text) is None:
        return text, range(len(text))
    parts = list(map(_plain, text))
    return "".join(parts), [at for at, part in enumerate(parts) for _ in part]


@lru_cache(maxsize=2048)
def _plain(character: str) -> str:
    plain = cell_text(f"x{character}x")[1:-1]  # between letters, which keep a blank from the trim
    digit = unicodedata.decimal(plain, None) if len(plain) == 1 else None
    return plain if digit is None else str(digit)
