"""Programs of the guide that receive webhooks: they run as they are printed (contract 19.4)."""

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import balcao.web.pages.docs
from balcao.core.webhooks import body_of_event, headers_of, secret_text
from tests.cli.shell import free_port

FOLDER = Path(balcao.web.pages.docs.__file__).parent / "receivers"
SECRET, OLD = secret_text(b"n" * 32), secret_text(b"o" * 32)
COMMANDS: Mapping[str, Sequence[str]] = {
    "receber.py": ("python3",),
    "receber.mjs": ("node",),
    "receber.php": ("php", "-S", "127.0.0.1:{port}"),
    "receber.go": ("go", "run"),
}
# Compiling the standard library takes half a minute where nothing of it is cached.
SLOW = pytest.mark.nightly


@contextmanager
def receiving(name: str, folder: Path) -> Iterator[tuple[int, Path]]:
    port, command = free_port(), COMMANDS[name]
    if (program := shutil.which(command[0])) is None:
        pytest.skip(f"no {command[0]} here")
    out = folder / "out"
    seen = {"WEBHOOK_VISTOS": str(folder / "vistos")}
    with out.open("wb") as stdout:
        process = subprocess.Popen(
            [program, *(each.format(port=port) for each in command[1:]), str(FOLDER / name)],
            env={**os.environ, "WEBHOOK_SECRET": SECRET, "PORT": str(port), **seen},
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            until = time.monotonic() + 60
            while not listens(port):
                assert process.poll() is None, "it has ended"
                assert time.monotonic() < until, "it does not listen"
                time.sleep(0.02)
            yield port, out
        finally:
            os.killpg(process.pid, 9)
            process.wait()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def post(port: int, body: bytes, headers: Mapping[str, str]) -> int:
    address = f"http://127.0.0.1:{port}/balcao"
    sending = {"content-type": "application/json", **headers}
    request = urllib.request.Request(address, body, sending)
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=SLOW if each.endswith("go") else ()) for each in COMMANDS]
)
def test_a_receiver_verifies_and_ignores_repetitions(name: str, tmp_path: Path) -> None:
    now = time.time_ns() // 1_000_000
    body = body_of_event("certidao.a_vencer", "2026-08-09T08:00:00.000-03:00", {"nome": "São João"})

    def signed(number: str = "evt_1", at_ms: int = now, *secrets: str) -> Mapping[str, str]:
        return headers_of(secrets or [SECRET], number, at_ms, body)

    with receiving(name, tmp_path) as (port, out):
        assert post(port, body, signed()) == 204
        assert post(port, body, signed()) == 204  # repeated
        assert post(port, body, signed("evt_2", now, OLD, SECRET)) == 204
        assert post(port, body, signed("evt_3", now, OLD)) == 401
        assert post(port, body, signed("evt_3", now - 301_000)) == 401
        assert post(port, body + b" ", signed("evt_3")) == 401
        assert post(port, body, {**signed(), "webhook-id": "evt_3"}) == 401
        assert post(port, body, {}) == 401
        until = time.monotonic() + 10
        while len(out.read_text().splitlines()) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        lines = out.read_text().splitlines()
    assert lines == ["evt_1 certidao.a_vencer", "evt_2 certidao.a_vencer"]
