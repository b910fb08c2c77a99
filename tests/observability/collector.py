"""A collector of traces for tests: OTLP over HTTP on this machine."""

import gzip
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as received."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    failed: bool
    status_text: str  # should be empty
    events: int
    started_ns: int
    attributes: Mapping[str, str | int | bool]
    resource: Mapping[str, str | int | bool]


@dataclass
class Collector:
    """Everything received: raw bodies, headers, and the spans in them."""

    base: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    spans: list[ReceivedSpan] = field(default_factory=list)

    def take(self, body: bytes, headers: Mapping[str, str]) -> None:
        self.bodies.append(body)
        self.headers.append(headers)
        sent = ExportTraceServiceRequest.FromString(body)
        for group in sent.resource_spans:
            resource = {each.key: _value(each.value) for each in group.resource.attributes}
            for scope in group.scope_spans:
                self.spans += [_received(span, resource) for span in scope.spans]

    def trace(self, trace_id: str) -> Sequence[ReceivedSpan]:
        """Return the spans of one trace, in the order in which they began."""
        found = [span for span in self.spans if span.trace_id == trace_id]
        return sorted(found, key=lambda span: span.started_ns)

    def request(self, request_id: str) -> ReceivedSpan:
        """Return the server's span of one request."""
        (found,) = (s for s in self.spans if s.attributes.get("balcao.request_id") == request_id)
        return found

    def of_request(self, request_id: str) -> Sequence[ReceivedSpan]:
        """Return all spans of the trace of a request."""
        return self.trace(self.request(request_id).trace_id)


def _received(span: WireSpan, resource: Mapping[str, str | int | bool]) -> ReceivedSpan:
    return ReceivedSpan(
        span.name,
        WireSpan.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.status.code == Status.STATUS_CODE_ERROR,
        span.status.message,
        len(span.events),
        span.start_time_unix_nano,
        {each.key: _value(each.value) for each in span.attributes},
        resource,
    )


def _value(value: AnyValue) -> str | int | bool:
    kind = value.WhichOneof("value")
    assert kind in ("string_value", "int_value", "bool_value"), kind
    found: str | int | bool = getattr(value, kind)
    return found


@contextmanager
def collecting() -> Iterator[Collector]:
    """Run a collector on a free port."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            collector.take(body, {name.lower(): value for name, value in self.headers.items()})
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing to the terminal."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.base = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
