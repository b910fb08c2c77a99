"""Tests that share something expensive (a browser, a set of nodes) run in one worker.

By the places where they lie: pytest-xdist's own marks say it in the tests' names, which pytest 9.2
does not let it do.
"""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

TOGETHER = (
    "tests/nodes/",
    "tests/storage/test_statements_at_a_million.py",
    "tests/web/test_browser.py",
)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """One test after another to whichever worker is free, but for those that stay together."""

    def _split_scope(self, nodeid: str) -> str:
        return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """pytest-xdist's hook."""
    return Scheduling(config, log)
