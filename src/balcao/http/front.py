"""Where a request comes in: a plain ASGI application with a handful of routes.

No framework request or response is built on the way of a lookup; bodies are bytes already.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
import structlog

from balcao.core.access import Caller
from balcao.core.idempotency import is_valid_key
from balcao.core.outcomes import Reply, reply_of
from balcao.core.rate_limit import Verdict
from balcao.errors import (
    BalcaoError,
    InvalidIdempotencyKey,
    KeyRefused,
    MethodNotAllowed,
    RepeatedParameter,
    RouteNotFound,
)
from balcao.http.authenticator import Authenticator, must_wait
from balcao.http.read import Request, Scope, read
from balcao.http.write import (
    CORS,
    PREFLIGHT,
    Headers,
    Pieces,
    Send,
    limit_headers,
    lookup_headers,
    send_pieces,
    send_whole,
)
from balcao.lookup.context import Parts
from balcao.lookup.story import look_up
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestEvent, RequestLog
from balcao.operations import envelope
from balcao.operations.contract import Operation
from balcao.operations.parameters import Parameters

log = structlog.get_logger()

PREFIX = "/consultas/v2/"
_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_PARAMETER_HEADERS = frozenset({b"cache", b"idempotency-key"})

_ALLOWED = b"GET, OPTIONS"  # of what costs credits

_PDF = b"application/pdf"

# Asked every few seconds by machines: their events would bury the others.
PROBES = frozenset({"/livez", "/readyz", "/metrics"})

ASGIApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

Page = Callable[[Request], Awaitable[tuple[int, Headers, bytes]]]


@dataclass(frozen=True, slots=True)
class Window:
    """Addresses below one path that are no lookups and yet not for everybody: receipts, accounts.

    `answer` is given what follows the path, and the caller: whose key was sent, or None where
    the window is public. It costs no credits and counts against the same limits.
    """

    path: str  # ends with a slash, unless nothing may follow
    name: str  # in the event and the measurements
    answer: Callable[[Request, str, Caller | None], Awaitable[tuple[int, Headers, bytes | Pieces]]]
    public: bool = False


@dataclass(slots=True)
class Front:
    """The application. `pages` are the addresses that are not lookups (health, docs, ...)."""

    parts: Parts
    authenticator: Authenticator
    metrics: Metrics
    request_log: RequestLog
    new_id: Callable[[], str]
    pages: Mapping[str, Page]
    header_bytes_max: int
    start: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]]
    windows: Sequence[Window] = ()
    web: ASGIApp | None = None  # the web application
    by_path: Mapping[str, Operation] = field(init=False)

    def __post_init__(self) -> None:
        self.by_path = {each.path: each for each in self.parts.operations.values()}

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        """ASGI entry."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        if self.web is not None and _is_page(scope["path"]):
            await self.web(scope, receive, send)
            return
        await self._answer(scope, send, time.perf_counter())

    async def _answer(self, scope: Scope, send: Send, started: float) -> None:
        request_id = self.new_id()
        path: str = scope["path"]
        operation, document = self._operation_of(path)
        window = self._window_of(path)
        name = path if path in self.pages else "outros"
        if window is not None:
            operation, name = None, window.name
        elif operation is not None:
            name = operation.path
        visit = Visit(operation, document, request_id, name, window)
        try:
            if scope["method"] not in _METHODS:  # before the body that comes with them
                known = operation is not None or window is not None or path in self.pages
                raise MethodNotAllowed if known else RouteNotFound
            request = read(scope, self.header_bytes_max)
            if operation is None or request.method == "OPTIONS":
                status = await self._beside(request, visit, send)
                done = Reply(request_id, status, b"", credits=0)
                self._observe(visit, done, time.perf_counter() - started)
                return
            visit.gzip = request.wants_gzip
            if request.method != "GET":
                raise MethodNotAllowed
            reply = await self._lookup(operation, document, request, visit)
        except Exception as error:
            if visit.broken:  # the client has a part of the answer, and will see that it ends
                if not isinstance(error, OSError):  # it left, by itself or because it was slow
                    log.warning("answer.broken", request_id=request_id, kind=type(error).__name__)
                done = Reply(request_id, 200, b"", credits=0)
                self._observe(visit, done, time.perf_counter() - started)
                return
            if not isinstance(error, BalcaoError):
                log.exception("request.bug", request_id=request_id)
            reply = _refusal(visit, error)
        headers = lookup_headers(
            reply, visit.verdicts, self.parts.now_ms(), deprecated=visit.deprecated
        )
        if reply.status == 405:
            headers.append((b"allow", b"GET, HEAD, OPTIONS" if operation is None else _ALLOWED))
        head = scope["method"] == "HEAD"
        await send_whole(send, reply.status, headers, reply.body, gzipped=visit.gzip, head=head)
        self._observe(visit, reply, time.perf_counter() - started)

    def refuse(self, error: Exception, path: str) -> tuple[int, Headers, bytes]:
        """What is no request for the application: the error in the form of the address's others.

        `path`: as far as it could be read, else empty.
        """
        operation, document = self._operation_of(path)
        name = "outros" if operation is None else operation.path
        visit = Visit(operation, document, self.new_id(), name)
        reply = _refusal(visit, error)
        headers = lookup_headers(reply, (), self.parts.now_ms(), deprecated=False)
        if reply.status == 405:
            headers.append((b"allow", b"GET, HEAD, OPTIONS" if operation is None else _ALLOWED))
        self._observe(visit, reply, 0.0)
        return reply.status, headers, reply.body

    def _operation_of(self, path: str) -> tuple[Operation | None, str]:
        """The operation and the document's text. A slash may stand inside a CNPJ (2.1)."""
        if not path.startswith(PREFIX):
            return None, ""
        segment, slash, document = path[len(PREFIX) :].partition("/")
        operation = self.by_path.get(segment)
        if operation is None or bool(operation.document) != bool(slash and document):
            return None, ""
        return operation, document

    def _window_of(self, path: str) -> Window | None:
        for window in self.windows:
            if path.startswith(window.path) and (path == window.path or window.path[-1] == "/"):
                return window
        return None

    async def _lookup(
        self, operation: Operation, document: str, request: Request, visit: "Visit"
    ) -> Reply:
        """The fixed order of checks (decisions 2.10), then the lookup itself."""
        caller = await self._recognised(request, visit)
        operation.enter(caller)
        for name in request.repeated:
            if name in _PARAMETER_HEADERS:
                raise RepeatedParameter(f"O cabeçalho {name.decode()} foi enviado mais de uma vez.")
        parameters = Parameters(request.query, request.headers, operation.names)
        question = operation.parse(document, parameters)
        visit.deprecated = question.deprecated_header
        key = parameters.header(b"idempotency-key")
        if key is not None and not is_valid_key(key):
            raise InvalidIdempotencyKey
        operation.permit(question, caller)
        return await look_up(question, caller, visit.request_id, key, self.parts)

    async def _recognised(self, request: Request, visit: "Visit") -> Caller:
        """Whose key it is, within the limits. Raises `KeyRefused`, `RateLimited`."""
        now = self.parts.now_ms()
        if b"x-api-key" in request.repeated:
            raise KeyRefused
        header = request.headers.get(b"x-api-key")
        caller = visit.caller = await self.authenticator.recognise(header, now)
        visit.verdicts = await self.authenticator.count(caller, now)
        if (limited := must_wait(visit.verdicts)) is not None:
            raise limited
        return caller

    async def _beside(self, request: Request, visit: "Visit", send: Send) -> int:
        """Answer what is no lookup: preflights and pages. Returns the status."""
        mark = (b"x-request-id", visit.request_id.encode())
        if request.method == "OPTIONS":
            visit.name = "preflight"
            await send_whole(send, 204, [*PREFLIGHT, mark], b"")
            return 204
        page = self.pages.get(request.path)
        body: bytes | Pieces
        if page is None and visit.window is None:
            raise RouteNotFound
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed
        if request.path in PROBES:
            visit.level = "debug"
        if visit.window is not None:
            caller = None if visit.window.public else await self._recognised(request, visit)
            rest = request.path[len(visit.window.path) :]
            status, headers, body = await visit.window.answer(request, rest, caller)
            # Every answer in JSON says which one it is.
            if isinstance(body, bytes) and body.startswith(b'{"'):
                body = b'{"request_id":"' + visit.request_id.encode() + b'",' + body[1:]
            headers = [*headers, *CORS, *limit_headers(visit.verdicts)]
        else:
            assert page is not None
            status, headers, body = await page(request)
        headers = [*headers, mark]
        if isinstance(body, Pieces):
            visit.broken = True
            await send_pieces(send, status, headers, body, head=request.method == "HEAD")
            return status
        # Files that are compressed once, not per request, come compressed; a PDF is, inside.
        ready = any(name == b"content-encoding" or value == _PDF for name, value in headers)
        await send_whole(
            send,
            status,
            headers,
            body,
            gzipped=request.wants_gzip and not ready,
            head=request.method == "HEAD",
        )
        return status

    def _observe(self, visit: "Visit", reply: Reply, seconds: float) -> None:
        """One event per request, and the measurements."""
        origin = reply.origin or "nenhuma"
        self.metrics.request(visit.name, reply.status, origin, seconds, reply.credits)
        caller = visit.caller
        self.request_log.note(
            RequestEvent(
                reply.request_id,
                visit.name,
                reply.status,
                reply.code,
                caller.account_id if caller else None,
                caller.key_id if caller else None,
                reply.origin,
                reply.source,
                reply.credits,
                reply.replayed,
                round(seconds * 1000, 2),
                reply.detail or msgspec.UNSET,
                level=visit.level,
            )
        )

    async def _lifespan(self, receive: Any, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self.start()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return


def _is_page(path: str) -> bool:
    return path.startswith(("/app/", "/status/")) or path in ("/app", "/status")


class Visit(msgspec.Struct):
    """What is learned of a request on its way, for its headers and its event."""

    operation: Operation | None
    document: str  # as it stands in the path
    request_id: str
    name: str  # in the event and the measurements
    window: Window | None = None
    level: str = "info"  # of the event
    caller: Caller | None = None
    verdicts: Sequence[Verdict] = ()
    deprecated: bool = False
    gzip: bool = False
    broken: bool = False  # an answer that has begun, if anything is raised from now on


def _refusal(visit: Visit, error: Exception) -> Reply:
    if visit.operation is None:
        return reply_of(visit.request_id, envelope.refusal(error))
    fields_of = visit.operation.error_fields
    return reply_of(visit.request_id, envelope.refusal(error, visit.document, fields_of))
