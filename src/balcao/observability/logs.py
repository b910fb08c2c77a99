"""Structured logs: one line per event, JSON for machines or colours for people.

Events carry named fields chosen one by one where they are logged; documents, names, e-mails and
keys are not among them. `tests/test_house_rules.py` watches a running server's output for them.
"""

import logging
import sys
import traceback
from pathlib import Path
from typing import Any, Literal

import msgspec
import structlog

_encode = msgspec.json.Encoder(enc_hook=str).encode

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def is_json(style: Literal["auto", "json", "console"]) -> bool:
    """Whether events are written for a machine."""
    return style == "json" or (style == "auto" and not sys.stderr.isatty())


def configure(style: Literal["auto", "json", "console"], level: str) -> None:
    """Set up logging for this process. `auto` is for a person when stderr is a terminal."""
    console = not is_json(style)
    processors: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _where,
    ]
    if console:
        processors.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
        factory: Any = structlog.PrintLoggerFactory(sys.stderr)
    else:
        processors.append(_to_json)
        factory = structlog.BytesLoggerFactory(sys.stderr.buffer)
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )
    # The server's own messages, in the same stream.
    logging.basicConfig(
        level=max(_LEVELS[level], logging.WARNING),
        stream=sys.stderr,
        format='{"level":"%(levelname)s","event":"%(name)s","detail":"%(message)s"}'
        if not console
        else "%(levelname)s %(name)s %(message)s",
    )


def _where(_: Any, __: str, event: dict[str, Any]) -> dict[str, Any]:
    """An exception as its type and the lines it came through, and no more.

    Its text and the variables of its frames may hold what a caller sent us.
    """
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()[1]
    if isinstance(error, BaseException):
        event["error"] = type(error).__name__
        event["trace"] = [
            f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(error.__traceback__)
        ]
    return event


def _to_json(_: Any, __: str, event: dict[str, Any]) -> bytes:
    return _encode(event)
