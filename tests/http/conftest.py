"""The world that most tests of the API live in."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.service import Service, open_with_source


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Planted bugs are expected: drawing their tracebacks, with a whole world, takes minutes."""
    silent = structlog.make_filtering_bound_logger(logging.CRITICAL)
    structlog.configure(wrapper_class=silent, cache_logger_on_first_use=False)
    yield
    structlog.reset_defaults()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Service]:
    with open_with_source(tmp_path) as world:
        yield world
