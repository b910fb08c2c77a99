"""Simulator of Infosimples, version 2: call, envelope and codes (`infosimples.md`, 1 to 3).

Receipts are at `/receipts/{name}` for an hour (`service.py`). Every reply is HTTP 200 with its
result in `code`, except for documents with faults of transport. It has no state: neither a balance
nor a history of equal calls.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from urllib.parse import parse_qsl

import msgspec
from starlette.types import Receive

from balcao.core.calendar import BRASILIA
from balcao.fiction import tables
from balcao.fiction.dice import draws
from balcao.providers.infosimples.simulator.caixa import regularidade
from balcao.providers.infosimples.simulator.cndt import cndt
from balcao.providers.infosimples.simulator.pgfn import pgfn
from balcao.providers.infosimples.simulator.sefaz import SERVICES_OF_UFS, certidao_debitos
from balcao.providers.infosimples.simulator.service import (
    Answer,
    HostedReceipt,
    Service,
    in_maintenance,
    name_of,
    reply_of,
)
from balcao.providers.infosimples.simulator.sintegra import sintegra
from balcao.providers.simulation.faults import FaultInjector
from balcao.providers.simulation.messages import (
    PLAIN,
    SimulatedReply,
    SimulatedRequest,
    Simulator,
    json_reply,
)

# The services, by path below `/api/v2/consultas/`.
SERVICES: Mapping[str, Service] = {
    "sintegra/unificada": sintegra,
    "receita-federal/pgfn": pgfn,
    "sefaz/certidao-debitos": certidao_debitos,
    "tribunal/tst/cndt": cndt,
    "caixa/regularidade": regularidade,
    **SERVICES_OF_UFS,
}

# How long a receipt can be fetched.
RECEIPT_LIFE = timedelta(hours=1)

# Tokens that are refused; every other token that is not empty is valid.
INVALID_TOKEN = "invalid"  # noqa: S105
TOKEN_WITHOUT_BALANCE = "without-balance"  # noqa: S105

_PREFIX = "/api/v2/consultas/"
_RECEIPTS = "/receipts/"
_PRICE, _PRICES = "0.24", {"caixa/regularidade": "0.26"}
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")

# Parameters that are echoed as digests only.
_SECRETS = frozenset({"login_cpf", "login_senha", "pkcs12_cert", "pkcs12_pass"})

# By code: whether it is billed, and its message (`infosimples.md`, section 3).
_CODES: Mapping[int, tuple[bool, str]] = {
    int(row["code"]): (row["billed"] == "yes", row["description"])
    for row in tables.rows("codes", files(__name__))
}


@dataclass(frozen=True, slots=True)
class _Call:
    """One call, which wraps results in the envelope."""

    service: str
    parameters: Mapping[str, str]
    asked_at: datetime
    receipts_at: str  # absolute address

    def reply(self, answer: Answer, status: int = 200) -> SimulatedReply:
        """Return the reply with a result in its envelope."""
        billable, message = _CODES[answer.code]
        url = self._url(answer.receipt)
        data = [{**each, "site_receipt": url} for each in answer.data] if url else answer.data
        echo = _echo(self.parameters)
        dice = draws(f"{self.service} {sorted(echo.items())}".encode().hex())
        header = {
            "api_version": "v2",
            "api_version_full": "2.2.30-20260701120000",
            "product": "Consultas",
            "service": self.service,
            "parameters": echo,
            "client_name": "Cliente Fictício",
            "token_name": "Token Fictício",
            "billable": billable,
            "price": _PRICES.get(self.service, _PRICE) if billable else "0.0",
            "requested_at": self.asked_at.isoformat(timespec="milliseconds"),
            # not the real time: the states' pages take seconds
            "elapsed_time_in_milliseconds": 900 + dice[0] % 8000,
            "remote_ip": "203.0.113.10",
            "signature": base64.b64encode(b"".join(n.to_bytes(2) for n in dice)).decode(),
        }
        body = {
            "code": answer.code,
            "code_message": message,
            "errors": answer.errors,
            "header": header,
            "data_count": len(data),
            "data": data,
            "site_receipts": [url] if url else [],
        }
        return json_reply(status, body, content_type="application/json; charset=utf-8")

    def maintenance(self) -> SimulatedReply:
        return self.reply(in_maintenance())

    def error(self) -> SimulatedReply:
        return self.reply(Answer(600, errors=("Erro inesperado.",)), status=500)

    def _url(self, receipt: HostedReceipt | None) -> str | None:
        if receipt is None or self.parameters.get("ignore_site_receipt", "0") != "0":
            return None
        return self.receipts_at + name_of(receipt, self.asked_at + RECEIPT_LIFE)


class SimulatedInfosimples:
    """The services, at `/api/v2/consultas/{service}`, and their receipts."""

    def __init__(self, faults: FaultInjector, clock: Callable[[], datetime]) -> None:
        self._faults = faults
        self._clock = clock

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        now = self._clock().astimezone(BRASILIA)
        if request.path.startswith(_RECEIPTS) and request.method == "GET":
            return reply_of(request.path.removeprefix(_RECEIPTS), now)
        name = request.path.removeprefix(_PREFIX)
        if name == request.path:
            return SimulatedReply(404, b"Not Found", PLAIN)
        if request.method not in ("GET", "POST"):
            return SimulatedReply(405, b"Method Not Allowed", PLAIN, {"allow": "GET, POST"})
        sent = _parameters(request)
        token = "" if sent is None else sent.pop("token", "")
        call = _Call(name, sent or {}, now, f"{request.origin}/infosimples{_RECEIPTS}")
        if sent is None:
            return call.reply(Answer(604, errors=("O corpo da requisição não é válido.",)))
        if token in ("", INVALID_TOKEN):
            return call.reply(Answer(601, errors=("O token informado não é válido.",)))
        if (service := SERVICES.get(name)) is None:
            return call.reply(Answer(602, errors=(f"O serviço {name} não existe.",)))
        if token == TOKEN_WITHOUT_BALANCE:
            return call.reply(Answer(603, errors=("O limite de uso do token foi atingido.",)))
        if not _NUMBER.fullmatch(sent.get("timeout", "600")):
            return call.reply(Answer(604, errors=("Timeout não é um número",)))
        question = service(sent, now)
        if isinstance(question, Answer):
            return call.reply(question)
        return await self._faults.reply(question.map(call.reply), call, receive)


def _parameters(request: SimulatedRequest) -> dict[str, str] | None:
    """Return the parameters of query and body, as text; None for an invalid body."""
    found = dict(request.query)
    if not request.body:
        return found
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if kind == "application/json":
            decoded = msgspec.json.decode(
                request.body, type=dict[str, str | int | float | bool | None]
            )
            found |= {name: str(value) for name, value in decoded.items() if value is not None}
        else:
            found |= dict(parse_qsl(request.body.decode(), keep_blank_values=True))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found


def _echo(parameters: Mapping[str, str]) -> dict[str, str]:
    echo: dict[str, str] = {}
    for name, value in parameters.items():
        if name in _SECRETS:
            digest = hashlib.md5(value.encode(), usedforsecurity=False)
            echo[f"{name}_md5"] = digest.hexdigest()
        else:
            echo[name] = value
    return echo


def simulators(faults: FaultInjector, clock: Callable[[], datetime]) -> Mapping[str, Simulator]:
    """Return the simulator by its path prefix."""
    return {"/infosimples": SimulatedInfosimples(faults, clock)}
