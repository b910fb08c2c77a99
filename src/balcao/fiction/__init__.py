"""Fictitious companies and people: every document has one, and always the same.

    company_of("12345678")              what the establishments of a root share
    establishment_of("12345678000195")  one CNPJ
    person_of("12345678909")            one CPF

All three are pure functions of the document, on every machine and Python version: the
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
)
from balcao.fiction.sandbox import EXISTING_COMPANIES, exists

__all__ = [
    "EXISTING_COMPANIES",
    "Address",
    "Company",
    "Establishment",
    "Partner",
    "Person",
    "Phone",
    "Simples",
    "company_of",
    "establishment_of",
    "exists",
    "person_of",
]
