"""Upgrades of a database and the way back, on either engine.

The newer version is this program as 1.1.0, with one more migration.
"""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from balcao import __version__
from balcao.core.errors import StorageFailed
from balcao.storage import statements
from balcao.storage.backup_files import kept_in
from balcao.storage.places import place_at
from balcao.storage.postgresql import schema
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.sqlite import files
from tests.cli.shell import PATIENCE_SECONDS, Shell
from tests.storage.later import COLUMN, OLD, add_migration

NEWER = "1.1.0"
BREAKING = "ALTER TABLE account RENAME COLUMN name TO title"


class Installed:
    """An installation with an account, on one engine."""

    def __init__(self, shell: Shell, address: str) -> None:
        self.shell = shell
        self.address = address

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        if self.address:
            with psycopg.connect(self.address, autocommit=True) as connection:
                return connection.execute(sql.encode()).fetchall()
        with closing(apsw.Connection(str(self.shell.home.desk))) as file:
            return file.execute(sql).fetchall()

    def columns(self) -> set[str]:
        """Return the columns of an account."""
        sql = "SELECT name FROM pragma_table_info('account')"
        if self.address:
            sql = "SELECT column_name FROM information_schema.columns WHERE table_name = 'account'"
        return {name for (name,) in self.query(sql)}


@pytest.fixture(params=["sqlite", "postgresql"])
def installed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Installed:
    address = request.getfixturevalue("address") if request.param == "postgresql" else ""
    if address:
        monkeypatch.setenv("BALCAO_DATABASE", address)
    shell("account create acme --plan pre_pago")
    return Installed(shell, address)


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """Make this program the newer version, until `undo`."""
    with monkeypatch.context() as patch:
        as_newer(patch, tmp_path)
        yield patch


def as_newer(patch: pytest.MonkeyPatch, folder: Path, sql: str = COLUMN) -> None:
    for module in (statements, files, schema):
        patch.setattr(module, "__version__", NEWER)
    add_migration(patch, folder, sql)


def test_the_way_back(
    installed: Installed, newer: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shell = installed.shell
    assert f"Migração {OLD + 1:04} aplicada em" in shell("account create nova --plan gratuito").err
    (copy,) = kept_in(shell.path / "backups")
    recorded = "SELECT version, oldest_compatible, program, saved_in FROM schema_history"
    assert installed.query(f"{recorded} WHERE folder = 'desk' AND version > {OLD}") == [
        (OLD + 1, OLD, NEWER, str(copy.path))
    ]

    newer.undo()
    refused = shell("account list", code=1).err
    assert f"foi atualizado pelo Balcão {NEWER}, e este é o {__version__}" in refused
    assert f"pip install --no-deps balcao-{NEWER}-py3-none-any.whl" in refused
    command = f"backup restore {copy.path} --replace"
    assert f"{command}\n" in refused
    assert f"pip install --no-deps balcao-{__version__}-py3-none-any.whl" in refused
    assert "nickname" in installed.columns(), "nothing was changed"

    with monkeypatch.context() as again:
        as_newer(again, tmp_path)
        shell(command)
    listed = shell("account list").out
    assert "acme" in listed
    assert "nova" not in listed, "what came after the copy is lost"
    assert "nickname" not in installed.columns()


def test_a_killed_migration_is_done_by_the_next_start(
    installed: Installed, newer: pytest.MonkeyPatch
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", DIES_AFTER_THE_MIGRATION],
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert "nickname" not in installed.columns(), "all of a migration or nothing"
    assert "acme" in installed.shell("account list").out
    assert "nickname" in installed.columns()
    copies = kept_in(installed.shell.path / "backups")
    assert {copy.occasion for copy in copies} == {"before-migration"}


# Dies within the transaction, after the statements of the migration.
DIES_AFTER_THE_MIGRATION = """
import os, signal
from balcao.cli import installation
installation._print_note = lambda text: (
    os.kill(os.getpid(), signal.SIGKILL) if text.startswith("Migração") else None
)
installation.save_before_migration(installation.read_settings())
"""


def test_a_server_of_the_older_version_ends_before_a_file_is_migrated(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    as_newer(monkeypatch, tmp_path)
    with shell.home.lock():
        assert "já está em uso" in shell("account list", code=1).err
    assert not kept_in(shell.path / "backups")
    shell("account list")


def test_nodes_that_do_not_understand_a_migration_are_stopped_first(
    shell: Shell, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BALCAO_DATABASE", address)
    shell("account create acme --plan pre_pago")
    with closing(PostgresDesk(address)) as old:
        with monkeypatch.context() as newer:
            as_newer(newer, tmp_path, BREAKING)
            assert "Encerre todos os nós" in shell("account list", code=1).err
            assert not kept_in(shell.path / "backups")
            assert len(old.accounts()) == 1
            # It is cut off, and another node migrates meanwhile.
            old.engine._workers["writer"]._on_idle = lambda: None
            old.engine._writing.drop()
            newest = place_at(address, shell.home)
            newest.migrate_saved(lambda has: None, lambda: None, lambda number, seconds: None)
        with pytest.raises(StorageFailed) as cut_off:
            old.recover(0)
    assert isinstance(cut_off.value.__cause__, schema.SchemaIncompatible)
