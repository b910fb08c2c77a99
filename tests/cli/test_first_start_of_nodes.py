"""The first starts of nodes that share a PostgreSQL: keys are issued once, and not revoked."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import SecretStr

from balcao.core.errors import PepperDiffers
from balcao.home import Home
from balcao.service import first_start
from balcao.settings import Settings
from balcao.storage.postgresql.desk import PostgresDesk

NOW_MS = 1_785_000_000_000


def prepared(address: str, folder: Path) -> int:
    settings = Settings(home=folder, database=SecretStr(address), sandbox_establishments=0)
    issued = first_start.prepare(
        Home(folder), settings, now_ms=lambda: NOW_MS, report=lambda step: None
    )
    return len(issued)


def test_the_second_node_issues_nothing(address: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert prepared(address, first) == len(first_start.OPENINGS)
    with pytest.raises(PepperDiffers):
        prepared(address, second)

    shutil.copy(first / "secret.key", second / "secret.key")
    assert prepared(address, second) == 0
    desk = PostgresDesk(address)
    keys = [key for account in desk.accounts() for key in desk.keys(account.account_id)]
    desk.close()
    assert len(keys) == len(first_start.OPENINGS)
    assert all(key.revoked_ms is None for key in keys)


def test_nodes_that_start_together_issue_once(address: str, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second", "third")]
    for folder in folders:
        folder.mkdir()
        (folder / "secret.key").write_bytes(bytes(32))
    with ThreadPoolExecutor(len(folders)) as threads:
        issued = list(threads.map(lambda folder: prepared(address, folder), folders))
    assert sorted(issued) == [0, 0, len(first_start.OPENINGS)]
    desk = PostgresDesk(address)
    assert [len(desk.keys(each.account_id)) for each in desk.accounts()] == [1] * 5
    desk.close()
