"""Marks: the caller's own words for a request (decisions 11.1). Never a person's CPF."""

import re
from typing import Literal, TypeAlias

from balcao.core.documents import Cpf
from balcao.errors import InvalidCpf

FORM = re.compile(r"[A-Za-z0-9._:/-]{1,64}", re.ASCII)
# The same for people, behind whatever is to have it.
FORM_TOLD = "letras sem acento, algarismos e . _ : / -"

MarkFlaw: TypeAlias = Literal["form", "cpf"]


def mark_flaw(text: str) -> MarkFlaw | None:
    """Why this is no mark: not of the form, or a valid CPF, punctuated or not. None: it is one."""
    if FORM.fullmatch(text) is None:
        return "form"
    try:
        Cpf.parse(text)
    except InvalidCpf:
        return None
    return "cpf"
