"""CNPJá's replies about a company (`cnpja.md`, section 4), and parts that others share."""

from datetime import UTC, datetime
from uuid import NAMESPACE_OID, uuid5

from balcao.fiction import codes, company_of, establishment_of
from balcao.fiction.records import (
    AddressFiction,
    CompanyFiction,
    Establishment,
    PartnerFiction,
    PhoneFiction,
)

_STATUSES = {1: "Nula", 2: "Ativa", 3: "Suspensa", 4: "Inapta", 8: "Baixada"}
_SIZES = {
    "01": {"id": 1, "acronym": "ME", "text": "Microempresa"},
    "03": {"id": 3, "acronym": "EPP", "text": "Empresa de Pequeno Porte"},
    "05": {"id": 5, "acronym": "DEMAIS", "text": "Demais"},
}
_PARTNER_TYPES = {"1": "LEGAL", "2": "NATURAL", "3": "FOREIGN"}
_AGES = ("0-12", "13-20", "21-30", "31-40", "41-50", "51-60", "61-70", "71-80", "81+")
_AGE_BANDS = {str(n): theirs for n, theirs in enumerate(_AGES, start=1)}

# Numbers of countries of the United Nations (M49), by those of the revenue service.
_M49 = {
    "013": 4, "023": 276, "063": 32, "069": 36, "072": 40, "087": 56, "097": 68, "105": 76,
    "137": 136, "149": 124, "150": 831, "158": 152, "160": 156, "169": 170, "232": 208, "239": 218,
    "245": 724, "249": 840, "275": 250, "361": 356, "375": 372, "383": 376, "386": 380, "399": 392,
    "445": 442, "493": 484, "538": 578, "573": 528, "580": 591, "586": 600, "589": 604, "607": 620,
    "628": 826, "741": 702, "764": 752, "767": 756, "845": 858, "850": 862, "863": 92,
}  # fmt: skip


def office(cnpj: str, now: datetime) -> dict[str, object]:
    """Return the body of `/office/{taxId}`: the establishment, with its company nested."""
    company = company_of(cnpj[:8])
    return {
        "taxId": cnpj,
        # an integer, as documented; undocumented for a root with letters
        "company": {
            "id": int(company.root, 10 if company.root.isdigit() else 36),
            **_company_fields(company),
        },
        **_establishment_fields(establishment_of(cnpj), now),
    }


def rfb(cnpj: str, now: datetime) -> dict[str, object]:
    """Return the body of `/rfb`: the same fields as `/office`, not nested."""
    return {
        "taxId": cnpj,
        **_company_fields(company_of(cnpj[:8])),
        **_establishment_fields(establishment_of(cnpj), now),
    }


def _company_fields(c: CompanyFiction) -> dict[str, object]:
    fields: dict[str, object] = {
        "name": c.name,
        "equity": c.capital_cents / 100,
        "nature": nature(c.nature),
        "size": _SIZES.get(c.size),
        "members": [_member(partner) for partner in c.partners],
    }
    if c.federative_entity:  # natures below 2000 only
        fields["jurisdiction"] = c.federative_entity
    return fields


def _establishment_fields(e: Establishment, now: datetime) -> dict[str, object]:
    status = int(e.status)
    fields: dict[str, object] = {
        "updated": timestamp(now),
        "alias": e.trade_name or None,
        "founded": e.opened,
        "head": e.head_office,
        "statusDate": e.status_date,
        "status": {"id": status, "text": _STATUSES[status]},
        "address": address(e.address, e.country, e.city_abroad),
        "mainActivity": activity(e.activity),
        "phones": [phone(each) for each in e.phones],
        "emails": emails(e.email),
        "sideActivities": [activity(code) for code in e.side_activities],
    }
    if e.status != "02":
        fields["reason"] = {"id": int(e.reason), "text": codes.REASONS.get(e.reason)}
    if e.special_status:
        fields["special"] = {"id": 1, "text": e.special_status}
        fields["specialDate"] = e.special_status_date
    return fields


def nature(code: str) -> dict[str, object]:
    """Return a legal nature."""
    return {"id": int(code), "text": codes.NATURES.get(code)}


def address(a: AddressFiction, country: str, city_abroad: str) -> dict[str, object]:
    """Return an address, in the format of all their replies."""
    place = a.municipality
    return {
        "municipality": int(place.ibge) if place.ibge else None,
        "street": f"{a.street_type} {a.street}".strip(),
        "number": a.number or None,
        "district": a.district or None,
        "city": city_abroad or place.name,
        "state": place.uf,
        "details": " ".join(a.complement.split()) or None,
        "zip": a.cep or None,
        "country": _country(country or "105"),
    }


def _country(code: str) -> dict[str, object]:
    name = codes.COUNTRIES.get(code)
    return {"id": _M49[code], "name": name and name.title()}


def activity(code: str) -> dict[str, object]:
    """Return an economic activity (CNAE)."""
    return {"id": int(code), "text": codes.ACTIVITIES.get(code)}


def phone(p: PhoneFiction) -> dict[str, str]:
    """Return a telephone number."""
    return {"type": "LANDLINE", "area": p.area_code, "number": p.number}


def emails(address: str) -> list[dict[str, str]]:
    """Return a list of at most one e-mail address."""
    if not address:
        return []
    lower = address.lower()
    return [
        {"ownership": "CORPORATE", "address": lower, "domain": lower.partition("@")[2]},
    ]


def _member(p: PartnerFiction) -> dict[str, object]:
    person: dict[str, object] = {
        "id": str(uuid5(NAMESPACE_OID, f"{p.kind} {p.name} {p.document}")),
        "type": _PARTNER_TYPES[p.kind],
        "name": p.name,
    }
    if p.document:
        person["taxId"] = p.published_document
    if p.age_band in _AGE_BANDS:
        person["age"] = _AGE_BANDS[p.age_band]
    if p.country:
        person["country"] = _country(p.country)
    fields: dict[str, object] = {
        "since": p.entered,
        "role": _role(p.qualification),
        "person": person,
    }
    if p.representative:
        fields["agent"] = {
            "person": {
                "id": str(uuid5(NAMESPACE_OID, f"2 {p.representative_name} {p.representative}")),
                "type": "NATURAL",
                "name": p.representative_name,
                "taxId": p.published_representative,
            },
            "role": _role(p.representative_qualification),
        }
    return fields


def _role(code: str) -> dict[str, object]:
    return {"id": int(code), "text": codes.QUALIFICATIONS.get(code)}


def timestamp(now: datetime) -> str:
    """Return an instant in ISO 8601, UTC, with milliseconds."""
    return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
