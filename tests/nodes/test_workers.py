"""`balcao serve --workers N`: nodes of one machine behind one port (ADR 0087)."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2

from balcao.settings import Settings
from tests.cli.shell import PATIENCE_SECONDS, curl_lines, free_port
from tests.nodes.harness import until
from tests.storage.postgres import server

COMPANY = "/consultas/v2/cnpj-receita-federal/90010001000100"


def own_port(port: int, number: int) -> int:
    return Settings(port=port).worker_port(number)


class Service:
    """A supervisor with its workers."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
        self.process, self.port, self.log = process, port, log
        self.base = f"http://127.0.0.1:{port}"

    @property
    def workers(self) -> Sequence[int]:
        """Return the process IDs in the order of their start."""
        pid = self.process.pid
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
        return [int(each) for each in text.split()]

    def answers(self, port: int) -> bool:
        try:
            reply = httpx2.get(f"http://127.0.0.1:{port}/readyz", timeout=15, trust_env=False)
        except httpx2.TransportError:
            assert self.process.poll() is None, self.log.read_text("utf-8")
            return False
        return reply.is_success

    def all_answer(self) -> bool:
        return all(self.answers(own_port(self.port, number)) for number in range(2))


def ignores_sigterm(pid: int) -> bool:
    """Return whether SIGTERM is set to SIG_IGN."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    (mask,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(mask, 16) >> (signal.SIGTERM - 1) & 1)


def is_running(pid: int) -> bool:
    """Return whether the process is running, not a zombie."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text("utf-8")
    except FileNotFoundError:
        return False


@contextmanager
def two_workers(folder: Path, port: int = 0) -> Iterator[Service]:
    port, log = port or free_port(), folder / "log"
    environment = {
        "BALCAO_HOME": str(folder / "home"),
        "BALCAO_DATABASE": server().new_database(),
        "BALCAO_SANDBOX_ESTABLISHMENTS": "300",
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "balcao", "serve", "--port", str(port), "--workers", "2"],
            stdout=out,
            stderr=out,
            cwd=folder,
            env={**os.environ, **environment},
        )
    service = Service(process, port, log)
    try:
        yield service
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_a_dead_worker_is_replaced_and_all_drain_on_stop(tmp_path: Path) -> None:
    with two_workers(tmp_path) as service:
        until(service.all_answer, PATIENCE_SECONDS, "both workers answer")
        (words, *_) = curl_lines(service.log.read_text("utf-8"))
        key = words[words.index("-H") + 1].partition(": ")[2]
        before = service.workers
        assert len(before) == 2
        for pid in before:
            assert b"BALCAO_WORKERS=2" in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            assert not ignores_sigterm(pid), "programs that it starts would inherit that"
        for port in (service.port, own_port(service.port, 0), own_port(service.port, 1)):
            reply = httpx2.get(f"http://127.0.0.1:{port}{COMPANY}", headers={"x-api-key": key})
            assert reply.status_code == 200
        os.kill(before[0], signal.SIGKILL)
        until(lambda: not is_running(before[0]), PATIENCE_SECONDS, "the worker is gone")
        until(
            lambda: len(service.workers) == 2 and service.all_answer(),
            PATIENCE_SECONDS,
            "another worker answers in its place",
        )
        assert before[1] in service.workers
        assert '"worker.ended"' in service.log.read_text("utf-8")
        last = service.workers
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(PATIENCE_SECONDS) == 0
        assert not any(is_running(pid) for pid in last)
        assert not (tmp_path / "home" / "serving.txt").exists()


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    with two_workers(tmp_path) as service:
        until(service.all_answer, PATIENCE_SECONDS, "both workers answer")
        workers = service.workers
        service.process.kill()
        service.process.wait()
        until(lambda: not any(is_running(pid) for pid in workers), PATIENCE_SECONDS, "workers end")


def test_a_worker_needs_its_own_port(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        with two_workers(tmp_path, port=taken - 1) as service:
            assert service.process.wait(PATIENCE_SECONDS) == 1
            assert "já está em uso" in service.log.read_text("utf-8")
