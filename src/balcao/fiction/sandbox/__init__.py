"""Companies and people with promised outcomes (`docs/sandbox.md`), which override random facts.

Each document has one entry in `data/promised.toml`, independent of the simulators' protocols.
Registrations with states and Suframa are in `sandbox/registrations.py`, certificates in
`sandbox/certificates.py`.
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
    EARLIER,
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

# CNPJs with valid check digits that do not exist, according to every source.
ABSENT_COMPANIES = frozenset(cnpj for cnpj, each in PROMISED_COMPANIES.items() if not each.name)

# To test an importer with large companies, a month has one with 5 000 establishments and one with
# 1 000 partners. The drawn legal nature of both roots is a joint-stock company.
ROOT_OF_5000_ESTABLISHMENTS = "90037326"
ROOT_OF_1000_PARTNERS = "90034405"

# Establishment number of the head office, where it is not drawn.
HEAD_OFFICE_ORDERS: Mapping[str, str] = {
    "12ABC345": "01DE",
    "00000000": "0001",
    ROOT_OF_5000_ESTABLISHMENTS: "0001",
    ROOT_OF_1000_PARTNERS: "0001",
}


def _establishment(cnpj: str, promise: Promise) -> Establishment:
    place = BY_TOM[promise.municipality]
    return Establishment(
        cnpj=cnpj,
        head_office=promise.head_office,
        trade_name=promise.trade_name,
        status=promise.status,
        status_date=promise.status_date,
        reason=promise.reason,
        city_abroad="",
        country="",
        opened=promise.opened,
        activity=promise.activity,
        side_activities=promise.side_activities,
        address=AddressFiction(
            street_type="RUA",
            street=promise.street,
            number=promise.number,
            complement=promise.complement,
            district="CENTRO",
            cep=f"{place.cep_prefix}{promise.cep_end}",
            municipality=place,
        ),
        phones=(PhoneFiction(place.area_code, promise.phone),),
        fax=None,
        email=promise.email,
        special_status="",
        special_status_date=None,
    )


def _company(root: str, promise: Promise) -> CompanyFiction:
    return CompanyFiction(
        root=root,
        name=promise.name,
        nature=promise.nature,
        responsible=promise.responsible,
        capital_cents=promise.capital_cents,
        size=promise.size,
        federative_entity="",
        partners=(_natural_partner(root),) if promise.partners is None else promise.partners,
        simples=promise.simples,
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
# Different in the month before. None: not in that month.
EARLIER_COMPANIES: Mapping[str, CompanyFiction] = {
    cnpj[:8]: _company(cnpj[:8], each) for cnpj, each in EARLIER.items() if each.name
}
EARLIER_ESTABLISHMENTS: Mapping[str, Establishment | None] = {
    cnpj: _establishment(cnpj, each) if each.name else None for cnpj, each in EARLIER.items()
}
PEOPLE: Mapping[str, Person] = {
    cpf: Person(cpf, each.name, date(1980, 1, 1), BY_TOM[each.municipality])
    for cpf, each in PROMISED_PEOPLE.items()
}

# Companies that a generated month for test accounts must contain.
EXISTING_COMPANIES: tuple[str, ...] = tuple(
    cnpj for cnpj in ESTABLISHMENTS if cnpj not in MISBEHAVING_COMPANIES
)


def exists(cnpj: str) -> bool:
    """Return whether a CNPJ exists: all do, except the promised absent ones."""
    return cnpj not in ABSENT_COMPANIES
