"""Fields of the search form: reading, errors at each field, and choices for words and names.

A CNAE typed in words, and a town with a doubtful name, lead to choices below their fields, from the
month's own tables; nothing is searched or charged until one is ticked.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from balcao.core.document_reader import Reading, read
from balcao.core.documents import CNPJ_CHARACTERS, Cnpj
from balcao.core.errors import FilterRequired, InvalidParameter
from balcao.core.search import FILTER_NAMES, read_filters
from balcao.core.suggestions import (
    Town,
    activities_like,
    similar_towns,
    towns_like,
    towns_named,
)
from balcao.opendata.municipalities import uf_by_tom
from balcao.opendata.snapshot import Snapshot
from balcao.web.kit.context import PageContext

SIZES = ("20", "50", "100")
USUAL_SIZE = "50"
FIELDS = (*FILTER_NAMES, "pessoas", "limite", "cursor")
# Their labels on the page; errors of the API name its parameters.
LABELS = {
    "q": "Nome",
    "uf": "UF",
    "municipio": "Município",
    "cnae": "CNAE",
    "situacao": "Situação",
    "porte": "Porte",
    "matriz": "Estabelecimentos",
    "limite": "Por página",
    "aberta_desde": "Aberta desde",
    "aberta_ate": "Aberta até",
    "situacao_desde": "Nesta situação desde",
    "situacao_ate": "Nesta situação até",
    "capital_min": "Capital mínimo, em reais",
    "capital_max": "Capital máximo, em reais",
    "simples": "Simples Nacional",
    "mei": "MEI",
    "cnae_principal": "CNAE principal",
    "divisao": "Divisão da CNAE",
    "natureza": "Natureza jurídica",
    "motivo": "Motivo da situação",
    "cep": "CEP ou início do CEP",
    "ddd": "DDD",
    "dominio": "Domínio do e-mail",
    "raiz": "Raiz do CNPJ",
    "pessoas": "Incluir empresários individuais e produtores",
}
# Fields that suggest values while one types.
ACTIVITIES, TOWNS = ("cnae", "cnae_principal"), ("municipio",)
# Prefix of a choice's checkbox: `t_cnae_4721102`.
_TICKED = "t_"

_CHARACTERS_MAX = 500
_CHOICES_MAX = 12
_AMOUNTS = ("capital_min", "capital_max")
_NAMED = re.compile(r"\b(?:O parâmetro )?(" + "|".join(LABELS) + r")\b")


class Choice(msgspec.Struct, frozen=True):
    """A value that a field's text may mean."""

    value: str
    text: str
    note: str = ""


class Terms(msgspec.Struct, frozen=True):
    """The typed filters, with what is wrong with each field and what it may mean."""

    filters: Mapping[str, str]
    complaints: Mapping[str, str] = {}
    choices: Mapping[str, Sequence[Choice]] = {}


class MonthNames(msgspec.Struct, frozen=True):
    """The month's tables of activities and towns."""

    activities: Mapping[str, str]
    towns: Sequence[Town]


@lru_cache(4)  # each month has its own path
def names_of(month: Path) -> MonthNames:
    """Return the names in a month's file. Raises `OpenDataError`."""
    snapshot = Snapshot.open(month)
    try:
        domains = snapshot.domains()
    finally:
        snapshot.close()
    towns = [
        Town(code, name, uf_by_tom().get(code)) for code, name in domains["Municipios"].items()
    ]
    return MonthNames(domains["Cnaes"], towns)


def typed_filters(context: PageContext) -> Mapping[str, str]:
    """Return the filled fields, amounts in the API's form."""
    typed = {name: context.typed(name)[:_CHARACTERS_MAX] for name in FIELDS}
    for name in _AMOUNTS:  # in Brazilian format: 1.000,50
        if "," in typed[name]:
            typed[name] = typed[name].replace(".", "").replace(",", ".")
    typed["raiz"] = ",".join(map(_root, typed["raiz"].split(",")))
    if typed["limite"] not in SIZES:
        typed["limite"] = USUAL_SIZE
    return {name: value for name, value in typed.items() if value}


def understood(
    filters: Mapping[str, str], form: Mapping[str, str], names: MonthNames, today: str
) -> Terms:
    """Return the filters with words and names replaced by values, and the errors of the others.

    `form`: with the choices that were ticked.
    """
    filters, choices, complaints = dict(filters), dict[str, Sequence[Choice]](), dict[str, str]()
    ufs = {each.strip().upper() for each in filters.get("uf", "").split(",")} - {""}
    for name in (*ACTIVITIES, *TOWNS):
        prefix = f"{_TICKED}{name}_"
        ticked = [each.removeprefix(prefix) for each in form if each.startswith(prefix)]
        values: list[str] = []
        for value in filter(None, (each.strip() for each in filters.get(name, "").split(","))):
            known = _known_town(value, names, ufs) if name in TOWNS else _known_code(value)
            if known is not None:
                values.append(known)
            elif not ticked:
                complaints[name], choices[name] = (
                    _about_town(value, names, ufs)
                    if name in TOWNS
                    else _about_activity(value, names)
                )
                values.append(value)
        if values or ticked:
            filters[name] = ", ".join(dict.fromkeys([*values, *ticked]))
    for name, value in filters.items():
        if name in FILTER_NAMES and name not in TOWNS and name not in complaints:
            _judge(name, {name: value}, today, complaints)
    if not complaints:
        _judge(
            None, {name: filters[name] for name in filters if name not in TOWNS}, today, complaints
        )
    return Terms(filters, complaints, choices)


def suggested(name: str, text: str, ufs: str, names: MonthNames) -> Sequence[Choice]:
    """Return values for the last part of a text that is being typed."""
    last = text.rpartition(",")[2].strip()
    if len(last) < 2:
        return ()
    if name in TOWNS:
        within = {each.strip().upper() for each in ufs.split(",")} - {""}
        return [_of_town(town) for town in towns_like(last, names.towns, within, _CHOICES_MAX)]
    return [_of_activity(each) for each in activities_like(last, names.activities, _CHOICES_MAX)]


def complaint_about(message: str) -> tuple[str, str] | None:
    """Return the field that an error of the API is about, and its text there; None: no field."""
    found = _NAMED.search(message)
    if found is None:
        return None
    name = found[1]
    rest = re.sub(rf"^(?:O parâmetro {name} |Em {name}, )", "", message)
    return name, in_words(rest[:1].upper() + rest[1:])


def in_words(message: str) -> str:
    """Replace the API's parameter names in an error by the form's labels."""
    return _NAMED.sub(lambda match: f"“{LABELS[match[1]]}”", message)


def reading(text: str) -> Reading:
    """Return the documents in a text."""
    return read(text, {"cnpj"}, only=False, digits_least=CNPJ_CHARACTERS)


def _root(text: str) -> str:
    """Return the root if the whole number of a company was typed; else the text."""
    company = reading(text).document
    return company.root if isinstance(company, Cnpj) else text


def _judge(
    name: str | None, filters: Mapping[str, str], today: str, complaints: dict[str, str]
) -> None:
    """Add what the API finds wrong with some filters, at `name` or the field of its message."""
    try:
        read_filters(filters.get, today)
    except FilterRequired:
        return
    except InvalidParameter as error:
        about = complaint_about(str(error)) or ("q", str(error))
        complaints[name or about[0]] = about[1]


def _known_code(value: str) -> str | None:
    code = value.translate(str.maketrans("", "", "-/. "))
    return code if code.isdecimal() else None


def _known_town(value: str, names: MonthNames, ufs: set[str]) -> str | None:
    if value.isdecimal():
        return value
    found = towns_named(value, names.towns, ufs)
    return found[0].written if len(found) == 1 else None


def _about_activity(value: str, names: MonthNames) -> tuple[str, Sequence[Choice]]:
    found = activities_like(value, names.activities, _CHOICES_MAX)
    if not found:
        return f"Nenhuma atividade com “{value}”. Tente outra palavra, ou o código.", ()
    return f"Atividades com “{value}”. Escolha uma ou várias:", [_of_activity(e) for e in found]


def _about_town(value: str, names: MonthNames, ufs: set[str]) -> tuple[str, Sequence[Choice]]:
    if found := towns_named(value, names.towns, ufs):
        text = f"Há {len(found)} municípios com o nome “{value}”. Escolha:"
        return text, [_of_town(town) for town in found]
    if elsewhere := towns_named(value, names.towns, ()):
        states = ", ".join(sorted(town.uf or "EX" for town in elsewhere))
        return f"Não há “{value}” na UF indicada. Há em {states}.", ()
    similar = similar_towns(value, names.towns, ufs) or towns_like(value, names.towns, ufs, 5)
    if not similar:
        return f"Município “{value}” não encontrado. Confira a grafia.", ()
    return f"Município “{value}” não encontrado. Você quis dizer:", [*map(_of_town, similar)]


def _of_activity(found: tuple[str, str]) -> Choice:
    code, name = found
    return Choice(code, name, code)


def _of_town(town: Town) -> Choice:
    return Choice(town.written, town.name if town.uf is None else town.written)
