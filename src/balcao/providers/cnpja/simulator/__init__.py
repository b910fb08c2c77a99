"""Simulator of CNPJá's commercial API: paths, keys, errors (`cnpja.md`, sections 1 and 5)."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import TypeAlias
from uuid import NAMESPACE_OID, uuid5

from starlette.types import Receive

from balcao.core.federation import UFS
from balcao.fiction import exists, zone_registration_of
from balcao.providers.cnpja.simulator.company import office, rfb
from balcao.providers.cnpja.simulator.registrations import ccc, home_of, suframa
from balcao.providers.simulation.faults import (
    OTHER_COMPANY_IN_THE_ZONE,
    FaultInjector,
    ReplyFactory,
)
from balcao.providers.simulation.messages import (
    PLAIN,
    SimulatedReply,
    SimulatedRequest,
    Simulator,
    is_cnpj,
    is_cpf,
    json_reply,
    plain_document,
)

_STRATEGIES = frozenset({"ONLINE", "CACHE_IF_FRESH", "CACHE_IF_ERROR", "CACHE"})
_SOURCES = frozenset({"AUTO", "CCC", "SINTEGRA"})

# The keywords of 2025 and 2026 (`cnpja.md`, section 2).
_ALL_STATES = frozenset({"BR", "ALL"})
_HOME_STATE = "ORIGIN"

# Keys with a fixed effect; every other key that is not empty is valid.
INVALID_KEY = "invalid"
KEY_WITHOUT_CREDITS = "without-credits"
KEY_RATE_LIMITED = "rate-limited"
KEY_OF_2025 = "types-2025"


# The replies about a document, or a constraint that is not met.
_Outcome: TypeAlias = ReplyFactory[dict[str, object]] | str


class SimulatedCnpja:
    """The commercial API: `/office/{taxId}`, `/rfb`, `/ccc`, `/suframa` and `/credit`.

    The key `types-2025` numbers the types of registration as the vendor did then.
    """

    def __init__(self, faults: FaultInjector, clock: Callable[[], datetime]) -> None:
        self._faults = faults
        self._clock = clock

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        if request.method != "GET":
            return SimulatedReply(405, b"Method Not Allowed", PLAIN, {"allow": "GET"})
        key = request.headers.get("authorization", "").strip()
        if not key or key == INVALID_KEY or key.lower().startswith(("bearer ", "basic ")):
            return _refuse(401, "invalid authentication")
        tax_id = plain_document(request.query.get("taxId", ""))
        now = self._clock()
        match request.path.split("/"):
            case ["", "credit"]:
                return json_reply(200, {"perpetual": 1_000_000, "transient": 0})
            case ["", "office", requested]:
                outcome = _company_replies(plain_document(requested), partial(office, now=now))
            case ["", "rfb"]:
                outcome = _company_replies(tax_id, partial(rfb, now=now))
            case ["", "ccc"]:
                of_2025 = key == KEY_OF_2025
                outcome = _states_replies(tax_id, request.query, now, types_of_2025=of_2025)
            case ["", "suframa"]:
                outcome = _zone_replies(tax_id, now)
            case _:
                return SimulatedReply(404, b"Not Found", PLAIN)
        constraints = [outcome] if isinstance(outcome, str) else []
        if constraints := constraints + _constraints(request.query):
            message = "request validation failed"
            return json_reply(400, {"code": 400, "message": message, "constraints": constraints})
        assert isinstance(outcome, ReplyFactory)
        if key == KEY_WITHOUT_CREDITS:
            return _refuse(429, "not enough credits", required=1, remaining=0)
        if key == KEY_RATE_LIMITED:
            return _refuse(429, "rate limit exceeded")
        # the simulator has no cache, so strategy CACHE finds nothing
        if not _is_known(outcome) or request.query.get("strategy") == "CACHE":
            return _refuse(404, "tax id not registered at revenue service")
        headers = {
            "x-trace-id": str(uuid5(NAMESPACE_OID, outcome.document)),
            "x-credit-required": "1",
        }
        if request.query.get("sync") == "true":
            headers["cnpja-request-cost"] = "1"
        replies = outcome.map(lambda fields: json_reply(200, fields, headers))
        return await self._faults.reply(replies, self, receive)

    def maintenance(self) -> SimulatedReply:
        return _refuse(503, "revenue service is offline")

    def error(self) -> SimulatedReply:
        return _refuse(500, "unexpected error")


def _company_replies(cnpj: str, body: Callable[[str], dict[str, object]]) -> _Outcome:
    if not is_cnpj(cnpj):
        return "taxId must be a valid CNPJ"

    def incomplete(document: str) -> dict[str, object]:
        fields = body(document)
        company = fields.get("company", fields)
        assert isinstance(company, dict)
        del company["name"]
        return fields

    return ReplyFactory("company", cnpj, body, incomplete)


def _states_replies(
    document: str, query: Mapping[str, str], now: datetime, *, types_of_2025: bool
) -> _Outcome:
    person = is_cpf(document)
    if not person and not is_cnpj(document):
        return "taxId must be a valid CNPJ or CPF"
    requested = query.get("states", "")
    # for a producer, the API requires one UF
    if person and requested not in UFS:
        return "states must be exactly one state for a CPF"
    if requested in _ALL_STATES:
        ufs = UFS
    elif requested == _HOME_STATE:
        ufs = tuple(uf for uf in UFS if uf == home_of(document))
    else:
        ufs = tuple(requested.split(","))
    if not set(ufs) <= set(UFS):
        return "states must be a list of states, BR, ALL or ORIGIN"
    if query.get("source", "AUTO") not in _SOURCES:
        return "source must be one of AUTO, CCC, SINTEGRA"

    body = partial(ccc, states=ufs, now=now, types_of_2025=types_of_2025)

    def incomplete(document: str) -> dict[str, object]:
        fields = body(document)
        registrations = fields["registrations"]
        assert isinstance(registrations, list)
        for registration in registrations:
            del registration["number"]
        if not registrations:
            del fields["registrations"]
        return fields

    subject = "rural_producer" if person else "state_registration"
    return ReplyFactory(subject, document, body, incomplete, ufs)


def _zone_replies(document: str, now: datetime) -> _Outcome:
    if not is_cnpj(document) and not is_cpf(document):
        return "taxId must be a valid CNPJ or CPF"

    def body(cnpj: str) -> dict[str, object]:
        record = zone_registration_of(cnpj)
        assert record is not None
        return suframa(cnpj, record, now)

    def incomplete(cnpj: str) -> dict[str, object]:
        fields = body(cnpj)
        del fields["number"]
        return fields

    return ReplyFactory(
        "suframa", document, body, incomplete, other_document=OTHER_COMPANY_IN_THE_ZONE
    )


def _is_known(requested: ReplyFactory[dict[str, object]]) -> bool:
    if requested.subject == "suframa":
        return is_cnpj(requested.document) and zone_registration_of(requested.document) is not None
    return is_cpf(requested.document) or exists(requested.document)


def _refuse(status: int, message: str, **more: int) -> SimulatedReply:
    return json_reply(status, {"code": status, "message": message, **more})


def _constraints(query: Mapping[str, str]) -> list[str]:
    found = []
    if query.get("strategy", "ONLINE") not in _STRATEGIES:
        found.append("strategy must be one of ONLINE, CACHE_IF_FRESH, CACHE_IF_ERROR, CACHE")
    for name in ("maxAge", "maxStale"):
        days = query.get(name, "1")
        if not days.isascii() or not days.isdigit() or not 1 <= int(days) <= 3650:
            found.append(f"{name} must be an integer from 1 to 3650")
    return found


def simulators(faults: FaultInjector, clock: Callable[[], datetime]) -> Mapping[str, Simulator]:
    """Return the simulator by its path prefix."""
    return {"/cnpja": SimulatedCnpja(faults, clock)}
