"""Messages of the standard library's logging have our form and quote no data."""

import io
import json
import logging
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Literal, TypeAlias

import pytest
import structlog

from balcao.observability import logs

Configure: TypeAlias = Callable[[Literal["json", "console"], str], None]

SECRET = "90010001000100"


class Stderr(io.StringIO):
    """A text stream with the byte buffer of a real stderr."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = io.BytesIO()  # type: ignore[misc]


@pytest.fixture
def stderr() -> Iterator[Stderr]:
    level = logging.root.level
    yield Stderr()
    logging.root.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture
def configure(stderr: Stderr, monkeypatch: pytest.MonkeyPatch) -> Configure:
    """Configure logging like a process, after pytest has installed its own handlers."""

    def configured(style: Literal["json", "console"], level: str) -> None:
        monkeypatch.setattr(sys, "stderr", stderr)
        monkeypatch.setattr(logging.root, "handlers", [])
        logs.configure(style, level)

    return configured


def lines(stderr: Stderr) -> list[Any]:
    return [json.loads(line) for line in stderr.getvalue().splitlines()]


def fail() -> None:
    raise ValueError(f"no idea what {SECRET} is")


def test_any_message_is_json(stderr: Stderr, configure: Configure) -> None:
    configure("json", "info")
    text = 'a "quoted"\nline \\ of %s'
    logging.getLogger("some.package").warning(text, "somebody's")

    (line,) = lines(stderr)
    assert datetime.fromisoformat(line.pop("timestamp")).tzinfo is not None
    assert line == {
        "event": "log",
        "logger": "some.package",
        "level": "warning",
        "message": text % "somebody's",
    }


def test_an_exception_is_logged_as_type_and_trace(stderr: Stderr, configure: Configure) -> None:
    configure("json", "info")
    try:
        fail()
    except ValueError:
        logging.getLogger("asyncio").exception("Task failed about %s", SECRET)

    (line,) = lines(stderr)
    assert (line["logger"], line["level"], line["error"]) == ("asyncio", "error", "ValueError")
    assert line["trace"][-1].startswith("test_logs.py:")
    assert line["trace"][-1].endswith(" fail")
    assert "message" not in line
    assert SECRET not in stderr.getvalue()


def test_a_message_whose_arguments_do_not_fit(stderr: Stderr, configure: Configure) -> None:
    configure("json", "info")
    logging.getLogger("some.package").warning("%d", SECRET + "x")

    (line,) = lines(stderr)
    assert line["error"] == "TypeError"
    assert SECRET not in stderr.getvalue()


def test_console_output(stderr: Stderr, configure: Configure) -> None:
    configure("console", "info")
    logging.getLogger("some.package").warning("hello")
    try:
        fail()
    except ValueError:
        logging.getLogger("some.package").exception("about %s", SECRET)

    output = stderr.getvalue()
    assert "hello" in output
    assert "some.package" in output
    assert "ValueError" in output
    assert SECRET not in output


@pytest.mark.parametrize(("level", "count"), [("debug", 1), ("warning", 1), ("error", 0)])
def test_the_level_applies_and_libraries_log_at_most_warnings(
    stderr: Stderr, configure: Configure, level: str, count: int
) -> None:
    configure("json", level)
    logging.getLogger("some.package").info("chatter")
    logging.getLogger("some.package").warning("hello")
    assert len(lines(stderr)) == count
