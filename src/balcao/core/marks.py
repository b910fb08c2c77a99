"""Marks: the caller's own words for a request (contract 11.1). Never a person's CPF."""

import re
import unicodedata
from typing import Literal, TypeAlias

from balcao.core.characters import plain_text
from balcao.core.check_digits import cnpj_check_digits
from balcao.core.documents import CNPJ_CHARACTERS, CPF_CHARACTERS, Cpf
from balcao.core.errors import InvalidCpf, MarkWithCpf

FORM = re.compile(r"[A-Za-z0-9._:/-]{1,64}", re.ASCII)
# The same for people, behind whatever is to have it.
FORM_TOLD = "letras sem acento, algarismos e . _ : / -"

MarkFlaw: TypeAlias = Literal["form", "cpf"]


def mark_flaw(text: str) -> MarkFlaw | None:
    """Why this is no mark: not of the form, or with a valid CPF in it. None: it is one."""
    if FORM.fullmatch(text) is None:
        return "form"
    return "cpf" if holds_cpf(text) else None


# For whoever names something that is kept for ever, behind what it is.
CPF_IN_NAME = "não pode ter um CPF, porque fica guardado para sempre. Use um código seu."

# Between the groups of a number, as `data_subject.Naming` passes over them.
_SIGNS = r"[.\-_/\\\s]{0,3}"
# Three groups and the check digits, or groups of thousands; with zeros in front, or none. Within a
# longer number it is none. Each place is looked at: one may begin within what is none.
_CPF = re.compile(
    rf"(?<![0-9])(?=(0*(?:[0-9]{{3}}{_SIGNS}[0-9]{{3}}{_SIGNS}[0-9]{{3}}{_SIGNS}[0-9]{{2}}"
    rf"|[0-9]{{2}}(?:{_SIGNS}[0-9]{{3}}){{3}}))(?![0-9]))",
    re.ASCII,
)
_NOT_DIGITS = re.compile("[^0-9]+")


def holds_cpf(text: str) -> bool:
    """Return whether a valid CPF stands in a text, punctuated or not.

    Names, reasons and marks are kept with money and deeds for ever, where no person's number may be
    (contract 11.1).
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return any(_is_cpf(_NOT_DIGITS.sub("", found)) for found in _CPF.findall(plain_text(text)))


def refuse_cpf(name: str, field: str) -> None:
    """Refuse a CPF in a name. Raises `MarkWithCpf`, whose detail begins with the field."""
    if holds_cpf(name):
        raise MarkWithCpf(f"{field}: {CPF_IN_NAME}")


def _is_cpf(digits: str) -> bool:
    if len(digits) == CNPJ_CHARACTERS and cnpj_check_digits(digits[:-2]) == digits[-2:]:
        return False  # of a company, which begins with zeros
    try:
        Cpf.parse(digits[-CPF_CHARACTERS:])
    except InvalidCpf:
        return False
    return True
