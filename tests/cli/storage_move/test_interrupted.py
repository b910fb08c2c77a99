"""`balcao storage move`, killed and repeated."""

import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import psycopg
import pytest

from balcao.backup.moving import marks
from balcao.backup.moving import move as moving
from balcao.backup.moving.copying import MoveProgress
from balcao.settings import Settings
from balcao.storage.postgresql import endpoint
from balcao.storage.transfer.errors import MoveRefused
from tests.cli.shell import Shell
from tests.cli.storage_move.world import at, contents, in_postgres
from tests.storage.world import NOW


class Killed(BaseException):
    """Simulates the end of the process."""


class KilledAt(MoveProgress):
    """Progress that ends the process when a step begins."""

    def __init__(self, number: int) -> None:
        self.left = number

    def begin(self, step: str, rows_total: int) -> None:
        if self.left == 0:
            raise Killed(step)
        self.left -= 1


@pytest.mark.parametrize("direction", ["there", "back"])
def test_killed_between_any_two_steps(
    filled: Shell, address: str, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = address
    if direction == "back":
        filled(f"storage move --to {address} --final")
        for file in filled.path.glob("*.db*"):
            file.unlink()
        to = "sqlite"
        in_postgres(monkeypatch, address)
    settings = Settings()
    number, killed = 0, True
    while killed:
        try:
            killed = False
            moving.move(settings, to, final=True, now_ms=NOW, progress=KilledAt(number))
        except Killed:
            killed = True
            assert "ainda estão sendo movidos" in _opening_fails(filled, to, monkeypatch)
            number += 2 if number < 8 else 7
    assert number > 8
    assert contents(at()) == contents(at(address))
    assert "foram movidos daqui" in filled("account list", code=1).err


def _opening_fails(shell: Shell, to: str, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patch:
        patch.setenv("BALCAO_DATABASE", "" if to == "sqlite" else to)
        return shell("account list", code=1).err


def test_killed_after_the_source_was_closed(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(marks, "activate_target", die)
        with pytest.raises(Killed):
            moving.move(Settings(), address, final=True, now_ms=NOW, progress=MoveProgress())
    assert "foram movidos daqui" in filled("account list", code=1).err
    assert "ainda estão sendo movidos" in _opening_fails(filled, address, monkeypatch)
    assert "Repita com --final" in filled(f"storage move --to {address}", code=1).err
    assert filled(f"storage move --to {address} --final --json").json["ok"]
    in_postgres(monkeypatch, address)
    assert "acme" in filled("account list").out


_DIES = """
import os, signal, sys
from balcao.backup.moving.move import move
from balcao.backup.moving.copying import MoveProgress
from balcao.settings import Settings

class Dies(MoveProgress):
    left = int(sys.argv[2])
    def advance(self, rows):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

move(Settings(), sys.argv[1], final=True, now_ms=1, progress=Dies())
"""


def test_kill_9_in_the_middle_of_a_table(filled: Shell, address: str) -> None:
    """Its rows are being copied, not committed."""
    for left in (1, 4, 7, 10, 13):
        dies = [sys.executable, "-c", _DIES, address, str(left)]
        assert subprocess.run(dies, check=False, timeout=60).returncode == -signal.SIGKILL
        deadline = time.monotonic() + 30
        while "Outra mudança" in (result := _refusal(address)):
            assert time.monotonic() < deadline, result
            time.sleep(0.05)
        assert result == ""
    assert filled(f"storage move --to {address} --final --json").json["ok"]
    assert contents(at()) == contents(at(address))


def test_a_process_that_just_ended_is_waited_for(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(address, autocommit=True) as gone:
        gone.execute("SELECT pg_advisory_lock(%s)", (endpoint._MOVE_LOCK,))

        def noticed(_: float) -> None:
            gone.execute("SELECT pg_advisory_unlock_all()")

        clock = SimpleNamespace(monotonic=time.monotonic, sleep=noticed)
        monkeypatch.setattr(endpoint, "time", clock)
        assert _refusal(address) == ""


def _refusal(address: str) -> str:
    """Return the refusal, repeated while the server has not noticed the killed process."""
    try:
        moving.move(Settings(), address, final=False, now_ms=NOW, progress=MoveProgress())
    except MoveRefused as refused:
        return str(refused)
    return ""
