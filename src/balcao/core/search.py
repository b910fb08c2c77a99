"""Company search: filters of a request, index queries, checks of records, and cursors.

Pure: parameters become `Filters`, these become an expression over the index's tokens and an exact
check of each record found (contract 14.1 to 14.3). The index may find too many records, never too
few.
"""

import datetime
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal, TypeAlias

import msgspec

from balcao.core.documents import Cnpj, Cpf
from balcao.core.errors import (
    CursorOfAnotherMonth,
    FilterRequired,
    InvalidCnpj,
    InvalidCpf,
    InvalidParameter,
)
from balcao.core.search_ranges import Days, TokenRange, classes, periods
from balcao.core.search_record import (
    ACTIVITY_FILTERS,
    ACTIVITY_NOT_INFORMED,
    CODED,
    MEI_WITHOUT_PERSON,
    OPENED,
    PARTNER_CPF,
    PARTNER_ROOT,
    PERSON,
    POSTAL,
    POSTAL_DIGITS,
    STATUS_CHANGED,
    SearchRecord,
    document_token,
    is_person,
    token,
)
from balcao.core.words import (
    indexed_words_of,
    state_behind,
    town_words,
    words_and_prefix,
    words_of,
)

LIMIT_MAX = 100
PREFIX_LETTERS_MIN = 3  # of a word that ends in `*`
COUNT_MAX = 10_000  # counted exactly up to here
RANKED_MAX = 1_000  # candidates that are sorted by relevance
_VALUES_MAX = 50  # of one filter
_WORDS_MAX = 20
_ONLY_YES = frozenset({"1"})
_CHARACTERS_MAX = 200

_RANGES = ("aberta_desde", "aberta_ate", "situacao_desde", "situacao_ate")
_AMOUNTS = ("capital_min", "capital_max")
FILTER_NAMES: Sequence[str] = ("q", *CODED, *_RANGES, *_AMOUNTS, "cep", "raiz")
NAMES: Sequence[str] = (*FILTER_NAMES, "pessoas", "limite", "cursor")
PARTNER_NAMES: Sequence[str] = ("nome", "documento", "limite")

Get: TypeAlias = Callable[[str], str | None]


class Filters(msgspec.Struct, frozen=True):
    """The filters of a request. A record must match all of them, and any value of each."""

    words: Sequence[str] = ()  # of the legal or the trade name
    prefix: str | None = None  # of one more word
    coded: Mapping[str, frozenset[str]] = {}  # by the names in `CODED`
    cities: Sequence[str] = ()  # as sent; `resolved` turns them into codes
    opened: Days = (None, None)
    status_day: Days = (None, None)
    capital: tuple[Decimal | None, Decimal | None] = (None, None)
    ceps: Sequence[str] = ()  # prefixes
    roots: Sequence[str] = ()
    people: bool = False  # include natural persons

    @property
    def by_name_only(self) -> bool:
        """Whether results are sorted by relevance (contract 14.5)."""
        return self == Filters(words=self.words, prefix=self.prefix, people=self.people)

    def matches(self, record: SearchRecord) -> bool:
        """Return whether a record matches every filter."""
        if record.person and not self.people:
            return False
        if self.roots and record.cnpj[:8] not in self.roots:
            return False
        for name, wanted in self.coded.items():
            if wanted.isdisjoint(CODED[name].of(record)):
                return False
        return (
            self.matches_place_and_days(record.cep, record.opened, record.status_day)
            and self.bears(record.capital)
            and self._named(record)
        )

    @property
    def wants_place_or_days(self) -> bool:
        """Whether there are filters that `matches_place_and_days` checks."""
        return bool(self.ceps) or self.opened != (None, None) or self.status_day != (None, None)

    def matches_place_and_days(self, cep: str, opened: str | None, status_day: str | None) -> bool:
        """Return whether these columns match the filters that the index cannot check."""
        return (
            (not self.ceps or cep.startswith(tuple(self.ceps)))
            and _within(self.opened, opened)
            and _within(self.status_day, status_day)
        )

    def bears(self, capital: Decimal | None) -> bool:
        """Return whether a capital is in the range."""
        least, most = self.capital
        if least is None and most is None:
            return True
        if capital is None:
            return False
        return (least is None or capital >= least) and (most is None or capital <= most)

    def _named(self, record: SearchRecord) -> bool:
        if not self.words and self.prefix is None:
            return True
        found = {*indexed_words_of(record.name), *indexed_words_of(record.trade_name)}
        if not found.issuperset(self.words):
            return False
        return self.prefix is None or any(word.startswith(self.prefix) for word in found)

    @property
    def expression(self) -> str | None:
        """The query of the index; None if it cannot help with these filters."""
        return _excluding(*self._terms)

    @property
    def index_checks_codes(self) -> bool:
        """Whether the index decides everything but days, amounts and CEPs."""
        return (
            self.expression is not None
            and not self.matches_nothing
            and not self.roots
            and all(each.inside for each in self._ranges if each.is_set)
        )

    @property
    def certain(self) -> str | None:
        """The query of records that need no check; None if every record needs one."""
        if not self.index_checks_codes or any(len(cep) > POSTAL_DIGITS for cep in self.ceps):
            return None
        every, outside = self._terms
        return _excluding(every, [*outside, *self._in_part])

    @property
    def uncertain(self) -> str | None:
        """The query of records that `certain` leaves out and that may match; None: none."""
        if not self._in_part:
            return None
        every, outside = self._terms
        return _excluding([*every, _any(self._in_part)], outside)

    @property
    def _in_part(self) -> Sequence[str]:
        return [code for each in self._ranges for code in each.in_part]

    @property
    def _ranges(self) -> Sequence[TokenRange]:
        return (
            periods(OPENED, self.opened),
            periods(STATUS_CHANGED, self.status_day),
            classes(*self.capital),
        )

    @property
    def _terms(self) -> tuple[Sequence[str], Sequence[str]]:
        """The conditions of the index's query, and the tokens it excludes."""
        every = [_quoted(word) for word in self.words]
        if self.prefix is not None:
            every.append(f"{_quoted(self.prefix)}*")
        for name, values in self.coded.items():
            prefix = CODED[name].prefix
            if name == "mei" and values == _ONLY_YES and not self.people:
                prefix = MEI_WITHOUT_PERSON
            every.append(_any([token(prefix, value) for value in sorted(values)]))
        if self.ceps:
            every.append(_either(sorted({_postal(cep) for cep in self.ceps})))
        ranges = [each for each in self._ranges if each.inside]
        if (every or ranges) and not self.people:  # alone it would match nearly everything
            every.append(_quoted(token(PERSON, "0")))
        outside: list[str] = []
        for each in ranges:
            if every and each.by_outside:
                outside += each.outside
            else:
                every.append(_any(each.inside))
            outside += each.near
        return every, outside

    @property
    def matches_nothing(self) -> bool:
        """Whether no record can match: only legal natures of persons, without `people`."""
        natures = self.coded.get("natureza", ())
        return bool(natures) and not self.people and all(map(is_person, natures))

    @property
    def about_people(self) -> bool:
        """Whether natural persons are requested, explicitly or by a filter that implies them.

        Nearly every MEI is a sole trader.
        """
        return self.people or self.matches_nothing or self.coded.get("mei") == _ONLY_YES

    @property
    def people_parameter(self) -> str:
        """The parameter because of which `about_people` is true, as it was sent."""
        if self.people:
            return "pessoas=true"
        return "natureza só de pessoas físicas" if self.matches_nothing else "mei=true"

    def relevance(self, record: SearchRecord) -> tuple[bool, bool, bool, bool, str]:
        """Return the sort key: exact name, words in order, head office, active, then CNPJ."""
        names = [list(words_of(record.name)), list(words_of(record.trade_name))]
        wanted = list(self.words)
        exact = self.prefix is None and wanted in names
        in_order = any(_follows(name, wanted, self.prefix) for name in names)
        return not exact, not in_order, not record.head, record.status != "02", record.cnpj


def _follows(name: Sequence[str], wanted: Sequence[str], prefix: str | None) -> bool:
    """Return whether the name contains the words next to each other, in order."""
    count = len(wanted) + (prefix is not None)
    for at in range(len(name) - count + 1):
        if list(name[at : at + len(wanted)]) == wanted and (
            prefix is None or name[at + len(wanted)].startswith(prefix)
        ):
            return True
    return False


def _quoted(text: str) -> str:
    return f'"{text}"'


def _any(terms: Sequence[str]) -> str:
    return _either([_quoted(term) for term in terms])


def _either(expressions: Sequence[str]) -> str:
    together = " OR ".join(expressions)
    return together if len(expressions) == 1 else f"({together})"


def _postal(cep: str) -> str:
    """Return the query for a CEP prefix; the index contains the first `POSTAL_DIGITS`."""
    return _quoted(token(POSTAL, cep[:POSTAL_DIGITS])) + ("*" if len(cep) < POSTAL_DIGITS else "")


def _within(days: Days, day: str | None) -> bool:
    first, last = days
    if first is None and last is None:
        return True
    if day is None:
        return False
    return (first is None or first <= day) and (last is None or day <= last)


def _excluding(every: Sequence[str], but: Sequence[str]) -> str | None:
    conditions = " AND ".join(every)
    return f"({conditions}) NOT {_any(but)}" if but else conditions or None


# Parameters.


def read_filters(get: Get, today: str) -> Filters:
    """Return the filters of a request. Raises `InvalidParameter`, `FilterRequired`.

    `today` (YYYY-MM-DD) limits ranges without an end.
    """
    words, prefix = _words(get("q"))
    cities: Sequence[str] = ()
    coded: dict[str, frozenset[str]] = {}
    for name, known in CODED.items():
        values = _values(name, get)
        if name == "municipio":
            cities = values
            continue
        read = [known.read(value) for value in values]
        if None in read:
            raise InvalidParameter(f"O parâmetro {name} aceita {known.words}.")
        if values:
            coded[name] = frozenset(value for value in read if value is not None)
    filters = Filters(
        words,
        prefix,
        coded,
        cities,
        _days("aberta_desde", "aberta_ate", get, today),
        _days("situacao_desde", "situacao_ate", get, today),
        _amounts(get),
        _formed("cep", get, re.compile("[0-9]{5,8}", re.ASCII), "-", "de 5 a 8 dígitos"),
        _formed("raiz", get, re.compile("[0-9A-Z]{8}", re.ASCII), "./-", "raízes de 8 caracteres"),
    )
    if filters == Filters():
        raise FilterRequired
    return msgspec.structs.replace(filters, people=_flag("pessoas", get))


def _words(text: str | None) -> tuple[Sequence[str], str | None]:
    if not text:
        return (), None
    words: Sequence[str]
    prefix: str | None = None
    if text.endswith("*"):
        words, prefix = words_and_prefix(text[:-1])
    else:
        words = words_of(text)
    count = len(words) + (prefix is not None)
    if len(text) > _CHARACTERS_MAX or not 0 < count <= _WORDS_MAX:
        raise InvalidParameter(
            f"O parâmetro q deve ter de 1 a {_WORDS_MAX} palavras de um nome; um CPF não é"
            " procurado."
        )
    if prefix is not None and len(prefix) < PREFIX_LETTERS_MIN:
        raise InvalidParameter(
            f"Em q, a palavra antes de * deve ter ao menos {PREFIX_LETTERS_MIN} letras."
        )
    return tuple(words), prefix


def _values(name: str, get: Get) -> Sequence[str]:
    text = get(name)
    if not text:
        return ()
    values = tuple([value.strip() for value in text.split(",")])
    if len(values) > _VALUES_MAX or not all(values):
        raise InvalidParameter(
            f"O parâmetro {name} aceita de 1 a {_VALUES_MAX} valores, separados por vírgula."
        )
    return values


def _formed(name: str, get: Get, form: re.Pattern[str], signs: str, words: str) -> Sequence[str]:
    drop = str.maketrans("", "", signs)
    found = tuple([value.upper().translate(drop) for value in _values(name, get)])
    if not all(map(form.fullmatch, found)):
        raise InvalidParameter(f"O parâmetro {name} aceita {words}.")
    return found


def _days(since: str, until: str, get: Get, today: str) -> Days:
    first, last = _day(since, get(since)), _day(until, get(until))
    if first is not None and last is None:
        # The registry contains days up to two years in the future.
        last = f"{int(today[:4]) + 3:04d}-12-31"
        return (first, max(first, last))
    if first is not None and last is not None and first > last:
        raise InvalidParameter(f"O parâmetro {since} é posterior a {until}.")
    return first, last


def _day(name: str, text: str | None) -> str | None:
    if not text:
        return None
    try:
        if len(text) != len("AAAA-MM-DD"):
            raise ValueError
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise InvalidParameter(f"O parâmetro {name} deve ser um dia na forma AAAA-MM-DD.") from None


_AMOUNT = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,2})?", re.ASCII)


def _amounts(get: Get) -> tuple[Decimal | None, Decimal | None]:
    least, most = (_amount(name, get(name)) for name in _AMOUNTS)
    if least is not None and most is not None and least > most:
        raise InvalidParameter("O parâmetro capital_min é maior que capital_max.")
    return least, most


def _amount(name: str, text: str | None) -> Decimal | None:
    if not text:
        return None
    try:
        if not _AMOUNT.fullmatch(text):
            raise InvalidOperation
        return Decimal(text)
    except InvalidOperation:
        raise InvalidParameter(
            f"O parâmetro {name} deve ser um valor em reais, como 1000 ou 1000.50."
        ) from None


def _flag(name: str, get: Get) -> bool:
    text = get(name)
    if not text:
        return False
    known = CODED["matriz"].read(text)
    if known is None:
        raise InvalidParameter(f"O parâmetro {name} deve ser true ou false.")
    return known == "1"


def read_limit(get: Get) -> int:
    """Return the largest number of results of a page. Raises `InvalidParameter`."""
    text = get("limite")
    if text is None:
        return LIMIT_MAX
    if not re.fullmatch("[0-9]{1,3}", text, re.ASCII) or not 1 <= int(text) <= LIMIT_MAX:
        raise InvalidParameter(f"O parâmetro limite deve ser um número de 1 a {LIMIT_MAX}.")
    return int(text)


def resolved(
    filters: Filters,
    names: Mapping[str, str],
    codes_of_ibge: Mapping[str, str],
    activities: Collection[str],
) -> Filters:
    """Return the filters with cities and beginnings of activities replaced by their codes.

    `names`: the month's municipalities, by code; `activities`: the codes of its activities. Raises
    `InvalidParameter`. A name needs a UF, since names repeat across states; the UF may follow it
    (`São Paulo/SP`). Names are compared word by word.
    """
    coded = dict(filters.coded)
    for name in ACTIVITY_FILTERS:
        if name in coded:
            coded[name] = frozenset(
                code for sent in coded[name] for code in _activity_codes(name, sent, activities)
            )
    if filters.cities:
        _resolve_cities(coded, filters.cities, names, codes_of_ibge)
    return msgspec.structs.replace(filters, coded=coded, cities=())


def _activity_codes(name: str, sent: str, activities: Collection[str]) -> Sequence[str]:
    """Return the codes that begin with the digits sent; an activity not informed is in no group."""
    if len(sent) == len(ACTIVITY_NOT_INFORMED):
        return (sent,)
    found = [code for code in activities if code.startswith(sent) and code != ACTIVITY_NOT_INFORMED]
    if not found:
        raise InvalidParameter(f"O parâmetro {name} tem um código desconhecido: {sent}.")
    return found


def _resolve_cities(
    coded: dict[str, frozenset[str]],
    cities: Sequence[str],
    names: Mapping[str, str],
    codes_of_ibge: Mapping[str, str],
) -> None:
    states = {city: state_behind(city) for city in cities}
    if "uf" not in coded and None not in states.values():
        coded["uf"] = frozenset(uf for uf in states.values() if uf is not None)
    by_words: dict[tuple[str, ...], list[str]] = {}
    for code, name in names.items():
        by_words.setdefault(tuple(town_words(name)), []).append(code)
    found: set[str] = set()
    for sent, state in states.items():
        if sent.isdecimal():
            found.add(_city_code(sent, names, codes_of_ibge))
            continue
        if "uf" not in coded or (state is not None and state not in coded["uf"]):
            raise InvalidParameter("Com o nome de um municipio, informe também a uf.")
        known = by_words.get(tuple(town_words(sent)))
        if not known:
            raise InvalidParameter("O parâmetro municipio tem um nome desconhecido.")
        found.update(known)
    coded["municipio"] = frozenset(found)


def _city_code(sent: str, names: Mapping[str, str], codes_of_ibge: Mapping[str, str]) -> str:
    code = codes_of_ibge.get(sent, "") if len(sent) == len("3550308") else sent
    if code not in names:
        raise InvalidParameter(f"O parâmetro municipio tem um código desconhecido: {sent}.")
    return code


# Partners.


class PartnerFilters(msgspec.Struct, frozen=True):
    """The filters of a search by partner: words of the name, or a document."""

    words: Sequence[str] = ()
    document: str | None = None  # its token

    @property
    def expression(self) -> str:
        """The query of the index."""
        every = [*self.words, *([self.document] if self.document else [])]
        return " AND ".join(map(_quoted, every))

    def matches(self, name: str, document: str) -> bool:
        """Return whether a partner matches both filters."""
        if self.document is not None and document_token(document) != self.document:
            return False
        return set(indexed_words_of(name)).issuperset(self.words)


def read_partner(get: Get) -> PartnerFilters:
    """Return the filters of a search by partner. Raises `InvalidParameter`, `FilterRequired`."""
    words, prefix = _words(get("nome"))
    if prefix is not None:
        raise InvalidParameter("O parâmetro nome não aceita *.")
    document = get("documento")
    if not words and not document:
        raise FilterRequired("Informe o nome ou o documento do sócio: nome=, documento=.")
    return PartnerFilters(words, _document(document) if document else None)


def _document(text: str) -> str:
    """Return the token of a CNPJ, a root, a CPF, or the six published digits of a CPF."""
    if re.fullmatch("[0-9]{6}", text, re.ASCII):
        return token(PARTNER_CPF, text)
    if re.fullmatch("[0-9A-Z]{8}", text.upper(), re.ASCII):
        return token(PARTNER_ROOT, text)
    known = document_token(text)
    if known is not None and known.startswith(token(PARTNER_CPF, "")):
        return known
    try:
        return token(PARTNER_CPF, Cpf.parse(text).text[3:9])
    except InvalidCpf:
        pass
    try:
        return token(PARTNER_ROOT, Cnpj.parse(text).root)
    except InvalidCnpj:
        raise InvalidParameter(
            "O parâmetro documento aceita os seis dígitos publicados de um CPF (***456789**), um"
            " CNPJ ou a sua raiz."
        ) from None


# Pages.

Order: TypeAlias = Literal["c", "r"]  # by CNPJ, by relevance
_CURSOR = re.compile(r"([0-9a-f]{8})\.([cr])([0-9]{1,10})", re.ASCII)


class SearchPlace(msgspec.Struct, frozen=True):
    """The position of a page: an ordinal (by CNPJ), or a number of ranked results before it."""

    order: Order
    number: int

    def cursor(self, stamp: str) -> str:
        """Return the cursor for callers. `stamp`: of the month."""
        return f"{stamp}.{self.order}{self.number}"


def read_cursor(text: str | None, stamp: str, filters: Filters) -> SearchPlace:
    """Return the position in a cursor. Raises `InvalidParameter`, `CursorOfAnotherMonth`."""
    if not text:
        return SearchPlace("r", 0) if filters.by_name_only else SearchPlace("c", 0)
    known = _CURSOR.fullmatch(text)
    if known is None:
        raise InvalidParameter("O parâmetro cursor não é um que este serviço tenha dado.")
    if known[1] != stamp:
        raise CursorOfAnotherMonth
    order: Order = "r" if known[2] == "r" and filters.by_name_only else "c"
    if order != known[2]:
        raise InvalidParameter("O parâmetro cursor é de outra busca.")
    return SearchPlace(order, int(known[3]))


class PageEffort(msgspec.Struct, frozen=True):
    """Limits of the work for one page. A page always reads at least some candidates."""

    candidates: int = 50_000
    seconds: float = 0.25


COUNT_EFFORT = PageEffort(seconds=0.1)


class Hits(msgspec.Struct, frozen=True):
    """A page of results, all of which match."""

    records: Sequence[SearchRecord]
    partial: bool  # the page was ended early for its effort; the next one continues there
    following: SearchPlace | None


class HitCount(msgspec.Struct, frozen=True):
    """The number of results; a lower bound unless `exact`."""

    total: int
    exact: bool
