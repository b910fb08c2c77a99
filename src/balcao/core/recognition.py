"""What a text is that somebody put where one document is asked for.

Nothing here decides what may be asked: `documents` does. This is for saying what was found, and
what to do about it.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from balcao.core.check_digits import cnpj_check_digits, cpf_check_digits
from balcao.core.documents import CNPJ_CHARACTERS, CPF_CHARACTERS, Cnpj, Cpf
from balcao.errors import InvalidCnpj, InvalidCpf

Kind: TypeAlias = Literal[
    "nothing",
    "cnpj",
    "cpf",
    "digits",  # as long as the document, but its check digits are others
    "several",
    "request",  # the number of a request
    "words",
    "length",  # it could be one, with more or fewer characters
]

# With or without punctuation, apart from other letters and digits.
_DOCUMENT = re.compile(
    r"(?<![0-9A-Z])(?:[0-9A-Z]{2}\.?[0-9A-Z]{3}\.?[0-9A-Z]{3}/?[0-9A-Z]{4}-?[0-9]{2}"
    r"|[0-9]{3}\.?[0-9]{3}\.?[0-9]{3}-?[0-9]{2})(?![0-9A-Z])",
    re.ASCII,
)
_REQUEST = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_SIGNS = re.compile(r"[\s./-]")
_CHARACTERS = re.compile(r"[0-9A-Za-z\s./-]*", re.ASCII)
_WORD_APART = re.compile(r"[A-Za-z]\s|\s[A-Za-z]", re.ASCII)
_APART = re.compile(r"[\s,;|]+")
# As long as what a slip of the hand makes of a document, and longer than half of one.
_NEARLY = range(9, 17)


class Seen(msgspec.Struct, frozen=True):
    """What was found."""

    kind: Kind
    count: int = 0  # documents of several; characters of one of another length, and of `digits`
    alone: bool = True  # False: there are words beside the document


def recognise(text: str) -> Seen:
    """What this text is, as far as its form tells."""
    text = text.strip()
    if not text:
        return Seen("nothing")
    if _REQUEST.fullmatch(text):
        return Seen("request")
    found: list[str] = _DOCUMENT.findall(text.upper())
    if len(found) > 1:
        return Seen("several", len(found))
    bare = _SIGNS.sub("", text).upper()
    if (run := _run_together(bare)) > 1:
        return Seen("several", run)
    if found and found[0] != text.upper():
        seen = _one(found[0])
        if seen.kind != "digits":
            return msgspec.structs.replace(seen, alone=False)
    if not _could_be_one(text, bare):
        return Seen("words")
    return _one(bare)


def document_of(text: str) -> Cnpj | Cpf | None:
    """The document that a text is, or has in it; None: none, or several."""
    seen = recognise(text)
    if seen.kind not in {"cnpj", "cpf"}:
        return None
    whole = text.strip().upper()
    bare = _SIGNS.sub("", whole if seen.alone else _DOCUMENT.findall(whole)[0])
    return Cnpj.parse(bare) if seen.kind == "cnpj" else Cpf.parse(bare)


def documents_apart(text: str) -> Sequence[str]:
    """The documents of a text that has nothing else, wrong ones too; empty: there is more in it.

    In a table a number of another length is another column rather than a document.
    """
    parts = [part for part in _APART.split(text) if part]
    lines = sum(not line.isspace() for line in text.splitlines() if line)
    is_table = "\t" in text or 1 < lines < len(parts)

    def is_one(part: str) -> bool:
        seen = recognise(part)
        nearly = seen.kind == "length" and seen.count in _NEARLY and not is_table
        return nearly or seen.kind in {"cnpj", "cpf", "digits"}

    return parts if all(map(is_one, parts)) else ()


def check_digits_of(text: str) -> tuple[str, str] | None:
    """Of what is as long as a document and is none: its check digits, and those that it should
    have. None: it is no such text, or no digits would do (all characters alike).
    """
    if recognise(text).kind != "digits":
        return None
    bare = _SIGNS.sub("", text.strip()).upper()
    if len(set(bare)) == 1:
        return None
    right = cnpj_check_digits if len(bare) == CNPJ_CHARACTERS else cpf_check_digits
    return bare[-2:], right(bare[:-2])


def _one(text: str) -> Seen:
    """One document, or what is as long as one, or not even that."""
    bare = _SIGNS.sub("", text)
    if _is(Cnpj.parse, bare):
        return Seen("cnpj")
    if _is(Cpf.parse, bare):
        return Seen("cpf")
    if len(bare) in (CNPJ_CHARACTERS, CPF_CHARACTERS):
        return Seen("digits", len(bare))
    return Seen("length", len(bare))


def _could_be_one(text: str, bare: str) -> bool:
    """Whether it has the characters of a document: its last two are digits, whatever else."""
    if not _CHARACTERS.fullmatch(text) or not any(each.isdigit() for each in bare):
        return False
    return len(bare) == CNPJ_CHARACTERS or not _WORD_APART.search(text)


def _run_together(bare: str) -> int:
    """How many documents without anything between them; 1: they are not several."""
    for size, parse in ((CNPJ_CHARACTERS, Cnpj.parse), (CPF_CHARACTERS, Cpf.parse)):
        count, over = divmod(len(bare), size)
        if count > 1 and not over:
            parts = [bare[at : at + size] for at in range(0, len(bare), size)]
            if all(_is(parse, part) for part in parts):
                return count
    return 1


def _is(parse: Callable[[str], Cnpj | Cpf], text: str) -> bool:
    try:
        parse(text)
    except (InvalidCnpj, InvalidCpf):
        return False
    return True
