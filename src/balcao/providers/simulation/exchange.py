"""A request and a reply as values, and how they travel over ASGI."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Protocol

import httpx2
import msgspec
from starlette import requests
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from balcao.core.check_digits import cpf_check_digits
from balcao.fiction.digits import cnpj

# The longest body a provider takes is a form of a few fields.
BODY_BYTES_MAX = 65_536

# Where a listener says whose certificate it saw, in base64 of its DER.
CERTIFICATE_HEADER = "x-ssl-client-cert"

JSON = "application/json"
HTML = "text/html; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"


class ConnectionCut(httpx2.RemoteProtocolError):
    """The provider closes the connection in the middle of a body.

    Within the process the client gets this very error, which is of the kind it would get from
    a real connection; a server turns it into a real one (`create_server_app`).
    """


@dataclass(frozen=True, slots=True)
class SimulatedRequest:
    """What a provider was asked. `path` is what follows the provider's prefix."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # lower case names
    body: bytes
    scheme: str = "http"

    @property
    def origin(self) -> str:
        """Where the client found us, for addresses that it shall be able to follow."""
        return f"{self.scheme}://{self.headers.get('host', 'localhost')}"


@dataclass(frozen=True, slots=True)
class SimulatedReply:
    """What a provider says; `cut` closes the connection half way through the body."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


class Simulated(Protocol):
    """Somebody who is asked over HTTP."""

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        """One request; `receive` tells when nobody listens any more."""
        ...


def json_reply(
    status: int, value: object, headers: Mapping[str, str] | None = None, content_type: str = JSON
) -> SimulatedReply:
    """A reply with a JSON body."""
    return SimulatedReply(status, msgspec.json.encode(value), content_type, headers or {})


def html_reply(status: int, title: str) -> SimulatedReply:
    """The page of a proxy, or of a maintenance that nobody told the API about."""
    page = (
        f"<!DOCTYPE html><html><head><title>{title}</title></head>"
        f"<body><h1>{title}</h1><hr><p>simulator</p></body></html>"
    )
    return SimulatedReply(status, page.encode(), HTML)


class Endpoint:
    """A simulated provider as an ASGI application, below its prefix."""

    def __init__(self, prefix: str, simulated: Simulated) -> None:
        self._prefix = prefix
        self._simulated = simulated

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request. Raises `ConnectionCut` after half of a body that is to be cut."""
        request = await read(requests.Request(scope, receive), self._prefix)
        reply = await self._simulated.answer(request, receive)
        await response(reply)(scope, receive, send)


async def read(asked: requests.Request, prefix: str = "") -> SimulatedRequest:
    """A request as a value, with no more of its body than anybody wants."""
    body = b""
    async for chunk in asked.stream():
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            break
    return SimulatedRequest(
        method=asked.method,
        path=asked.scope["path"].removeprefix(prefix),
        query=asked.query_params,
        headers=asked.headers,
        body=body,
        scheme=asked.url.scheme,
    )


def response(reply: SimulatedReply) -> Response:
    """A reply on its way; see `Reply.cut`."""
    kind = _Cut if reply.cut else Response
    return kind(reply.body, reply.status, {"content-type": reply.content_type, **reply.headers})


class _Cut(Response):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        half = self.body[: len(self.body) // 2]
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": half, "more_body": True})
        raise cut()


def cut() -> ConnectionCut:
    """The error of a body that ended too soon, in the words of a real one."""
    return ConnectionCut("peer closed connection without sending complete message body")


def plain_document(text: str) -> str:
    """A document without its punctuation, upper case."""
    return re.sub(r"[./\-\s]", "", text).upper()


def punctuated(document: str) -> str:
    """`NN.NNN.NNN/NNNN-NN` of a CNPJ, `NNN.NNN.NNN-NN` of a CPF."""
    d = document
    if len(d) == 11:
        return f"{d[:3]}.{d[3:6]}.{d[6:9]}-{d[9:]}"
    return f"{d[:2]}.{d[2:5]}.{d[5:8]}/{d[8:12]}-{d[12:]}"


def day(value: date | None) -> str:
    """`dd/mm/yyyy`; empty for none."""
    return value.strftime("%d/%m/%Y") if value else ""


def is_cnpj(text: str) -> bool:
    """Whether a text without punctuation has the right check digits."""
    return re.fullmatch(r"[0-9A-Z]{12}[0-9]{2}", text) is not None and text == cnpj(
        text[:8], text[8:12]
    )


def is_cpf(text: str) -> bool:
    """Whether a text without punctuation has the right check digits."""
    return re.fullmatch(r"[0-9]{11}", text) is not None and text == text[:9] + cpf_check_digits(
        text[:9]
    )
