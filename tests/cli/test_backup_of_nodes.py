"""`balcao backup` with PostgreSQL: backup, restore, and the node that makes them."""

import multiprocessing
import tarfile
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from balcao.backup.making import make
from balcao.home import SECRET_BYTES
from balcao.opendata.errors import FetchRunning
from balcao.service.clock import system_now_ms
from balcao.service.fetching import alone_among_nodes
from balcao.settings import Settings
from balcao.storage.contract import NewAccount
from balcao.storage.postgresql.backups import BACKUP_LOCK, NodeTaskLock
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.schema import own_names
from balcao.storage.statements import HISTORY
from balcao.storage.transfer.errors import BackupStopped
from tests.cli.shell import Shell
from tests.cli.test_backup import RECEIPT, complaints, created, fill, with_manifest
from tests.storage import postgres
from tests.storage.engines import file_size_limit
from tests.storage.world import NOW, a_bind, a_charge


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


def test_all_our_tables_and_functions_are_listed() -> None:
    address = postgres.new_address()
    with psycopg.connect(address) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition"  # partitions belong to their tables
        ).fetchall()
        functions = connection.execute(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        ).fetchall()
    postgres.server().drop_database(address)
    # The caches' table is created when a cache is first opened.
    versions = {"schema_version", HISTORY}
    assert {name for (name,) in tables} == {*own_names("TABLE")} - {"entry"} | versions
    assert {name for (name,) in functions} == set(own_names("FUNCTION"))


def test_there_and_back(filled: Shell, address: str) -> None:
    with psycopg.connect(address) as connection:
        connection.execute("CREATE TABLE somebody_elses (x int)")
        connection.execute("INSERT INTO somebody_elses VALUES (1)")
    path = created(filled)
    result = filled(f"backup restore {path} --verify").out
    assert "O backup confere: restaurado e somado" in result
    assert filled("backup list --json").json["backups"][0]["engine"] == "postgresql"
    with closing(PostgresDesk(address)) as desk:
        desk.commit_now([a_charge(desk.accounts()[0], "r9", 100)])
    assert "--replace" in filled(f"backup restore {path}", code=1).err
    done = filled(f"backup restore {path} --replace --json").json
    with closing(PostgresDesk(address)) as desk:
        assert desk.check().complaints == []
        assert desk.accounts()[0].balance_credits == 993
        assert desk.recover(NOW) == 1
        desk.commit_now([a_charge(desk.accounts()[0], "r10")])  # sequences were restored
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT x FROM somebody_elses").fetchall() == [(1,)]
    # The replaced data were saved before.
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


def test_into_a_data_folder_and_back(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup of either engine can be restored to the other, with open holds and receipts."""
    of_database = created(filled)
    other = Shell(filled.path.parent / "outra")
    monkeypatch.setenv("BALCAO_HOME", str(other.path))
    monkeypatch.delenv("BALCAO_DATABASE")
    other(f"backup restore {of_database}")
    with other.desk() as desk:
        assert desk.check().complaints == []
        assert desk.accounts()[0].balance_credits == 993
        desk.commit_now([a_charge(desk.accounts()[0], "r9", 100)])
        desk.commit_now([a_bind(desk.accounts()[0], "k1", "r2")])  # for the open hold
    of_folder = created(other)

    monkeypatch.setenv("BALCAO_HOME", str(filled.path))
    monkeypatch.setenv("BALCAO_DATABASE", address)
    filled(f"backup restore {of_folder} --replace")
    assert len(list(filled.home.receipts.glob("*/*"))) == 1
    with closing(PostgresDesk(address, pepper=filled.home.pepper())) as desk:
        assert desk.check().complaints == []
        assert desk.recover(NOW) == 1
        assert desk.check().complaints == []
        (account,) = desk.accounts()
        assert (account.balance_credits, account.held_credits) == (893, 0)
        desk.commit_now([a_charge(account, "r10")])
        desk.create_account(NewAccount("nova", "pre_pago", "live"), NOW)
        assert [one.account_id for one in desk.accounts()] == [1, 2]
    with psycopg.connect(address) as connection:
        running = connection.execute("SELECT state FROM idempotency").fetchall()
    assert running == [("died",)]


def test_an_interrupted_backup_leaves_nothing(filled: Shell) -> None:
    with pytest.raises(BackupStopped):
        make(Settings(), system_now_ms, stopped=lambda: True)
    with file_size_limit(20_000):
        assert "não pôde ser copiado" in filled("backup create", code=1).err
    assert not multiprocessing.active_children()
    assert [one.name for one in (filled.path / "backups").iterdir()] == ["backup.lock"]


def test_another_programs_tables_are_not_dropped(
    filled: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = created(filled)
    other = Shell(filled.path.parent / "outra")
    taken = postgres.server().new_database()
    monkeypatch.setenv("BALCAO_HOME", str(other.path))
    monkeypatch.setenv("BALCAO_DATABASE", taken)
    with psycopg.connect(taken) as connection:
        connection.execute("CREATE TABLE account (x int)")
    assert "nada foi alterado" in other(f"backup restore {path}", code=1).err
    with psycopg.connect(taken) as connection:
        assert connection.execute("SELECT count(*) FROM account").fetchone() == (0,)
        assert connection.execute("SELECT to_regclass('api_key')").fetchone() == (None,)
    assert not other.home.secret.exists()
    postgres.server().drop_database(taken)


def test_a_node_is_running(filled: Shell, address: str) -> None:
    path = created(filled)
    with closing(PostgresDesk(address)):
        assert "Encerre todos" in filled(f"backup restore {path} --replace", code=1).err
        created(filled)


def test_wrong_sums(filled: Shell, address: str) -> None:
    path = created(filled)
    assert "balances" in complaints(filled, with_manifest(path, sums={"balances": 5}))
    with tarfile.open(path) as tar:
        info = tar.getmember("desk")
    content = bytearray(path.read_bytes())
    content[info.offset_data + info.size // 2] ^= 1
    path.write_bytes(content)
    assert "desk não é o original" in complaints(filled, path)
    with closing(PostgresDesk(address)) as desk:
        desk.commit_now([a_charge(desk.accounts()[0], "r9", 100)])
    assert "nada foi alterado" in filled(f"backup restore {path} --replace", code=1).err
    with closing(PostgresDesk(address)) as desk:
        assert desk.accounts()[0].balance_credits == 893


def test_a_node_with_another_secret_makes_no_backup_and_can_be_repaired(filled: Shell) -> None:
    path = created(filled)
    filled.home.secret.write_bytes(bytes(SECRET_BYTES))
    assert "outro segredo" in filled("backup create", code=1).err
    restored = filled(f"backup restore {path} --replace --json").json
    assert "não foram criadas com este secret.key" in complaints(filled, Path(restored["saved"]))
    assert "acme" in filled("account list").out


def test_a_failed_restore_changes_nothing(filled: Shell, address: str) -> None:
    """A foreign view depends on one of our tables, so that nothing is dropped."""
    path = created(filled)
    with psycopg.connect(address) as connection:
        connection.execute("CREATE VIEW of_ours AS SELECT name FROM account")
    assert "nada foi alterado" in filled(f"backup restore {path} --replace", code=1).err
    with closing(PostgresDesk(address)) as desk:
        assert desk.accounts()[0].balance_credits == 993
    assert filled.home.secret.is_file()


def maker_of(address: str) -> NodeTaskLock:
    return NodeTaskLock(address, BACKUP_LOCK)


def test_one_node_makes_backups(address: str) -> None:
    first, second = (maker_of(address) for _ in range(2))
    assert first.try_acquire()
    assert not second.try_acquire()
    assert first.try_acquire()
    assert first._connection is not None
    postgres.server().admin(
        "SELECT pg_terminate_backend(%s, 10000)", first._connection.info.backend_pid
    )
    assert second.try_acquire()
    assert not first.try_acquire()
    second.close()
    assert first.try_acquire()
    first.close()


def test_one_node_downloads_a_month(address: str, tmp_path: Path) -> None:
    """While another node makes backups."""
    settings = Settings(home=tmp_path, database=SecretStr(address))
    maker = maker_of(address)
    with alone_among_nodes(settings):
        assert maker.try_acquire()
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
