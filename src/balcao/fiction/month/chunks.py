"""A chunk of a month: the rows of some 50 000 roots, distributed over the parts of the files.

The format is that of the open data (`rfb-open-data.md`, section 4): quoted fields, `;`, LF. As in
the original, partners' documents are masked, but a CPF in a legal name is not.
"""

from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import pairwise

from balcao.fiction.calendar import DAYS
from balcao.fiction.companies import company_of
from balcao.fiction.digits import cnpj
from balcao.fiction.establishments import establishment_of
from balcao.fiction.month import dirt
from balcao.fiction.month.mixing import salt, shuffled
from balcao.fiction.month.plan import MonthPlan
from balcao.fiction.records import (
    CompanyFiction,
    Establishment,
    PartnerFiction,
    Simples,
    TaxRegimeFiction,
)
from balcao.fiction.root_facts import root_facts
from balcao.fiction.sandbox import EARLIER_COMPANIES, EARLIER_ESTABLISHMENTS
from balcao.fiction.tax_regimes import FILES, PRESUMED, tax_regimes_of

# A lookup is faster than formatting. Includes the days of promised rows.
DATES = {day: day.strftime("%Y%m%d") for day in DAYS}


def establishment_row(e: Establishment) -> str:
    """Return a row of Estabelecimentos, 30 columns."""
    c = e.cnpj
    a = e.address
    place = a.municipality
    ddd_1 = number_1 = ddd_2 = number_2 = ddd_fax = fax = ""
    if e.phones:
        ddd_1, number_1 = e.phones[0].area_code, e.phones[0].number
        if len(e.phones) > 1:
            ddd_2, number_2 = e.phones[1].area_code, e.phones[1].number
    if e.fax is not None:
        ddd_fax, fax = e.fax.area_code, e.fax.number
    special_date = DATES[e.special_status_date] if e.special_status_date else ""
    return (
        f'"{c[:8]}";"{c[8:12]}";"{c[12:]}";"{1 if e.head_office else 2}";"{e.trade_name}"'
        f';"{e.status}";"{DATES[e.status_date]}";"{e.reason}";"{e.city_abroad}";"{e.country}"'
        f';"{DATES[e.opened]}";"{e.activity}";"{",".join(e.side_activities)}"'
        f';"{a.street_type}";"{a.street}";"{a.number}";"{a.complement}";"{a.district}"'
        f';"{a.cep}";"{place.uf}";"{place.tom}";"{ddd_1}";"{number_1}";"{ddd_2}";"{number_2}"'
        f';"{ddd_fax}";"{fax}";"{e.email}";"{e.special_status}";"{special_date}"\n'
    )


def company_row(c: CompanyFiction) -> str:
    """Return a row of Empresas, 7 columns."""
    return (
        f'"{c.root}";"{c.name}";"{c.nature}";"{c.responsible}"'
        f';"{c.capital_cents // 100},{c.capital_cents % 100:02d}";"{c.size}"'
        f';"{c.federative_entity}"\n'
    )


def partner_row(root: str, p: PartnerFiction) -> str:
    """Return a row of Socios, 11 columns."""
    return (
        f'"{root}";"{p.kind}";"{p.name}";"{p.published_document}";"{p.qualification}"'
        f';"{DATES[p.entered]}";"{p.country}";"{p.published_representative}"'
        f';"{p.representative_name}"'
        f';"{p.representative_qualification}";"{p.age_band}"\n'
    )


def simples_row(root: str, s: Simples) -> str:
    """Return a row of Simples, 7 columns and always 63 bytes."""
    return (
        f'"{root}";"{"S" if s.opted else "N"}";"{_day(s.opted_on)}";"{_day(s.left_on)}"'
        f';"{"S" if s.mei else "N"}";"{_day(s.mei_on)}";"{_day(s.mei_left_on)}"\n'
    )


def tax_regime_row(document: str, regime: TaxRegimeFiction) -> str:
    """Return a line of a file of tax regimes, which has the punctuation of documents."""
    partnership = _punctuated(regime.partnership) if regime.partnership else "0"
    return f"{regime.year},{_punctuated(document)},{partnership},{regime.form},{regime.filings}\n"


def _punctuated(c: str) -> str:
    return f"{c[:2]}.{c[2:5]}.{c[5:8]}/{c[8:12]}-{c[12:]}"


def tax_regime_entry(regime: TaxRegimeFiction) -> str:
    """Return the name of the file a line is in; that of presumed profit has one for each year."""
    file = FILES[regime.form]
    return f"{file}/{file} {regime.year}.csv" if regime.form == PRESUMED else f"{file}.csv"


def _day(day: date | None) -> str:
    return "00000000" if day is None else DATES[day]


PARTS = 10
# Each of the parts 1 to 9 holds this share of a table; part 0 holds the rest.
PART_PER_10_000 = 653


@dataclass(frozen=True, slots=True)
class Chunk:
    """The text of a chunk, by table and part, and the number of records by table."""

    parts: dict[str, list[bytes]]
    records: dict[str, int]
    tax_regimes: dict[str, bytes]  # by name of the file in its zip


class _Rows:
    """The rows of a chunk, by table."""

    def __init__(self, *, with_tax_regimes: bool, earlier: bool) -> None:
        self._with_tax_regimes = with_tax_regimes
        self._earlier = earlier
        self.companies: list[str] = []
        self.establishments: list[str] = []
        self.partners: list[str] = []
        self.simples: list[str] = []
        self.tax_regimes: dict[str, list[str]] = {}

    def add_root(self, root: str) -> None:
        company = (self._earlier and EARLIER_COMPANIES.get(root)) or company_of(root)
        self.companies.append(company_row(company))
        for partner in company.partners:
            self.partners.append(partner_row(root, partner))
        if company.simples is not None:
            self.simples.append(simples_row(root, company.simples))
        for regime in tax_regimes_of(company) if self._with_tax_regimes else ():
            document = cnpj(root, root_facts(root).head_office_order)
            lines = self.tax_regimes.setdefault(tax_regime_entry(regime), [])
            lines.append(tax_regime_row(document, regime))

    def add_establishment(self, document: str) -> None:
        found = (self._earlier and EARLIER_ESTABLISHMENTS.get(document)) or None
        self.establishments.append(establishment_row(found or establishment_of(document)))


def build_chunk(
    plan: MonthPlan, number: int, dirt_times: float, with_tax_regimes: bool = False
) -> Chunk:
    """Return a chunk. `dirt_times` multiplies the rates of dirt; with 0 there is none."""
    plan = _prepared(plan)
    key = salt(plan.seed, "chunk", number)
    rows = _Rows(with_tax_regimes=with_tax_regimes, earlier=plan.earlier)
    _drawn_rows(plan, number, rows)
    if dirt_times:
        dirt.add_dirt(rows.establishments, dirt.ESTABLISHMENT_DIRT, salt(key, "E"), dirt_times)
        dirt.add_dirt(rows.companies, dirt.COMPANY_DIRT, salt(key, "C"), dirt_times)
        dirt.add_dirt(rows.partners, dirt.PARTNER_DIRT, salt(key, "P"), dirt_times)
        dirt.add_dirt(rows.simples, dirt.SIMPLES_DIRT, salt(key, "S"), dirt_times)
    if number == 0:
        # After the dirt, so that explicit documents are present and clean.
        for root in dict.fromkeys(document[:8] for document in plan.explicit):
            rows.add_root(root)
        for document in plan.explicit:
            rows.add_establishment(document)
    tables = {
        "Empresas": (rows.companies, PARTS),
        "Estabelecimentos": (rows.establishments, PARTS),
        "Socios": (rows.partners, PARTS),
        "Simples": (rows.simples, 1),
    }
    return Chunk(
        parts={
            table: _deal(lines, parts, salt(key, table)) for table, (lines, parts) in tables.items()
        },
        records={table: len(lines) for table, (lines, _) in tables.items()},
        tax_regimes={
            entry: "".join(lines).encode("ascii") for entry, lines in rows.tax_regimes.items()
        },
    )


@lru_cache(maxsize=1)
def _prepared(plan: MonthPlan) -> MonthPlan:
    """Return the plan, memoized, so that the tables it caches are shared by all chunks."""
    return plan


def _drawn_rows(plan: MonthPlan, number: int, rows: _Rows) -> _Rows:
    for root in plan.roots(plan.numbers_of(number)):
        rows.add_root(root)
    for document in plan.documents_of(number):
        rows.add_establishment(document)
    return rows


def _deal(lines: list[str], parts: int, key: int) -> list[bytes]:
    """Distribute rows at random: parts 1 to 9 get the same number each, part 0 the rest."""
    order = shuffled(len(lines), key).tolist()
    each = len(lines) * PART_PER_10_000 // 10_000 if parts > 1 else 0
    bounds = [0, len(lines) - each * (parts - 1)]
    while len(bounds) <= parts:
        bounds.append(bounds[-1] + each)
    return [
        "".join([lines[place] for place in order[first:last]]).encode("latin-1")
        for first, last in pairwise(bounds)
    ]
