"""Fictitious companies as rows of the open data: every field in quotes, `;` between, LF.

Columns: `rfb-open-data.md`, section 4. Partners' documents are masked, a legal name keeps the
CPF in it, as the publisher does.
"""

from datetime import date

from balcao.fiction.calendar import DAYS
from balcao.fiction.records import CompanyFiction, Establishment, PartnerFiction, Simples

# Looking a date up is faster than writing it. Days of fixed rows are in here too.
DATES = {day: day.strftime("%Y%m%d") for day in DAYS}


def establishment_row(e: Establishment) -> str:
    """Estabelecimentos, 30 columns."""
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
    """Empresas, 7 columns."""
    return (
        f'"{c.root}";"{c.name}";"{c.nature}";"{c.responsible}"'
        f';"{c.capital_cents // 100},{c.capital_cents % 100:02d}";"{c.size}"'
        f';"{c.federative_entity}"\n'
    )


def partner_row(root: str, p: PartnerFiction) -> str:
    """Socios, 11 columns."""
    return (
        f'"{root}";"{p.kind}";"{p.name}";"{p.published_document}";"{p.qualification}"'
        f';"{DATES[p.entered]}";"{p.country}";"{p.published_representative}"'
        f';"{p.representative_name}"'
        f';"{p.representative_qualification}";"{p.age_band}"\n'
    )


def simples_row(root: str, s: Simples) -> str:
    """Simples, 7 columns and always 63 bytes."""
    return (
        f'"{root}";"{"S" if s.opted else "N"}";"{_day(s.opted_on)}";"{_day(s.left_on)}"'
        f';"{"S" if s.mei else "N"}";"{_day(s.mei_on)}";"{_day(s.mei_left_on)}"\n'
    )


def _day(day: date | None) -> str:
    return "00000000" if day is None else DATES[day]
