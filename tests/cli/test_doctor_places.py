"""`balcao doctor`: the disks, and the place of the receipts."""

import os
import shutil
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.shell import Shell, free_port
from tests.storage import bucket

Found = tuple[str, str]

_Usage = namedtuple("_Usage", "total used free")


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_PORT", str(free_port()))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another disk than `tmp_path`."""
    disk = tmp_path.stat().st_dev
    disks = (Path(name) for name in ("/tmp", "/var/tmp", "/dev/shm"))
    other = next((path for path in disks if path.is_dir() and path.stat().st_dev != disk), None)
    if other is None:
        pytest.skip("no second disk here")
    with TemporaryDirectory(dir=other, prefix="balcao-") as folder:
        yield Path(folder)


def found(shell: Shell, *, code: int = 0) -> dict[str, Found]:
    checks = shell("doctor --json", code=code).json["checks"]
    return {check["name"]: (check["status"], check["text"]) for check in checks}


def full(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The disk of that folder has ten megabytes left."""
    real, device = shutil.disk_usage, folder.stat().st_dev

    def usage(path: Path) -> object:
        return _Usage(1, 1, 10_000_000) if Path(path).stat().st_dev == device else real(path)

    monkeypatch.setattr(shutil, "disk_usage", usage)


def test_one_disk_is_told_once(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    said = found(shell)
    assert "GB livres" in said["disco"][1]
    assert "disco das cópias" not in said
    assert "disco dos comprovantes" not in said


def test_another_disk_is_told_apart(
    shell: Shell, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("account create acme --plan pre_pago")
    monkeypatch.setenv("BALCAO_RECEIPTS", str(elsewhere / "comprovantes"))
    said = found(shell)
    assert said["disco dos comprovantes"][0] == "ok"
    assert "disco das cópias" not in said
    monkeypatch.setenv("BALCAO_BACKUP_FOLDER", str(elsewhere / "copias"))
    said = found(shell)
    assert said["disco das cópias"][0] == "ok"
    assert "disco dos comprovantes" not in said, "the same disk again"

    full(monkeypatch, elsewhere)
    status, text = found(shell)["disco das cópias"]
    assert (status, text) == ("warn", f"0,0 GB livres em {elsewhere}: libere espaço")


def test_a_full_disk(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("account create acme --plan pre_pago")
    full(monkeypatch, shell.path)
    assert found(shell, code=1)["disco"][0] == "fail"


@pytest.mark.parametrize(("counted", "status"), [(1_000_000, "fail"), (0, "ok")])
def test_a_disk_that_takes_no_more_files(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, counted: int, status: str
) -> None:
    shell("account create acme --plan pre_pago")

    class Disk:
        f_frsize, f_blocks, f_bfree, f_bavail = 4096, 1 << 40, 1 << 40, 1 << 40
        f_files, f_favail = counted, 12

    monkeypatch.setattr(os, "statvfs", lambda path: Disk)
    said = found(shell, code=status == "fail")["disco"]
    assert said[0] == status
    assert ("só cabem mais 12 arquivos (inodes)" in said[1]) == (status == "fail")


def test_receipts_in_the_usual_folder(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    folder = shell.home.receipts
    assert found(shell)["comprovantes"] == (
        "ok",
        f"{folder} ainda não existe; a próxima partida a cria",
    )
    assert not folder.exists()
    folder.mkdir()
    assert found(shell)["comprovantes"] == ("ok", f"{folder}: grava e lê")
    assert not list(folder.iterdir())


def test_receipts_in_a_folder_that_cannot_be(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("account create acme --plan pre_pago")
    file = shell.path / "arquivo"
    file.write_text("x")
    monkeypatch.setenv("BALCAO_RECEIPTS", str(file / "comprovantes"))
    status, text = found(shell, code=1)["comprovantes"]
    assert (status, "nem pode ser criada" in text) == ("fail", True)


def test_receipts_in_a_folder_that_cannot_be_written(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("account create acme --plan pre_pago")
    shell.home.receipts.mkdir()

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    status, text = found(shell, code=1)["comprovantes"]
    assert (status, "não pode ser gravada (OSError)" in text) == ("fail", True)
    assert not list(shell.home.receipts.iterdir())


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        (None, None, "grava e lê"),
        ("AWS_SECRET_ACCESS_KEY", "abre-te", "recusou as credenciais"),
        ("BALCAO_RECEIPTS", "s3://nao-existe/recibos", "não existe: crie o balde"),
        # Nobody listens there; a port found at random would give each worker other tests.
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:9", "verifique AWS_ENDPOINT_URL"),
    ],
)
def test_receipts_in_a_bucket(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    variable: str | None,
    value: str,
    said: str,
) -> None:
    server = bucket.server()
    shell("account create acme --plan pre_pago")
    bucket.name_in_environment(monkeypatch, server)
    monkeypatch.setenv("BALCAO_RECEIPTS", f"s3://{bucket.NAME}/doctor")
    if variable is not None:
        monkeypatch.setenv(variable, value)
    told = shell("doctor --json", code=0 if variable is None else 1)
    (text,) = [one["text"] for one in told.json["checks"] if one["name"] == "comprovantes"]
    assert said in text
    for secret in ("abre-te", server.environment["AWS_SECRET_ACCESS_KEY"]):
        assert secret not in told.out + told.err
    assert "unreachable" not in told.err
    assert not [name for name in server.names() if name.startswith("doctor")]
