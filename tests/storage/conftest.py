"""Every engine runs through the same tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from balcao.core.access import Account
from balcao.storage.desk.desk import Desk
from tests.storage.engines import ENGINES, Engine
from tests.storage.world import open_account


@pytest.fixture(params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    engine = ENGINES[request.param](tmp_path)
    yield engine
    engine.close()


@pytest.fixture
def desk(engine: Engine) -> Desk:
    return engine.open()


@pytest.fixture
def ana(engine: Engine, desk: Desk) -> Account:
    """A prepaid account with ten credits and one key, which has the account's number."""
    return open_account(engine, desk, "ana", credits=10)


@pytest.fixture
def bruno(engine: Engine, desk: Desk) -> Account:
    """Another account, with five credits."""
    return open_account(engine, desk, "bruno", credits=5)
