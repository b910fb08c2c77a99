"""Fixtures: a storage with data, and an empty one as target."""

from collections.abc import Iterator

import pytest

from balcao.storage.sqlite.cache import SqliteCache
from tests.cli.shell import Shell
from tests.cli.storage_move.world import furnish, keep
from tests.storage import postgres


@pytest.fixture
def address() -> Iterator[str]:
    address = postgres.server().new_database()
    yield address
    postgres.server().drop_database(address)


@pytest.fixture
def filled(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A data folder with rows in every table, an open hold and an open key; no sandbox."""
    monkeypatch.setenv("BALCAO_SANDBOX_ESTABLISHMENTS", "0")
    shell("account create acme --plan pre_pago")
    shell("account create beta --plan pos_pago")
    shell("key create acme")
    with shell.desk() as desk:
        furnish(desk, shell.home)
    keep(SqliteCache(shell.home.cache("live")), 300)
    keep(SqliteCache(shell.home.cache("test")), 5)
    return shell
