"""What benches start and ask: servers ended by their id, accounts with plenty, documents."""

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
CREDITS = 1_000_000_000  # for a long day
PLENTY = '{"per_minute": 1000000000, "per_day": 1000000000}'
SERVE = (sys.executable, "-m", "balcao", "serve")
START_SECONDS_MAX = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def settings(home: Path, port: int, **more: str) -> dict[str, str]:
    """The environment of a server without limits that count, with its log as JSON.

    `more`: settings without their prefix, in small letters.
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
    """A server of our own on a port of this machine, ended by its id; its process number."""
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
    """One command of the command line, beside the server; its standard output."""
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
    """A prepaid account with credits for a long day, opened by commands; its key."""
    balcao(env, "account", "create", name, "--plan", "pre_pago", *([] if live else ["--test"]))
    balcao(env, "credit", "add", name, str(CREDITS), "--reason", "bench")
    return str(json.loads(balcao(env, "key", "create", name, "--json"))["key"])


def open_account(home: Path, mode: Mode = "test", database: str = "") -> str:
    """The same where no server has been yet, or where a command would take long."""
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
    """The body of one answer that is 200."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"x-api-key": key, **headers}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return bytes(reply.read())


def cpu_seconds(pid: int) -> float:
    """What a process has used of processors so far, the children that it waited for included."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


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
