"""Shared fixtures, and how pytest-xdist deals the tests to its workers.

Tests run in an empty folder, without any setting of whoever runs them: the checkout may have a
data folder with a `balcao.toml` of its own, which no test and no process that one starts may see.

A file is one unit of work, so that what its tests share is set up once and not once per worker.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:  # the service takes a second to import: only tests that need it do
    from tests.service import Client, Service

# The files of a run: in memory, where there is room for them. On a disk, two thirds of the time of
# most tests is spent in fsync, which the service calls after every commit.
MEMORY = Path("/dev/shm")
ROOM_BYTES = 8 << 30

if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# How long an example takes depends on the machine and what else runs on it.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")

# Units that take longest: they begin first, or one worker is left with them at the end.
LONGEST = (
    "tests/web/test_browser.py",
    "tests/nodes/",
    "tests/cli/test_serve.py",
    "tests/clients/test_snippets.py",
    "tests/web/test_companies_in_browser.py",
    "tests/storage/test_statement_plans.py",
    "tests/cli/test_tracing.py",
    "tests/cli/storage_move/test_served.py",
    "tests/cli/test_source.py",
)


def _place_in_line(item: pytest.Item) -> int:
    return next(
        (place for place, start in enumerate(LONGEST) if item.nodeid.startswith(start)),
        len(LONGEST),
    )


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """One file after another to whichever worker is free; `tests/nodes/` is one unit."""

    def _split_scope(self, nodeid: str) -> str:
        nodes = "tests/nodes/"
        return nodes if nodeid.startswith(nodes) else nodeid.partition("::")[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest units first (pytest's hook)."""
    items.sort(key=_place_in_line)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return one more than there are processors (pytest-xdist's hook).

    Many tests wait for another process, for a source that takes its time, or for a page.
    """
    return (os.cpu_count() or 1) + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """Return the scheduler (pytest-xdist's hook)."""
    return Scheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def nowhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working folder of all tests, which stays empty: before any server is started."""
    folder = tmp_path_factory.mktemp("nowhere")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.upper().startswith("BALCAO_")]:
            patch.delenv(name)
        patch.chdir(folder)
        yield folder


@pytest.fixture(autouse=True)
def _leaves_nothing_behind(nowhere: Path) -> Iterator[None]:
    yield
    left = sorted(each.name for each in nowhere.iterdir())
    assert not left, f"{left} would have landed in the checkout: give the test a folder"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Service"]:
    """A service for the tests of a module, whose ledger is checked at the end."""
    from tests.service import open_service

    with open_service(tmp_path_factory.mktemp("casa")) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Service"]:
    """A service with a month of open data, whose companies are those of sandbox.md."""
    from tests.service import open_service

    with open_service(tmp_path_factory.mktemp("casa"), establishments=1) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Service"]:
    """A service with short timeouts, for sources that never answer."""
    from tests.service import open_service

    with open_service(tmp_path_factory.mktemp("pressa"), deadline=0.6, timeout=0.2) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator["Service"]:
    """A service of the test's own: its cache is empty, and its simulator unused."""
    from tests.service import open_service

    with open_service(tmp_path) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture
def who(house: "Service", request: pytest.FixtureRequest) -> "Client":
    """An account of the test's own, with one key called "teste"."""
    return house.account(request.node.name)


@pytest.fixture
def address() -> Iterator[str]:
    """Of an empty database on PostgreSQL."""
    from tests.storage import postgres

    address = postgres.new_address()
    yield address
    postgres.server().drop_database(address)
