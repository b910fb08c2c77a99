"""The front: a plain ASGI application over the routes of the API (`http/routes.py`).

No framework request or response is built on the way of a lookup; bodies are bytes already.
"""

import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import msgspec
import structlog

from balcao.core.access import Caller, KeyRestrictions
from balcao.core.addresses import TrustedProxies, peer_address
from balcao.core.deprecations import DeprecatedFeature
from balcao.core.errors import (
    AddressNotAllowed,
    BalcaoError,
    InvalidInput,
    InvalidParameter,
    KeyRefused,
    MethodNotAllowed,
    OperationNotAllowed,
    RouteNotFound,
)
from balcao.core.outcomes import Reply, reply_of
from balcao.core.rate_limit import Verdict
from balcao.http.authenticator import Authenticator, must_wait
from balcao.http.compat.api import CompatAnswer
from balcao.http.compat.route import split_key
from balcao.http.lookup_request import read_lookup
from balcao.http.read import Receive, Request, Scope, pieces_of, prefers_page, read
from balcao.http.routes import Answer, Route, Routes, lookups
from balcao.http.write import (
    CORS,
    NOSNIFF,
    Headers,
    Pieces,
    Send,
    compat_answer,
    limit_headers,
    lookup_headers,
    preflight,
    send_pieces,
    send_whole,
    tag_headers,
)
from balcao.lookup.admit import check_access
from balcao.lookup.context import Parts
from balcao.lookup.execution import look_up
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestEvent, RequestLog
from balcao.operations import envelope
from balcao.operations.contract import Operation
from balcao.operations.parameters import read_tags

log = structlog.get_logger()

_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

_ALLOWED = b"GET, HEAD, OPTIONS"  # of paths without a route

_PDF = b"application/pdf"
_FORWARDED = b"x-forwarded-for"

ASGIApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]


class NewId(Protocol):
    """A generator of request numbers."""

    def __call__(self, at_ms: int | None = None) -> str:
        """Return a new number of this instant; None: now."""
        ...


@dataclass(slots=True)
class Front:
    """The ASGI application. `other_routes`: all except lookups."""

    parts: Parts
    authenticator: Authenticator
    metrics: Metrics
    request_log: RequestLog
    new_id: NewId
    other_routes: Iterable[Route]
    header_bytes_max: int
    start: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]]
    web: ASGIApp | None = None  # the web application
    proxies: TrustedProxies = field(default_factory=TrustedProxies)
    routes: Routes = field(init=False)

    def __post_init__(self) -> None:
        self.routes = Routes([*lookups(self.parts.operations.values()), *self.other_routes])

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        if self.web is not None and (_is_page(scope["path"]) or self._is_lost(scope)):
            await self.web(scope, receive, send)
            return
        await self._answer(scope, receive, send, time.perf_counter())

    def _is_lost(self, scope: Scope) -> bool:
        """Return whether a browser requests a page that does not exist.

        Below the API's paths, errors have the API's form even for browsers.
        """
        path = scope["path"]
        if scope["method"] not in ("GET", "HEAD") or self.routes.has_below(path):
            return False
        return prefers_page(dict(scope["headers"]))

    async def _answer(self, scope: Scope, receive: Receive, send: Send, started: float) -> None:
        context = self._context(scope["path"], scope["method"])
        if context.path_key is not None:
            # From here on no code sees a path with a key in it (contract 16.4).
            path = split_key(scope["path"])[0]
            scope = {**scope, "path": path, "raw_path": path.encode()}
        context.scope = scope
        request_id, route = context.request_id, context.route
        charged_credits = 0
        try:
            method = scope["method"]
            takes = route is not None and method in route.methods
            if not takes and method not in _METHODS:  # before the body that comes with them
                raise RouteNotFound if route is None else MethodNotAllowed
            bodiless = route is None or not route.reads_body(method)
            request = read(scope, self.header_bytes_max, bodiless=bodiless)
            if route is not None and route.errors_of is not None:
                context.echo = _echo(request)
            operation = None if route is None else route.operation
            charged = route is not None and route.charged
            if method == "OPTIONS" or (operation is None and not charged):
                status = await self._answer_free(request, receive, context, send)
                done = Reply(request_id, status, b"", credits=0)
                self._observe(context, done, time.perf_counter() - started)
                return
            context.gzip = request.accepts_gzip
            if not takes:
                raise MethodNotAllowed
            reply = await (
                self._charged(request, context)
                if operation is None
                else self._lookup(operation, context.rest, request, context)
            )
            charged_credits = reply.credits
            compat = await _compat_answer(context, reply)
        except Exception as error:
            if context.broken:  # the client has a part of the answer, which is cut off
                if not isinstance(error, OSError):  # the client left, or was too slow
                    log.warning("answer.broken", request_id=request_id, kind=type(error).__name__)
                done = Reply(request_id, 200, b"", credits=0)
                self._observe(context, done, time.perf_counter() - started)
                return
            if not isinstance(error, BalcaoError):
                log.exception("request.bug", request_id=request_id)
            # A charge remains even if its answer fails (contract 16.2).
            reply = msgspec.structs.replace(_refusal(context, error), credits=charged_credits)
            compat = await _compat_answer(context, reply)
        headers = lookup_headers(
            reply, context.verdicts, self.parts.now_ms(), deprecated=context.deprecated
        )
        headers += context.echo
        if reply.status == 405:
            headers.append((b"allow", context.allow))
        head = scope["method"] == "HEAD"
        status, body = reply.status, reply.body
        if compat is not None:
            status, headers, body = compat_answer(compat, headers, reply.code)
        await send_whole(send, status, headers, body, gzipped=context.gzip, head=head)
        self._observe(context, reply, time.perf_counter() - started)

    def refuse(self, error: Exception, path: str) -> tuple[int, Headers, bytes]:
        """Answer an invalid request with an error in the form of its path's other errors.

        `path`: as far as it could be read, else empty.
        """
        context = self._context(path)
        if context.route is None or context.route.operation is None:
            context.name = "outros"
        reply = _refusal(context, error)
        headers = lookup_headers(reply, (), self.parts.now_ms(), deprecated=None)
        if reply.status == 405:
            headers.append((b"allow", context.allow))
        self._observe(context, reply, 0.0)
        if context.route is not None and context.route.compat is not None:
            compat = context.route.compat.refuse(reply, context.rest)
            return compat_answer(compat, headers, reply.code)
        return reply.status, headers, reply.body

    def _context(self, path: str, method: str = "GET") -> "RequestContext":
        path, path_key = split_key(path)
        route, rest = self.routes.find(path, method)
        name = "outros" if route is None else route.name
        return RequestContext(route, rest, self.new_id(), name, path_key=path_key)

    async def _lookup(
        self, operation: Operation, document: str, request: Request, context: "RequestContext"
    ) -> Reply:
        """Look up, after the checks in their order (contract 2.10)."""
        caller = await self._recognised(request, context)
        compat = None if context.route is None else context.route.compat
        compat_api = None
        if compat is not None:
            compat_api = compat.api.name
            check_access(
                operation, caller, compat_api
            )  # before the input, to which the path belongs
            document, request = compat.lookup_request(document, request)
        sent = read_lookup(operation, document, request, caller, compat_api=compat_api)
        if sent.question.deprecated is not None:
            context.deprecated = sent.question.deprecated
            self.parts.count_deprecated(caller, sent.question.deprecated)
        return await look_up(
            sent.question,
            caller,
            context.request_id,
            sent.idempotency_key,
            self.parts,
            credits_max=sent.credits_max,
            tags=sent.tags,
        )

    async def _recognised(self, request: Request, context: "RequestContext") -> Caller:
        """Return the caller of the request's key, after checking networks and limits.

        Raises `KeyRefused`, `AddressNotAllowed`, `RateLimited`.
        """
        now = self.parts.now_ms()
        caller = await self.authenticator.recognise(_key_in(request, context), now)
        if context.path_key is not None and (
            caller.restrictions is None or caller.restrictions.compat_api is None
        ):
            raise KeyRefused  # paths are not secret: no key that may do more is accepted there
        context.caller = caller
        if caller.restrictions is not None and (
            caller.restrictions.networks or caller.restrictions.compat_api
        ):
            self._admit(caller.restrictions, context.scope)
        context.verdicts = await self.authenticator.count(caller, now)
        if (limited := must_wait(context.verdicts)) is not None:
            raise limited
        return caller

    def _admit(self, restrictions: KeyRestrictions, scope: Scope) -> None:
        """Raise `AddressNotAllowed` if the key may not be used there (contract 11.3)."""
        client = scope.get("client")
        forwarded = [
            value.decode("latin-1") for name, value in scope["headers"] if name == _FORWARDED
        ]
        address = self.proxies.client_address(client[0] if client else "", forwarded)
        if restrictions.allows_address(address):
            return
        with contextlib.suppress(ValueError):  # a proxy may report an invalid address
            raise AddressNotAllowed(str(peer_address(address)))
        raise AddressNotAllowed

    async def _charged(self, request: Request, context: "RequestContext") -> Reply:
        """Answer a route that is charged and not a lookup."""
        assert context.route is not None
        caller = await self._recognised(request, context)
        if caller.restrictions is not None and not caller.restrictions.allows_operation(
            context.route.name
        ):
            raise OperationNotAllowed
        reply: Reply = await context.route.handler(
            msgspec.structs.replace(request, caller=caller, request_id=context.request_id)
        )
        return reply

    async def _answer_free(
        self, request: Request, receive: Receive, context: "RequestContext", send: Send
    ) -> int:
        """Answer preflights and routes that cost nothing. Returns the status."""
        mark = (b"x-request-id", context.request_id.encode())
        if request.method == "OPTIONS":
            context.name = "preflight"
            methods = ("GET",) if context.route is None else context.route.allowed
            await send_whole(send, 204, [*preflight(methods), mark], b"")
            return 204
        route = context.route
        if route is None:
            raise RouteNotFound
        if request.method not in route.methods:
            raise MethodNotAllowed
        context.level = route.level
        caller = await self._recognised(request, context) if route.needs_key else None
        if (
            caller is not None
            and caller.restrictions is not None
            and caller.restrictions.compat_api is not None
        ):
            raise OperationNotAllowed  # only lookups of its compatible API
        if route.errors_of is None and _has_nul(request.query):  # quotes refuse it as lookups do
            raise InvalidParameter("A consulta não pode ter o caractere nulo (%00).")
        body, pieces = b"", None
        if route.body is not None and route.reads_body(request.method):
            if route.in_pieces:
                route.body.admit(request.headers)
                pieces = route.body.bounded(pieces_of(receive))
            else:
                body = await route.body.read(request.headers, pieces_of(receive))
        request = msgspec.structs.replace(
            request,
            rest=context.rest.replace("\0", "\ufffd"),  # no database stores it
            caller=caller,
            body=body,
            pieces=pieces,
            request_id=context.request_id,
            client=(context.scope.get("client") or ("",))[0],
            server=(context.scope.get("server") or ("",))[0],
        )
        answered: Answer = await route.handler(request)
        status, headers, answer = answered
        if route.of_api:
            # Every answer in JSON has its `request_id`.
            if isinstance(answer, bytes):
                answer = request.numbered(answer)
            headers = [*headers, *CORS, *limit_headers(context.verdicts)]
        if NOSNIFF not in headers:
            headers = [*headers, NOSNIFF]
        headers = [*headers, *context.echo]
        if not any(name == b"x-request-id" for name, _ in headers):  # of a first answer, sent again
            headers = [*headers, mark]
        if isinstance(answer, Pieces):
            context.broken = True
            await send_pieces(send, status, headers, answer, head=request.method == "HEAD")
            return status
        # Some files are compressed already, once per process; PDFs are internally.
        ready = any(name == b"content-encoding" or value == _PDF for name, value in headers)
        await send_whole(
            send,
            status,
            headers,
            answer,
            gzipped=request.accepts_gzip and not ready,
            head=request.method == "HEAD",
        )
        return status

    def _observe(self, context: "RequestContext", reply: Reply, seconds: float) -> None:
        """Log the event of the request and count it in the metrics."""
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
    within = path.startswith(("/app/", "/docs/", "/status/"))
    return within or path in ("/", "/app", "/docs", "/status")


class RequestContext(msgspec.Struct):
    """The state of a request while it is answered, for its headers and its event."""

    route: Route | None
    rest: str  # of the path; for a lookup, the document as sent
    request_id: str
    name: str  # in the event and the measurements
    level: str = "info"  # of the event
    caller: Caller | None = None
    verdicts: Sequence[Verdict] = ()
    deprecated: DeprecatedFeature | None = None
    gzip: bool = False
    echo: Headers = []
    scope: Scope = msgspec.field(default_factory=dict)
    path_key: str | None = None  # a key that was sent in the path
    broken: bool = False  # an error from now on cuts off an answer that has begun

    @property
    def allow(self) -> bytes:
        return _ALLOWED if self.route is None else self.route.allow


async def _compat_answer(context: RequestContext, reply: Reply) -> CompatAnswer | None:
    """Return the reply in the shape of its compatible API; None: it has none."""
    route = context.route
    if route is None or route.compat is None:
        return None
    mode = None if context.caller is None else context.caller.mode
    return await route.compat.render(reply, context.rest, mode)


def _key_in(request: Request, context: RequestContext) -> bytes | None:
    """Return the key of a request. Raises `KeyRefused` if there are several."""
    if context.path_key is not None:
        return context.path_key.encode()
    compat = None if context.route is None else context.route.compat
    names = (b"x-api-key",) if compat is None else (b"x-api-key", *compat.api.key_headers)
    if not set(request.repeated).isdisjoint(names):
        raise KeyRefused
    if compat is None:
        return request.headers.get(b"x-api-key")
    return compat.api.key_in(request.headers)


def _has_nul(query: bytes) -> bool:
    """Return whether a query has the character that no database stores in a text."""
    return b"%00" in query or b"\0" in query


def _echo(request: Request) -> Headers:
    """Return the response headers that echo the request's tags; none if they are invalid."""
    try:
        return tag_headers(read_tags(request.headers))
    except InvalidInput:
        return []


def event_of(
    name: str, caller: Caller | None, reply: Reply, seconds: float, *, level: str = "info"
) -> RequestEvent:
    """Return the event that is logged for an answer."""
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
        int(seconds * 100_000) / 100,  # `round` takes as long as a tenth of an answer
        reply.detail or msgspec.UNSET,
        level=level,
    )


def _refusal(context: RequestContext, error: Exception) -> Reply:
    if context.route is None or context.route.errors_of is None:
        return reply_of(context.request_id, envelope.refusal(error))
    fields_of = context.route.errors_of.error_fields
    return reply_of(context.request_id, envelope.refusal(error, context.rest, fields_of))
