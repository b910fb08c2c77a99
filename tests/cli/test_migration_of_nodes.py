"""A newer version on a PostgreSQL with data makes one backup first, or changes nothing.

The newer version is this program with one more migration.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from pydantic import SecretStr

from balcao.backup.archive import read_manifest
from balcao.cli.installation import save_before_migration
from balcao.core.errors import StorageNewer
from balcao.settings import Settings
from balcao.storage import statements
from balcao.storage.backup_files import KeptBackup, kept_in
from balcao.storage.contract import NewAccount
from balcao.storage.postgresql import backups, schema
from balcao.storage.postgresql.desk import PostgresDesk
from tests.cli.shell import PATIENCE_SECONDS, Shell
from tests.storage import postgres
from tests.storage.later import COLUMN as COLUMN_ADDED
from tests.storage.later import OLD, add_migration
from tests.storage.world import NOW, a_charge

NOW_THERE = "SELECT version FROM schema_version WHERE folder = 'desk'"
COLUMN = (
    "SELECT count(*) FROM information_schema.columns"
    " WHERE table_name = 'account' AND column_name = 'nickname'"
)


@pytest.fixture
def address(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BALCAO_DATABASE", address)
    return address


@pytest.fixture
def filled(shell: Shell, address: str) -> Shell:
    shell("account create acme --plan pre_pago")
    shell("key create acme")
    shell("credit add acme 10 --reason teste")
    return shell


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Return a function that turns this program into the next version."""

    def make(sql: str = COLUMN_ADDED) -> None:
        add_migration(monkeypatch, tmp_path, sql)

    return make


def query(address: str, sql: str) -> object:
    with psycopg.connect(address) as connection:
        row = connection.execute(sql.encode()).fetchone()
    return None if row is None else row[0]


def kept(shell: Shell) -> Sequence[KeptBackup]:
    return kept_in(shell.path / "backups")


def test_a_backup_precedes_the_migration(
    filled: Shell, address: str, newer: Callable[..., None]
) -> None:
    newer()
    result = filled("account list")
    (copy,) = kept(filled)
    assert (copy.occasion, read_manifest(copy.path).schema) == ("before-migration", OLD)
    assert f"da versão {OLD} do esquema à {OLD + 1}. Backup anterior: {copy.path}" in result.err
    assert (query(address, NOW_THERE), query(address, COLUMN)) == (OLD + 1, 1)
    assert "acme" in result.out
    assert "Backup anterior" not in filled("account list").err
    assert "O backup confere" in filled(f"backup restore {copy.path} --verify").out


def test_an_empty_database_has_nothing_to_save(shell: Shell, newer: Callable[..., None]) -> None:
    address = postgres.server().new_database()
    settings = Settings.model_construct(home=shell.path, database=SecretStr(address))
    newer()
    save_before_migration(settings)
    assert not kept(shell)
    postgres.server().drop_database(address)


def test_no_migration_without_its_backup(
    filled: Shell, address: str, newer: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    newer()
    folder = filled.path / "arquivo"
    folder.write_text("x")
    monkeypatch.setenv("BALCAO_BACKUP_FOLDER", str(folder / "copias"))
    result = filled("account list", code=1)
    assert "Nada foi alterado" in result.err
    assert f"BALCAO_OWN_BACKUP_OF_SCHEMA={OLD}" in result.err
    assert (query(address, NOW_THERE), query(address, COLUMN)) == (OLD, 0)
    assert not kept(filled)

    monkeypatch.setenv("BALCAO_OWN_BACKUP_OF_SCHEMA", str(OLD + 1))
    filled("account list", code=1)
    assert query(address, NOW_THERE) == OLD, "that is a copy of something else"

    monkeypatch.setenv("BALCAO_OWN_BACKUP_OF_SCHEMA", str(OLD))
    assert "o que você informou ter" in filled("account list").err
    assert (query(address, NOW_THERE), query(address, COLUMN)) == (OLD + 1, 1)
    assert not kept(filled)


def test_a_migration_that_fails_changes_nothing(
    filled: Shell, address: str, newer: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    newer("ALTER TABLE account ADD COLUMN nickname text; SELECT 1 / 0")
    filled("account list", code=1)
    assert (query(address, NOW_THERE), query(address, COLUMN)) == (OLD, 0)
    assert [copy.occasion for copy in kept(filled)] == ["before-migration"]


def test_nodes_that_start_together_make_one_backup(
    filled: Shell,
    address: str,
    newer: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    newer()
    homes = [tmp_path / name for name in ("a", "b", "c")]
    for home in homes:
        home.mkdir(mode=0o700)
        (home / "secret.key").write_bytes(filled.home.pepper())
    nodes = [Settings.model_construct(home=home, database=SecretStr(address)) for home in homes]
    with ThreadPoolExecutor(len(nodes)) as together:
        list(together.map(save_before_migration, nodes, timeout=PATIENCE_SECONDS))
    made = [copy for home in homes for copy in kept_in(home / "backups")]
    assert [copy.occasion for copy in made] == ["before-migration"]
    assert query(address, NOW_THERE) == OLD + 1
    assert capsys.readouterr().err.count("Backup anterior") == 1


def test_the_second_node_waits_for_the_first(address: str, newer: Callable[..., None]) -> None:
    newer()
    steps: list[str] = []
    with psycopg.connect(address, autocommit=True) as first, ThreadPoolExecutor(1) as beside:
        first.execute("SELECT pg_advisory_lock(%s)", (backups._SAVER_LOCK,))

        def done_by_the_first() -> None:
            steps.append("waits")
            schema.migrate(first, "desk")
            first.execute("SELECT pg_advisory_unlock(%s)", (backups._SAVER_LOCK,))

        second = beside.submit(
            backups.migrate_saved,
            address,
            lambda has: steps.append("saves"),
            done_by_the_first,
        )
        second.result(PATIENCE_SECONDS)
    assert steps == ["waits"]
    assert query(address, NOW_THERE) == OLD + 1


def test_a_migration_gives_way_to_a_long_transaction(
    filled: Shell, address: str, newer: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All other requests for the table would queue behind a migration that waits for it."""
    newer()
    with psycopg.connect(address) as reader:
        reader.execute("SELECT count(*) FROM account")

        def pause(seconds: float) -> None:
            with psycopg.connect(address, autocommit=True) as other:
                other.execute("SET lock_timeout = '1ms'")
                other.execute("UPDATE account SET name = name")  # nothing queues
            reader.rollback()

        monkeypatch.setattr(schema, "_TABLE_LOCK_MS_MAX", 10)
        monkeypatch.setattr(schema, "time", SimpleNamespace(sleep=pause, monotonic=time.monotonic))
        filled("account list")
    assert query(address, NOW_THERE) == OLD + 1


def test_a_running_old_node_continues_but_cannot_restart(
    filled: Shell, address: str, newer: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Migrations only add to the schema, so that older nodes keep working."""
    files_of_old = statements.migrations
    with closing(PostgresDesk(address)) as old:
        account = old.accounts()[0]
        newer()
        filled("account list")
        assert query(address, NOW_THERE) == OLD + 1
        monkeypatch.setattr(statements, "migrations", files_of_old)
        assert asyncio.run(old.commit([a_charge(account, "r1", 3)])) is None
        old.create_account(NewAccount("nova", "gratuito", "live"), NOW)
        assert [one.balance_credits for one in old.accounts()] == [7, 0]
        assert not old.check().complaints
    with pytest.raises(StorageNewer):
        PostgresDesk(address)
    assert "foi atualizado pelo Balcão" in filled("account list", code=1).err
    assert len(kept(filled)) == 1


def test_a_running_node_opens_a_newer_cache_that_is_compatible(address: str) -> None:
    """A node connects to its cache at the first read, perhaps after another node's upgrade."""
    with psycopg.connect(address, autocommit=True) as connection:
        schema.migrate(connection, "cache")
        newest = schema.newest_version("cache")
        connection.execute(
            "INSERT INTO schema_history (folder, version, oldest_compatible, program)"
            " VALUES ('cache', %s, %s, '1.1.0')",
            (newest + 1, newest),
        )
        connection.execute(
            "UPDATE schema_version SET version = %s WHERE folder = 'cache'", (newest + 1,)
        )
        schema.migrated("cache")(connection)
        connection.execute("UPDATE schema_history SET oldest_compatible = version")
        with pytest.raises(StorageNewer):
            schema.migrated("cache")(connection)
