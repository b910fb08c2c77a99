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
    """Leave ten megabytes free on that folder's disk."""
    real, device = shutil.disk_usage, folder.stat().st_dev

    def usage(path: Path) -> object:
        return _Usage(1, 1, 10_000_000) if Path(path).stat().st_dev == device else real(path)

    monkeypatch.setattr(shutil, "disk_usage", usage)


def test_one_disk_is_reported_once(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    result = found(shell)
    assert "GB livres" in result["disco"][1]
    assert "disco dos backups" not in result
    assert "disco dos comprovantes" not in result


def test_another_disk_is_reported_separately(
    shell: Shell, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("account create acme --plan pre_pago")
    monkeypatch.setenv("BALCAO_RECEIPTS", str(elsewhere / "comprovantes"))
    result = found(shell)
    assert result["disco dos comprovantes"][0] == "ok"
    assert "disco dos backups" not in result
    monkeypatch.setenv("BALCAO_BACKUP_FOLDER", str(elsewhere / "copias"))
    result = found(shell)
    assert result["disco dos backups"][0] == "ok"
    assert "disco dos comprovantes" not in result, "the same disk again"

    full(monkeypatch, elsewhere)
    status, text = found(shell)["disco dos backups"]
    assert (status, text) == ("warn", f"0,0 GB livres em {elsewhere}: libere espaço")


def test_a_full_disk(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("account create acme --plan pre_pago")
    full(monkeypatch, shell.path)
    assert found(shell, code=1)["disco"][0] == "fail"


@pytest.mark.parametrize(("counted", "status"), [(1_000_000, "fail"), (0, "ok")])
def test_a_disk_without_free_inodes(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, counted: int, status: str
) -> None:
    shell("account create acme --plan pre_pago")

    class Disk:
        f_frsize, f_blocks, f_bfree, f_bavail = 4096, 1 << 40, 1 << 40, 1 << 40
        f_files, f_favail = counted, 12

    monkeypatch.setattr(os, "statvfs", lambda path: Disk)
    result = found(shell, code=status == "fail")["disco"]
    assert result[0] == status
    assert ("só cabem mais 12 arquivos (inodes)" in result[1]) == (status == "fail")


def test_receipts_in_the_usual_folder(shell: Shell) -> None:
    shell("account create acme --plan pre_pago")
    folder = shell.home.receipts
    assert found(shell)["comprovantes"] == (
        "ok",
        f"{folder} ainda não existe. Será criada no próximo início",
    )
    assert not folder.exists()
    folder.mkdir()
    assert found(shell)["comprovantes"] == ("ok", f"{folder}: leitura e gravação")
    assert not list(folder.iterdir())


def test_receipts_in_an_impossible_folder(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("account create acme --plan pre_pago")
    file = shell.path / "arquivo"
    file.write_text("x")
    monkeypatch.setenv("BALCAO_RECEIPTS", str(file / "comprovantes"))
    status, text = found(shell, code=1)["comprovantes"]
    assert (status, "não pode ser criada" in text) == ("fail", True)


def test_receipts_in_a_read_only_folder(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("account create acme --plan pre_pago")
    shell.home.receipts.mkdir()

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    status, text = found(shell, code=1)["comprovantes"]
    assert (status, "não pode ser gravada (OSError)" in text) == ("fail", True)
    assert not list(shell.home.receipts.iterdir())


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        (None, None, "leitura e gravação"),
        ("AWS_SECRET_ACCESS_KEY", "abre-te", "recusou as credenciais"),
        ("BALCAO_RECEIPTS", "s3://nao-existe/recibos", "não existe: crie o bucket"),
        # No server listens there. A random port would differ between test workers.
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:9", "verifique AWS_ENDPOINT_URL"),
    ],
)
def test_receipts_in_a_bucket(
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    variable: str | None,
    value: str,
    expected: str,
) -> None:
    server = bucket.server()
    shell("account create acme --plan pre_pago")
    bucket.name_in_environment(monkeypatch, server)
    monkeypatch.setenv("BALCAO_RECEIPTS", f"s3://{bucket.NAME}/doctor")
    if variable is not None:
        monkeypatch.setenv(variable, value)
    answer = shell("doctor --json", code=0 if variable is None else 1)
    (text,) = [one["text"] for one in answer.json["checks"] if one["name"] == "comprovantes"]
    assert expected in text
    for secret in ("abre-te", server.environment["AWS_SECRET_ACCESS_KEY"]):
        assert secret not in answer.out + answer.err
    assert "unreachable" not in answer.err
    assert not [name for name in server.names() if name.startswith("doctor")]
