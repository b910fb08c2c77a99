"""The command line on a data folder of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import Shell, begin


@pytest.fixture(autouse=True)
def _a_working_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of its own: some commands write where they are called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    """Runs commands in this process, on a data folder that is not there yet."""
    home = tmp_path / "dados"
    monkeypatch.setenv("BALCAO_HOME", str(home))
    before = os.umask(0o077)  # as the program does
    yield Shell(home)
    os.umask(before)


@pytest.fixture
def shell(fresh: Shell) -> Shell:
    """The same on an empty data folder, as a first start leaves it but for the sandbox."""
    begin(fresh.home)
    return fresh
