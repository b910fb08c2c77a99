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
from balcao.core.search_record import (
    CAPITAL,
    CAPITAL_CLASS_MAX,
    CAPITAL_CLASSES,
    CODED,
    MEI_WITHOUT_PERSON,
    OPENED,
    PARTNER_CPF,
    PARTNER_ROOT,
    PERSON,
    POSTAL,
    POSTAL_DIGITS,
    STATUS_CHANGED,
    YEAR_MAX,
    YEAR_MIN,
    SearchRecord,
    capital_class,
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
# A longer range of days is queried by years instead of months.
_MONTHS_MAX = 24
_ONLY_YES = frozenset({"1"})
_CHARACTERS_MAX = 200

_RANGES = ("aberta_desde", "aberta_ate", "situacao_desde", "situacao_ate")
_AMOUNTS = ("capital_min", "capital_max")
FILTER_NAMES: Sequence[str] = ("q", *CODED, *_RANGES, *_AMOUNTS, "cep", "raiz")
NAMES: Sequence[str] = (*FILTER_NAMES, "pessoas", "limite", "cursor")
PARTNER_NAMES: Sequence[str] = ("nome", "documento", "limite")

Get: TypeAlias = Callable[[str], str | None]
Days: TypeAlias = tuple[str | None, str | None]  # from and to, both included


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
            and self._bears(record.capital)
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

    def _bears(self, capital: Decimal | None) -> bool:
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
        ranges = [_periods(OPENED, self.opened), _periods(STATUS_CHANGED, self.status_day)]
        ranges = [each for each in (*ranges, _classes(*self.capital)) if each.inside]
        if (every or ranges) and not self.people:  # alone it would match nearly everything
            every.append(_quoted(token(PERSON, "0")))
        outside: list[str] = []
        for each in ranges:
            if every and each.by_outside:
                outside += each.outside
            else:
                every.append(_any(each.inside))
        conditions = " AND ".join(every)
        return f"({conditions}) NOT {_any(outside)}" if outside else conditions or None

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

    @property
    def exact_by_index(self) -> bool:
        """Whether the index's result is exact, so that records need no check."""
        return (
            self.expression is not None
            and not self.matches_nothing
            and self.opened == self.status_day == self.capital == (None, None)
            and not self.roots
            and all(len(cep) <= POSTAL_DIGITS for cep in self.ceps)
        )

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


# Approximate cost of a token in a query, with a short and with a long list of records.
_SHORT, _LONG = 1, 4
_LONG_FROM_YEAR = 1990
_LONG_CLASSES = frozenset(CAPITAL_CLASSES[:11])  # up to 99,999 reais


class _Range(msgspec.Struct, frozen=True):
    """A range as index tokens: those inside and those outside. Each record has one of them."""

    inside: Sequence[str] = ()  # empty: no condition
    outside: Sequence[str] = ()
    by_outside: bool = False  # excluding the tokens outside is cheaper


def _range(prefix: str, codes: Sequence[str], some: slice, long: Collection[str]) -> _Range:
    """Return the range of `codes[some]`; `codes`: all codes of a kind, in order."""
    inside, outside = codes[some], (*codes[: some.start], *codes[some.stop :])
    costs = [sum(_LONG if code in long else _SHORT for code in each) for each in (inside, outside)]
    within, without = ([token(prefix, code) for code in each] for each in (inside, outside))
    return _Range(within, without, by_outside=costs[1] < costs[0])


_YEARS = [f"{year:04d}" for year in range(YEAR_MIN, YEAR_MAX + 1)]
_LONG_YEARS = frozenset(_YEARS[_LONG_FROM_YEAR - YEAR_MIN :])


def _periods(prefix: str, days: Days) -> _Range:
    """Return the tokens of a range's months, or of its years if there are too many months."""
    first, last = days
    if last is None:
        return _Range()
    first = first or f"{YEAR_MIN:04d}-01-01"
    from_month = int(first[:4]) * 12 + int(first[5:7]) - 1
    to_month = int(last[:4]) * 12 + int(last[5:7]) - 1
    if to_month - from_month < _MONTHS_MAX:
        months = range(from_month, to_month + 1)
        return _Range([token(prefix, f"{at // 12:04d}{at % 12 + 1:02d}") for at in months])
    begin, end = max(int(first[:4]), YEAR_MIN), int(last[:4])
    if not YEAR_MIN <= end <= YEAR_MAX:
        return _Range()
    return _range(prefix, _YEARS, slice(begin - YEAR_MIN, end + 1 - YEAR_MIN), _LONG_YEARS)


def _classes(least: Decimal | None, most: Decimal | None) -> _Range:
    """Return the tokens of a range of amounts."""
    if least is None and most is None:
        return _Range()
    first = 0 if least is None else capital_class(least)
    last = CAPITAL_CLASS_MAX if most is None else capital_class(most)
    return _range(CAPITAL, CAPITAL_CLASSES, slice(first, last + 1), _LONG_CLASSES)


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
    filters: Filters, names: Mapping[str, str], codes_of_ibge: Mapping[str, str]
) -> Filters:
    """Return the filters with cities replaced by their codes. Raises `InvalidParameter`.

    `names`: the month's municipalities, by code. A name needs a UF, since names repeat across
    states; the UF may follow it (`São Paulo/SP`). Names are compared word by word.
    """
    if not filters.cities:
        return filters
    coded = dict(filters.coded)
    states = {city: state_behind(city) for city in filters.cities}
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
    return msgspec.structs.replace(filters, coded=coded, cities=())


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


class Hits(msgspec.Struct, frozen=True):
    """A page of results, all of which match."""

    records: Sequence[SearchRecord]
    partial: bool  # the page was ended early for its effort; the next one continues there
    following: SearchPlace | None


class HitCount(msgspec.Struct, frozen=True):
    """The number of results; a lower bound unless `exact`."""

    total: int
    exact: bool
