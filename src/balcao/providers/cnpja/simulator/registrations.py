"""CNPJá's replies about registrations with states and with Suframa (`cnpja.md`, 2 and 3)."""

from collections.abc import Collection
from datetime import datetime

from balcao.core.registration import OTHER_UF_TYPE, SITUATION_TEXTS, TYPE_TEXTS
from balcao.core.suframa import STATUS_TEXTS
from balcao.fiction import (
    company_of,
    establishment_of,
    person_of,
    registrations_of,
    registrations_of_person,
)
from balcao.fiction.records import RegistrationFiction, ZoneRegistration
from balcao.providers.cnpja.simulator.company import (
    activity,
    address,
    emails,
    nature,
    phone,
    timestamp,
)

_TYPES = {**TYPE_TEXTS, 4: OTHER_UF_TYPE}

# In the documentation of 2025 a rural producer has 4, and all other types are IE Normal.
_IDS_OF_2025 = {4: 1, 5: 4, 9: 1}
_TYPES_OF_2025 = {1: TYPE_TEXTS[1], 2: TYPE_TEXTS[2], 3: TYPE_TEXTS[3], 4: TYPE_TEXTS[5]}


def home_of(document: str) -> str:
    """Return the UF of a company or a person; `EX` abroad."""
    if len(document) == 11:
        return person_of(document).home.uf
    return establishment_of(document).address.municipality.uf


def ccc(
    document: str, states: Collection[str], now: datetime, *, types_of_2025: bool
) -> dict[str, object]:
    """Return the body of `/ccc`: the registrations in some states, possibly none."""
    if len(document) == 11:
        name, found = person_of(document).name, registrations_of_person(document)
    else:
        name, found = company_of(document[:8]).name, registrations_of(document)
    return {
        "taxId": document,
        "updated": timestamp(now),
        "name": name,
        "originState": home_of(document),
        "registrations": [
            _registration(each, types_of_2025=types_of_2025) for each in found if each.uf in states
        ],
    }


def suframa(cnpj: str, record: ZoneRegistration, now: datetime) -> dict[str, object]:
    """Return the body of `/suframa` for a company that is registered there."""
    e = establishment_of(cnpj)
    company = company_of(cnpj[:8])
    fields: dict[str, object] = {
        "taxId": cnpj,
        "updated": timestamp(now),
        "number": record.number,
        "name": company.name,
        "since": record.since,
        "head": e.head_office,
        "approved": record.approved,
        "approvalDate": record.approved_on,
        "status": {"id": record.status, "text": STATUS_TEXTS[record.status]},
        "nature": nature(company.nature),
        "address": address(e.address, e.country, e.city_abroad),
        "phones": [phone(each) for each in e.phones],
        "emails": emails(e.email),
        "mainActivity": {**activity(e.activity), "performed": record.status == 1},
        "sideActivities": [
            {**activity(code), "performed": n % 3 == 1} for n, code in enumerate(e.side_activities)
        ],
        "incentives": [
            {
                "tribute": each.tax,
                "benefit": each.benefit,
                "purpose": each.purpose,
                "basis": each.basis,
            }
            for each in record.incentives
        ],
    }
    return fields


def _registration(r: RegistrationFiction, *, types_of_2025: bool) -> dict[str, object]:
    if types_of_2025:
        type_id = _IDS_OF_2025.get(r.type, r.type)
        type_text = _TYPES_OF_2025[type_id]
    else:
        type_id, type_text = r.type, _TYPES[r.type]
    return {
        "number": r.number,
        "state": r.uf,
        "enabled": r.active,
        "statusDate": r.status_date,
        "status": {"id": r.situation, "text": SITUATION_TEXTS[r.situation]},
        "type": {"id": type_id, "text": type_text},
    }
