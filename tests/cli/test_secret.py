"""A data folder with a `secret.key` of another database: no API key would be valid."""

import asyncio
import fcntl
import os
import secrets
from contextlib import closing
from pathlib import Path

import pytest

from balcao.backup.making import make
from balcao.core.errors import PepperDiffers
from balcao.core.secrets import secret_id
from balcao.home import SECRET_BYTES, Home
from balcao.service import first_start
from balcao.service.clock import system_now_ms
from balcao.settings import Settings
from balcao.storage.sqlite.desk import SqliteDesk
from tests.cli.shell import Shell, begin
from tests.cli.test_backup import complaints
from tests.storage.world import NOW

REMEDY = "o secret.key desta pasta de dados"


@pytest.fixture
def mistaken(shell: Shell) -> Shell:
    shell("account create acme --plan pre_pago")
    shell("key create acme")
    shell.home.secret.write_bytes(secrets.token_bytes(SECRET_BYTES))
    return shell


def findings(shell: Shell, code: int = 0) -> list[tuple[str, str]]:
    checks = shell("doctor --json", code=code).json["checks"]
    return [
        (check["status"], check["text"])
        for check in checks
        if check["name"] == "segredo das chaves"
    ]


@pytest.mark.parametrize("line", ["account list", "key create acme", "storage move --to x"])
def test_no_command_runs_with_another_secret(mistaken: Shell, line: str) -> None:
    result = mistaken(line, code=1)
    assert REMEDY in result.err


def test_no_service_starts_with_another_secret(mistaken: Shell) -> None:
    settings = Settings(home=mistaken.path, sandbox_establishments=0)
    with pytest.raises(PepperDiffers):
        first_start.prepare(mistaken.home, settings, now_ms=lambda: NOW, report=lambda step: None)


def test_doctor_reports_it(mistaken: Shell) -> None:
    found = findings(mistaken, code=1)
    assert [status for status, _ in found] == [
        "ok",
        "fail",
    ]  # file, and match with the data
    assert REMEDY in found[1][1]


@pytest.mark.parametrize("wrong", [bytes(SECRET_BYTES), b"half"], ids=["other", "half"])
def test_no_backup_contains_another_secret(mistaken: Shell, wrong: bytes) -> None:
    """Such a backup would look valid, and in time replace the good ones."""
    mistaken.home.secret.write_bytes(wrong)
    assert "secret.key" in mistaken("backup create", code=1).err
    assert mistaken("backup list --json").json["backups"] == []


def test_a_backup_with_another_secret_is_detected(mistaken: Shell) -> None:
    """Such backups exist: a restore saves the replaced data unchecked."""
    mixed = make(Settings(home=mistaken.path), system_now_ms, occasion="before-restore").path
    assert "não foram criadas com este secret.key" in complaints(mistaken, mixed)
    assert "nada foi alterado" in mistaken(f"backup restore {mixed} --replace", code=1).err


def test_the_right_secret_repairs_it(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    own = shell.home.secret.read_bytes()
    shell.home.secret.write_bytes(secrets.token_bytes(SECRET_BYTES))
    shell("account list", code=1)
    shell.home.secret.write_bytes(own)
    shell("account list")
    assert [status for status, _ in findings(shell)] == ["ok"]


def test_a_restored_backup_brings_its_own_secret(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("account create acme --plan pre_pago")
    made = shell(f"backup create --to {tmp_path}/copias --json").json["file"]
    begin(Home(tmp_path / "outra"))  # a folder with another secret
    monkeypatch.setenv("BALCAO_HOME", str(tmp_path / "outra"))
    shell(f"backup restore {made} --replace")
    assert "acme" in shell("account list").out


def test_a_secret_is_replaced_without_a_service(shell: Shell) -> None:
    """The new secret is not used before a service activates it; here the test does."""
    shell("account create acme --plan pre_pago")
    shell("key create acme")
    old = shell.home.pepper()
    assert shell("secret rotate --dry-run --json").json == {
        "secret_id": None,
        "keys": 1,
        "file": None,
    }
    assert shell.home.secrets() == [old]
    added = shell("secret rotate --json").json["secret_id"]
    assert [secret_id(each) for each in shell.home.secrets()] == [secret_id(old), added]
    assert shell("secret status --json").json["state"] == "pending"
    for line in ("secret rotate", "secret finish"):
        assert "à espera" in shell(line, code=1).err

    with closing(SqliteDesk(shell.home.desk, pepper=old)) as desk:
        assert asyncio.run(desk.secrets.activate(added, system_now_ms() - 60_000))
    assert [key["key_id"] for key in shell("secret status --json").json["keys"]] == [1]
    shell("key create acme")  # by the new secret
    assert findings(shell)[1][0] == "warn"
    made = make(Settings(home=shell.path), system_now_ms).path
    assert shell(f"backup restore {made} --verify --json").json["ok"]
    assert "secret finish" in shell("secret rotate", code=1).err
    assert shell("secret finish", code=1).err  # without a terminal nobody confirms
    revoked = shell("secret finish --yes --json").json["revoked"]
    assert [key["key_id"] for key in revoked] == [1]
    assert shell("secret status --json").json["state"] == "stable"
    assert shell("secret status --json").json["current"] == added
    assert shell.home.pepper() == old


def _activate(shell: Shell, at_ms: int) -> None:
    """Put the newest secret of the file into use, as a service does."""
    first, *_, newest = shell.home.secrets()
    with closing(SqliteDesk(shell.home.desk, pepper=first)) as desk:
        assert asyncio.run(desk.secrets.activate(secret_id(newest), at_ms))


def test_a_backup_has_the_secrets_of_its_rows(shell: Shell, tmp_path: Path) -> None:
    """A rotation is finished, which removes a secret from the file, after the rows were copied."""
    shell("account create acme --plan pre_pago")
    clock_ahead_ms = system_now_ms() + 3_600_000
    shell("secret rotate")
    _activate(shell, clock_ahead_ms)
    shell("secret finish --yes")
    shell("secret rotate")
    _activate(shell, clock_ahead_ms + 1)
    before = shell.home.secrets()

    def finish() -> bool:
        if shell.home.secrets() == before:
            shell("secret finish --yes")
        return False

    made = make(
        Settings(home=shell.path), system_now_ms, folder=tmp_path / "copias", stopped=finish
    )
    assert [secret_id(each) for each in shell.home.secrets()] == [
        secret_id(before[0]),
        secret_id(before[2]),
    ]
    shell(f"backup restore {made.path} --replace")
    assert shell.home.secrets() == before
    assert shell("secret status --json").json["state"] == "rotating"


def test_a_backup_without_a_secret_in_use_is_detected(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    old = shell.home.secrets()
    shell("secret rotate")
    _activate(shell, system_now_ms())
    shell.home.replace_secrets(old)
    assert "secret.key" in shell("backup create", code=1).err
    mixed = make(Settings(home=shell.path), system_now_ms, occasion="before-restore").path
    assert "não foram criadas com este secret.key" in complaints(shell, mixed)


def test_one_process_at_a_time_replaces_secrets(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two would each write a file without the secret of the other, which may be in use already."""
    shell("account create acme --plan pre_pago")

    def draw() -> bytes:
        folder = os.open(shell.path, os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(folder)
        return bytes(SECRET_BYTES)

    monkeypatch.setattr("balcao.home.new_secret", draw)
    shell("secret rotate")
    assert shell.home.secrets()[1] == bytes(SECRET_BYTES)
