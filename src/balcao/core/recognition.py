"""Recognition of texts typed where one document is asked for: a document, several, or what else.

The reader of documents decides what a document is; this is for explaining what was found.
"""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from balcao.core.document_reader import Reading, cell_text, kind_of, read
from balcao.core.documents import CNPJ_CHARACTERS, CPF_CHARACTERS, Cnpj, Cpf

Kind: TypeAlias = Literal[
    "nothing",
    "cnpj",
    "cpf",
    "digits",  # as long as the document, but its check digits are others
    "several",
    "ambiguous",  # a number that zeros make two documents of
    "cut",  # a number in scientific notation
    "root",  # of a CNPJ
    "request",  # the number of a request
    "words",
    "length",  # it could be one, with more or fewer characters
]

_REQUEST = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_APART = re.compile(r"[\s,;|]+")
# As long as what a slip of the hand makes of a document, and longer than half of one.
_NEARLY = range(9, 17)
# Shorter numbers are anything: of an account, a telephone's extension, a year.
_DIGITS_LEAST = 9


class Seen(msgspec.Struct, frozen=True):
    """What was found."""

    kind: Kind
    count: int = 0  # documents of several; characters of `length`, `root` and `digits`
    alone: bool = True  # False: there are words beside the document


def recognise(text: str) -> Seen:
    """Return what this text is, as far as its form tells."""
    return _seen(text, _read(text))


def document_of(text: str) -> Cnpj | Cpf | None:
    """Return the document that a text is, or has in it; None: none, or several."""
    return _read(text).document


def documents_apart(text: str) -> Sequence[str]:
    """Return the documents of a text that has nothing else, wrong ones too; empty: there is more.

    In a table a number of another length is another column rather than a document.
    """
    parts = [part for part in _APART.split(text) if any(map(str.isalnum, part))]
    lines = sum(not line.isspace() for line in text.splitlines() if line)
    is_table = "\t" in text or 1 < lines < len(parts)

    def is_one(part: str) -> bool:
        reading = _read(part, zeros=not is_table)
        seen = _seen(part, reading)
        nearly = seen.kind == "length" and seen.count in _NEARLY and not is_table
        unsure = seen.kind in {"ambiguous", "cut"} and not is_table
        return nearly or unsure or seen.kind in {"cnpj", "cpf", "digits"}

    return parts if all(map(is_one, parts)) else ()


def _read(text: str, *, zeros: bool = True) -> Reading:
    least = _DIGITS_LEAST if zeros else CNPJ_CHARACTERS
    return read(text, only=False, digits_least=least)


def _seen(text: str, reading: Reading) -> Seen:
    if reading.document is not None:
        return Seen(kind_of(reading.document), alone=reading.alone)
    if _REQUEST.fullmatch(text.strip()):
        return Seen("request")
    assert reading.flaw is not None
    if reading.flaw == "nothing":
        zeros = cell_text(text).count("0")
        if not zeros:
            return Seen("nothing")
        is_whole = zeros in {CNPJ_CHARACTERS, CPF_CHARACTERS}
        return Seen("digits" if is_whole else "length", zeros)
    assert reading.flaw != "other_kind"  # both kinds are accepted
    return Seen(reading.flaw, reading.count)
