"""Shared fixtures of the tests of the API."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.service import Service, open_with_source


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Drop logs: tracebacks of planted bugs, with a whole service in them, take minutes."""
    silent = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=silent, cache_logger_on_first_use=False)
    yield
    structlog.reset_defaults()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Service]:
    """A service with a fake source and a clock that stands still."""
    with open_with_source(tmp_path) as world:
        yield world
