"""The fields of forms about items: reference, client, labels, and what is watched."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from balcao.core.documents import CPF_CHARACTERS
from balcao.core.errors import (
    BirthDateInFuture,
    BirthDateRequired,
    CallerError,
    InvalidBirthDate,
    InvalidCnpj,
    InvalidCpf,
    InvalidParameter,
    TagWithCpf,
)
from balcao.core.federation import UFS
from balcao.core.problems import problem_of
from balcao.core.wallet import ROOT_CHARACTERS, ItemRequest
from balcao.web.pages.portfolio.views import WATCHED

# Watched without a UF, of companies.
_OF_REGISTRY: Final = ("cadastro", "socios", "simples", "filiais", "suframa")
_CERTIFICATES: Final = ("certidao_federal", "certidao_trabalhista", "regularidade_fgts")
_ALONE: Final = (*_OF_REGISTRY, *_CERTIFICATES)
_WITH_UF: Final = ("inscricoes", "certidao_estadual", "produtor")
_UF_HINTS: Final = {
    "inscricoes": "Mudanças são percebidas nas suas consultas, ou nas reconsultas agendadas.",
    "certidao_estadual": "A certidão de débitos de cada estado.",
    "produtor": "De um CPF.",
}
_OF_ROOTS: Final = ("cadastro", "socios", "simples", "filiais")
_WATCH = "vigiar_"
_SEPARATORS = re.compile(r"[,;\s]+")
_FIELDS: Final = frozenset({"cliente", "ref", "etiquetas", "vigiar", "documento"})


@dataclass(frozen=True, slots=True)
class WatchChoice:
    """One checkbox, or a field for UFs."""

    field: str
    label: str
    of_ufs: bool = False
    hint: str = ""


def watch_choices(document: str, *, is_person: bool) -> Sequence[WatchChoice]:
    """Return what may be watched of a subject: a CNPJ, a root, or a person."""
    if is_person:
        names: Sequence[str] = ("certidao_federal", "certidao_trabalhista", "produtor")
    elif len(document) == ROOT_CHARACTERS:
        names = _OF_ROOTS
    else:
        names = (*_ALONE, "inscricoes", "certidao_estadual")
    return [_choice(name) for name in names]


def _choice(name: str) -> "WatchChoice":
    return WatchChoice(f"{_WATCH}{name}", WATCHED[name], name in _WITH_UF, _UF_HINTS.get(name, ""))


def of_subject(form: Mapping[str, str], document: str) -> Mapping[str, str]:
    """Return a form without what cannot be watched of this document."""
    digits = sum(character.isalnum() for character in document)
    possible = {
        choice.field for choice in watch_choices("0" * digits, is_person=is_person(document))
    }
    fields = {choice.field for choice in ALL_CHOICES} - possible
    return {name: text for name, text in form.items() if name not in fields}


LIST_CHOICES: Final = watch_choices("", is_person=False)
ALL_CHOICES: Final = [_choice(name) for name in (*_ALONE, *_WITH_UF)]
USUALLY: Final[Mapping[str, str]] = {
    f"{_WATCH}{name}": "1" for name in ("cadastro", "socios", "simples")
}


def watched_fields(watched: Sequence[str]) -> Mapping[str, str]:
    """Return the fields of what an item watches."""
    fields: dict[str, str] = {}
    for one in watched:
        name, _, uf = one.partition(":")
        field = f"{_WATCH}{name}"
        fields[field] = f"{fields[field]}, {uf}" if field in fields else uf or "1"
    return fields


def watched_of_form(form: Mapping[str, str]) -> tuple[Sequence[str], dict[str, str]]:
    """Return what a form watches, and complaints by field."""
    watched = [name for name in _ALONE if form.get(f"{_WATCH}{name}")]
    complaints = {}
    for name in _WITH_UF:
        ufs = [uf.upper() for uf in _SEPARATORS.split(form.get(f"{_WATCH}{name}", "")) if uf]
        if set(ufs) - set(UFS):
            complaints[f"{_WATCH}{name}"] = "Informe siglas de estados, como SP, MG."
        watched += [f"{name}:{uf}" for uf in ufs]
    return watched, complaints


def stated_request(
    form: Mapping[str, str], *, with_client: bool = True
) -> tuple[ItemRequest, dict[str, str]]:
    """Return the request of a form, which states everything, and complaints by field."""
    watched, complaints = watched_of_form(form)
    tags = [tag for tag in _SEPARATORS.split(form.get("etiquetas", "")) if tag]
    stated: dict[str, Any] = {
        "reference": form.get("ref", "").strip() or None,
        "tags": tags,
        "watched": watched,
    }
    if with_client:
        stated["client"] = form.get("cliente", "").strip() or None
    if not watched and not complaints:
        complaints["vigiar"] = "Escolha ao menos um."
    return ItemRequest(**stated), complaints


def complaint_about(error: CallerError) -> dict[str, str]:
    """Return an error at its field; at none if it is about the whole form."""
    text = problem_of(error).message
    if isinstance(error, InvalidCnpj | InvalidCpf):
        return {"documento": text}
    if isinstance(error, BirthDateRequired | BirthDateInFuture | InvalidBirthDate):
        return {"nascimento": text}
    if isinstance(error, InvalidParameter | TagWithCpf):
        field, colon, rest = text.partition(": ")
        if colon and field in _FIELDS:
            return {field: rest[:1].upper() + rest[1:]}
    return {"": text}


def is_person(document: str) -> bool:
    """Return whether a typed document has the length of a CPF."""
    return sum(character.isdigit() for character in document) == CPF_CHARACTERS
