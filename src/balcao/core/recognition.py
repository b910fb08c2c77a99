"""Classification of a text typed into a field for one document, for messages about it.

Documents are read by `document_reader`; this classifies all other texts, too.
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
    "digits",  # as long as a document, with wrong check digits
    "several",
    "ambiguous",  # padded with zeros, it would be two different documents
    "cut",  # a number in scientific notation
    "root",  # of a CNPJ
    "request",  # a request_id
    "words",
    "length",  # like a document, with more or fewer characters
]

_REQUEST = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_APART = re.compile(r"[\s,;|]+")
# Lengths of a document with characters missing or repeated.
_NEARLY = range(9, 17)
# Shorter numbers may be anything: an account, a telephone extension, a year.
_DIGITS_LEAST = 9


class Recognition(msgspec.Struct, frozen=True):
    """The kind of a text."""

    kind: Kind
    count: int = 0  # of documents (`several`), or of characters (`length`, `root`, `digits`)
    alone: bool = True  # False: the text contains other words


def recognise(text: str) -> Recognition:
    """Return the kind of a text, by its form alone."""
    return _seen(text, _read(text))


def document_of(text: str) -> Cnpj | Cpf | None:
    """Return the document in a text; None: none, or several."""
    return _read(text).document


def separate_documents(text: str) -> Sequence[str]:
    """Return the documents of a text, valid or not; empty if it also contains anything else.

    In a table, numbers of other lengths are other columns rather than invalid documents.
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


def _seen(text: str, reading: Reading) -> Recognition:
    if reading.document is not None:
        return Recognition(kind_of(reading.document), alone=reading.alone)
    if _REQUEST.fullmatch(text.strip()):
        return Recognition("request")
    assert reading.flaw is not None
    if reading.flaw == "nothing":
        zeros = cell_text(text).count("0")
        if not zeros:
            return Recognition("nothing")
        is_whole = zeros in {CNPJ_CHARACTERS, CPF_CHARACTERS}
        return Recognition("digits" if is_whole else "length", zeros)
    assert reading.flaw != "other_kind"  # both kinds are accepted
    return Recognition(reading.flaw, reading.count)
