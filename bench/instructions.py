"""Instructions of the event loop's thread per metered, available lookup.

    .venv/bin/python -m bench instructions [--before REVISION] [--requests 3000]

Callgrind counts them, so neither other load nor clocks matter: a change of 1 % is visible, where
rates of one revision differ by 10 %. Limits: the kernel, waits for the disk and other threads are
not counted, and one of two instructions may wait for memory (so misses of a first cache of 32 kB
are printed, too). Distinct companies, none of them in memory; 64 connections; the clients are
another thread of the process.
"""

import argparse
import asyncio
import contextlib
import gc
import json
import os
import re
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

from balcao.cli.configuration import read_settings
from balcao.http.fast_path import LookupFastPath
from balcao.http.wire.server import Server
from balcao.opendata.generator import generate
from balcao.service import server
from balcao.service.clock import Clock
from balcao.service.compose import open_application
from bench.alternate import ROOT, checked_out
from bench.http import MONTH_ESTABLISHMENTS
from bench.serving import (
    PREFIX,
    SERVE,
    balcao,
    documents_of,
    free_port,
    open_account,
    running,
    settings,
)

CONNECTIONS = 64
REQUESTS = 3_000
WARM = 1_000  # warm-up: compilation and caches
AT_MS = 1_785_000_000_000  # the clock is constant: callgrind is too slow for real time
_CACHE = "32768,8,64"  # first-level cache: bytes, ways, bytes per line


def prepare(folder: Path) -> str:
    """Create a month and a data folder with its finished answers; return an account's key."""
    home, month, port = folder / "home", folder / "month", free_port()
    env = settings(home, port)
    generate(month, MONTH_ESTABLISHMENTS, seed=7, clean=True)
    with running(SERVE, port, env):
        pass  # the first start, which makes the data folder
    balcao(env, "opendata", "build", str(month), "--sandbox", "--force")
    balcao(env, "opendata", "answers", "--sandbox")
    return open_account(home)


def run(before: str | None = None, requests: int = REQUESTS) -> dict[str, float]:
    """Count and print; return instructions per request by revision."""
    need_valgrind()
    found: dict[str, float] = {}
    with contextlib.ExitStack() as open_:
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory()))
        key = prepare(folder)
        trees = {"here": ROOT}
        if before is not None:
            trees = {before: open_.enter_context(checked_out(before)), **trees}
        print("python -m bench instructions   (of the loop's thread, a request)")
        for name, tree in trees.items():
            instructions, code, data = _counted(tree, folder, key, requests)
            found[name] = instructions
            of_first = instructions / next(iter(found.values()))
            print(
                f"  {name:12} {instructions:9.0f}  {of_first:5.3f}"
                f"   misses of the first cache: code {code:.0f}, data {data:.0f}",
                flush=True,
            )
    return found


def need_valgrind() -> None:
    """Install valgrind from the distribution if it is missing and we may."""
    if shutil.which("valgrind") is None and os.geteuid() == 0:
        subprocess.run(["apt-get", "install", "-y", "-qq", "valgrind"], check=False)
    if shutil.which("valgrind") is None:
        raise SystemExit("bench precisa do valgrind: instale-o (por exemplo, apt-get install)")


def _counted(tree: Path, folder: Path, key: str, requests: int) -> tuple[float, float, float]:
    home, out = folder / "counted", folder / "callgrind"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(folder / "home", home)
    command = [
        "valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes",
        "--cache-sim=yes", f"--I1={_CACHE}", f"--D1={_CACHE}", "--LL=1048576,8,64",
        f"--callgrind-out-file={out}", sys.executable, "-m", "bench.instructions", "--one",
        json.dumps([key, str(folder / "month"), requests]),
    ]  # fmt: skip
    env = {**os.environ, **settings(home, 0), "PYTHONPATH": str(tree / "src")}
    env |= {"PYTHONHASHSEED": "0"}  # reproducible dictionaries
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    report = Path(f"{out}-01")
    if not report.exists() or "answered" not in done.stdout:
        raise SystemExit(done.stdout + done.stderr)
    text = report.read_text("utf-8")
    named = re.search(r"^events: (.*)$", text, re.M)
    totals = re.search(r"^totals: (.*)$", text, re.M)
    assert named is not None
    assert totals is not None
    events = dict(zip(named[1].split(), map(int, totals[1].split()), strict=False))
    data = events["D1mr"] + events["D1mw"]
    return events["Ir"] / requests, events["I1mr"] / requests, data / requests


# The following runs in the measured process.


class Clients:
    """Clients that send one request after another, in a separate thread."""

    def __init__(self, heads: Iterator[bytes]) -> None:
        pairs = [socket.socketpair() for _ in range(CONNECTIONS)]
        self.ends = [end for end, _ in pairs]
        self.others = [other for _, other in pairs]
        self._heads = heads

    def ask(self, requests: int) -> None:
        """Send so many requests, and return when all are answered."""
        with selectors.DefaultSelector() as selector:
            for end in self.ends:
                selector.register(end, selectors.EVENT_READ, end)
                end.sendall(next(self._heads))
            sent, answered = len(self.ends), 0
            while answered < sent:
                for ready, _ in selector.select():
                    end = ready.data
                    assert end.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
                    answered += 1
                    if sent < requests:
                        end.sendall(next(self._heads))
                        sent += 1


async def _one(key: str, month: Path, requests: int) -> None:
    application = open_application(
        read_settings(host=None, port=8000), clock=Clock(lambda: AT_MS, lambda: AT_MS)
    )
    heads = cycle(
        f"GET {PREFIX}{each} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\r\n".encode()
        for each in documents_of(month)
    )
    clients = Clients(heads)
    async with server.lifespan(application.app):
        limits = server.connection_limits(application.settings, 1_000)
        front = application.front
        wire = Server(application.app, front.refuse, limits, fast_path=LookupFastPath(front))
        for number, other in enumerate(clients.others):
            wire.accept(other, ("127.0.0.1", number))
        await asyncio.to_thread(clients.ask, WARM)
        gc.collect()
        gc.freeze()
        gc.set_threshold(*server.GC_THRESHOLDS)
        _count("on")
        await asyncio.to_thread(clients.ask, requests)
        _count("off")
    print("answered")
    sys.stdout.flush()
    os._exit(0)  # skip the shutdown, which callgrind would count


def _count(word: str) -> None:
    subprocess.run(
        ["callgrind_control", "-i", word, str(os.getpid())], capture_output=True, check=True
    )


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench instructions")
    parser.add_argument("--before", metavar="REVISION", help="to be counted as well")
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.one is None:
        run(given.before, given.requests)
        return
    key, month, requests = json.loads(given.one)
    asyncio.run(_one(key, Path(month), requests))


if __name__ == "__main__":
    main(sys.argv[1:])
