"""Requests and replies of simulated providers, and their conversion from and to ASGI."""

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

# The longest body that a provider accepts is a form of a few fields.
BODY_BYTES_MAX = 65_536

# Header in which a listener passes the client's certificate on, as base64 of its DER.
CERTIFICATE_HEADER = "x-ssl-client-cert"

JSON = "application/json"
HTML = "text/html; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"


class ConnectionCut(httpx2.RemoteProtocolError):
    """The provider closes the connection in the middle of a body.

    A client in this process gets this error, of the same type as from a real connection; a server
    closes the real connection (`create_server_app`).
    """


@dataclass(frozen=True, slots=True)
class SimulatedRequest:
    """A request to a provider. `path` follows the provider's prefix."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]  # lower case names
    body: bytes
    scheme: str = "http"

    @property
    def origin(self) -> str:
        """The origin that the client used, for absolute addresses in replies."""
        return f"{self.scheme}://{self.headers.get('host', 'localhost')}"


@dataclass(frozen=True, slots=True)
class SimulatedReply:
    """A provider's reply; `cut` closes the connection half way through the body."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False


class Simulator(Protocol):
    """A provider that answers HTTP requests."""

    async def answer(self, request: SimulatedRequest, receive: Receive) -> SimulatedReply:
        """Answer a request; `receive` returns `http.disconnect` when the client is gone."""
        ...


def json_reply(
    status: int, value: object, headers: Mapping[str, str] | None = None, content_type: str = JSON
) -> SimulatedReply:
    """Return a reply with a JSON body."""
    return SimulatedReply(status, msgspec.json.encode(value), content_type, headers or {})


def html_reply(status: int, title: str) -> SimulatedReply:
    """Return a page such as a proxy sends, or a site in maintenance."""
    page = (
        f"<!DOCTYPE html><html><head><title>{title}</title></head>"
        f"<body><h1>{title}</h1><hr><p>simulator</p></body></html>"
    )
    return SimulatedReply(status, page.encode(), HTML)


class Endpoint:
    """A simulated provider as an ASGI application, below its prefix."""

    def __init__(self, prefix: str, simulated: Simulator) -> None:
        self._prefix = prefix
        self._simulated = simulated

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Raises `ConnectionCut` after half of a body that is to be cut."""
        request = await simulated_request(requests.Request(scope, receive), self._prefix)
        reply = await self._simulated.answer(request, receive)
        await asgi_response(reply)(scope, receive, send)


async def simulated_request(request: requests.Request, prefix: str = "") -> SimulatedRequest:
    """Read an ASGI request, with at most a little more than `BODY_BYTES_MAX` of its body."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            break
    return SimulatedRequest(
        method=request.method,
        path=request.scope["path"].removeprefix(prefix),
        query=request.query_params,
        headers=request.headers,
        body=body,
        scheme=request.url.scheme,
    )


def asgi_response(reply: SimulatedReply) -> Response:
    """Return the ASGI response for a reply; see `SimulatedReply.cut`."""
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
    """Return the error of a body that ended early, with the message of a real one."""
    return ConnectionCut("peer closed connection without sending complete message body")


def plain_document(text: str) -> str:
    """Return a document without punctuation, upper case."""
    return re.sub(r"[./\-\s]", "", text).upper()


def punctuated(document: str) -> str:
    """Return `NN.NNN.NNN/NNNN-NN` for a CNPJ, `NNN.NNN.NNN-NN` for a CPF."""
    d = document
    if len(d) == 11:
        return f"{d[:3]}.{d[3:6]}.{d[6:9]}-{d[9:]}"
    return f"{d[:2]}.{d[2:5]}.{d[5:8]}/{d[8:12]}-{d[12:]}"


def day(value: date | None) -> str:
    """Return `dd/mm/yyyy`, or an empty text for None."""
    return value.strftime("%d/%m/%Y") if value else ""


def is_cnpj(text: str) -> bool:
    """Return whether a text without punctuation has the right check digits."""
    return re.fullmatch(r"[0-9A-Z]{12}[0-9]{2}", text) is not None and text == cnpj(
        text[:8], text[8:12]
    )


def is_cpf(text: str) -> bool:
    """Return whether a text without punctuation has the right check digits."""
    return re.fullmatch(r"[0-9]{11}", text) is not None and text == text[:9] + cpf_check_digits(
        text[:9]
    )
