"""OpenTelemetry spans around the parts of the service.

`compose` wraps the real parts with them if the setting `otel` is on; otherwise this module is not
imported. `observability/tracing.py` documents what a span may contain.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from math import inf
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
from opentelemetry.sdk.trace import Span
from opentelemetry.trace import Span as OpenSpan
from opentelemetry.trace import SpanKind, format_trace_id, get_current_span

from balcao.core.access import Caller
from balcao.core.data_subject import AnswerAbout
from balcao.core.errors import SourceRefused
from balcao.core.freshness import CacheEntry
from balcao.core.idempotency import IdempotencyRecord
from balcao.core.ledger import Change, Refusal
from balcao.core.questions import Inquiry, Part
from balcao.core.rate_limit import Limit, Verdict
from balcao.http.front import ASGIApp
from balcao.http.health import PROBES
from balcao.http.routes import PREFIX
from balcao.observability.requests import RequestEvent, RequestLog
from balcao.observability.tracing import Attributes, Tracing, failed, parent_in
from balcao.operations import OPERATIONS
from balcao.sources.contract import Answer, Found, HttpReply, HttpRequest, OnlineSource
from balcao.sources.upstream import AttemptWrapper, Send
from balcao.storage.contract import Cache
from balcao.storage.desk.desk import Desk

# Others are reported as `_OTHER`: a method is text that a caller sends.
METHODS = frozenset(
    {"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT"}
)

_ROUTES = {
    operation.path: f"{PREFIX}{operation.path}"
    + (f"/{{{operation.document}}}" if operation.document else "")
    for operation in OPERATIONS.values()
}


class Spans:
    """Puts spans around the parts of one application."""

    def __init__(self, tracing: Tracing, *, database: str) -> None:
        """`database`: OpenTelemetry's name of the engine, `sqlite` or `postgresql`."""
        self._tracing = tracing
        self._database = database
        self.request_log = TracedRequestLog
        self.close = tracing.close

    def application(self, app: ASGIApp) -> ASGIApp:
        """Return the front with a span for each request except probes."""
        return _TracedApplication(app, self._tracing)

    def desk(self, desk: Desk) -> Desk:
        """Return the desk with spans around the calls that requests make."""
        return cast(Desk, _TracedDesk(desk, self._tracing, self._database))

    def cache(self, cache: Cache) -> Cache:
        """Return the cache with a span around reads."""
        return cast(Cache, _TracedCache(cache, self._tracing, self._database))

    def source(self, source: OnlineSource) -> OnlineSource:
        """Return a source with a span around each request."""
        return _TracedSource(source, self._tracing)

    def around(self, source: str, address: str) -> AttemptWrapper:
        """Return the wrapper of each attempt to reach a source at this address."""
        parts = urlsplit(address)
        place: dict[str, str | int] = {"balcao.source": source}
        if parts.hostname:
            place["server.address"] = parts.hostname
        if parts.port:
            place["server.port"] = parts.port

        async def attempt(request: HttpRequest, number: int, send: Send) -> HttpReply:
            attributes = {**place, "http.request.method": request.method, "balcao.attempt": number}
            if number > 1:
                attributes["http.request.resend_count"] = number - 1
            name = f"{request.method} {source}"
            # No `traceparent` is sent: callers' traces are not for providers.
            with self._tracing.span(name, SpanKind.CLIENT, attributes) as span:
                reply = await send(request)
                span.set_attribute("http.response.status_code", reply.status)
                if reply.status >= 400 and reply.status != 404:  # 404 is mostly an answer
                    failed(span, str(reply.status))
                return reply

        return attempt


class TracedRequestLog(RequestLog):
    """Copies a request's event into its span, and the span's trace ID into the event."""

    def note(self, event: RequestEvent) -> None:
        span = get_current_span()
        if isinstance(span, Span):  # recorded
            self._describe(span, event)
        if trace_id := span.get_span_context().trace_id:  # no probe's
            event = msgspec.structs.replace(event, trace_id=format_trace_id(trace_id))
        super().note(event)

    def note_all(self, events: Sequence[RequestEvent]) -> None:
        for event in events:
            self.note(event)

    def _describe(self, span: Span, event: RequestEvent) -> None:
        route = _ROUTES.get(event.operation, event.operation)
        attributes: dict[str, str | int | bool | None] = {
            "http.route": route if route.startswith("/") else None,
            "http.response.status_code": event.status,
            "balcao.request_id": event.request_id,
            "balcao.operation": event.operation,
            "balcao.code": event.code,
            "balcao.account": event.account,
            "balcao.origin": event.origin,
            "balcao.source": event.source,
            "balcao.credits": event.credits,
            "balcao.replayed": event.replayed,
        }
        known = {name: value for name, value in attributes.items() if value is not None}
        span.set_attributes(known)
        span.update_name(f"{span.name} {route}")
        if event.status >= 500:
            failed(span, event.code or str(event.status))


class _TracedApplication:
    """See `Spans.application`."""

    def __init__(self, app: ASGIApp, tracing: Tracing) -> None:
        self._app = app
        self._tracing = tracing

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        attributes = {"http.request.method": method, "url.scheme": scope["scheme"]}
        sent = [value for name, value in scope["headers"] if name == b"traceparent"]
        parent = parent_in(sent[0].decode("latin-1")) if len(sent) == 1 else None
        with self._tracing.span(method, SpanKind.SERVER, attributes, parent):
            await self._app(scope, receive, send)


class _Traced:
    """A part of the storage; subclasses put spans around some of its methods."""

    def __init__(self, part: Any, tracing: Tracing, database: str) -> None:
        self._part = part
        self._tracing = tracing
        self._database = database

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)

    def _span(self, part: str, operation: str, **more: int) -> AbstractContextManager[OpenSpan]:
        attributes: Attributes = {
            "db.system.name": self._database,
            "db.operation.name": operation,
            **more,
        }
        return self._tracing.span(f"{part}.{operation}", SpanKind.CLIENT, attributes)


class _TracedDesk(_Traced):
    """See `Spans.desk`."""

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        several = {"db.operation.batch.size": len(changes)} if len(changes) > 1 else {}
        # The span lasts until the changes are durable. Requests that share a commit of the
        # database have one span each.
        with self._span("desk", "commit", **several) as span:
            refused: Refusal | None = await self._part.commit(changes)
            if refused is not None:
                span.set_attribute("balcao.refusal", type(refused).__name__)
            return refused

    async def caller(self, key_hash: bytes, now_ms: int) -> Caller | None:
        with self._span("desk", "caller"):
            known: Caller | None = await self._part.caller(key_hash, now_ms)
            return known

    async def spend(
        self, caller: Caller, limits: Sequence[Limit], now_ms: int
    ) -> Sequence[Verdict]:
        with self._span("desk", "spend"):
            verdicts: Sequence[Verdict] = await self._part.spend(caller, limits, now_ms)
            return verdicts

    async def find_attempt(
        self, account_id: int, key_digest: str, now_ms: int
    ) -> IdempotencyRecord | None:
        with self._span("desk", "earlier") as span:
            found: IdempotencyRecord | None = await self._part.find_attempt(
                account_id, key_digest, now_ms
            )
            span.set_attribute("balcao.found", found is not None)
            return found

    async def has_received(self, answer: AnswerAbout) -> bool:
        with self._span("desk", "received") as span:
            found: bool = await self._part.has_received(answer)
            span.set_attribute("balcao.found", found)
            return found


class _TracedCache(_Traced):
    """See `Spans.cache`."""

    async def read(self, keys: Sequence[str]) -> Mapping[str, CacheEntry]:
        with self._span("cache", "read", **{"balcao.keys": len(keys)}) as span:
            found: Mapping[str, CacheEntry] = await self._part.read(keys)
            span.set_attribute("balcao.found", len(found))
            return found


class _TracedSource:
    """See `Spans.source`."""

    def __init__(self, source: OnlineSource, tracing: Tracing) -> None:
        self._source = source
        self._tracing = tracing
        self.name = source.name
        self.serves = source.serves

    @property
    def parts(self) -> frozenset[Part]:
        return self._source.parts

    async def ask(self, inquiry: Inquiry, until: float = inf) -> Answer:
        attributes = {"balcao.source": self.name, "balcao.subject": inquiry.subject}
        if inquiry.uf:
            attributes["balcao.uf"] = inquiry.uf
        refused: SourceRefused | None = None
        with self._tracing.span(f"source {self.name}", SpanKind.INTERNAL, attributes) as span:
            try:
                answer = await self._source.ask(inquiry, until)
            except SourceRefused as error:  # an answer about the data, no failure of the source
                span.set_attribute("balcao.outcome", "refused")
                refused = error
            else:
                outcome = "found" if isinstance(answer, Found) else "absent"
                span.set_attribute("balcao.outcome", outcome)
                return answer
        raise refused
