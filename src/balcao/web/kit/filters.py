"""Filters of pages: the period and the choices in an address, and addresses with them."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from balcao.accounts.statement import DAYS_MAX, ChargeFilter, Period, read_day
from balcao.core.availability import ALL_UFS
from balcao.core.calendar import civil_day
from balcao.core.documents import Cpf
from balcao.core.errors import InvalidCpf
from balcao.core.federation import ALL, UFS
from balcao.core.ledger import ORIGIN_WORDS, Origin
from balcao.core.writing import listed
from balcao.operations.names import SHORT
from balcao.web.kit import returning
from balcao.web.kit.context import PageContext
from balcao.web.kit.words import vocabulary

WEB: Literal["web"] = "web"  # in place of a key's number: requests from the web application
# In place of a person, a UF or a client: requests without one. No tag looks so (contract 11.1).
NONE = "(sem)"

_PROBLEMS: Mapping[str, str] = {
    "order": "A primeira data é depois da última.",
    "length": f"O período pode ter no máximo {DAYS_MAX} dias.",
}
_CUT = "A última data ainda não chegou: o período vai até hoje."

_TAG_CHARACTERS_MAX = 64

_FILTERS: Mapping[str, str] = {
    "operacao": "operação",
    "chave": "chave",
    "origem": "origem",
    "cliente": "cliente",
    "pessoa": "pessoa",
    "uf": "UF",
}

# Options of a select: value and text.
Options = Sequence[tuple[str, str]]

OPERATIONS: Options = [("", "todas"), *SHORT.items()]
UF_OPTIONS: Options = [
    ("", "todas"),
    (ALL_UFS, "Todas de uma vez"),
    *((uf, uf) for uf in UFS),
    (NONE, vocabulary.NO_UF),
]
# The ledger counts our own copy as a source.
EITHER = f"{ORIGIN_WORDS['online']} ou da {vocabulary.OWN_COPY}"
ORIGINS: Options = [
    ("", "todas"),
    ("cache", ORIGIN_WORDS["cache"]),
    ("online", EITHER),
]


_UFS_IN_WORDS: Mapping[str, str] = {ALL: "todas as UFs de uma vez", "": vocabulary.NO_UF}


@dataclass(frozen=True, slots=True)
class AskedPeriod:
    """The period of `de` and `ate`; the usual one, with a complaint, if they are invalid."""

    period: Period
    complaint: str | None
    note: str | None = None  # a correction that was made


def period(fields: Mapping[str, str], today: datetime.date) -> AskedPeriod:
    """Return the period of `de` and `ate`; empty ones mean the usual 30 days."""

    def usual(complaint: str) -> AskedPeriod:
        return AskedPeriod(Period.of(None, None, today), complaint)

    try:
        first, last = (
            read_day(text) if (text := fields.get(name, "").strip()) else None
            for name in ("de", "ate")
        )
        asked = Period.of(first, last, today)
    except ValueError:
        return usual("Uma das datas não existe.")
    if asked.problem is not None:
        return usual(_PROBLEMS[asked.problem])
    if asked.first > today:
        return usual("A primeira data ainda não chegou.")
    if asked.last > today:
        return AskedPeriod(Period(asked.first, today), None, _CUT)
    return AskedPeriod(asked, None)


def choice(fields: Mapping[str, str], names: Mapping[int | None, str]) -> ChargeFilter:
    """Return the choice in `operacao`, `chave`, `origem`, `cliente`, `pessoa` and `uf`.

    Unknown values, and keys that are not in `names`, count as missing: see `ignored`.
    """
    key, operation = fields.get("chave", ""), fields.get("operacao", "")
    number = int(key) if is_number(key) else None
    return ChargeFilter(
        operation=operation if operation in SHORT else None,
        key=WEB if key == WEB else number if number in names else None,
        origin=origin_of(fields.get("origem", "")),
        client="" if fields.get("cliente") == NONE else tag(fields, "cliente"),
        user=_user(fields.get("pessoa", "")),
        uf=_uf(fields.get("uf", "")),
    )


def in_words(
    chosen: ChargeFilter, keys: Mapping[int | None, str], users: Mapping[int, str]
) -> Sequence[str]:
    """Return a choice in words, without its origin."""
    user, uf, client = chosen.user, chosen.uf, chosen.client
    active = (
        chosen.operation and vocabulary.short(chosen.operation),
        uf is not None and _UFS_IN_WORDS.get(uf, f"UF {uf}"),
        user is not None and (users.get(user, f"usuário {user}") if user else "por chave"),
        chosen.key is not None and keys[None if chosen.key == WEB else chosen.key],
        client is not None and (f"cliente {client}" if client else vocabulary.NO_CLIENT),
    )
    return [each for each in active if each]


def _user(text: str) -> int | None:
    if text == NONE:
        return 0
    # Removed users count, too: their requests stay theirs.
    return int(text) if is_number(text) and int(text) else None


def _uf(text: str) -> str | None:
    if text == NONE:
        return ""
    return text if text in UFS or text == ALL_UFS else None


def tag(fields: Mapping[str, str], name: str) -> str | None:
    """Return the tag `cliente` or `referencia`; None for a CPF, which must not be in an address."""
    text = fields.get(name, "").strip()[:_TAG_CHARACTERS_MAX]
    try:
        Cpf.parse(text)
    except InvalidCpf:
        return text or None
    return None


def ignored(fields: Mapping[str, str], chosen: ChargeFilter) -> str | None:
    """Return a note about filters that were ignored as unknown; None: there are none."""
    applied = {
        "operacao": chosen.operation,
        "chave": chosen.key,
        "origem": chosen.origin,
        "cliente": chosen.client,
        "pessoa": chosen.user,
        "uf": chosen.uf,
    }
    left_out = [
        _FILTERS[name] for name, value in applied.items() if fields.get(name) and value is None
    ]
    if not left_out:
        return None
    return f"Filtro desconhecido, ignorado: {listed(left_out)}."


def origin_of(text: str) -> Origin | None:
    """Return the text as an origin; None if it is none."""
    return "cache" if text == "cache" else "online" if text == "online" else None


def is_number(text: str) -> bool:
    """Return whether a text can be a number of ours (of a key, a user): short, digits only."""
    return text.isascii() and text.isdecimal() and len(text) <= 15


def months(today: datetime.date) -> Sequence[tuple[str, Period]]:
    """Return the most used periods, by name."""
    first = today.replace(day=1)
    before = first - datetime.timedelta(days=1)
    return (
        ("Este mês", Period(first, today)),
        ("Mês passado", Period(before.replace(day=1), before)),
        ("30 dias", Period.of(None, None, today)),
    )


def today_of(context: PageContext) -> datetime.date:
    """Return the civil day in Brasília."""
    return civil_day(context.now_ms())


def keys(names: Mapping[int | None, str]) -> Options:
    """Return the options for keys, including the web application, which uses none."""
    numbered = [(str(number), name) for number, name in names.items() if number is not None]
    return [("", "todas"), (WEB, names[None]), *numbered]


def people(users: Mapping[int, str], chosen: int | None = None) -> Options:
    """Return the options for users, including the chosen one and "none" (through a key)."""
    others = {chosen: f"usuário {chosen}"} if chosen and chosen not in users else {}
    named = [(str(number), name) for number, name in (dict(users) | others).items()]
    return [("", "todas"), *named, (NONE, "nenhuma (por chave)")]


def address(path: str, fields: Mapping[str, str]) -> str:
    """Return the address of a page with its filters; empty ones are left out."""
    return returning.address(path, {name: value for name, value in fields.items() if value})


def fields_of(asked: Period, chosen: ChargeFilter) -> dict[str, str]:
    """Return period and choice as fields for `address`."""
    return {
        "de": asked.first.isoformat(),
        "ate": asked.last.isoformat(),
        "operacao": chosen.operation or "",
        "chave": "" if chosen.key is None else str(chosen.key),
        "origem": chosen.origin or "",
        "cliente": NONE if chosen.client == "" else chosen.client or "",
        "pessoa": NONE if chosen.user == 0 else str(chosen.user or ""),
        "uf": NONE if chosen.uf == "" else chosen.uf or "",
    }
