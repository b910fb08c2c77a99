"""`balcao backup`: creation while charging, verification, restore, and their refusals."""

import fcntl
import hashlib
import json
import os
import tarfile
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from balcao.backup import archive
from balcao.backup.archive import read_manifest
from balcao.backup.making import make
from balcao.core.receipts import digest_of
from balcao.service.clock import system_now_ms
from balcao.settings import Settings
from balcao.storage.backup_files import kept_in, remove_old
from balcao.storage.desk.desk import Desk
from balcao.storage.numbers import least_number
from balcao.storage.sqlite import backups
from balcao.storage.sqlite.desk import SqliteDesk
from tests.cli.shell import Shell, free_port, serving
from tests.storage.engines import file_size_limit
from tests.storage.later import OLD, add_migration
from tests.storage.people import a_trace, together
from tests.storage.world import NOW, a_charge, a_hold, a_keep, a_top_up

RECEIPT = b"um recibo"


@pytest.fixture(autouse=True)
def _no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_SANDBOX_ESTABLISHMENTS", "0")


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """An account with 1000 credits, a charge, a hold, a key and a receipt."""
    shell("account create acme --plan pre_pago")
    shell("key create acme")
    with shell.desk() as desk:
        fill(desk, shell.home.receipts)
    return shell


def fill(desk: Desk, receipts: Path) -> None:
    (account,) = desk.accounts()
    desk.commit_now([a_top_up(account, 1000)])
    desk.commit_now([a_charge(account, "r1", 7), a_hold(account, "r2", 3)])
    desk.commit_now([a_keep(account, "n1", RECEIPT.decode())])
    digest = digest_of(RECEIPT)
    (receipts / digest[:2]).mkdir(parents=True)
    (receipts / digest[:2] / digest).write_bytes(RECEIPT)


def created(shell: Shell, options: str = "") -> Path:
    return Path(shell(f"backup create --json {options}").json["file"])


def rewritten(path: Path, change: Callable[[str, bytes], bytes | None]) -> Path:
    """Copy an archive with changed members; a member changed to None is left out."""
    other = path.with_name("outra.tar")
    with tarfile.open(path) as old, tarfile.open(other, "w") as new:
        for info in old:
            file = old.extractfile(info)
            assert file is not None
            content = change(info.name, file.read())
            if content is not None:
                info.size = len(content)
                with (path.parent / "member").open("wb+") as member:
                    member.write(content)
                    member.seek(0)
                    new.addfile(info, member)
    return other


def with_manifest(path: Path, **changes: object) -> Path:
    def change(name: str, content: bytes) -> bytes:
        if name != "manifest.json":
            return content
        answer = json.loads(content)
        for key, value in changes.items():
            if isinstance(value, dict):
                answer[key].update(value)
            else:
                answer[key] = value
        return json.dumps(answer).encode()

    return rewritten(path, change)


# Creation


def test_content_of_a_backup(filled: Shell, tmp_path: Path) -> None:
    made = filled(f"backup create --to {tmp_path}/copias --json").json
    path = Path(made["file"])
    assert path.parent == tmp_path / "copias"
    assert path.stat().st_mode & 0o777 == 0o600
    assert made["sums"] == {
        "accounts": 1,
        "balances": 993,
        "holds": 3,
        "keys": 1,
        "entries": 3,
        "entries_sum": 993,
        "charged_lookups": 0,
        "charged_lookups_sum": 0,
        "open_operations": 1,
        "receipts": 1,
        "receipt_digests": 1,
        "people": 0,
        "budgets": 0,
        "budgets_spent": 0,
        "budgets_held": 0,
        "budgets_calls": 0,
        "events": 0,
        "audit_entries": made["sums"]["audit_entries"],
    }
    with tarfile.open(path) as tar:
        names = tar.getnames()
    digest = digest_of(RECEIPT)
    assert names == ["manifest.json", "desk", "secret.key", f"receipts/{digest}", "receipts.txt"]
    assert sorted(one.name for one in path.parent.iterdir()) == ["backup.lock", path.name]
    result = filled(f"backup create --to {tmp_path}/copias").out
    assert "segredo das chaves" in result


def test_nothing_to_copy(fresh: Shell) -> None:
    result = fresh("backup create", code=1).err
    assert "Não há dados do Balcão" in result
    assert "balcao serve" in result  # how to start
    assert not fresh.path.exists()


def test_while_lookups_are_charged(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backup is of one instant: everything earlier, and a prefix of the charges."""
    monkeypatch.setattr(backups, "PAGES_PER_STEP", 1)  # slow, as for a large desk
    shell("account create acme --plan pre_pago")
    shell.home.pepper()
    acknowledged: list[int] = []
    ready, over = threading.Event(), threading.Event()

    def charge() -> None:
        with closing(SqliteDesk(shell.home.desk)) as desk:
            (account,) = desk.accounts()
            desk.commit_now([a_top_up(account, 1_000_000)])
            number = 0
            while not over.is_set():
                number += 1
                desk.commit_now([a_charge(account, f"r{number}")])
                acknowledged.append(number)
                if number == 50:
                    ready.set()

    thread = threading.Thread(target=charge)
    thread.start()
    try:
        assert ready.wait(30)
        before = acknowledged[-1]
        made = make(Settings(), system_now_ms)
        after = acknowledged[-1]
    finally:
        over.set()
        thread.join()
    assert after - before > 10, "nothing was charged meanwhile: this proves nothing"
    assert shell(f"backup restore {made.path} --verify --json").json["ok"]
    shell(f"backup restore {made.path} --replace")
    with shell.desk() as desk:
        (account,) = desk.accounts()
        assert desk.check().complaints == []
        charges = [entry.request_id for entry in desk.entries(account.account_id, 0, NOW * 2)][1:]
    assert charges == [f"r{number}" for number in range(1, len(charges) + 1)]
    assert before <= len(charges) <= after + 1
    assert account.balance_credits == 1_000_000 - len(charges)


def test_a_full_disk_leaves_nothing(filled: Shell) -> None:
    with file_size_limit(20_000):
        result = filled("backup create", code=1).err
    assert result
    assert [one.name for one in (filled.path / "backups").iterdir()] == ["backup.lock"]
    assert created(filled).is_file()


def test_a_full_disk_after_the_desk(filled: Shell) -> None:
    """The disk is full while the archive is written."""
    desk_bytes = read_manifest(created(filled)).members["desk"].bytes
    with file_size_limit(desk_bytes + 4096):
        filled("backup create", code=1)
    assert len(list((filled.path / "backups").glob("*"))) == 2  # the lock, and the first one


def test_one_at_a_time(filled: Shell) -> None:
    created(filled)
    with (filled.path / "backups" / "backup.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "Outro backup" in filled("backup create", code=1).err


def test_leftovers_of_a_crash_are_removed(filled: Shell) -> None:
    folder = created(filled).parent
    (folder / "partial-abc").write_bytes(b"half")
    created(filled)
    assert not (folder / "partial-abc").exists()


# Listing and retention


def test_the_list(filled: Shell) -> None:
    first, second = created(filled), created(filled)
    (first.parent / "balcao-20200101-000000.tar").write_bytes(b"nonsense" * 100)
    (first.parent / "balcao-99999999-999999.tar").write_bytes(b"no instant")
    found = filled("backup list --json").json["backups"]
    assert [Path(one["file"]) for one in found[:2]] == [second, first]
    assert found[0]["sums"]["balances"] == 993
    assert 0 <= found[0]["age_seconds"] < 600
    assert "danificado" in found[2]["problem"]
    assert len(found) == 3
    result = filled("backup list").out
    assert "saldos de 993" in result
    assert result.index(second.name) < result.index(first.name)


def test_only_regular_backups_expire(tmp_path: Path) -> None:
    names = [f"balcao-2026080{day}-000000.tar" for day in range(1, 6)]
    others = ["before-migration-20200101-000000.tar", "before-restore-20200101-000000.tar"]
    for name in [*names, *others, "outra.tar"]:
        (tmp_path / name).touch()
    assert remove_old(tmp_path, 2) == 3
    assert [kept.path.name for kept in kept_in(tmp_path)] == [names[4], names[3], *others[::-1]]
    assert (tmp_path / "outra.tar").exists()


# Verification


def complaints(shell: Shell, path: Path) -> str:
    found = shell(f"backup restore {path} --verify --json", code=1).json
    assert found["ok"] is False
    return "; ".join(found["complaints"])


def test_verifying_a_good_backup_changes_nothing(filled: Shell) -> None:
    number = f"{least_number(NOW)}-7000-8000-000000000001"
    with filled.desk() as desk:
        (account,) = desk.accounts()
        charged_lookup = together(a_charge(account, number, 1), a_trace(account, number))
        assert desk.commit_now([charged_lookup]) is None
    path = created(filled)
    before = {one: one.stat().st_mtime_ns for one in filled.path.rglob("*")}
    result = filled(f"backup restore {path} --verify").out
    assert "O backup confere" in result
    assert "1 conta, 4 lançamentos" in result
    assert "1 conta, 4 lançamentos" in filled("ledger check").out
    assert {one: one.stat().st_mtime_ns for one in filled.path.rglob("*")} == before


@pytest.mark.parametrize("name", ["desk", "secret.key", "receipts.txt"])
def test_a_flipped_byte(filled: Shell, name: str) -> None:
    path = created(filled)
    with tarfile.open(path) as tar:
        info = tar.getmember(name)
    content = bytearray(path.read_bytes())
    content[info.offset_data + info.size // 2] ^= 1
    path.write_bytes(content)
    assert f"{name} não é o original" in complaints(filled, path)


def test_a_flipped_byte_of_a_receipt(filled: Shell) -> None:
    other = rewritten(
        created(filled),
        lambda name, content: b"um Recibo" if name.startswith("receipts/") else content,
    )
    assert "não é o original" in complaints(filled, other)


def test_a_missing_receipt(filled: Shell) -> None:
    other = rewritten(
        created(filled),
        lambda name, content: None if name.startswith("receipts/") else content,
    )
    assert "faltam os bytes de 1 comprovante" in complaints(filled, other)


def test_a_receipt_that_was_missing_before(filled: Shell) -> None:
    digest = digest_of(RECEIPT)
    (filled.home.receipts / digest[:2] / digest).unlink()
    made = filled("backup create --json").json
    assert made["receipts_missing"] == 1
    filled(f"backup restore {made['file']} --verify")


@pytest.mark.parametrize("name", ["desk", "secret.key"])
def test_a_missing_member(filled: Shell, name: str) -> None:
    other = rewritten(created(filled), lambda one, content: None if one == name else content)
    assert f"{name} falta" in complaints(filled, other)


def test_an_unknown_member(filled: Shell) -> None:
    path = created(filled)
    with tarfile.open(path, "a") as tar:
        tar.addfile(tarfile.TarInfo("../fora"))
    assert "não está no manifesto" in complaints(filled, path)


@pytest.mark.parametrize("name", ["../fora", "{path}/fora", "receipts", "desk-wal"])
def test_an_unknown_member_in_the_manifest(filled: Shell, name: str, tmp_path: Path) -> None:
    """A foreign archive writes no file outside a backup's own."""
    name = name.format(path=tmp_path)
    member = {"bytes": 0, "sha256": hashlib.sha256().hexdigest()}
    other = with_manifest(created(filled), members={name: member})
    with tarfile.open(other, "a") as tar:
        tar.addfile(tarfile.TarInfo(name))
    assert "não está no manifesto" in complaints(filled, other)
    assert not (tmp_path / "fora").exists()


def test_a_sparse_member(filled: Shell) -> None:
    """Its claimed length would fill the disk."""
    path = rewritten(
        created(filled), lambda name, content: None if name == "receipts.txt" else content
    )
    with tarfile.open(path, "a") as tar:
        info = tarfile.TarInfo("receipts.txt")
        info.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.minor": "1"}
        info.pax_headers |= {"GNU.sparse.map": "0,0", "GNU.sparse.size": str(1 << 50)}
        tar.addfile(info)
    assert "não está no manifesto" in complaints(filled, path)


@pytest.mark.parametrize("kind", [b"x", b"L"])
def test_a_header_of_an_impossible_size(filled: Shell, kind: bytes) -> None:
    path = created(filled)
    with tarfile.open(path) as tar:
        at = tar.getmember("secret.key").offset
    content = bytearray(path.read_bytes())
    content[at + 124 : at + 136] = b"\x80" + bytes(3) + b"\x7f" * 8
    content[at + 156 : at + 157] = kind
    content[at + 148 : at + 156] = b" " * 8
    content[at + 148 : at + 156] = b"%06o\0 " % sum(content[at : at + 512])
    path.write_bytes(content)
    assert "danificado" in filled(f"backup restore {path} --verify", code=1).err


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "1"},
        {"schema": None},
        {"sums": None},
        {"receipts_missing": "a"},
        {"created_ms": 10**30},
        {"engine": "\x1b[2J"},
        {"program": "\x1b[2J"},
        {"months": {"live": "\x1b[2J"}},
    ],
)
def test_a_manifest_of_other_types(filled: Shell, changes: dict[str, object]) -> None:
    path = created(filled)
    other = with_manifest(path, **changes)
    assert "manifesto" in filled(f"backup restore {other} --verify", code=1).err
    other.replace(path)
    assert "manifesto" in filled("backup list").out


@pytest.mark.parametrize("text", ['{"format": Infinity}', '{"format": 3, "a": ' + "[" * 8000])
def test_a_malformed_manifest(filled: Shell, text: str) -> None:
    other = rewritten(
        created(filled),
        lambda name, content: text.encode() if name == "manifest.json" else content,
    )
    assert "manifesto" in filled(f"backup restore {other} --verify", code=1).err


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TRIGGER more AFTER INSERT ON event BEGIN UPDATE account SET held_credits = 0; END",
        "CREATE VIEW more AS SELECT * FROM account",
        "DROP TABLE pepper",
        "DROP TRIGGER ledger_entry_never_goes",
    ],
)
def test_a_desk_of_another_schema(filled: Shell, change: str) -> None:
    with closing(apsw.Connection(str(filled.home.desk))) as raw:
        raw.execute(change)
    assert "tabelas e regras do seu esquema" in complaints(filled, created(filled))


def test_a_desk_with_invalid_text(filled: Shell) -> None:
    with closing(apsw.Connection(str(filled.home.desk))) as raw:
        raw.execute("UPDATE account SET name = CAST(x'c328' AS TEXT)")
    assert "danificado" in complaints(filled, created(filled))


@pytest.mark.parametrize("name", ["balances", "entries", "accounts", "receipts"])
def test_a_changed_sum(filled: Shell, name: str) -> None:
    other = with_manifest(created(filled), sums={name: 5})
    assert f"{name}: o manifesto informa 5" in complaints(filled, other)


def test_a_ledger_with_wrong_sums(filled: Shell) -> None:
    with closing(apsw.Connection(str(filled.home.desk))) as raw:
        raw.execute("UPDATE account SET balance_credits = 994")
    assert "conta acme" in complaints(filled, created(filled))


def test_no_backup_at_all(filled: Shell, tmp_path: Path) -> None:
    other = tmp_path / "x.tar"
    other.write_bytes(os.urandom(5000))
    assert "não é um backup" in filled(f"backup restore {other} --verify", code=1).err
    with tarfile.open(other, "w") as tar:
        tar.addfile(tarfile.TarInfo("manifest.json"))
    assert "manifesto" in filled(f"backup restore {other} --verify", code=1).err


# Restore


def test_into_an_empty_folder(filled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    path = created(filled)
    pepper = filled.home.pepper()
    other = Shell(filled.path.parent / "outra")
    monkeypatch.setenv("BALCAO_HOME", str(other.path))
    assert "Restaurado" in other(f"backup restore {path}").out
    assert other.home.pepper() == pepper
    digest = digest_of(RECEIPT)
    assert (other.home.receipts / digest[:2] / digest).read_bytes() == RECEIPT
    assert other.home.desk.stat().st_mode & 0o777 == 0o600
    with other.desk() as desk:
        assert desk.check().complaints == []
        assert desk.recover(NOW) == 1  # the hold of a lookup in progress
        assert desk.accounts()[0].balance_credits == 993
    assert {one.name for one in other.path.iterdir()} == {
        "balcao.db",
        "secret.key",
        "receipts",
        "server.lock",
    }


def test_existing_data_are_moved_aside(filled: Shell) -> None:
    path = created(filled)
    with filled.desk() as desk:
        desk.commit_now([a_charge(desk.accounts()[0], "r9", 100)])
    (filled.path / "cache.db").write_bytes(b"the cache")
    assert "--replace" in filled(f"backup restore {path}", code=1).err
    with filled.desk() as desk:
        assert desk.accounts()[0].balance_credits == 893
    aside = Path(filled(f"backup restore {path} --replace --json").json["aside"])
    with filled.desk() as desk:
        assert desk.accounts()[0].balance_credits == 993
    with closing(SqliteDesk(aside / "balcao.db")) as old:
        assert old.accounts()[0].balance_credits == 893
    assert (aside / "secret.key").read_bytes() == filled.home.pepper()
    assert (aside / "cache.db").read_bytes() == b"the cache"
    assert len(list((aside / "receipts").glob("*/*"))) == 1
    assert len(list(filled.home.receipts.glob("*/*"))) == 1


def test_receipts_elsewhere_are_moved_aside(
    filled: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "comprovantes"
    filled.home.receipts.rename(elsewhere)
    monkeypatch.setenv("BALCAO_RECEIPTS", str(elsewhere))
    path = created(filled)
    for _ in range(2):
        filled(f"backup restore {path} --replace")
    digest = digest_of(RECEIPT)
    assert (elsewhere / digest[:2] / digest).read_bytes() == RECEIPT
    assert len(list(elsewhere.glob(f"before-restore-*/*/{digest}"))) == 2


def test_receipts_in_a_bucket_are_only_listed(
    filled: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BALCAO_RECEIPTS", "s3://bucket/prefixo")
    result = filled("backup create").out
    assert "bucket" in result
    (kept,) = kept_in(filled.path / "backups")
    with tarfile.open(kept.path) as tar:
        listed = tar.extractfile("receipts.txt")
        assert listed is not None
        assert listed.read().decode() == f"{digest_of(RECEIPT)} {len(RECEIPT)}\n"
        assert len(tar.getnames()) == 4
    assert "O backup confere" in filled(f"backup restore {kept.path} --verify").out


def test_a_server_is_running(filled: Shell) -> None:
    path = created(filled)
    with filled.home.lock():
        assert "outro servidor" in filled(f"backup restore {path} --replace", code=1).err
        filled(f"backup restore {path} --verify")
        created(filled)


def test_a_damaged_backup_is_not_restored(filled: Shell) -> None:
    other = with_manifest(created(filled), sums={"balances": 5})
    with filled.desk() as desk:
        desk.commit_now([a_charge(desk.accounts()[0], "r9", 100)])
    assert "nada foi alterado" in filled(f"backup restore {other} --replace", code=1).err
    with filled.desk() as desk:
        assert desk.accounts()[0].balance_credits == 893
    assert not list(filled.path.glob("before-restore-*"))
    assert not list(filled.path.glob("restored-*"))


def test_nothing_starts_on_half_a_restore(filled: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    path = created(filled)
    with monkeypatch.context() as patched:
        patched.setattr("balcao.backup.restoring._put_in_place", _killed)
        with pytest.raises(_Killed):
            filled(f"backup restore {path} --replace")
    (filled.path / "restored-left").mkdir()
    (filled.path / "restored-left" / "secret.key").touch()
    assert not filled.home.desk.exists()
    for line in ("account list", "serve --port 1", "backup create", "ledger check"):
        assert "backup restore ARQUIVO --replace" in filled(line, code=1).err
    assert "foi interrompida" in filled("doctor", code=1).out
    assert not filled.home.desk.exists()
    filled(f"backup restore {path} --replace")
    with filled.desk() as desk:
        assert desk.accounts()[0].balance_credits == 993
    assert not list(filled.path.glob("restore*"))


class _Killed(Exception):
    pass


def _killed(*_: object, **__: object) -> None:
    raise _Killed


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"format": 4}, "formato 4"),
        ({"format": 2}, "versão de desenvolvimento"),
        ({"format": 1, "schema": 22}, "versão de desenvolvimento"),
        ({"schema": 999}, "esquema"),
    ],
)
def test_a_manifest_that_does_not_match(
    filled: Shell, change: dict[str, object], word: str
) -> None:
    other = with_manifest(created(filled), **change)
    for option in ("--verify", "--replace"):
        assert word in filled(f"backup restore {other} {option}", code=1).err


def test_the_first_start_is_not_repeated(filled: Shell) -> None:
    (filled.path / "first-start.json").write_text("{}")
    path = created(filled)
    (filled.path / "first-start.json").unlink()
    filled(f"backup restore {path} --replace")
    assert (filled.path / "first-start.json").read_text() == "{}"


# Before a migration


def test_a_backup_before_a_migration(
    filled: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add_migration(monkeypatch, tmp_path)
    result = filled("account list")
    assert "before-migration-" in result.err
    (kept,) = kept_in(filled.path / "backups")
    assert (kept.occasion, read_manifest(kept.path).schema) == ("before-migration", OLD)
    assert "before-migration-" not in filled("account list").err
    assert "O backup confere" in filled(f"backup restore {kept.path} --verify").out
    filled(f"backup restore {kept.path} --replace")
    assert backups.schema_of(filled.home.desk) == OLD  # unchanged


def test_serve_also_makes_a_backup_and_serves_restored_data(
    filled: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (filled.path / "first-start.json").write_text("{}")
    add_migration(monkeypatch, tmp_path)
    with serving(filled.path, free_port(), establishments=0) as server:
        server.wait_until_it_answers()
        (kept,) = kept_in(filled.path / "backups")
        assert str(kept.path) in server.err
        path = created(filled)  # while the server runs
        assert "outro servidor" in filled(f"backup restore {path} --replace", code=1).err
        assert server.terminate() == 0
    filled(f"backup restore {path} --replace")
    with serving(filled.path, free_port(), establishments=0) as server:
        server.wait_until_it_answers()


def test_no_migration_without_a_backup(
    filled: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add_migration(monkeypatch, tmp_path)
    with file_size_limit(20_000):
        filled("account list", code=1)
    assert backups.schema_of(filled.home.desk) == OLD


def test_data_from_before_the_first_release(filled: Shell) -> None:
    with closing(apsw.Connection(str(filled.home.desk))) as raw:
        raw.execute("PRAGMA application_id = 0; PRAGMA user_version = 22")
    for command in ("account list", "backup create"):
        result = filled(command, code=1).err
        assert "versão de desenvolvimento" in result
        assert "pasta de dados vazia" in result
    assert "versão de desenvolvimento" in filled("doctor", code=1).out
    assert not kept_in(filled.path / "backups")


def test_the_size_of_the_manifest_is_bounded(filled: Shell) -> None:
    """Its size does not depend on the amount of data."""
    with tarfile.open(created(filled)) as tar:
        info = tar.getmember("manifest.json")
        file = tar.extractfile(info)
        assert file is not None
        assert len(file.read().rstrip()) < info.size / 2
    assert archive.FORMAT == 3
