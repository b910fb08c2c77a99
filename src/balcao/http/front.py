"""Where a request comes in: a plain ASGI application with a handful of routes.

No framework request or response is built on the way of a lookup; bodies are bytes already.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog

from balcao.core.access import Caller
from balcao.core.idempotency import is_valid_key
from balcao.core.outcomes import Reply
from balcao.core.problems import Problem, problem_of
from balcao.core.rate_limit import Verdict
from balcao.errors import (
    BalcaoError,
    InvalidIdempotencyKey,
    MethodNotAllowed,
    Overloaded,
    RouteNotFound,
)
from balcao.http.doorkeeper import Doorkeeper, must_wait
from balcao.http.read import Request, Scope, read
from balcao.http.write import (
    PREFLIGHT,
    Headers,
    Send,
    lookup_headers,
    plain_headers,
    send_whole,
)
from balcao.lookup import Parts, look_up
from balcao.observability.metrics import Metrics
from balcao.observability.requests import RequestEvent, RequestLog
from balcao.subjects import OPERATIONS, envelope
from balcao.subjects.contract import Operation
from balcao.subjects.parameters import Parameters

log = structlog.get_logger()

PREFIX = "/consultas/v2/"

Page = Callable[[Request], Awaitable[tuple[int, Headers, bytes]]]


@dataclass(slots=True)
class Front:
    """The application. `pages` are the addresses that are not lookups (health, docs, ...)."""

    parts: Parts
    doorkeeper: Doorkeeper
    metrics: Metrics
    request_log: RequestLog
    new_id: Callable[[], str]
    pages: Mapping[str, Page]
    header_bytes_max: int
    requests_max: int
    start: Callable[[], Awaitable[None]]
    stop: Callable[[], Awaitable[None]]
    _under_way: int = field(default=0, init=False)

    async def __call__(self, scope: Scope, receive: Any, send: Send) -> None:
        """ASGI entry."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        started = time.perf_counter()
        self._under_way += 1
        try:
            await self._answer(scope, send, started)
        finally:
            self._under_way -= 1

    async def _answer(self, scope: Scope, send: Send, started: float) -> None:
        request_id = self.new_id()
        path: str = scope["path"]
        operation, document = _operation_of(path)
        visit = Visit(operation, request_id)
        try:
            request = read(scope, self.header_bytes_max)
            if scope["method"] == "OPTIONS":
                await send_whole(
                    send, 204, [*PREFLIGHT, (b"x-request-id", request_id.encode())], b""
                )
                return
            if operation is None:
                await self._page(request, request_id, send)
                return
            visit.gzip = request.wants_gzip
            if request.method != "GET":
                raise MethodNotAllowed
            if self._under_way > self.requests_max:
                raise Overloaded
            reply = await self._lookup(operation, document, request, visit)
        except Exception as error:
            if not isinstance(error, BalcaoError):
                log.exception("request.bug", request_id=request_id)
            reply = _refusal(operation, request_id, problem_of(error))
        headers = lookup_headers(
            reply, visit.verdicts, self.parts.now_ms(), deprecated=visit.deprecated
        )
        if reply.status == 405:
            allowed = b"GET, HEAD, OPTIONS" if operation is None else b"GET, OPTIONS"
            headers.append((b"allow", allowed))
        head = scope["method"] == "HEAD"
        await send_whole(send, reply.status, headers, reply.body, gzipped=visit.gzip, head=head)
        self._observe(visit, reply, time.perf_counter() - started)

    async def _lookup(
        self, operation: Operation, document: str, request: Request, visit: "Visit"
    ) -> Reply:
        """The fixed order of checks (decisions 2.10), then the lookup itself."""
        now = self.parts.now_ms()
        caller = visit.caller = self.doorkeeper.recognise(request.headers.get(b"x-api-key"), now)
        visit.verdicts = self.doorkeeper.count(caller, now)
        if (limited := must_wait(visit.verdicts)) is not None:
            raise limited
        parameters = Parameters(request.query, request.headers, operation.names)
        question = operation.parse(document, parameters)
        visit.deprecated = question.deprecated_header
        key = parameters.header(b"idempotency-key")
        if key is not None and not is_valid_key(key):
            raise InvalidIdempotencyKey
        operation.permit(question, caller)
        return await look_up(question, caller, visit.request_id, key, self.parts)

    async def _page(self, request: Request, request_id: str, send: Send) -> None:
        page = self.pages.get(request.path)
        if page is None:
            raise RouteNotFound
        if request.method not in ("GET", "HEAD"):
            raise MethodNotAllowed
        status, headers, body = await page(request)
        headers = [*headers, (b"x-request-id", request_id.encode())]
        # Files that are compressed once, not per request, come compressed.
        ready = any(name == b"content-encoding" for name, _ in headers)
        await send_whole(
            send,
            status,
            headers,
            body,
            gzipped=request.wants_gzip and not ready,
            head=request.method == "HEAD",
        )

    def _observe(self, visit: "Visit", reply: Reply, seconds: float) -> None:
        """One event per request, and the measurements."""
        name = visit.operation.path if visit.operation else "outros"
        origin = reply.origin or "nenhuma"
        self.metrics.request(name, reply.status, origin, seconds, reply.credits)
        caller = visit.caller
        self.request_log.note(
            RequestEvent(
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


class Visit(msgspec.Struct):
    """What is learned of a request on its way, for its headers and its event."""

    operation: Operation | None
    request_id: str
    caller: Caller | None = None
    verdicts: Sequence[Verdict] = ()
    deprecated: bool = False
    gzip: bool = False


_BY_PATH: Mapping[str, Operation] = {operation.path: operation for operation in OPERATIONS.values()}


def _operation_of(path: str) -> tuple[Operation | None, str]:
    """The operation and the document's text. A slash may stand inside a CNPJ (decisions 2.1)."""
    if not path.startswith(PREFIX):
        return None, ""
    segment, slash, document = path[len(PREFIX) :].partition("/")
    operation = _BY_PATH.get(segment)
    if operation is None or not slash or not document:
        return None, ""
    return operation, document


def _refusal(operation: Operation | None, request_id: str, problem: Problem) -> Reply:
    fields = (
        envelope.error_fields(problem) if operation is None else operation.error_fields(problem)
    )
    return Reply(
        request_id,
        problem.status,
        b'{"request_id":"' + request_id.encode() + b'",' + fields,
        credits=0,
        code=problem.code,
        retry_after_seconds=problem.retry_after_seconds,
    )


__all__ = ["Front", "Page", "plain_headers"]
