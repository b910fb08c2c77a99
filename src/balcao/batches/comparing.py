"""Comparison of a file's data about a company with the answer's ("conferência", ADR 0045).

Both are normalised first: case, accents, punctuation, legal forms, abbreviations of streets. Only
names and streets can be similar (`parecido`) without being equal.
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from balcao.core.federation import UF_NAMES
from balcao.core.text import unaccented
from balcao.core.words import spelled, town_words
from balcao.core.writing import cep, cnae
from balcao.operations.contract import Operation

CheckResult: TypeAlias = Literal["igual", "parecido", "diferente", "ausente", "nao_verificado"]

_ALIKE = 0.84  # similarity by characters: one wrong letter in a short name, one word in a long one
_NAME_CHARACTERS_MAX = 300  # longer than any name: bounds the comparison by characters

_NO_DIGIT = re.compile("[^0-9]")

# Words removed from the end of names: with or without them it is one company.
_LEGAL_FORMS = frozenset(
    {
        "ltda", "limitada", "me", "mei", "epp", "eireli", "eirl", "sa", "ss", "slu", "cia",
        "companhia", "sociedade", "anonima", "unipessoal", "empresa", "individual", "de",
        "responsabilidade", "microempresa", "pequeno", "porte", "inc",
    }
)  # fmt: skip
_STATES_OF_COMPANIES = (
    " em recuperacao judicial",
    " em liquidacao extrajudicial",
    " em liquidacao",
    " massa falida",
)
_SHORT_IN_NAMES: Mapping[str, str] = {
    "com": "comercio", "comerc": "comercio", "ind": "industria",
    "indust": "industria", "serv": "servicos", "servs": "servicos", "servico": "servicos",
    "imp": "importacao", "exp": "exportacao", "dist": "distribuidora",
    "distrib": "distribuidora", "transp": "transportes", "transporte": "transportes",
    "const": "construtora", "adm": "administracao", "assoc": "associacao",
    "coop": "cooperativa", "prod": "produtos", "produto": "produtos", "repres": "representacoes",
    "mat": "materiais", "cia": "companhia",
}  # fmt: skip
_SMALL_WORDS = frozenset(["de", "da", "do", "das", "dos", "e"])

_SHORT_IN_STREETS: Mapping[str, str] = {
    "r": "rua", "av": "avenida", "ave": "avenida", "aven": "avenida", "al": "alameda",
    "tv": "travessa", "trav": "travessa", "pc": "praca", "pca": "praca", "pr": "praca",
    "rod": "rodovia", "est": "estrada", "estr": "estrada", "lg": "largo", "vl": "vila",
    "jd": "jardim", "pq": "parque", "dr": "doutor", "dra": "doutora", "prof": "professor",
    "profa": "professora", "eng": "engenheiro", "cel": "coronel", "gal": "general",
    "gen": "general", "mal": "marechal", "cap": "capitao", "ten": "tenente", "sgt": "sargento",
    "pe": "padre", "sen": "senador", "dep": "deputado", "ver": "vereador", "pres": "presidente",
    "gov": "governador", "des": "desembargador", "brig": "brigadeiro", "vva": "viuva",
    "s": "sao", "sto": "santo", "sta": "santa", "n": "nossa", "sra": "senhora",
}  # fmt: skip
_STREET_KINDS = frozenset(
    {
        "rua", "avenida", "alameda", "travessa", "praca", "rodovia", "estrada", "largo", "vila",
        "jardim", "parque", "quadra",
    }
)  # fmt: skip

_NONE = frozenset({"isento", "isenta", "nao contribuinte", "nao possui", "nenhuma"})


class Comparison(msgspec.Struct, frozen=True, gc=False):
    """The comparison of one cell with the official value.

    `ausente`: the cell is empty, but an official value exists. `nao_verificado`: no answer has
    the official value. `official` is formatted for people.
    """

    fact: str
    result: CheckResult
    official: str


def compare(
    operation: Operation, own: Sequence[tuple[str, str]], body: Mapping[str, Any] | None
) -> Sequence[Comparison]:
    """Compare cells (`ColumnMap.comparisons`) with an answer's body, None if there is no answer."""
    return [_compared(operation, fact, text, body) for fact, text in own]


def _compared(
    operation: Operation, fact: str, text: str, body: Mapping[str, Any] | None
) -> Comparison:
    of = operation.sheet_columns.official.get(fact)
    values = of(body) if of is not None and body is not None else None
    if values is None:
        return Comparison(fact, "nao_verificado", "")
    if not values:  # officially there is none
        none = not text or " ".join(spelled(text)) in _NONE
        return Comparison(fact, "igual" if none else "diferente", "nenhuma")
    official = ", ".join(_WRITTEN.get(fact, str)(value) for value in values)
    if not text.strip():
        return Comparison(fact, "ausente", official)
    judge = _JUDGES[fact]
    results = [judge(text, value) for value in values]
    return Comparison(fact, min(results, key=_ORDER.index), official)


_ORDER: Sequence[CheckResult] = ("igual", "parecido", "diferente")


def _exact(form: Callable[[str], str]) -> Callable[[str, str], CheckResult]:
    """Return a comparison for equality after normalising both texts with `form`."""

    def judge(own: str, official: str) -> CheckResult:
        return "igual" if form(own) == form(official) else "diferente"

    return judge


def _digits(text: str, length: int) -> str:
    """Return the digits, with leading zeros restored up to `length`."""
    return _NO_DIGIT.sub("", text).zfill(length)


def _cnae_code(text: str) -> str:
    """Return the digits of a CNAE code, without its description."""
    found = re.match(r"[0-9./\s-]+", text.strip())
    return _digits(found[0] if found else "", 7)


def _registration(text: str) -> str:
    """Return a state registration's characters without leading zeros, which spreadsheets lose."""
    return re.sub("[^0-9a-z]", "", unaccented(text)).lstrip("0")


def _uf(text: str) -> str:
    plain = " ".join(spelled(text))
    return UF_NAMES.get(plain, plain.upper())


def _town(text: str) -> str:
    """Return a town's name without a UF after it."""
    return " ".join(town_words(text))


def _situation(text: str) -> str:
    """Return the status in its feminine form, as the registry has it: `Ativo` → `ativa`."""
    words = spelled(text)
    first = words[-1] if words and words[0].isdigit() else (words or [""])[0]
    return first[:-1] + "a" if first.endswith("o") else first


def _name(text: str) -> tuple[str, ...]:
    plain = " ".join(spelled(text))
    for state in _STATES_OF_COMPANIES:
        plain = plain.removesuffix(state)
    words = plain.split()
    while len(words) > 1 and words[-1] in _LEGAL_FORMS:
        words.pop()
    return tuple(_SHORT_IN_NAMES.get(word, word) for word in words)


def _names(own: str, official: str) -> CheckResult:
    """Compare names of companies: `parecido` if abbreviated, shortened or misspelt."""
    ours, theirs = _name(own[:_NAME_CHARACTERS_MAX]), _name(official[:_NAME_CHARACTERS_MAX])
    if ours == theirs:
        return "igual"
    ours, theirs = _meaningful(ours), _meaningful(theirs)
    if ours == theirs:
        return "igual"
    return "parecido" if _abbreviated(ours, theirs) or _alike(ours, theirs) else "diferente"


def _streets(own: str, official: str) -> CheckResult:
    """Compare streets; the file's may continue with number, floor and district."""
    ours = tuple(_SHORT_IN_STREETS.get(word, word) for word in spelled(own))
    theirs = tuple(_SHORT_IN_STREETS.get(word, word) for word in spelled(official))
    if ours == theirs or (len(ours) > len(theirs) > 1 and ours[: len(theirs)] == theirs):
        return "igual"
    ours, theirs = _street_name(ours), _street_name(theirs)
    ours = ours[: max(1, len(theirs))]
    same = ours == theirs or _abbreviated(ours, theirs) or _alike(ours, theirs)
    return "parecido" if same else "diferente"


def _street_name(words: tuple[str, ...]) -> tuple[str, ...]:
    return _meaningful(words[1:] if len(words) > 1 and words[0] in _STREET_KINDS else words)


def _meaningful(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _SMALL_WORDS) or words


def _abbreviated(ours: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    """Return whether one name is the other with words shortened or omitted.

    At least two words must be left, the first among them: `PADARIA` alone matches too many.
    """
    few, many = sorted((ours, theirs), key=len)
    if len(few) < 2 or not _shortened(few[0], many[0]):
        return False
    rest = iter(many)
    return all(any(_shortened(word, other) for other in rest) for word in few)


def _shortened(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return short == long or (len(short) >= 3 and long.startswith(short))


def _alike(ours: tuple[str, ...], theirs: tuple[str, ...]) -> bool:
    one, other = " ".join(ours), " ".join(theirs)
    if 2 * min(len(one), len(other)) < _ALIKE * (len(one) + len(other)):  # cannot be reached
        return False
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE


_JUDGES: Mapping[str, Callable[[str, str], CheckResult]] = {
    "razao_social": _names,
    "nome_fantasia": _names,
    "logradouro": _streets,
    "inscricao_estadual": _exact(_registration),
    "uf": _exact(_uf),
    "municipio": _exact(_town),
    "cep": _exact(lambda text: _digits(text, 8)),
    "situacao": _exact(_situation),
    "cnae": _exact(_cnae_code),
}
_WRITTEN: Mapping[str, Callable[[str], str]] = {"cep": cep, "cnae": cnae}
