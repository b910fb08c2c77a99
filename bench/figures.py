"""The published figures that take minutes: requests, start-ups, the statement, the size installed.

    .venv/bin/python -m bench figures [--charges 1000000] [--folder FOLDER]

Prints a table in Markdown for README.md, with the machine and the date. Figures that take longer
have benchmarks of their own, listed in CONTRIBUTING.md.
"""

import argparse
import asyncio
import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from balcao.home import Home
from balcao.storage.places import place_at
from bench import filling, statement
from bench.http import run as measure_requests
from bench.load import HELLO, machine
from bench.serving import SERVE, balcao, free_port, open_account, running, settings

BALCAO = Path(sys.executable).with_name("balcao")
ROOT = Path(__file__).resolve().parent.parent
COMMANDS = (("--version",), ("--help",), ("account", "lista"), ("account", "list"))
TIMES = 7
ROUNDS, SECONDS = 3, 2
CHARGES = 1_000_000
START_SECONDS_MAX = 60.0

Row = tuple[str, str]


def requests(folder: Path | None) -> Iterator[Row]:
    """Yield the rate of each kind of request, and its processor time."""
    figures = measure_requests(ROUNDS, SECONDS, folder)
    hello = figures[HELLO]
    for name in [each.removesuffix(" us") for each in figures if each.endswith(" us")]:
        if name.startswith(("hello", "naive", "receipt")):
            continue
        value = f"{figures[name] / hello:.2f} of a bare hello, {figures[f'{name} us']:.0f} µs"
        if name.endswith(", new keys"):
            what = name.removesuffix(", new keys")
            plain = figures.get(what) or figures[f"cached {what}"]
            value += f"; {figures[name] / plain:.2f} of the same without a key"
        yield f"Lookup, {name}", value


def starts(folder: Path) -> Iterator[Row]:
    """Yield the least elapsed time of commands, and of `serve` until it answers with 200."""
    port = free_port()
    env = settings(folder / "home", port)
    del env["BALCAO_SANDBOX_ESTABLISHMENTS"]  # with the month of the sandbox
    with running(SERVE, port, env):
        balcao(env, "account", "list")
    for words in COMMANDS:
        seconds = min(_seconds_of(words, env) for _ in range(TIMES))
        yield f"`balcao {' '.join(words)}`", f"{seconds:.2f} s"
    seconds = min(_first_answer(port, env) for _ in range(TIMES))
    yield "`balcao serve` to the first 200, data present", f"{seconds:.2f} s"


def _seconds_of(words: Sequence[str], env: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([BALCAO, *words], env=os.environ | env, capture_output=True, check=False)
    return time.perf_counter() - began


def _first_answer(port: int, env: dict[str, str]) -> float:
    """Return the seconds from the start of a server to its first answer with 200."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [BALCAO, "serve"],
        env=os.environ | env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while time.perf_counter() - began < START_SECONDS_MAX:
            try:
                if _get(port, "/livez")[0] == 200:
                    return time.perf_counter() - began
            except OSError:
                time.sleep(0.005)
        raise SystemExit("balcao serve did not answer")
    finally:
        process.terminate()
        process.wait()


def _get(port: int, path: str, key: str = "-") -> tuple[int, float, float, int]:
    """Return status, seconds to the first byte and to the last, and the size of an answer."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", path, headers={"x-api-key": key})
        reply = connection.getresponse()
        size = len(reply.read(1))
        first = time.perf_counter() - began
        while piece := reply.read(1 << 20):
            size += len(piece)
        return reply.status, first, time.perf_counter() - began, size
    finally:
        connection.close()


def consumption(folder: Path, charges: int) -> Iterator[Row]:
    """Yield first byte, whole time and memory of a consumption of so many charges."""
    home, port = folder / "statement", free_port()
    key = open_account(home)
    statement.fill(home, "", charges, 1)
    desk = place_at("", Home(home)).open_desk(pepper=Home(home).pepper())
    asyncio.run(statement.prepare(desk, 1, charges))
    desk.close()
    with running(SERVE, port, settings(home, port)) as pid:
        _get(port, "/conta/v1/saldo", key)
        before = _peak_mb(pid)
        answers = [_get(port, "/conta/v1/consumo", key) for _ in range(TIMES)]
        assert all(status == 200 for status, *_ in answers)
        first, whole = (min(each[at] for each in answers) for at in (1, 2))
        yield (
            f"`/conta/v1/consumo` of {charges:,} charges, {answers[0][3] / 1e6:.0f} MB",
            f"first byte {first * 1e3:.0f} ms, whole {whole:.1f} s,"
            f" {_peak_mb(pid) - before:.0f} MB of memory more",
        )


def _peak_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError


def installed(folder: Path) -> Iterator[Row]:
    """Yield the size of a new environment as `make install` makes it."""
    place = folder / "venv"
    command = ["make", "-s", "install", f"VENV={place}", f"PYTHON={sys.executable}"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    spent = subprocess.run(["du", "-sm", place], capture_output=True, text=True, check=True).stdout
    yield "`.venv` after `make install`", f"{spent.split()[0]} MB"


def run(charges: int, folder: Path | None) -> None:
    """Measure and print the table."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        here = Path(temporary)
        rows = [*requests(folder), *starts(here), *consumption(here, charges), *installed(here)]
    print(f"\n{filling.today()}; {machine(folder)}\n")
    print("| `python -m bench figures` |  |\n| -- | -- |")
    for what, value in rows:
        print(f"| {what} | {value} |")


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench figures")
    parser.add_argument("--charges", type=int, default=CHARGES)
    parser.add_argument("--folder", type=Path, help="where the data folders should lie")
    given = parser.parse_args(words)
    run(given.charges, given.folder)


if __name__ == "__main__":
    main(sys.argv[1:])
