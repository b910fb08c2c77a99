"""Where tests stand, and which of them run together.

They stand in an empty folder, with no setting of whoever runs them: the checkout may have a data
folder with a `balcao.toml` of its own, which no test and no process that one starts may see.

Tests that share something expensive (a browser, a set of nodes) run in one worker. By the places
where they lie: pytest-xdist's own marks say it in the tests' names, which pytest 9.2 does not let
it do.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:  # whole houses take a second to import: only those who live in one do
    from tests.http.house import OpenHouse
    from tests.world import Client

# How long an example takes depends on the machine and what else runs on it.
hypothesis.settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("untimed")

TOGETHER = (
    "tests/nodes/",
    "tests/storage/test_statements_at_a_million.py",
    "tests/web/test_browser.py",
    "tests/web/test_companies_in_browser.py",
)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """One test after another to whichever worker is free, but for those that stay together."""

    def _split_scope(self, nodeid: str) -> str:
        return next((place for place in TOGETHER if nodeid.startswith(place)), nodeid)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """pytest-xdist's hook: one more than there are processors, since many tests wait for another
    process, for a source that takes its time, or for a page.
    """
    return (os.cpu_count() or 1) + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """pytest-xdist's hook."""
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
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator["OpenHouse"]:
    """A whole house for the tests of a module, whose books agree in the end."""
    from tests.http.house import opened

    with opened(tmp_path_factory.mktemp("casa")) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator["OpenHouse"]:
    """The same with a month of open data, whose companies are those of sandbox.md."""
    from tests.http.house import opened

    with opened(tmp_path_factory.mktemp("casa"), establishments=1) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator["OpenHouse"]:
    """A house that waits for nobody: for those who never answer."""
    from tests.http.house import opened

    with opened(tmp_path_factory.mktemp("pressa"), deadline=0.6, timeout=0.2) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator["OpenHouse"]:
    """A test's own: nothing in the cache, and a simulator that was asked for nothing yet."""
    from tests.http.house import opened

    with opened(tmp_path) as house:
        yield house
        house.assert_books_agree()


@pytest.fixture
def who(house: "OpenHouse", request: pytest.FixtureRequest) -> "Client":
    """An account of the test's own, with one key called "teste"."""
    return house.account(request.node.name)


@pytest.fixture
def address() -> Iterator[str]:
    """Of an empty database on PostgreSQL."""
    from tests.storage import postgres

    address = postgres.new_address()
    yield address
    postgres.server().drop_database(address)
