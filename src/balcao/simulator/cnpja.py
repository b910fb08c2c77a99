"""CNPJá's commercial API: the company registry (`cnpja.md`, sections 1, 4 and 5)."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from uuid import NAMESPACE_OID, uuid5

from balcao.fiction import (
    Address,
    Company,
    Establishment,
    Partner,
    Phone,
    codes,
    company_of,
    establishment_of,
    exists,
)
from balcao.simulator import texts
from balcao.simulator.exchange import (
    PLAIN,
    Receive,
    Reply,
    Request,
    is_cnpj,
    json_reply,
    plain_document,
)
from balcao.simulator.staging import Lines, Stage

_STRATEGIES = frozenset({"ONLINE", "CACHE_IF_FRESH", "CACHE_IF_ERROR", "CACHE"})

# Keys with a promised refusal; every other key that is not empty is good.
INVALID_KEY = "invalid"
KEY_WITHOUT_CREDITS = "without-credits"
KEY_RATE_LIMITED = "rate-limited"

_STATUSES = {1: "Nula", 2: "Ativa", 3: "Suspensa", 4: "Inapta", 8: "Baixada"}
_SIZES = {
    "01": {"id": 1, "acronym": "ME", "text": "Microempresa"},
    "03": {"id": 3, "acronym": "EPP", "text": "Empresa de Pequeno Porte"},
    "05": {"id": 5, "acronym": "DEMAIS", "text": "Demais"},
}
_PARTNER_TYPES = {"1": "LEGAL", "2": "NATURAL", "3": "FOREIGN"}
_AGE_BANDS = {
    "1": "0-12",
    "2": "13-20",
    "3": "21-30",
    "4": "31-40",
    "5": "41-50",
    "6": "51-60",
    "7": "61-70",
    "8": "71-80",
    "9": "81+",
}

# Countries are numbered by the United Nations (M49) here, by the revenue there.
_M49 = {
    "013": 4, "023": 276, "063": 32, "069": 36, "072": 40, "087": 56, "097": 68, "105": 76,
    "137": 136, "149": 124, "150": 831, "158": 152, "160": 156, "169": 170, "232": 208, "239": 218,
    "245": 724, "249": 840, "275": 250, "361": 356, "375": 372, "383": 376, "386": 380, "399": 392,
    "445": 442, "493": 484, "538": 578, "573": 528, "580": 591, "586": 600, "589": 604, "607": 620,
    "628": 826, "741": 702, "764": 752, "767": 756, "845": 858, "850": 862, "863": 92,
}  # fmt: skip


class Cnpja:
    """The commercial API, at `/office/{taxId}`, `/rfb?taxId=` and `/credit`."""

    def __init__(self, stage: Stage, clock: Callable[[], datetime]) -> None:
        self._stage = stage
        self._clock = clock

    async def answer(self, request: Request, receive: Receive) -> Reply:
        """One request."""
        if request.method != "GET":
            return Reply(405, b"Method Not Allowed", PLAIN, {"allow": "GET"})
        key = request.headers.get("authorization", "").strip()
        if not key or key == INVALID_KEY or key.lower().startswith(("bearer ", "basic ")):
            return _refuse(401, "invalid authentication")
        match request.path.split("/"):
            case ["", "credit"]:
                return json_reply(200, {"perpetual": 1_000_000, "transient": 0})
            case ["", "office", asked]:
                read = _office
            case ["", "rfb"]:
                asked, read = request.query.get("taxId", ""), _rfb
            case _:
                return Reply(404, b"Not Found", PLAIN)
        cnpj = plain_document(asked)
        if constraints := _constraints(cnpj, request.query):
            return json_reply(
                400,
                {"code": 400, "message": "request validation failed", "constraints": constraints},
            )
        if key == KEY_WITHOUT_CREDITS:
            return _refuse(429, "not enough credits", required=1, remaining=0)
        if key == KEY_RATE_LIMITED:
            return _refuse(429, "rate limit exceeded")
        # There is no cache in here: what is asked of the cache alone is not in it.
        if not exists(cnpj) or request.query.get("strategy") == "CACHE":
            return _refuse(404, "tax id not registered at revenue service")
        headers = {"x-trace-id": str(uuid5(NAMESPACE_OID, cnpj)), "x-credit-required": "1"}
        if request.query.get("sync") == "true":
            headers["cnpja-request-cost"] = "1"

        def good(document: str) -> Reply:
            return json_reply(200, read(document, self._clock()), headers)

        def incomplete(document: str) -> Reply:
            said = read(document, self._clock())
            company = said.get("company", said)
            assert isinstance(company, dict)
            del company["name"]
            return json_reply(200, said, headers)

        return await self._stage.play("company", cnpj, self, Lines(good, incomplete), receive)

    def maintenance(self) -> Reply:
        """Their source is down."""
        return _refuse(503, "revenue service is offline")

    def error(self) -> Reply:
        """They are down."""
        return _refuse(500, "unexpected error")


def _refuse(status: int, message: str, **more: int) -> Reply:
    return json_reply(status, {"code": status, "message": message, **more})


def _constraints(cnpj: str, query: Mapping[str, str]) -> list[str]:
    found = []
    if not is_cnpj(cnpj):
        found.append("taxId must be a valid CNPJ")
    if query.get("strategy", "ONLINE") not in _STRATEGIES:
        found.append("strategy must be one of ONLINE, CACHE_IF_FRESH, CACHE_IF_ERROR, CACHE")
    for name in ("maxAge", "maxStale"):
        days = query.get(name, "1")
        if not days.isascii() or not days.isdigit() or not 1 <= int(days) <= 3650:
            found.append(f"{name} must be an integer from 1 to 3650")
    return found


def _office(cnpj: str, now: datetime) -> dict[str, object]:
    company = company_of(cnpj[:8])
    return {
        "taxId": cnpj,
        # An integer, as documented; nobody documents what it is for a root with letters.
        "company": {
            "id": int(company.root, 10 if company.root.isdigit() else 36),
            **_of_company(company),
        },
        **_of_establishment(establishment_of(cnpj), now),
    }


def _rfb(cnpj: str, now: datetime) -> dict[str, object]:
    return {
        "taxId": cnpj,
        **_of_company(company_of(cnpj[:8])),
        **_of_establishment(establishment_of(cnpj), now),
    }


def _of_company(c: Company) -> dict[str, object]:
    said: dict[str, object] = {
        "name": c.name,
        "equity": c.capital_cents / 100,
        "nature": {"id": int(c.nature), "text": codes.NATURES.get(c.nature)},
        "size": _SIZES.get(c.size),
        "members": [_member(partner) for partner in c.partners],
    }
    if c.federative_entity:  # natures below 2000 only
        said["jurisdiction"] = c.federative_entity
    return said


def _of_establishment(e: Establishment, now: datetime) -> dict[str, object]:
    status = int(e.status)
    said: dict[str, object] = {
        "updated": _timestamp(now),
        "alias": e.trade_name or None,
        "founded": e.opened,
        "head": e.head_office,
        "statusDate": e.status_date,
        "status": {"id": status, "text": _STATUSES[status]},
        "address": _address(e.address, e.country, e.city_abroad),
        "mainActivity": _activity(e.activity),
        "phones": [_phone(phone) for phone in e.phones],
        "emails": _emails(e.email),
        "sideActivities": [_activity(code) for code in e.side_activities],
    }
    if e.status != "02":
        said["reason"] = {"id": int(e.reason), "text": codes.REASONS.get(e.reason)}
    if e.special_status:
        said["special"] = {"id": 1, "text": e.special_status}
        said["specialDate"] = e.special_status_date
    return said


def _address(a: Address, country: str, city_abroad: str) -> dict[str, object]:
    place = a.municipality
    return {
        "municipality": texts.number(place.ibge),
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
    name = texts.country(code)
    return {"id": _M49[code], "name": name and name.title()}


def _activity(code: str) -> dict[str, object]:
    return {"id": int(code), "text": texts.activity(code)}


def _phone(phone: Phone) -> dict[str, str]:
    return {"type": "LANDLINE", "area": phone.area_code, "number": phone.number}


def _emails(address: str) -> list[dict[str, str]]:
    if not address:
        return []
    lower = address.lower()
    return [
        {"ownership": "CORPORATE", "address": lower, "domain": lower.partition("@")[2]},
    ]


def _member(p: Partner) -> dict[str, object]:
    person: dict[str, object] = {
        "id": str(uuid5(NAMESPACE_OID, f"{p.kind} {p.name} {p.document}")),
        "type": _PARTNER_TYPES[p.kind],
        "name": p.name,
    }
    if p.document:
        person["taxId"] = texts.document(p)
    if p.age_band in _AGE_BANDS:
        person["age"] = _AGE_BANDS[p.age_band]
    if p.country:
        person["country"] = _country(p.country)
    said: dict[str, object] = {
        "since": p.entered,
        "role": _role(p.qualification),
        "person": person,
    }
    if p.representative:
        said["agent"] = {
            "person": {
                "id": str(uuid5(NAMESPACE_OID, f"2 {p.representative_name} {p.representative}")),
                "type": "NATURAL",
                "name": p.representative_name,
                "taxId": texts.representative(p),
            },
            "role": _role(p.representative_qualification),
        }
    return said


def _role(code: str) -> dict[str, object]:
    return {"id": int(code), "text": codes.QUALIFICATIONS.get(code)}


def _timestamp(now: datetime) -> str:
    return now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
