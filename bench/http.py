"""The hot path from outside: metered lookups beside a bare hello on Granian.

Rounds alternate between all contestants; a figure is the median of its rounds. Ratios are what
counts: the machine and the load generator (wrk) are the same for all.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from stdnum.br.cnpj import calc_check_digits

from balcao.core.access import key_hash, new_key
from balcao.core.ledger import TopUp
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.sqlite.desk import SqliteDesk
from bench import naive

ROUNDS = 5
MONTH_ESTABLISHMENTS = 10_000
TODAY = date(2026, 11, 21)  # any day after the generated month
SECONDS = 5
CONNECTIONS = 64
PREFIX = "/consultas/v2/cnpj-receita-federal/"
PLENTY = '{"per_minute": 1000000000, "per_day": 1000000000}'


@dataclass(frozen=True)
class Shot:
    """One run of wrk."""

    per_second: float
    p50_ms: float
    p99_ms: float
    refused: int


def need_wrk() -> str:
    """The load generator; installed from the distribution where we may."""
    if shutil.which("wrk") is None and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(["apt-get", "install", "-y", "-qq", "wrk"], check=False)
    found = shutil.which("wrk")
    if found is None:
        raise SystemExit("bench precisa do wrk: instale-o (por exemplo, apt-get install wrk)")
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(command: list[str], port: int, env: dict[str, str]) -> Iterator[int]:
    """A server of our own on a port of this machine, ended by its id."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        for _ in range(600):
            if process.poll() is not None:
                raise SystemExit(f"{command} ended with {process.returncode}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


def shoot(  # what wrk is told
    port: int, key: str, script: Path, connections: int, seconds: int, *, gzip: bool = False
) -> Shot:
    """One run of wrk, one thread, keep-alive."""
    command = [
        need_wrk(), "-t1", f"-c{connections}", f"-d{seconds}", "--latency",
        "-H", f"x-api-key: {key}", "-s", str(script), f"http://127.0.0.1:{port}",
        *(("-H", "Accept-Encoding: gzip") if gzip else ()),
    ]  # fmt: skip
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    return Shot(
        float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]),  # type: ignore[index]
        _ms(text, "50%"),
        _ms(text, "99%"),
        int(refused[1]) if refused else 0,
    )


def _ms(text: str, label: str) -> float:
    number, unit = re.search(rf"{label}\s+([\d.]+)(us|ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * {"us": 0.001, "ms": 1.0, "s": 1000.0}[unit]


def script_of(folder: Path, name: str, documents: list[str], query: str) -> Path:
    """A wrk script that asks for the documents one after another."""
    path = folder / f"{name}.lua"
    listed = ",".join(f'"{document}"' for document in documents)
    path.write_text(
        f"local d = {{{listed}}}\nlocal i = 0\n"
        "request = function()\n  i = i % #d + 1\n"
        f'  return wrk.format("GET", "{PREFIX}" .. d[i] .. "{query}")\nend\n'
    )
    return path


def open_account(home: Path, mode: Mode = "test") -> str:
    """An account with credits for a long day; returns its key."""
    now = time.time_ns() // 1_000_000
    desk = SqliteDesk(Home(home).desk)
    account = desk.create_account(NewAccount("bench", "pre_pago", mode), now)
    desk.commit_now([TopUp(account.account_id, 10**9, "bench", now)])
    key = new_key(mode)
    hashed = key_hash(key, Home(home).pepper())
    desk.create_key(NewKey(account.account_id, "bench", key[:18], hashed), now)
    desk.close()
    return key


def fetch(port: int, key: str, document: str, query: str = "") -> bytes:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{PREFIX}{document}{query}", headers={"x-api-key": key}
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        return bytes(reply.read())


def run(rounds: int = ROUNDS, seconds: int = SECONDS) -> dict[str, float]:
    """Measure and print; returns the medians."""
    need_wrk()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        home = folder / "home"
        port, hello_port, naive_port = free_port(), free_port(), free_port()
        env = {
            "BALCAO_HOME": str(home),
            "BALCAO_PORT": str(port),
            "BALCAO_LIMITS_PRE_PAGO": PLENTY,
            "BALCAO_LOG_FORMAT": "json",
        }
        ours = [sys.executable, "-m", "balcao", "serve"]
        month = folder / "month"
        generate(month, MONTH_ESTABLISHMENTS, seed=7, clean=True)
        with running(ours, port, env | {"BALCAO_SANDBOX_ESTABLISHMENTS": "100"}):
            pass  # the first start, which makes the accounts
        build([month], Home(home).opendata("test"), today=TODAY, force=True)
        key = open_account(home)
        snapshot = documents_of(month)
        cached = companies_elsewhere(2_000)
        with running(ours, port, env):
            size = len(fetch(port, key, snapshot[0]))
            for document in cached:
                fetch(port, key, document)
            engine = naive.open_engine(folder / "naive.db")
            body = json.dumps(json.loads(fetch(port, key, cached[0]))["response"])
            naive.prepare(engine, key, cached, body)
            hello = [sys.executable, "-m", "bench.hello", str(size), str(hello_port)]
            plain = [sys.executable, "-m", "bench.naive", str(folder / "naive.db"), str(naive_port)]
            first = "?cache_strategy=CACHE_PREFERENCIAL"
            contestants = {
                "hello": (hello_port, script_of(folder, "hello", snapshot, ""), CONNECTIONS),
                "snapshot": (port, script_of(folder, "snapshot", snapshot, ""), CONNECTIONS),
                "cached": (port, script_of(folder, "cached", cached, first), CONNECTIONS),
                "naive": (naive_port, script_of(folder, "naive", cached, ""), CONNECTIONS),
                "one connection": (port, script_of(folder, "one", snapshot, ""), 1),
            }
            shots: dict[str, list[Shot]] = {name: [] for name in contestants}
            with running(hello, hello_port, {}), running(plain, naive_port, {}):
                for number in range(rounds):
                    for name, (at, script, connections) in contestants.items():
                        shots[name].append(shoot(at, key, script, connections, seconds))
                        print(f"  {number + 1}/{rounds} {name}: {shots[name][-1]}", flush=True)
        return report(shots)


def documents_of(month: Path) -> list[str]:
    """Companies of a generated month, in an order that helps nobody."""
    documents: list[str] = []
    for path in sorted(month.glob("Estabelecimentos*.zip")):
        with zipfile.ZipFile(path) as archive:
            lines = archive.read(archive.namelist()[0]).decode("latin-1").splitlines()
        documents += [
            "".join(line.split(";")[:3]).replace('"', "") for line in lines if line.count(";") >= 29
        ]
    random.Random(1).shuffle(documents)
    return documents


def companies_elsewhere(count: int) -> list[str]:
    """Numbers that are in no month: the simulated providers know them, and then our cache."""
    bases = (f"7{number:07d}0001" for number in range(count))
    return [base + calc_check_digits(base) for base in bases]


def report(shots: dict[str, list[Shot]]) -> dict[str, float]:
    figures: dict[str, float] = {}
    hello = statistics.median(shot.per_second for shot in shots["hello"])
    print("\npython -m bench http   (medians; ratio to hello on Granian)")
    for name, runs in shots.items():
        rate = statistics.median(shot.per_second for shot in runs)
        p50 = statistics.median(shot.p50_ms for shot in runs)
        p99 = statistics.median(shot.p99_ms for shot in runs)
        refused = sum(shot.refused for shot in runs)
        print(
            f"  {name:15s} {rate:9.0f}/s  {rate / hello:5.2f} of hello"
            f"  p50 {p50:7.2f} ms  p99 {p99:7.2f} ms  refused {refused}"
        )
        figures |= {name: rate, f"{name} p50": p50, f"{name} p99": p99}
    print(f"  ours / naive: {figures['cached'] / figures['naive']:.0f} times")
    return figures


if __name__ == "__main__":
    run()
