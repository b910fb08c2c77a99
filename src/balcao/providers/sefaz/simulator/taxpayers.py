"""Taxpayers, as treasuries have them."""

from dataclasses import dataclass

from balcao.fiction import (
    company_of,
    establishment_of,
    person_of,
    registrations_of,
    registrations_of_person,
)
from balcao.fiction.records import CompanyFiction, RegistrationFiction


@dataclass(frozen=True, slots=True)
class Taxpayer:
    """A company or a person with all their registrations. Empty fields are omitted in replies."""

    kind: str  # CNPJ or CPF
    document: str
    unknown: int  # the cStat when there is no registration
    name: str
    trade_name: str
    regime: str
    activity: str
    opened: str
    registrations: tuple[RegistrationFiction, ...]


def company(cnpj: str) -> Taxpayer:
    """Return the taxpayer of a CNPJ."""
    known, place = company_of(cnpj[:8]), establishment_of(cnpj)
    return Taxpayer(
        kind="CNPJ",
        document=cnpj,
        unknown=259,
        name=known.name,
        trade_name=place.trade_name,
        regime=_regime(known),
        activity=place.activity,
        opened=place.opened.isoformat(),
        registrations=registrations_of(cnpj),
    )


def person(cpf: str) -> Taxpayer:
    """Return the taxpayer of a CPF."""
    return Taxpayer(
        kind="CPF",
        document=cpf,
        unknown=264,
        name=person_of(cpf).name,
        trade_name="",
        regime="PRODUTOR RURAL",
        activity="",
        opened="",
        registrations=registrations_of_person(cpf),
    )


def _regime(known: CompanyFiction) -> str:
    simples = known.simples
    if simples is None or not simples.opted:
        return "NORMAL"
    return "MICROEMPREENDEDOR INDIVIDUAL" if simples.mei else "SIMPLES NACIONAL"
