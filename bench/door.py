"""Responsiveness of the service with thousands of silent clients and slow readers.

5,000 silent connections and 1,000 slow readers, from several loopback addresses, are replaced when
closed; meanwhile `/livez` is requested on new connections and on a kept one, and the process's
memory is read.
"""

import argparse
import contextlib
import os
import resource
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.serving import free_port, running

SILENT, SLOW = 5_000, 1_000
SECONDS = 20
PER_ADDRESS = 500
LARGE = b"/openapi.json"
PROBES_PER_SECOND = 20


@dataclass
class Crowd:
    """Misbehaving clients."""

    port: int
    path: bytes
    silent: list[socket.socket] = field(default_factory=list)
    slow: list[socket.socket] = field(default_factory=list)
    made: int = 0

    def gather(self, silent: int, slow: int, at_most: int = 1 << 30) -> None:
        """Open connections up to both numbers; `at_most` limits new ones."""
        last = self.made + at_most
        while len(self.silent) < silent and self.made < last:
            self.silent.append(self._connect(0))
        while len(self.slow) < slow and self.made < last:
            one = self._connect(2_048)
            # Several requests: a client that reads nothing may still send more.
            with contextlib.suppress(OSError):
                one.send((b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % self.path) * 4)
            self.slow.append(one)

    def count(self) -> None:
        """Count connections that the server closed."""
        self.silent = [one for one in self.silent if _is_there(one)]
        self.slow = [one for one in self.slow if _is_there(one, peek=False)]

    def _connect(self, receive_bytes: int) -> socket.socket:
        one = socket.socket()
        if receive_bytes:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        one.settimeout(10)
        number = self.made // PER_ADDRESS % 100
        self.made += 1
        one.bind((f"127.0.1.{number + 1}", 0))
        one.connect(("127.0.0.1", self.port))
        one.setblocking(False)
        return one

    def leave(self) -> None:
        for one in (*self.silent, *self.slow):
            one.close()


@contextlib.contextmanager
def crowd(port: int, path: bytes = LARGE) -> Iterator[Crowd]:
    """Provide a crowd and disconnect it afterwards."""
    found = Crowd(port, path)
    try:
        yield found
    finally:
        found.leave()


def _is_there(one: socket.socket, *, peek: bool = True) -> bool:
    try:
        if peek and one.recv(1, socket.MSG_PEEK) == b"":
            one.close()
            return False
        return one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    except BlockingIOError:
        return True
    except OSError:
        one.close()
        return False


def room_for(connections: int) -> bool:
    """Raise the limit on open files; return whether so many connections are possible."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < connections <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard >= connections


def memory_mb(pid: int) -> float:
    """Return the memory of a process."""
    (line,) = (
        line
        for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
        if line.startswith("VmRSS:")
    )
    return int(line.split()[1]) / 1024


def ask(port: int, one: socket.socket | None = None) -> float:
    """Return milliseconds of one `/livez`, on a new connection if none is given."""
    started = time.perf_counter()
    client = one or socket.create_connection(("127.0.0.1", port), 30)
    client.sendall(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
    answer = client.recv(10_000)
    took = (time.perf_counter() - started) * 1000
    if one is None:
        client.close()
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    return took


def run(silent: int = SILENT, slow: int = SLOW, seconds: int = SECONDS) -> dict[str, float]:
    """Measure and print."""
    if not room_for(silent + slow + 1_000):
        raise SystemExit("bench door: the limit on open files is too low here (ulimit -n)")
    with tempfile.TemporaryDirectory() as temporary:
        port = free_port()
        env = {
            "BALCAO_HOME": str(Path(temporary) / "home"),
            "BALCAO_PORT": str(port),
            "BALCAO_SANDBOX_ESTABLISHMENTS": "100",
            "BALCAO_LOG_FORMAT": "json",
        }
        command = [sys.executable, "-m", "balcao", "serve"]
        with running(command, port, {**os.environ, **env}) as pid:
            alone = [ask(port) for _ in range(100)]
            before = memory_mb(pid)
            with crowd(port) as clients:
                clients.gather(silent, slow)
                fresh, kept, most = _meanwhile(clients, pid, seconds)
            after = memory_mb(pid)
    print("\npython -m bench door")
    print(f"  {silent} silent connections, {slow} slow readers of {LARGE.decode()}, {seconds} s")
    _print_figures("/livez before", alone)
    _print_figures("/livez, new connection", fresh)
    _print_figures("/livez, kept connection", kept)
    print(f"  memory: {before:.0f} MB before, at most {most:.0f} MB, {after:.0f} MB after")
    return {"p99 ms": _share(fresh, 0.99), "memory MB": most}


def _meanwhile(
    clients: Crowd, pid: int, seconds: int
) -> tuple[Sequence[float], Sequence[float], float]:
    fresh: list[float] = []
    kept: list[float] = []
    most, port = 0.0, clients.port
    silent, slow = len(clients.silent), len(clients.slow)
    with socket.create_connection(("127.0.0.1", port), 30) as one:
        ask(port)  # wait until all are connected
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            clients.count()
            for _ in range(PROBES_PER_SECOND):
                # Closed connections are reopened, some hundreds a second.
                clients.gather(silent, slow, at_most=(silent + slow) // 8 // PROBES_PER_SECOND)
                fresh.append(ask(port))
                kept.append(ask(port, one))
                time.sleep(1 / PROBES_PER_SECOND)
            most = max(most, memory_mb(pid))
    return fresh, kept, most


def _share(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _print_figures(name: str, values: Sequence[float]) -> None:
    print(
        f"  {name:24s} p50 {statistics.median(values):6.1f} ms"
        f"  p99 {_share(values, 0.99):6.1f} ms  worst {max(values):6.1f} ms  ({len(values)})"
    )


def main(words: Sequence[str]) -> None:
    argparse.ArgumentParser(prog="bench door").parse_args(words)
    run()


if __name__ == "__main__":
    main(sys.argv[1:])
