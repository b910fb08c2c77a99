"""Helpers of benchmarks: servers, accounts with ample credits, documents."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from stdnum.br.cnpj import calc_check_digits

from balcao.core.access import key_hash, new_key
from balcao.core.ledger import TopUp
from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.places import place_at

PREFIX = "/consultas/v2/cnpj-receita-federal/"
CREDITS = 1_000_000_000  # practically unlimited
PLENTY = '{"per_minute": 1000000000, "per_day": 1000000000}'
SERVE = (sys.executable, "-m", "balcao", "serve")
START_SECONDS_MAX = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings(home: Path, port: int, **more: str) -> dict[str, str]:
    """Return the environment of a server with practically no limits and a JSON log.

    `more`: settings without their prefix, in lower case.
    """
    return {
        "BALCAO_HOME": str(home),
        "BALCAO_PORT": str(port),
        "BALCAO_LIMITS_PRE_PAGO": PLENTY,
        "BALCAO_LOG_FORMAT": "json",
        "BALCAO_SANDBOX_ESTABLISHMENTS": "0",
        "BALCAO_BACKUP_EVERY_HOURS": "0",
    } | {f"BALCAO_{name.upper()}": value for name, value in more.items()}


@contextlib.contextmanager
def running(
    command: list[str] | tuple[str, ...], port: int, env: Mapping[str, str]
) -> Iterator[int]:
    """Run a server on a local port, stopped by its process id, which is yielded."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + START_SECONDS_MAX
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{command} did not start, or ended with {process.returncode}")
            time.sleep(0.1)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def balcao(env: Mapping[str, str], *words: str) -> str:
    """Run a command of the command line; return its standard output."""
    done = subprocess.run(
        [sys.executable, "-m", "balcao", *words],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def account_by_words(env: Mapping[str, str], name: str, *, live: bool = False) -> str:
    """Open a prepaid account with ample credits by commands; return its key."""
    balcao(env, "account", "create", name, "--plan", "pre_pago", *([] if live else ["--test"]))
    balcao(env, "credit", "add", name, str(CREDITS), "--reason", "bench")
    return str(json.loads(balcao(env, "key", "create", name, "--json"))["key"])


def open_account(home: Path, mode: Mode = "test", database: str = "") -> str:
    """Open such an account directly, before the first start or to save time; return its key."""
    now = time.time_ns() // 1_000_000
    Home(home).create()
    pepper = Home(home).pepper()
    desk = place_at(database, Home(home)).open_desk(pepper=pepper)
    account = desk.create_account(NewAccount("bench", "pre_pago", mode), now)
    desk.commit_now([TopUp(account.account_id, CREDITS, "bench", now)])
    key = new_key(mode)
    desk.create_key(NewKey(account.account_id, "bench", key[:18], key_hash(key, pepper)), now)
    desk.close()
    return key


def fetch(port: int, key: str, path: str, **headers: str) -> bytes:
    """Return the body of an answer with status 200."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"x-api-key": key, **headers}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return bytes(reply.read())


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process so far, including children that it waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def documents_of(month: Path) -> list[str]:
    """Return the companies of a generated month, shuffled."""
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
    """Return CNPJs that are in no month, but known to the simulated providers."""
    bases = (f"7{number:07d}0001" for number in range(count))
    return [base + calc_check_digits(base) for base in bases]
