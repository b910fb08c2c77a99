"""Fictitious companies and people: every document has one, and always the same.

    company_of("12345678")              what the establishments of a root share
    establishment_of("12345678000195")  one CNPJ
    registrations_of("12345678000195")  its registrations with states
    zone_registration_of("12345678000195")  and with Suframa
    person_of("12345678909")            one CPF
    registrations_of_person("12345678909")  its registrations as a rural producer

All of them are pure functions of the document, on every machine and Python version: the
generated open data, the simulated providers and the tests tell the same story without sharing
any state. The documents of `sandbox.py` have promised outcomes. Who is fictitious shows it:
names contain FICTICIA, FICTICIO or FICCAO, invented CPFs have wrong check digits, phone
numbers and e-mail addresses reach nobody.
"""

from balcao.fiction.companies import company_of
from balcao.fiction.establishments import establishment_of
from balcao.fiction.people import person_of
from balcao.fiction.records import (
    Address,
    Company,
    Establishment,
    Partner,
    Person,
    Phone,
    Simples,
    StateRegistration,
    ZoneIncentive,
    ZoneRegistration,
)
from balcao.fiction.registrations import registrations_of, registrations_of_person
from balcao.fiction.sandbox import EXISTING_COMPANIES, exists
from balcao.fiction.zone import zone_registration_of

__all__ = [
    "EXISTING_COMPANIES",
    "Address",
    "Company",
    "Establishment",
    "Partner",
    "Person",
    "Phone",
    "Simples",
    "StateRegistration",
    "ZoneIncentive",
    "ZoneRegistration",
    "company_of",
    "establishment_of",
    "exists",
    "person_of",
    "registrations_of",
    "registrations_of_person",
    "zone_registration_of",
]
