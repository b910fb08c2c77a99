"""Structured logs: one line per event, JSON for machines or colours for people.

The fields of each event are chosen where it is logged; documents, names, e-mails and keys are never
among them. `tests/http/test_log.py` sends all kinds of requests and searches the whole output for
them.
"""

import logging
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import structlog

_encode = msgspec.json.Encoder(enc_hook=str).encode

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def is_json(style: Literal["auto", "json", "console"]) -> bool:
    """Return whether events are written as JSON."""
    return style == "json" or (style == "auto" and not sys.stderr.isatty())


def configure(style: Literal["auto", "json", "console"], level: str) -> None:
    """Set up logging for this process. `auto` is for people when stderr is a terminal."""
    processors: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _where,
    ]
    render: Any
    if is_json(style):
        render = _to_json
        factory: Any = structlog.BytesLoggerFactory(sys.stderr.buffer)
    else:
        render = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
        factory = structlog.PrintLoggerFactory(sys.stderr)
    structlog.configure(
        processors=[*processors, render],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )
    # Messages of the standard library's loggers, in the same stream.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(render))
    logging.basicConfig(level=max(LEVELS[level], logging.WARNING), handlers=[handler])


class _Formatter(logging.Formatter):
    """Formats records of the standard library like our own events."""

    def __init__(self, render: Callable[[Any, str, dict[str, Any]], str | bytes]) -> None:
        super().__init__()
        self._render = render

    def format(self, record: logging.LogRecord) -> str:
        """Return one line. A message with an exception may quote it, and is left out."""
        event: dict[str, Any] = {
            "event": "log",
            "logger": record.name,
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
        }
        if record.exc_info:
            event["exc_info"] = record.exc_info
        else:
            try:
                event["message"] = record.getMessage()
            except Exception as bug:  # mismatched arguments, which are not shown either
                event["exc_info"] = bug
        line = self._render(None, event["level"], _where(None, "", event))
        return line.decode() if isinstance(line, bytes) else line


def _where(_: Any, __: str, event: dict[str, Any]) -> dict[str, Any]:
    """Replace an exception by its type and its lines.

    Its text and the variables of its frames may contain callers' data.
    """
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
        event["trace"] = [
            f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
    return event


def _to_json(_: Any, __: str, event: dict[str, Any]) -> bytes:
    return _encode(event)
