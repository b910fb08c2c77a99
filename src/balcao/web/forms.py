"""The six forms as data, and how what was typed becomes an operation's own request.

Nothing is checked here: the operation does that, as it does for callers of the API.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from balcao.core.federation import ALL, UFS
from balcao.core.questions import Question, Strategy, Subject
from balcao.core.recognition import recognise
from balcao.operations.contract import Operation
from balcao.operations.parameters import Parameters

# What a form may send; other fields are nobody's business.
FIELDS = (
    *("quem", "cnpj", "cpf", "nascimento", "uf", "endereco", "optin"),
    *("onde", "dias", "modo"),
)
_CHARACTERS_MAX = 100  # of what is shown again
DOCUMENTS: Sequence[Literal["cnpj", "cpf"]] = ("cnpj", "cpf")
_DOCUMENT_CHARACTERS_MAX = 4_000  # somebody may paste a list: nothing of it is lost

_OF_PEOPLE = ("cpf", "nascimento")
_CHOICE = re.compile("[0-9A-Za-z]{1,10}", re.ASCII)  # shorter than any document

_DATE = re.compile(r"([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})|([0-9]{2})([0-9]{2})([0-9]{4})", re.ASCII)

# Of certificates, which have no age: how hard to look for one.
_MODES: Mapping[str, Mapping[str, str]] = {
    "guardado": {"cache_strategy": Strategy.SO_CACHE},
    "online": {"atualizar_online": "true"},
    "nova": {"preferencia_emissao": "nova"},
}


@dataclass(frozen=True, slots=True)
class Form:
    """One operation's form: what it is called, what it says of itself, and its fields."""

    slug: str  # in addresses
    subject: Subject
    title: str
    answers: str  # what one learns, for the list
    price: str  # in general
    price_sentence: str
    fields: Sequence[str]
    document: str = "cnpj"  # the field that goes into the path; empty: none does
    days: int | None = None  # how old a kept result may be, unless something else is typed
    days_max: int = 365
    uf_hint: str = ""
    example: str = "90.010.001/0001-00"  # a document that the sandbox knows
    certificate: bool = False
    has_strategy: bool = True  # the age alone does not say what comes first
    characters_max: int = _DOCUMENT_CHARACTERS_MAX  # of a document's field

    def ufs(self, operation: Operation) -> Sequence[tuple[str, str]]:
        """The choices of UF, as values and texts."""
        known = operation.ufs or UFS
        every = [(uf, uf) for uf in known]
        match self.subject:
            case "state_registration":
                return [("", "A UF da empresa"), (ALL, f"Todas ({len(known)})"), *every]
            case "rural_producer":
                return [("", "Escolha"), (ALL, f"Todas ({len(known)})"), *every]
            case _:
                return [("", "Escolha"), *every]

    def focus(self, typed: Mapping[str, str]) -> str:
        """The field where one begins to type."""
        return self.document or ("cpf" if typed["quem"] == "cpf" else "cnpj")

    def modes(self, chosen: str) -> Sequence[tuple[str, str, str]]:
        """Of certificates, how hard to look: values, texts and notes.

        What only a result's buttons ask for is offered where it has been asked for already.
        """
        offered = [_FIRST_KEPT]
        if "modo" in self.fields:
            offered.append(_ONLY_KEPT)
        if chosen in _INSISTENT:
            offered.append(_INSISTENT[chosen])
        return offered


_FIRST_KEPT = ("", "A guardada, se ainda valer; senão, a fonte", "1 ou 2 créditos")
_ONLY_KEPT = ("guardado", "Só o que já está guardado", "Sem nada guardado, sem custo")
_INSISTENT: Mapping[str, tuple[str, str, str]] = {
    "online": ("online", "Consultar a fonte agora", "2 créditos"),
    "nova": ("nova", "Pedir uma emissão nova à fonte", "2 créditos"),
}

FORMS: Mapping[str, Form] = {
    form.slug: form
    for form in (
        Form(
            "certidao-federal",
            "federal_certificate",
            "Certidão federal",
            "Débitos de tributos federais e da dívida ativa da União, por CNPJ ou por CPF, com o"
            " comprovante.",
            "1 crédito guardada, 2 da fonte",
            "Uma certidão guardada que ainda vale custa 1 crédito; uma consulta à fonte, 2."
            " Falhas não custam nada.",
            ("quem", "modo"),
            document="",
            certificate=True,
        ),
        Form(
            "certidao-estadual",
            "state_certificate",
            "Certidão estadual",
            "Certidão de débitos da secretaria da fazenda de uma UF, por CNPJ, com o comprovante"
            " público.",
            "1 crédito guardada, 2 da fonte",
            "Uma certidão guardada que ainda vale custa 1 crédito; uma consulta à fonte, 2."
            " Falhas não custam nada.",
            ("cnpj", "uf"),
            certificate=True,
        ),
        Form(
            "empresa",
            "company",
            "Empresa",
            "Cadastro da Receita Federal: situação, endereço, atividades, porte e sócios.",
            "1 crédito",
            "1 crédito, venha a resposta de onde vier. Falhas não custam nada.",
            ("cnpj", "optin", "onde"),
            days=7,
        ),
        Form(
            "inscricoes-estaduais",
            "state_registration",
            "Inscrições estaduais",
            "Inscrições de uma empresa em uma UF ou em todas, com situação e tipo (Sintegra).",
            "1 crédito por UF",
            "1 crédito por UF que responder, e mais 1 com os endereços. Falhas não custam nada.",
            ("cnpj", "uf", "endereco", "onde"),
            days=7,
            uf_hint="Sem escolha, vale a UF em que a empresa está.",
        ),
        Form(
            "produtor-rural",
            "rural_producer",
            "Produtor rural",
            "Inscrições estaduais de um produtor rural, por CPF, em uma UF ou em todas.",
            "1 crédito por UF",
            "1 crédito por UF que responder, e mais 1 com os endereços. Falhas não custam nada.",
            ("cpf", "uf", "endereco", "onde"),
            document="cpf",
            example="900.100.001-00",
            days=7,
        ),
        Form(
            "suframa",
            "suframa",
            "Suframa",
            "Inscrição na Zona Franca de Manaus: situação, aprovação e incentivos fiscais.",
            "1 crédito",
            "1 crédito, venha a resposta de onde vier. Falhas não custam nada.",
            ("cnpj", "onde"),
            example="90.010.002/0001-54",
            days=25,
            days_max=45,
            has_strategy=False,
        ),
    )
}

BY_SUBJECT: Mapping[Subject, Form] = {form.subject: form for form in FORMS.values()}


def filled(typed: Mapping[str, str]) -> Mapping[str, str]:
    """What was typed, field by field, as it can be shown again."""
    return {
        name: typed.get(name, "").strip()[
            : _DOCUMENT_CHARACTERS_MAX if name in DOCUMENTS else _CHARACTERS_MAX
        ]
        for name in FIELDS
    }


def addressable(typed: Mapping[str, str]) -> Mapping[str, str]:
    """What of the fields may stand in an address: companies and choices, nothing of people."""
    kept = {name: typed.get(name, "").strip() for name in FIELDS if name not in _OF_PEOPLE}
    return {
        name: value
        for name, value in kept.items()
        if (recognise(value).kind == "cnpj" if name == "cnpj" else _CHOICE.fullmatch(value))
    }


def blank(form: Form) -> Mapping[str, str]:
    """An untouched form."""
    untouched = dict.fromkeys(FIELDS, "") | {"quem": "cnpj", "onde": "guardado"}
    return untouched | {"dias": "" if form.days is None else str(form.days)}


def question(form: Form, operation: Operation, typed: Mapping[str, str]) -> Question:
    """What is asked, read by the operation itself. Raises `InvalidInput` of some kind."""
    query = urlencode(_parameters(form, typed)).encode()
    document = typed[form.document] if form.document else ""
    return operation.parse(document, Parameters(query, {}, operation.names))


def _parameters(form: Form, typed: Mapping[str, str]) -> Mapping[str, str]:
    """The fields under the names that the contract has for them."""
    wanted = dict(_MODES.get(typed["modo"], {})) if form.certificate else _by_age(form, typed)
    if not form.document:
        if typed["quem"] == "cpf":
            wanted |= {"cpf": typed["cpf"], "data_nascimento": _birth(typed["nascimento"])}
        else:
            wanted["cnpj"] = typed["cnpj"]
    if "uf" in form.fields:
        wanted["uf"] = typed["uf"]
    if typed["endereco"]:
        wanted["endereco"] = "true"
    if typed["optin"]:
        wanted["optin"] = "1"
    return wanted


def _by_age(form: Form, typed: Mapping[str, str]) -> dict[str, str]:
    days = typed["dias"] or str(form.days)
    if typed["onde"] == "fonte":
        return {"cache_strategy": Strategy.SO_ONLINE} if form.has_strategy else {"cache": "0"}
    if not form.has_strategy:
        return {"cache": days}
    return {"cache_strategy": Strategy.CACHE_PREFERENCIAL, "cache": days}


def _birth(typed: str) -> str:
    """`dd/mm/aaaa` as the contract's yyyyMMdd; what is not of this form stays as it is."""
    match = _DATE.fullmatch(typed)
    if match is None:
        return typed
    day, month, year = match.group(1, 2, 3) if match[1] else match.group(4, 5, 6)
    return f"{year}{month:0>2}{day:0>2}"
