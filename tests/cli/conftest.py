"""The command line on a data folder of its own."""

from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture(autouse=True)
def _a_working_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of its own: some commands write where they are called."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    """Runs commands in this process; the data folder is new."""
    home = tmp_path / "dados"
    monkeypatch.setenv("BALCAO_HOME", str(home))
    return Shell(home)
