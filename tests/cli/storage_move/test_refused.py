"""Refusals of `balcao storage move`."""

from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from balcao.storage.contract import NewAccount
from balcao.storage.postgresql.desk import PostgresDesk
from tests.cli.shell import Shell
from tests.cli.storage_move.world import in_postgres
from tests.storage.later import add_migration
from tests.storage.world import NOW, a_charge


def test_a_target_with_others_data(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(PostgresDesk(address, pepper=filled.home.pepper())) as desk:
        desk.create_account(NewAccount("alheia", "pre_pago", "live"), NOW)
    assert "dados de outra instalação" in filled(f"storage move --to {address}", code=1).err
    in_postgres(monkeypatch, address)
    assert "alheia" in filled("account list").out


def test_a_target_with_another_secret(filled: Shell, address: str) -> None:
    PostgresDesk(address, pepper=b"x" * 32).close()
    assert "outro segredo" in filled(f"storage move --to {address}", code=1).err


def test_a_target_of_a_newer_program(filled: Shell, address: str) -> None:
    PostgresDesk(address).close()
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE schema_version SET version = 9999")
    assert "versão mais nova" in filled(f"storage move --to {address}", code=1).err


def test_a_target_from_before_the_first_release(filled: Shell, address: str) -> None:
    PostgresDesk(address).close()
    with psycopg.connect(address) as connection:
        connection.execute("DELETE FROM schema_version WHERE folder = 'released'")
    assert "versão de desenvolvimento" in filled(f"storage move --to {address}", code=1).err


def test_a_source_from_before_the_first_release(filled: Shell, address: str) -> None:
    with filled.desk() as desk:
        desk.engine.connection.execute("PRAGMA application_id = 0")
    assert "versão de desenvolvimento" in filled(f"storage move --to {address}", code=1).err


def test_a_source_of_an_older_version(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add_migration(monkeypatch, tmp_path, "SELECT 1")
    assert "Inicie antes" in filled(f"storage move --to {address}", code=1).err


def test_the_target_was_used_meanwhile(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moved, reopened, and charged on both: neither overwrites the other."""
    filled(f"storage move --to {address} --final")
    assert "foram movidos daqui" in filled("credit add acme 5 --reason x", code=1).err
    assert "Reaberto" in filled("storage reopen").out
    filled("credit add acme 5 --reason x")
    assert "não são mais" in filled(f"storage move --to {address}", code=1).err
    in_postgres(monkeypatch, address)
    assert "Use um destino vazio" in filled("storage move --to sqlite", code=1).err
    assert "Não há nada para reabrir" in filled("storage reopen", code=1).err


def test_rows_that_only_the_target_has(filled: Shell, address: str) -> None:
    filled(f"storage move --to {address}")
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE storage_move SET state = 'here', proven = '{}'")
    with closing(PostgresDesk(address)) as desk:
        desk.commit_now([a_charge(desk.accounts()[0], "r9000")])
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE storage_move SET state = 'arriving'")
    assert "nunca são apagados" in filled(f"storage move --to {address}", code=1).err


def test_different_sums_close_nothing(filled: Shell, address: str) -> None:
    """A target that does not store what it receives."""
    filled(f"storage move --to {address}")
    with filled.desk() as desk:
        desk.commit_now([a_charge(desk.accounts()[0], "r9000")])
    with psycopg.connect(address) as connection:
        connection.execute("CREATE RULE stay AS ON UPDATE TO account DO INSTEAD NOTHING")
    result = filled(f"storage move --to {address} --final", code=1)
    assert "account: a origem e o destino têm somas diferentes" in result.err
    assert "destino: conta acme: saldo" in result.err
    filled("account list")


def test_addresses(filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "postgresql://" in filled("storage move --to mysql://x", code=1).err
    assert "já estão em SQLite" in filled("storage move --to sqlite", code=1).err
    secret = address.replace("postgres@", "postgres:segredo@")
    result = filled(f"storage move --to {secret}")
    assert "segredo" not in result.out + result.err
    result = filled("storage move --to postgresql://eu:segredo@127.0.0.1:1/x", code=1)
    assert "O PostgreSQL não responde" in result.err
    assert "segredo" not in result.out + result.err
    filled(f"storage move --to {secret} --final")
    assert "segredo" not in filled("account list", code=1).err
    in_postgres(monkeypatch, address)
    assert "própria origem" in filled(f"storage move --to {address}", code=1).err


def test_nothing_to_move(fresh: Shell, address: str) -> None:
    assert "Não há nada para mover" in fresh(f"storage move --to {address}", code=1).err
    assert not fresh.path.exists()
