"""Request tags, the caller's own labels of a request (contract 11.1), and CPFs in free text."""

import re
import unicodedata
from typing import Literal, TypeAlias

from balcao.core.characters import plain_text
from balcao.core.check_digits import cnpj_check_digits
from balcao.core.documents import CNPJ_CHARACTERS, CPF_CHARACTERS, Cpf
from balcao.core.errors import InvalidCpf, TagWithCpf

TAG_PATTERN = re.compile(r"[A-Za-z0-9._:/-]{1,64}", re.ASCII)
# `TAG_PATTERN` in words, after the name of a field.
TAG_CHARACTERS = "letras sem acento, algarismos e . _ : / -"

TagProblem: TypeAlias = Literal["form", "cpf"]


def tag_problem(text: str) -> TagProblem | None:
    """Return why a text is not a valid tag: wrong characters, or a CPF. None: it is valid."""
    if TAG_PATTERN.fullmatch(text) is None:
        return "form"
    return "cpf" if contains_cpf(text) else None


# The message for a name that is stored permanently, after the name of its field.
CPF_IN_NAME = "não pode ter um CPF, porque fica guardado para sempre. Use um código seu."

# Between the groups of a number, as in `data_subject.CpfFinder`.
_SIGNS = r"[.\-_/\\\s]{0,3}"
# Three groups and the check digits, or groups of thousands, with leading zeros or none; not within
# a longer number. The lookahead finds overlapping matches, too.
_CPF = re.compile(
    rf"(?<![0-9])(?=(0*(?:[0-9]{{3}}{_SIGNS}[0-9]{{3}}{_SIGNS}[0-9]{{3}}{_SIGNS}[0-9]{{2}}"
    rf"|[0-9]{{2}}(?:{_SIGNS}[0-9]{{3}}){{3}}))(?![0-9]))",
    re.ASCII,
)
_NOT_DIGITS = re.compile("[^0-9]+")


def contains_cpf(text: str) -> bool:
    """Return whether a text contains a valid CPF, punctuated or not.

    Names, reasons and tags are stored permanently in ledger and audit log, where no CPF may be
    (contract 11.1).
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return any(_is_cpf(_NOT_DIGITS.sub("", found)) for found in _CPF.findall(plain_text(text)))


def reject_cpf(name: str, field: str) -> None:
    """Refuse a CPF in a name. Raises `TagWithCpf`, whose detail begins with the field."""
    if contains_cpf(name):
        raise TagWithCpf(f"{field}: {CPF_IN_NAME}")


def _is_cpf(digits: str) -> bool:
    if len(digits) == CNPJ_CHARACTERS and cnpj_check_digits(digits[:-2]) == digits[-2:]:
        return False  # a CNPJ that begins with zeros
    try:
        Cpf.parse(digits[-CPF_CHARACTERS:])
    except InvalidCpf:
        return False
    return True
