"""The documents whose outcomes are promised (`docs/sandbox.md`): they stand above what is drawn.

One readable entry per document in `data/promised.toml`, and nothing about protocols, which is the
simulator's. Here are their companies and people; registrations with states and Suframa:
`sandbox/registrations.py`, certificates: `sandbox/certificates.py`.
"""

from collections.abc import Mapping
from datetime import date

from balcao.fiction.digits import impossible_cpf
from balcao.fiction.places import BY_TOM
from balcao.fiction.records import (
    AddressFiction,
    CompanyFiction,
    Establishment,
    PartnerFiction,
    Person,
    PhoneFiction,
)
from balcao.fiction.sandbox.promises import (
    PROMISED_COMPANIES,
    PROMISED_PEOPLE,
    Misbehaviour,
    Promise,
)

MISBEHAVING_COMPANIES: Mapping[str, Misbehaviour] = {
    cnpj: each.misbehaves for cnpj, each in PROMISED_COMPANIES.items() if each.misbehaves
}
MISBEHAVING_PEOPLE: Mapping[str, Misbehaviour] = {
    cpf: each.misbehaves for cpf, each in PROMISED_PEOPLE.items() if each.misbehaves
}

# Valid check digits, and yet no such company: every source says so in its own way.
ABSENT_COMPANIES = frozenset(cnpj for cnpj, each in PROMISED_COMPANIES.items() if not each.name)

# A month of open data shows what large files do to an importer: one company with 5 000
# establishments, one with 1 000 partners. Both roots draw a joint-stock company.
ROOT_OF_5000_ESTABLISHMENTS = "90037326"
ROOT_OF_1000_PARTNERS = "90034405"

# Establishment number of the head office, where it is not drawn.
HEAD_OFFICE_ORDERS: Mapping[str, str] = {
    "12ABC345": "01DE",
    "00000000": "0001",
    ROOT_OF_5000_ESTABLISHMENTS: "0001",
    ROOT_OF_1000_PARTNERS: "0001",
}


def _establishment(cnpj: str, said: Promise) -> Establishment:
    place = BY_TOM[said.municipality]
    return Establishment(
        cnpj=cnpj,
        head_office=said.head_office,
        trade_name=said.trade_name,
        status=said.status,
        status_date=said.status_date,
        reason=said.reason,
        city_abroad="",
        country="",
        opened=date(2015, 3, 2),
        activity=said.activity,
        side_activities=said.side_activities,
        address=AddressFiction(
            street_type="RUA",
            street="DAS ACACIAS FICTICIAS",
            number=said.number,
            complement="SALA 2",
            district="CENTRO",
            cep=f"{place.cep_prefix}00100",
            municipality=place,
        ),
        phones=(PhoneFiction(place.area_code, "10000001"),),
        fax=None,
        email="contato@example.com",
        special_status="",
        special_status_date=None,
    )


def _company(root: str, said: Promise) -> CompanyFiction:
    return CompanyFiction(
        root=root,
        name=said.name,
        nature=said.nature,
        responsible=said.responsible,
        capital_cents=said.capital_cents,
        size=said.size,
        federative_entity="",
        partners=(_natural_partner(root),) if said.partners is None else said.partners,
        simples=said.simples,
    )


def _natural_partner(root: str) -> PartnerFiction:
    return PartnerFiction(
        kind="2",
        name="FULANA DA FICCAO SILVA",
        document=impossible_cpf((int(root, 36) + 900_100_000) % 1_000_000_000),
        qualification="49",
        entered=date(2015, 3, 2),
        age_band="5",
    )


COMPANIES: Mapping[str, CompanyFiction] = {
    cnpj[:8]: _company(cnpj[:8], each) for cnpj, each in PROMISED_COMPANIES.items() if each.name
}
ESTABLISHMENTS: Mapping[str, Establishment] = {
    cnpj: _establishment(cnpj, each) for cnpj, each in PROMISED_COMPANIES.items() if each.name
}
PEOPLE: Mapping[str, Person] = {
    cpf: Person(cpf, each.name, date(1980, 1, 1), BY_TOM[each.municipality])
    for cpf, each in PROMISED_PEOPLE.items()
}

# What a generated snapshot for test accounts must hold.
EXISTING_COMPANIES: tuple[str, ...] = tuple(
    cnpj for cnpj in ESTABLISHMENTS if cnpj not in MISBEHAVING_COMPANIES
)


def exists(cnpj: str) -> bool:
    """Whether the registry knows a CNPJ: it knows all but the promised absent ones."""
    return cnpj not in ABSENT_COMPANIES
