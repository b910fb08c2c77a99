"""CNPJá's commercial API: addresses, keys and refusals (`cnpja.md`, sections 1 and 5)."""

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
from balcao.providers.simulation.exchange import (
    PLAIN,
    Simulated,
    SimulatedReply,
    SimulatedRequest,
    is_cnpj,
    is_cpf,
    json_reply,
    plain_document,
)
from balcao.providers.simulation.staging import SOMEBODY_ELSE_IN_THE_ZONE, Scene, Stage

_STRATEGIES = frozenset({"ONLINE", "CACHE_IF_FRESH", "CACHE_IF_ERROR", "CACHE"})
_SOURCES = frozenset({"AUTO", "CCC", "SINTEGRA"})

# The word of 2025 and the one of 2026 (`cnpja.md`, section 2).
_ALL_STATES = frozenset({"BR", "ALL"})
_HOME_STATE = "ORIGIN"

# Keys with a promise; every other key that is not empty is good.
INVALID_KEY = "invalid"
KEY_WITHOUT_CREDITS = "without-credits"
KEY_RATE_LIMITED = "rate-limited"
KEY_OF_2025 = "types-2025"


# What is asked of whom, or the constraint that is not met.
_Question: TypeAlias = Scene[dict[str, object]] | str


class SimulatedCnpja:
    """The commercial API: `/office/{taxId}`, `/rfb`, `/ccc`, `/suframa` and `/credit`.

    The key `types-2025` numbers the types of registration as the vendor did then.
    """

    def __init__(self, stage: Stage, clock: Callable[[], datetime]) -> None:
        self._stage = stage
        self._clock = clock

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        """One request."""
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
            case ["", "office", asked]:
                question = _of_company(plain_document(asked), partial(office, now=now))
            case ["", "rfb"]:
                question = _of_company(tax_id, partial(rfb, now=now))
            case ["", "ccc"]:
                of_2025 = key == KEY_OF_2025
                question = _of_states(tax_id, request.query, now, types_of_2025=of_2025)
            case ["", "suframa"]:
                question = _of_zone(tax_id, now)
            case _:
                return SimulatedReply(404, b"Not Found", PLAIN)
        constraints = [question] if isinstance(question, str) else []
        if constraints := constraints + _constraints(request.query):
            message = "request validation failed"
            return json_reply(400, {"code": 400, "message": message, "constraints": constraints})
        assert isinstance(question, Scene)
        if key == KEY_WITHOUT_CREDITS:
            return _refuse(429, "not enough credits", required=1, remaining=0)
        if key == KEY_RATE_LIMITED:
            return _refuse(429, "rate limit exceeded")
        # There is no cache in here: what is asked of the cache alone is not in it.
        if not _is_known(question) or request.query.get("strategy") == "CACHE":
            return _refuse(404, "tax id not registered at revenue service")
        headers = {
            "x-trace-id": str(uuid5(NAMESPACE_OID, question.document)),
            "x-credit-required": "1",
        }
        if request.query.get("sync") == "true":
            headers["cnpja-request-cost"] = "1"
        scene = question.told(lambda said: json_reply(200, said, headers))
        return await self._stage.play(scene, self, receive)

    def maintenance(self) -> SimulatedReply:
        """Their source is down."""
        return _refuse(503, "revenue service is offline")

    def error(self) -> SimulatedReply:
        """They are down."""
        return _refuse(500, "unexpected error")


def _of_company(cnpj: str, body: Callable[[str], dict[str, object]]) -> _Question:
    if not is_cnpj(cnpj):
        return "taxId must be a valid CNPJ"

    def incomplete(document: str) -> dict[str, object]:
        said = body(document)
        company = said.get("company", said)
        assert isinstance(company, dict)
        del company["name"]
        return said

    return Scene("company", cnpj, body, incomplete)


def _of_states(
    document: str, query: Mapping[str, str], now: datetime, *, types_of_2025: bool
) -> _Question:
    person = is_cpf(document)
    if not person and not is_cnpj(document):
        return "taxId must be a valid CNPJ or CPF"
    asked = query.get("states", "")
    # For a producer they look where they are told to, and nowhere else.
    if person and asked not in UFS:
        return "states must be exactly one state for a CPF"
    if asked in _ALL_STATES:
        ufs = UFS
    elif asked == _HOME_STATE:
        ufs = tuple(uf for uf in UFS if uf == home_of(document))
    else:
        ufs = tuple(asked.split(","))
    if not set(ufs) <= set(UFS):
        return "states must be a list of states, BR, ALL or ORIGIN"
    if query.get("source", "AUTO") not in _SOURCES:
        return "source must be one of AUTO, CCC, SINTEGRA"

    body = partial(ccc, states=ufs, now=now, types_of_2025=types_of_2025)

    def incomplete(document: str) -> dict[str, object]:
        said = body(document)
        registrations = said["registrations"]
        assert isinstance(registrations, list)
        for registration in registrations:
            del registration["number"]
        if not registrations:
            del said["registrations"]
        return said

    subject = "rural_producer" if person else "state_registration"
    return Scene(subject, document, body, incomplete, ufs)


def _of_zone(document: str, now: datetime) -> _Question:
    if not is_cnpj(document) and not is_cpf(document):
        return "taxId must be a valid CNPJ or CPF"

    def body(cnpj: str) -> dict[str, object]:
        record = zone_registration_of(cnpj)
        assert record is not None
        return suframa(cnpj, record, now)

    def incomplete(cnpj: str) -> dict[str, object]:
        said = body(cnpj)
        del said["number"]
        return said

    return Scene("suframa", document, body, incomplete, somebody_else=SOMEBODY_ELSE_IN_THE_ZONE)


def _is_known(asked: Scene[dict[str, object]]) -> bool:
    if asked.subject == "suframa":
        return is_cnpj(asked.document) and zone_registration_of(asked.document) is not None
    return is_cpf(asked.document) or exists(asked.document)


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


def simulators(stage: Stage, clock: Callable[[], datetime]) -> Mapping[str, Simulated]:
    """Where it is."""
    return {"/cnpja": SimulatedCnpja(stage, clock)}
