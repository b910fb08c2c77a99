"""OpenTelemetry, set up for this service: where spans go, and what becomes of them on trouble.

Imported only where the setting `otel` is on, since the packages are an optional extra. What
OpenTelemetry's own variables say (`OTEL_…`: endpoint, headers, sampler, service name, resource) is
read by its own code, at start.

What is in a span is as public as a line of the log: no documents, names, birth dates, keys,
addresses with a query, nor texts of exceptions, which may quote any of these.
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

# Whoever does not collect now will not in a second either.
REPEAT_SECONDS = 60.0

Attributes: TypeAlias = Mapping[str, str | int | bool]

_propagator = TraceContextTextMapPropagator()


class Tracing:
    """Where spans begin. A thread sends them, from a queue that drops when it is full."""

    def __init__(self) -> None:
        """Opens no connection. For a variable that says nonsense the default is taken."""
        self._trouble = _Trouble()
        logger = logging.getLogger("opentelemetry")
        logger.addHandler(self._trouble)
        logger.propagate = False
        # Not ended by the interpreter: that would wait for the collector, and `close` does not.
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
        """A span around what is done inside; it belongs to `parent`, else to the one around it.

        Of an exception only the type is kept.
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
        """Send what waits, for `CLOSE_SECONDS_MAX` at the most; the rest is lost."""
        sending = threading.Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        sending.join(CLOSE_SECONDS_MAX)
        logging.getLogger("opentelemetry").removeHandler(self._trouble)


def failed(span: Span, kind: str) -> None:
    """Mark a span as failed: `kind` is a status, or the name of an exception's type."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def parent_in(traceparent: str) -> Context:
    """The caller's span (W3C Trace Context); what is no such header counts as none.

    `tracestate` is left behind: whatever a caller writes there would be sent on.
    """
    return _propagator.extract({"traceparent": traceparent}, Context())


def _resource() -> Resource:
    """What the variables say of this process, with a name if they give none."""
    told = Resource.create()
    own: dict[str, str] = {}
    if str(told.attributes[SERVICE_NAME]).startswith("unknown_service"):
        own[SERVICE_NAME] = "balcao"
    if SERVICE_VERSION not in told.attributes:
        own[SERVICE_VERSION] = __version__
    return told.merge(Resource(own))


class _Trouble(logging.Handler):
    """OpenTelemetry's own complaints (collector away, queue full) as events, now and then.

    Their arguments may quote the endpoint's address or its headers, with whatever secret is in
    them, so only numbers and types of exceptions are repeated.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._log = structlog.get_logger()
        self._said_at: float | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """One event a minute; the lines in between are of the same trouble."""
        now = time.monotonic()
        if self._said_at is not None and now - self._said_at < REPEAT_SECONDS:
            return
        self._said_at = now
        arguments = record.args if isinstance(record.args, tuple) else ()
        self._log.warning(
            "tracing.trouble", detail=str(record.msg) % tuple(_shown(each) for each in arguments)
        )


def _shown(argument: object) -> object:
    if isinstance(argument, int | float):
        return argument
    return type(argument).__name__ if isinstance(argument, BaseException) else "…"
