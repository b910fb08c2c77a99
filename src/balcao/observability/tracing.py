"""OpenTelemetry for this service: creation of spans, and reports of its failures.

Imported only where the setting `otel` is on, since the packages are an optional extra.
OpenTelemetry's own variables (`OTEL_…`: endpoint, headers, sampler, service name, resource) are
read by its own code, at start.

Spans are as public as lines of the log: no documents, names, birth dates, keys, addresses with a
query, nor texts of exceptions, which may quote any of these.
"""

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import structlog
from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from balcao import __version__

# A collector that does not answer must not keep the service from ending.
CLOSE_SECONDS_MAX = 5.0

# A collector that fails now will fail in a second, too.
REPEAT_SECONDS = 60.0

Attributes: TypeAlias = Mapping[str, str | int | bool]

_propagator = TraceContextTextMapPropagator()


class Tracing:
    """Creates spans. A thread sends them, from a queue that drops when it is full."""

    def __init__(self) -> None:
        """Opens no connection. Variables with invalid values have their defaults."""
        self._trouble = _Trouble()
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(self._trouble)
        logger.propagate = False
        # Not ended by the interpreter, which would wait for the collector, unlike `close`.
        self._provider = TracerProvider(resource=_resource(), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("balcao", __version__)

    @contextmanager
    def span(
        self,
        name: str,
        kind: SpanKind,
        attributes: Attributes,
        parent: Context | None = None,
    ) -> Iterator[Span]:
        """Open a span for the duration of a block, below `parent` or the current span.

        Only the type of an exception is recorded.
        """
        span = self._tracer.start_span(name, parent, kind, attributes)
        token = context.attach(trace.set_span_in_context(span, parent))
        try:
            yield span
        except BaseException as error:
            failed(span, type(error).__name__)
            raise
        finally:
            context.detach(token)
            span.end()

    def close(self) -> None:
        """Send pending spans, for at most `CLOSE_SECONDS_MAX`; the rest is lost."""
        sending = threading.Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        sending.join(CLOSE_SECONDS_MAX)
        logging.getLogger("opentelemetry").removeHandler(self._trouble)


def failed(span: Span, kind: str) -> None:
    """Mark a span as failed: `kind` is a status, or the name of an exception's type."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def parent_in(traceparent: str) -> Context:
    """Return the caller's span (W3C Trace Context); an invalid header counts as none.

    `tracestate` is dropped: its arbitrary content would be forwarded.
    """
    return _propagator.extract({"traceparent": traceparent}, Context())


def _resource() -> Resource:
    """Return the resource by the `OTEL_` variables, with a default name and version."""
    resource = Resource.create()
    own: dict[str, str] = {}
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        own[SERVICE_NAME] = "balcao"
    if SERVICE_VERSION not in resource.attributes:
        own[SERVICE_VERSION] = __version__
    return resource.merge(Resource(own))


class _Trouble(logging.Handler):
    """Logs OpenTelemetry's own warnings (collector away, queue full), limited in rate.

    Their arguments may quote the endpoint's address or its headers, including secrets, so only
    numbers and types of exceptions are logged.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._log = structlog.get_logger()
        self._logged_at: float | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Log one event a minute; the messages in between have the same cause."""
        now = time.monotonic()
        if self._logged_at is not None and now - self._logged_at < REPEAT_SECONDS:
            return
        self._logged_at = now
        arguments = record.args if isinstance(record.args, tuple) else ()
        self._log.warning(
            "tracing.trouble", detail=str(record.msg) % tuple(_safe(each) for each in arguments)
        )


def _safe(argument: object) -> object:
    if isinstance(argument, int | float):
        return argument
    return type(argument).__name__ if isinstance(argument, BaseException) else "…"
