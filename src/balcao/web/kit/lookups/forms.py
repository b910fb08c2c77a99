"""The lookup forms, one per operation, and how their fields become an operation's parameters.

Nothing is checked here: the operation does that, as for callers of the API.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar
from urllib.parse import urlencode

from balcao.core.document_reader import DocumentKind, read
from balcao.core.documents import CNPJ_CHARACTERS, Cnpj
from balcao.core.federation import ALL
from balcao.core.questions import Strategy, Subject
from balcao.core.recognition import document_of
from balcao.operations import ALL_OPERATIONS, OPERATIONS
from balcao.operations.contract import Operation
from balcao.operations.parameters import (
    BirthDate,
    Days,
    Parameter,
    Parameters,
    StrategyChoice,
    UfChoice,
)

# The fields that a form may send; others are ignored.
FIELDS = (
    *("quem", "cnpj", "cpf", "nascimento", "uf", "endereco", "optin"),
    *("onde", "dias", "modo"),
)
_CHARACTERS_MAX = 100  # of fields that are shown again
DOCUMENTS: Sequence[Literal["cnpj", "cpf"]] = ("cnpj", "cpf")
_DOCUMENT_CHARACTERS_MAX = 4_000  # a list may be pasted: it is kept whole

_OF_PEOPLE = ("cpf", "nascimento")
_CHOICE = re.compile("[0-9A-Za-z]{1,10}", re.ASCII)  # shorter than any document

_DATE = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})|([0-9]{2})([0-9]{2})([0-9]{4})", re.ASCII)

# Modes of certificates, which have no age limit, and their parameters.
_MODES: Mapping[str, Mapping[str, str]] = {
    "guardado": {"cache_strategy": Strategy.SO_CACHE},
    "online": {"atualizar_online": "true"},
    "nova": {"preferencia_emissao": "nova"},
}


OneParameter = TypeVar("OneParameter", bound=Parameter)


def _of_kind(operation: Operation, kind: type[OneParameter]) -> OneParameter | None:
    return next((each for each in operation.parameters if isinstance(each, kind)), None)


class LookupForm:
    """One operation's form: its texts, and fields for its parameters."""

    characters_max = _DOCUMENT_CHARACTERS_MAX  # of a document's field

    def __init__(self, operation: type[Operation]) -> None:
        words = operation.form
        self.slug, self.title, self.answers = words.slug, words.title, words.answers
        self.price, self.price_sentence = words.price, words.price_sentence
        self.example, self.uf_hint = words.example, words.uf_hint
        self.subject = operation.subject
        self.document = operation.document  # the field that goes into the path; empty: none
        self.certificate = operation.issues
        self.failures = operation.failures
        usual = operation()
        self.fields = usual.fields
        age = _of_kind(usual, Days)
        self.days = age and age.default  # the default
        self.days_max = age.largest if age else 0
        # Without a strategy, the age alone decides what comes first.
        self.has_strategy = _of_kind(usual, StrategyChoice) is not None

    def ufs(self, operation: Operation) -> Sequence[tuple[str, str]]:
        """Return the choices of UF, as values and texts."""
        uf = _of_kind(operation, UfChoice)
        if uf is None:
            return ()
        texts = {ALL: f"Todas ({len(uf.allowed) - 1})"}
        none = "Escolha" if uf.required else "A UF da empresa"
        return [("", none), *((each, texts.get(each, each)) for each in uf.allowed)]

    @property
    def uf_may_be_left_out(self) -> bool:
        """Whether an empty UF stands for the company's own."""
        uf = _of_kind(OPERATIONS[self.subject], UfChoice)
        return uf is not None and not uf.required

    @property
    def takes_companies(self) -> bool:
        """Whether it has a field for a CNPJ, alone or as one of two kinds of holders."""
        return bool({"cnpj", "quem"} & self.fields)

    @property
    def needs_birth(self) -> bool:
        """Whether a lookup about a person needs the birth date."""
        return _of_kind(OPERATIONS[self.subject], BirthDate) is not None

    def focus(self, typed: Mapping[str, str]) -> str:
        return self.document or ("cpf" if typed["quem"] == "cpf" else "cnpj")

    def modes(self, chosen: str) -> Sequence[tuple[str, str, str]]:
        """Return the choices of `modo` of a certificate: values, texts and notes.

        Modes that only a result's buttons use are offered once they were chosen.
        """
        offered = [_FIRST_KEPT]
        if "modo" in self.fields:
            offered.append(_ONLY_KEPT)
        if chosen in _INSISTENT:
            offered.append(_INSISTENT[chosen])
        return offered


_FIRST_KEPT = ("", "Usar a certidão guardada, se ainda for válida", "1 ou 2 créditos")
_ONLY_KEPT = ("guardado", "Só resultados guardados", "Sem resultado guardado, sem custo")
_INSISTENT: Mapping[str, tuple[str, str, str]] = {
    "online": ("online", "Consultar a fonte agora", "2 créditos"),
    "nova": ("nova", "Emitir uma nova certidão", "2 créditos"),
}


FORMS: Mapping[str, LookupForm] = {each.form.slug: LookupForm(each) for each in ALL_OPERATIONS}
BY_SUBJECT: Mapping[Subject, LookupForm] = {form.subject: form for form in FORMS.values()}
BY_PATH: Mapping[str, LookupForm] = {each.path: BY_SUBJECT[each.subject] for each in ALL_OPERATIONS}


def filled(typed: Mapping[str, str]) -> Mapping[str, str]:
    """Return the fields of a form, cut so that they can be shown again."""
    return {
        name: typed.get(name, "").strip()[
            : _DOCUMENT_CHARACTERS_MAX if name in DOCUMENTS else _CHARACTERS_MAX
        ]
        for name in FIELDS
    }


def addressable(typed: Mapping[str, str]) -> Mapping[str, str]:
    """Return the fields that may be in an address: CNPJs and choices, but no personal data."""
    kept = {name: typed.get(name, "").strip() for name in FIELDS if name not in _OF_PEOPLE}
    company = document_of(kept.pop("cnpj"))
    choices = {name: value for name, value in kept.items() if _CHOICE.fullmatch(value)}
    return choices | ({"cnpj": company.text} if isinstance(company, Cnpj) else {})


def blank(form: LookupForm) -> Mapping[str, str]:
    """Return the fields of an untouched form."""
    untouched = dict.fromkeys(FIELDS, "") | {"quem": "cnpj", "onde": "guardado"}
    return untouched | {"dias": "" if form.days is None else str(form.days)}


def request_of(
    form: LookupForm, operation: Operation, typed: Mapping[str, str]
) -> tuple[str, Parameters]:
    """Return document and parameters of the lookup that a filled form asks for."""
    document, parameters = request_values(form, typed)
    return document, Parameters(urlencode(parameters).encode(), {}, operation.names)


def request_values(form: LookupForm, typed: Mapping[str, str]) -> tuple[str, Mapping[str, str]]:
    """Return the document in the path and the API's parameters; an empty field is an empty text."""
    kind = next((each for each in DOCUMENTS if each == form.document), None)
    document = "" if kind is None else _document(typed, kind)
    return document, _parameters(form, typed)


def _document(typed: Mapping[str, str], kind: DocumentKind) -> str:
    """Return the document in a field, without punctuation; other text is returned unchanged.

    No leading zeros are added: the lookup may cost something, and the person can add them.
    """
    found = read(typed[kind], {kind}, only=False, digits_least=CNPJ_CHARACTERS).document
    return typed[kind] if found is None else found.text


def _parameters(form: LookupForm, typed: Mapping[str, str]) -> Mapping[str, str]:
    """Return the fields under the names of the API's parameters."""
    subject = {}
    if not form.document:
        if typed["quem"] == "cpf":
            subject = {"cpf": _document(typed, "cpf")}
            if form.needs_birth:
                subject["data_nascimento"] = _birth(typed["nascimento"])
        else:
            subject = {"cnpj": _document(typed, "cnpj")}
    return subject | parameters_for_all(form, typed)


def parameters_for_all(form: LookupForm, typed: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of a form without its document."""
    wanted = dict(_MODES.get(typed["modo"], {})) if form.certificate else _by_age(form, typed)
    if "uf" in form.fields:
        wanted["uf"] = typed["uf"]
    if typed["endereco"]:
        wanted["endereco"] = "true"
    if typed["optin"]:
        wanted["optin"] = "1"
    return wanted


def fields_for_all(form: LookupForm, asked: Mapping[str, str]) -> dict[str, str]:
    """Return the fields that `parameters_for_all` turned into these parameters."""
    fields = {name: asked.get(name, "") for name in ("uf", "endereco", "optin")}
    if form.certificate:
        fits = (mode for mode, of in _MODES.items() if of.items() <= asked.items())
        return fields | {"modo": max(fits, key=lambda mode: len(_MODES[mode]), default="")}
    if asked.get("cache_strategy") == Strategy.SO_ONLINE or asked.get("cache") == "0":
        return fields | {"onde": "fonte"}
    days = asked.get("cache", "")
    return fields | {"onde": "guardado", "dias": "" if days == str(form.days) else days}


def _by_age(form: LookupForm, typed: Mapping[str, str]) -> dict[str, str]:
    days = typed["dias"] or str(form.days)
    if typed["onde"] == "fonte":
        return {"cache_strategy": Strategy.SO_ONLINE} if form.has_strategy else {"cache": "0"}
    if not form.has_strategy:
        return {"cache": days}
    return {"cache_strategy": Strategy.CACHE_PREFERENCIAL, "cache": days}


def _birth(typed: str) -> str:
    """Return `dd/mm/aaaa` as the contract's yyyyMMdd; other text is returned unchanged."""
    match = _DATE.fullmatch(typed)
    if match is None:
        return typed
    day, month, year = match.group(1, 2, 3) if match[1] else match.group(4, 5, 6)
    return f"{year}{month:0>2}{day:0>2}"
