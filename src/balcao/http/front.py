"""Where a request comes in: a plain ASGI application over the table of routes (`http/routes.py`).

No framework request or response is built on the way of a lookup; bodies are bytes already.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec
import structlog

from balcao.core.access import Caller
from balcao.core.outcomes import Reply, reply_of
from balcao.core.rate_limit import Verdict
from balcao.errors import (
    BalcaoError,
    KeyRefused,
    MethodNotAllowed,
    RouteNotFound,
)
from balcao.http.authenticator import Authenticator, must_wait
from balcao.http.lookup_request import read_lookup
from balcao.http.read import Receive, Request, Scope, pieces_of, read
from balcao.http.routes import Answer, Route, Routes, lookups
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

log = structlog.get_logger()

_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

_ALLOWED = b"GET, HEAD, OPTIONS"  # where there is nothing

_PDF = b"application/pdf"

ASGIApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass(slots=True)
class Front:
    """The application. `beside` are the addresses that are not lookups (health, docs, ...)."""

    parts: Parts
    authenticator: Authenticator
    metrics: Metrics
    request_log: RequestLog
    new_id: Callable[[], str]
    beside: Iterable[Route]
    header_bytes_max: int
    start: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]]
    web: ASGIApp | None = None  # the web application
    routes: Routes = field(init=False)

    def __post_init__(self) -> None:
        self.routes = Routes([*lookups(self.parts.operations.values()), *self.beside])

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
        await self._answer(scope, receive, send, time.perf_counter())

    async def _answer(self, scope: Scope, receive: Receive, send: Send, started: float) -> None:
        context = self._context(scope["path"])
        request_id, route = context.request_id, context.route
        try:
            method = scope["method"]
            takes = route is not None and method in route.methods
            if not takes and method not in _METHODS:  # before the body that comes with them
                raise RouteNotFound if route is None else MethodNotAllowed
            bodiless = route is None or route.body is None or method in _METHODS
            request = read(scope, self.header_bytes_max, bodiless=bodiless)
            operation = None if route is None else route.operation
            if operation is None or method == "OPTIONS":
                status = await self._beside(request, receive, context, send)
                done = Reply(request_id, status, b"", credits=0)
                self._observe(context, done, time.perf_counter() - started)
                return
            context.gzip = request.wants_gzip
            if not takes:
                raise MethodNotAllowed
            reply = await self._lookup(operation, context.rest, request, context)
        except Exception as error:
            if context.broken:  # the client has a part of the answer, and will see that it ends
                if not isinstance(error, OSError):  # it left, by itself or because it was slow
                    log.warning("answer.broken", request_id=request_id, kind=type(error).__name__)
                done = Reply(request_id, 200, b"", credits=0)
                self._observe(context, done, time.perf_counter() - started)
                return
            if not isinstance(error, BalcaoError):
                log.exception("request.bug", request_id=request_id)
            reply = _refusal(context, error)
        headers = lookup_headers(
            reply, context.verdicts, self.parts.now_ms(), deprecated=context.deprecated
        )
        if reply.status == 405:
            headers.append((b"allow", _ALLOWED if route is None else route.allow))
        head = scope["method"] == "HEAD"
        await send_whole(send, reply.status, headers, reply.body, gzipped=context.gzip, head=head)
        self._observe(context, reply, time.perf_counter() - started)

    def refuse(self, error: Exception, path: str) -> tuple[int, Headers, bytes]:
        """What is no request for the application: the error in the form of the address's others.

        `path`: as far as it could be read, else empty.
        """
        context = self._context(path)
        if context.route is None or context.route.operation is None:
            context.name = "outros"
        reply = _refusal(context, error)
        headers = lookup_headers(reply, (), self.parts.now_ms(), deprecated=False)
        if reply.status == 405:
            headers.append((b"allow", _ALLOWED if context.route is None else context.route.allow))
        self._observe(context, reply, 0.0)
        return reply.status, headers, reply.body

    def _context(self, path: str) -> "RequestContext":
        route, rest = self.routes.find(path)
        return RequestContext(route, rest, self.new_id(), "outros" if route is None else route.name)

    async def _lookup(
        self, operation: Operation, document: str, request: Request, context: "RequestContext"
    ) -> Reply:
        """The fixed order of checks (decisions 2.10), then the lookup itself."""
        caller = await self._recognised(request, context)
        sent = read_lookup(operation, document, request, caller)
        context.deprecated = sent.question.deprecated_header
        return await look_up(
            sent.question,
            caller,
            context.request_id,
            sent.idempotency_key,
            self.parts,
            credits_max=sent.credits_max,
        )

    async def _recognised(self, request: Request, context: "RequestContext") -> Caller:
        """Whose key it is, within the limits. Raises `KeyRefused`, `RateLimited`."""
        now = self.parts.now_ms()
        if b"x-api-key" in request.repeated:
            raise KeyRefused
        header = request.headers.get(b"x-api-key")
        caller = context.caller = await self.authenticator.recognise(header, now)
        context.verdicts = await self.authenticator.count(caller, now)
        if (limited := must_wait(context.verdicts)) is not None:
            raise limited
        return caller

    async def _beside(
        self, request: Request, receive: Receive, context: "RequestContext", send: Send
    ) -> int:
        """Answer what is no lookup: preflights and other routes. Returns the status."""
        mark = (b"x-request-id", context.request_id.encode())
        if request.method == "OPTIONS":
            context.name = "preflight"
            await send_whole(send, 204, [*PREFLIGHT, mark], b"")
            return 204
        route = context.route
        if route is None:
            raise RouteNotFound
        if request.method not in route.methods:
            raise MethodNotAllowed
        context.level = route.level
        caller = await self._recognised(request, context) if route.needs_key else None
        body = b""
        if route.body is not None and request.method not in _METHODS:
            body = await route.body.read(request.headers, pieces_of(receive))
        request = msgspec.structs.replace(request, rest=context.rest, caller=caller, body=body)
        answered: Answer = await route.handler(request)
        status, headers, answer = answered
        if route.of_api:
            # Every answer in JSON says which one it is.
            if isinstance(answer, bytes) and answer.startswith(b'{"'):
                answer = b'{"request_id":"' + context.request_id.encode() + b'",' + answer[1:]
            headers = [*headers, *CORS, *limit_headers(context.verdicts)]
        headers = [*headers, mark]
        if isinstance(answer, Pieces):
            context.broken = True
            await send_pieces(send, status, headers, answer, head=request.method == "HEAD")
            return status
        # Files that are compressed once, not per request, come compressed; a PDF is, inside.
        ready = any(name == b"content-encoding" or value == _PDF for name, value in headers)
        await send_whole(
            send,
            status,
            headers,
            answer,
            gzipped=request.wants_gzip and not ready,
            head=request.method == "HEAD",
        )
        return status

    def _observe(self, context: "RequestContext", reply: Reply, seconds: float) -> None:
        """One event per request, and the measurements."""
        origin = reply.origin or "nenhuma"
        self.metrics.request(context.name, reply.status, origin, seconds, reply.credits)
        self.request_log.note(
            event_of(context.name, context.caller, reply, seconds, level=context.level)
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


class RequestContext(msgspec.Struct):
    """What is learned of a request on its way, for its headers and its event."""

    route: Route | None
    rest: str  # of the path: of a lookup, the document as it stands there
    request_id: str
    name: str  # in the event and the measurements
    level: str = "info"  # of the event
    caller: Caller | None = None
    verdicts: Sequence[Verdict] = ()
    deprecated: bool = False
    gzip: bool = False
    broken: bool = False  # an answer that has begun, if anything is raised from now on


def event_of(
    name: str, caller: Caller | None, reply: Reply, seconds: float, *, level: str = "info"
) -> RequestEvent:
    """What is logged of one answer."""
    return RequestEvent(
        reply.request_id,
        name,
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
        level=level,
    )


def _refusal(context: RequestContext, error: Exception) -> Reply:
    if context.route is None or context.route.told_as is None:
        return reply_of(context.request_id, envelope.refusal(error))
    fields_of = context.route.told_as.error_fields
    return reply_of(context.request_id, envelope.refusal(error, context.rest, fields_of))
