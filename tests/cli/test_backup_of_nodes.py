"""`balcao backup` with PostgreSQL: both ways, and who makes them."""

import os
import tarfile
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from balcao.home import PEPPER_BYTES
from balcao.opendata.errors import FetchRunning
from balcao.service.fetching import alone_among_nodes
from balcao.settings import Settings
from balcao.storage.copies.errors import BackupRefused
from balcao.storage.postgresql import programs
from balcao.storage.postgresql.copies import OWN_FUNCTIONS, OWN_TABLES, NodeMaker, PostgresCopies
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.programs import programs_for
from tests.cli.shell import Shell
from tests.cli.test_backup import RECEIPT, complaints, created, fill, with_manifest
from tests.storage import postgres
from tests.storage.world import NOW, a_charge


@pytest.fixture
def address(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BALCAO_DATABASE", address)
    monkeypatch.setenv("BALCAO_SANDBOX_ESTABLISHMENTS", "0")
    return address


@pytest.fixture
def filled(shell: Shell, address: str) -> Shell:
    shell("account create acme --plan pre_pago")
    shell("key create acme")
    with closing(PostgresDesk(address)) as desk:
        fill(desk, shell.home.receipts)
    return shell


def databases() -> list[str]:
    return [name for (name,) in postgres.server().admin("SELECT datname FROM pg_database")]


def test_every_table_and_function_of_ours_is_known() -> None:
    address = postgres.new_address()
    with psycopg.connect(address) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition"  # these go with their tables
        ).fetchall()
        functions = connection.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        ).fetchall()
    postgres.server().drop_database(address)
    # The caches' table is made when the cache is first opened, the other one by a move.
    assert {name for (name,) in tables} | {"entry", "storage_move"} == set(OWN_TABLES)
    assert {name for (name,) in functions} == set(OWN_FUNCTIONS)


def test_there_and_back(filled: Shell, address: str) -> None:
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE somebody_elses (x int)")
        connection.execute("INSERT INTO somebody_elses VALUES (1)")
    path = created(filled)
    before = databases()
    said = filled(f"backup restore {path} --verify").out
    assert "A cópia confere: restaurada e somada" in said
    assert databases() == before
    assert filled("backup list --json").json["backups"][0]["engine"] == "postgresql"
    with closing(PostgresDesk(address)) as desk:
        desk.commit_now([a_charge(desk.accounts()[0], "r9", 100)])
    assert "--replace" in filled(f"backup restore {path}", code=1).err
    done = filled(f"backup restore {path} --replace --json").json
    with closing(PostgresDesk(address)) as desk:
        assert desk.check().complaints == []
        assert desk.accounts()[0].balance_credits == 993
        assert desk.recover(NOW) == 1
        desk.commit_now([a_charge(desk.accounts()[0], "r10")])  # sequences went along
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT x FROM somebody_elses").fetchall() == [(1,)]
    # What was there was saved before.
    assert Path(done["saved"]).name.startswith("before-restore-")
    filled(f"backup restore {done['saved']} --replace")
    with closing(PostgresDesk(address)) as desk:
        assert desk.accounts()[0].balance_credits == 893


def test_into_an_empty_database(filled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    path, pepper = created(filled), filled.home.pepper()
    other = Shell(filled.path.parent / "outra")
    empty = postgres.server().new_database()
    monkeypatch.setenv("BALCAO_HOME", str(other.path))
    monkeypatch.setenv("BALCAO_DATABASE", empty)
    other(f"backup restore {path}")
    with closing(PostgresDesk(empty, pepper=pepper)) as desk:
        assert desk.accounts()[0].balance_credits == 993
    assert other.home.pepper() == pepper
    assert len(list(other.home.receipts.glob("*/*"))) == 1
    assert "acme" in other("account list").out
    postgres.server().drop_database(empty)


def test_a_node_is_running(filled: Shell, address: str) -> None:
    path = created(filled)
    with closing(PostgresDesk(address)):
        assert "Encerre todos" in filled(f"backup restore {path} --replace", code=1).err
        created(filled)


def test_what_does_not_agree(filled: Shell, address: str) -> None:
    path = created(filled)
    assert "balances" in complaints(filled, with_manifest(path, sums={"balances": 5}))
    with tarfile.open(path) as tar:
        info = tar.getmember("desk")
    content = bytearray(path.read_bytes())
    content[info.offset_data + info.size // 2] ^= 1
    path.write_bytes(content)
    assert "desk não é o que foi guardado" in complaints(filled, path)
    with closing(PostgresDesk(address)) as desk:
        desk.commit_now([a_charge(desk.accounts()[0], "r9", 100)])
    assert "nada foi alterado" in filled(f"backup restore {path} --replace", code=1).err
    with closing(PostgresDesk(address)) as desk:
        assert desk.accounts()[0].balance_credits == 893


def test_a_node_with_another_secret_makes_none_and_can_be_put_right(filled: Shell) -> None:
    path = created(filled)
    filled.home.secret.write_bytes(bytes(PEPPER_BYTES))
    assert "outro segredo" in filled("backup create", code=1).err
    restored = filled(f"backup restore {path} --replace --json").json
    assert "não foram feitas com este secret.key" in complaints(filled, Path(restored["saved"]))
    assert "acme" in filled("account list").out


def test_a_load_that_fails_leaves_everything(filled: Shell, address: str) -> None:
    """Somebody else's view on a table of ours: it cannot be dropped, and so nothing is."""
    path = created(filled)
    with psycopg.connect(address) as connection:
        connection.execute("CREATE VIEW of_ours AS SELECT name FROM account")
    assert "psql falhou" in filled(f"backup restore {path} --replace", code=1).err
    with closing(PostgresDesk(address)) as desk:
        assert desk.accounts()[0].balance_credits == 993
    assert filled.home.secret.is_file()


def test_a_user_who_may_make_no_database(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = created(filled)
    postgres.server().admin("DROP ROLE IF EXISTS modest")
    postgres.server().admin("CREATE ROLE modest LOGIN")
    monkeypatch.setenv("BALCAO_DATABASE", address.replace("postgres@", "modest@"))
    said = filled(f"backup restore {path} --verify").out
    assert "os livros não foram somados" in said
    monkeypatch.setenv("BALCAO_DATABASE", address)
    postgres.server().admin("DROP ROLE modest")


def test_an_engine_that_is_another(filled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    path = created(filled)
    monkeypatch.delenv("BALCAO_DATABASE")
    assert "BALCAO_DATABASE" in filled(f"backup restore {path} --verify", code=1).err


def test_the_programs_are_missing_or_too_old(
    monkeypatch: pytest.MonkeyPatch, filled: Shell
) -> None:
    monkeypatch.setattr(programs, "_found", lambda path: [])
    assert "postgresql-client-" in filled("backup create", code=1).err
    old = [programs.Programs(Path("/x"), 13), programs.Programs(Path("/y"), 16)]
    monkeypatch.setattr(programs, "_found", lambda path: [*old, programs.Programs(Path("/z"), 15)])
    assert programs_for(14).major == 15
    with pytest.raises(BackupRefused, match="só há a versão 16"):
        programs_for(17)


def test_passwords_stay_off_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "pg_dump"
    program.write_text(f'#!/bin/sh\necho "$@" "$PGPASSWORD" > {tmp_path}/said\n')
    program.chmod(0o700)
    tools = programs.Programs(tmp_path, 15)
    tools.run("pg_dump", "postgresql://eu:segredo@maquina/banco")
    *arguments, password = (tmp_path / "said").read_text().split()
    assert password == "segredo"
    assert "segredo" not in " ".join(arguments)
    assert "PGPASSWORD" not in os.environ


def test_one_node_makes_them(address: str) -> None:
    first, second = (PostgresCopies(address).maker() for _ in range(2))
    assert isinstance(first, NodeMaker)
    assert first.is_ours()
    assert not second.is_ours()
    assert first.is_ours()
    assert first._connection is not None
    postgres.server().admin(
        "SELECT pg_terminate_backend(%s, 10000)", first._connection.info.backend_pid
    )
    assert second.is_ours()
    assert not first.is_ours()
    second.close()
    assert first.is_ours()
    first.close()


def test_one_node_downloads_a_month(address: str, tmp_path: Path) -> None:
    """Beside another one that makes backups."""
    settings = Settings(home=tmp_path, database=SecretStr(address))
    maker = PostgresCopies(address).maker()
    with alone_among_nodes(settings):
        assert maker.is_ours()
        with pytest.raises(FetchRunning), alone_among_nodes(settings):
            pass
    with alone_among_nodes(settings):
        pass
    maker.close()


def test_the_content_of_receipts(filled: Shell) -> None:
    with tarfile.open(created(filled)) as tar:
        (name,) = [one for one in tar.getnames() if one.startswith("receipts/")]
        file = tar.extractfile(name)
        assert file is not None
        assert file.read() == RECEIPT
