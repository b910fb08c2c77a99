"""Fixtures that run the command line on a new data folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell, begin


@pytest.fixture(autouse=True)
def _a_working_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Change to a temporary folder: some commands write to the current one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    """A shell for commands in this process, on a data folder that does not exist yet."""
    home = tmp_path / "dados"
    monkeypatch.setenv("BALCAO_HOME", str(home))
    before = os.umask(0o077)  # as the program does
    yield Shell(home)
    os.umask(before)


@pytest.fixture
def shell(fresh: Shell) -> Shell:
    """A shell on an empty data folder, as after a first start without sandbox."""
    begin(fresh.home)
    return fresh
