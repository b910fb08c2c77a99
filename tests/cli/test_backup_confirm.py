"""`balcao backup confirm`: until then nothing is deleted after a restore, no number issued."""

import asyncio
import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from balcao.home import Home
from balcao.settings import Settings
from balcao.storage import blob_mark
from balcao.storage.blobs import open_blobs
from balcao.storage.desk.desk import Desk
from balcao.storage.places import place_of
from balcao.storage.receipt_standing import renew
from tests.cli.shell import Shell, free_port
from tests.storage import postgres


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_SANDBOX_ESTABLISHMENTS", "0")
    monkeypatch.setenv("BALCAO_PORT", str(free_port()))


@pytest.fixture(params=["sqlite", "postgresql"])
def installed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """An installation on each engine, with an account."""
    if request.param == "postgresql":
        monkeypatch.setenv("BALCAO_DATABASE", postgres.new_address())
    shell: Shell = request.getfixturevalue("shell")
    shell("account create ana --plan pre_pago")
    return shell


def open_desk(settings: Settings) -> Desk:
    return place_of(settings).open_desk(pepper=Home(settings.home).pepper())


def serve_a_minute(shell: Shell) -> None:
    """Renew the mark as a running service does."""
    settings = Settings(home=shell.home.path)
    desk = open_desk(settings)
    try:
        blobs = open_blobs(shell.home.receipts)
        renewal = asyncio.run(renew(desk, blobs, time.time_ns() // 1_000_000))
        assert renewal.standing == "current"
    finally:
        desk.close()


def age(folder: Path, seconds: float) -> None:
    """Backdate the mark, as if its service had ended."""
    mark = folder / blob_mark.NAME
    at = mark.stat().st_mtime - seconds
    os.utime(mark, (at, at))


# A webhook of an account, with a delivery that waits for an instant far away.
WAITING = (
    "INSERT INTO webhook (webhook_id, account_id, url, state, secret, secret_tail, created_ms,"
    " planned_event) SELECT 'w1', account_id, 'https://a.test', 'ativo', CAST('x' AS {bytes}),"
    " 'abcd', 1, 1 FROM account ORDER BY account_id LIMIT 1",
    "INSERT INTO webhook_delivery (webhook_id, event_id, state, attempts, created_ms, next_ms)"
    " SELECT webhook_id, 1, 'falhou', 1, 4000000000000, 4000000000000 FROM webhook",
)

ONE_EVENT = (
    "INSERT INTO event (account_id, kind, at_ms, body) SELECT account_id, 'x', 1, '{}' FROM account"
    " ORDER BY account_id LIMIT 1 RETURNING event_id"
)


def number_of(shell: Shell, name: str) -> int:
    accounts = shell("account list --json").json
    return int(next(each["account_id"] for each in accounts if each["name"] == name))


def remarks(shell: Shell, *, code: int = 0) -> list[tuple[str, str]]:
    checks = shell("doctor --json", code=code).json["checks"]
    return [(one["status"], one["text"]) for one in checks if one["name"] == "restauração"]


def test_after_a_restore(installed: Shell) -> None:
    shell = installed
    serve_a_minute(shell)
    assert remarks(shell) == []
    assert "Não há restauração a confirmar" in shell("backup confirm").out
    with closing(open_desk(Settings(home=shell.home.path))) as desk:
        bytes_type = "BYTEA" if "BALCAO_DATABASE" in os.environ else "BLOB"
        for sql in WAITING:
            desk.engine.connection.execute(sql.format(bytes=bytes_type))
    backup = shell("backup create --json").json["file"]
    shell("account create bruno --plan pre_pago")
    lost = number_of(shell, "bruno")
    serve_a_minute(shell)

    out = shell(f"backup restore {backup} --replace").out
    assert "backup confirm" in out
    with closing(open_desk(Settings(home=shell.home.path))) as desk:  # it may have been sent since
        found = desk.engine.connection.execute("SELECT state FROM webhook_delivery").fetchall()
        assert [*map(tuple, found)] == [("desistiu",)]
        # A receiver may have had the numbers that follow the backup's.
        one = desk.engine.connection.execute(ONE_EVENT).fetchone()
        assert int(one[0]) > 1_000_000_000
    ((status, text),) = remarks(shell, code=1)
    assert status == "fail"
    assert "backup confirm" in text

    assert "Outro serviço está usando" in shell("backup confirm", code=1).err
    age(shell.home.receipts, 600)
    answer = shell("backup confirm", code=1).out
    code = answer.split("backup confirm ")[-1].split()[0]
    assert "não é o desta restauração" in shell("backup confirm 00000000", code=1).err
    assert remarks(shell, code=1) != []
    assert "Restauração confirmada" in shell(f"backup confirm {code}").out

    assert remarks(shell) == []
    shell("account create carla --plan pre_pago")
    assert number_of(shell, "carla") > lost
    serve_a_minute(shell)


def test_a_restore_into_an_empty_folder(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loss is unknown, but the restore needs a confirmation, too."""
    shell("account create ana --plan pre_pago")
    serve_a_minute(shell)
    backup = shell(f"backup create --to {tmp_path / 'copias'} --json").json["file"]
    other = Shell(tmp_path / "outra")
    monkeypatch.setenv("BALCAO_HOME", str(other.path))
    other(f"backup restore {backup}")
    assert remarks(other, code=1)[0][0] == "fail"
    answer = other("backup confirm", code=1).out
    other(f"backup confirm {answer.split('backup confirm ')[-1].split()[0]}")
    assert remarks(other) == []
    other("account create bruno --plan pre_pago")
    assert number_of(other, "bruno") > 1_000


def test_doctor_finds_a_store_that_refuses_marks(installed: Shell) -> None:
    """The desk committed the next mark long ago, but the store has the previous one."""
    shell = installed
    settings = Settings(home=shell.home.path)

    async def leave_waiting(desk: Desk, minutes: int) -> None:
        blobs = open_blobs(shell.home.receipts)
        at_ms = time.time_ns() // 1_000_000 - minutes * 60_000
        assert (await renew(desk, blobs, at_ms)).standing == "current"
        in_store, _ = await blobs.read_mark()
        assert await desk.receipt_marks.next(in_store, f"mark{minutes}", at_ms) is not None

    def found(minutes: int) -> list[tuple[str, str]]:
        desk = open_desk(settings)
        try:
            asyncio.run(leave_waiting(desk, minutes))
        finally:
            desk.close()
        return remarks(shell)

    ((status, text),) = found(10)
    assert status == "warn"
    assert "há 10 minutos" in text
    assert found(1) == []
