"""The log event of a request. Its fixed fields have no place for the caller's data."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec
import structlog

from balcao.observability.logs import LEVELS

# Lines are written together, so that a line costs no system call of its own.
FLUSH_SECONDS = 0.05
FLUSH_LINES_MAX = 512

_encode_lines = msgspec.json.Encoder().encode_lines

# The end of an event without its time. Within a text its quotes would be escaped.
_UNDATED = b'"timestamp":""}\n'


class RequestEvent(msgspec.Struct, frozen=True, gc=False):
    """Logged fields of one request. Accounts and keys are our own numbers."""

    request_id: str
    operation: str
    status: int
    code: str | None
    account: int | None
    key: int | None
    origin: str | None
    source: str | None
    credits: int
    replayed: bool
    took_ms: float
    detail: str | msgspec.UnsetType = msgspec.UNSET  # why a source failed
    trace_id: str | msgspec.UnsetType = msgspec.UNSET  # where traces are kept (`tracing.py`)
    event: str = "request"
    level: str = "info"
    timestamp: str = ""


class RequestLog:
    """Writes request events: JSON lines in batches, or one by one to a console."""

    def __init__(
        self,
        *,
        as_json: bool,
        level: str = "info",
        write: Callable[[bytes], object] | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`level`: the lowest level that is written."""
        self._as_json = as_json
        self._silent = frozenset(name for name in LEVELS if LEVELS[name] < LEVELS[level])
        self.write = write or _to_stderr
        self._now = now
        self._lines: list[RequestEvent] = []
        self._console = structlog.get_logger()

    def note(self, event: RequestEvent) -> None:
        """Log one request; call it on the event loop."""
        self._note((event,))

    def note_all(self, events: Sequence[RequestEvent]) -> None:
        """Log requests that were answered together, like `note` for each."""
        self._note(events)

    def _note(self, events: Sequence[RequestEvent]) -> None:
        if self._silent:
            events = [event for event in events if event.level not in self._silent]
        if not self._as_json:
            for event in events:
                self._write_console(event)
            return
        if not self._lines and events:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self.flush)
        self._lines += events
        if len(self._lines) >= FLUSH_LINES_MAX:
            self.flush()

    def _write_console(self, event: RequestEvent) -> None:
        fields = msgspec.structs.asdict(event)
        for name in ("event", "level", "timestamp"):
            fields.pop(name)
        for name in ("detail", "trace_id"):
            if fields[name] is msgspec.UNSET:
                fields.pop(name)
        self._console.log(LEVELS[event.level], "request", **fields)

    def flush(self) -> None:
        """Write pending lines. They carry the time of writing, at most 50 ms late."""
        lines, self._lines = self._lines, []
        if not lines:
            return
        stamp = self._now().isoformat(timespec="milliseconds").encode()
        self.write(_encode_lines(lines).replace(_UNDATED, b'"timestamp":"' + stamp + b'"}\n'))


def _to_stderr(text: bytes) -> None:
    sys.stderr.buffer.write(text)
    sys.stderr.buffer.flush()
