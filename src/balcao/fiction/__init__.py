"""Fictitious companies and people: every document has one, always the same.

    company_of("12345678")              what the establishments of a root share
    establishment_of("12345678000195")  one CNPJ
    registrations_of("12345678000195")  its registrations with states
    zone_registration_of("12345678000195")  and with Suframa
    person_of("12345678909")            one CPF
    registrations_of_person("12345678909")  its registrations as a rural producer
    federal_certificate_of("12345678000195", today)  its tax clearance, of a CPF as well
    state_certificate_of("12345678000195", "SP", today)
    labour_certificate_of("12345678000195", today)  of a CPF as well
    fgts_regularity_of("12345678000195", today)
    head_office_of("12345678")          the CNPJ that its federal certificate names

All are pure functions of the document (certificates: and of the day), on every machine and Python
version: generated open data, simulated providers and tests agree without sharing any state. They
return the types in `records.py`. The documents of `sandbox/` have promised outcomes. Fictitious
data is recognisable: names contain FICTICIA, FICTICIO or FICCAO, invented CPFs have wrong check
digits, phone numbers and e-mail addresses do not exist.
"""

from balcao.fiction.certificates import (
    federal_certificate_of,
    federal_in_maintenance,
    head_office_of,
    state_certificate_of,
)
from balcao.fiction.companies import company_of
from balcao.fiction.establishments import establishment_of
from balcao.fiction.fgts import fgts_regularity_of
from balcao.fiction.labour import labour_certificate_of
from balcao.fiction.people import person_of
from balcao.fiction.registrations import registrations_of, registrations_of_person
from balcao.fiction.sandbox import EXISTING_COMPANIES, exists
from balcao.fiction.zone import zone_registration_of

__all__ = [
    "EXISTING_COMPANIES",
    "company_of",
    "establishment_of",
    "exists",
    "federal_certificate_of",
    "federal_in_maintenance",
    "fgts_regularity_of",
    "head_office_of",
    "labour_certificate_of",
    "person_of",
    "registrations_of",
    "registrations_of_person",
    "state_certificate_of",
    "zone_registration_of",
]
