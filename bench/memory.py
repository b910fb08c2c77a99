"""Memory of the service over a million lookups and a day of its pages.

    .venv/bin/python -m bench memory [--lookups 1000000] [--traced FILE]

Companies of the month in random order, companies from the cache, some online lookups, some errors;
in between every page of an operator and of a manager, and their tables as files. After each tenth:
the process's memory (RSS), its share of pages used by others too (PSS), and pages without a file
(anonymous: those that we can leak). With `--traced` the service reports at the end which lines hold
more than after the first tenth; it is much slower then.
"""

import argparse
import contextlib
import json
import os
import re
import runpy
import signal
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx2

from balcao.opendata.generator import generate
from bench.http import FEDERAL, HOT
from bench.load import Side, machine, need_wrk, only, script_of, shoot
from bench.serving import (
    PREFIX,
    SERVE,
    account_by_words,
    balcao,
    companies_elsewhere,
    documents_of,
    free_port,
    running,
    settings,
)

LOOKUPS = 1_000_000
TENTHS = 10
SHOT_SECONDS = 5
ESTABLISHMENTS = 50_000
PAGES_A_TENTH = 200  # of each person: four thousand a day together
ACCOUNT = "bench"
PASSWORD = "uma frase bem comprida"
PEOPLE: Mapping[str, Sequence[str]] = {
    "olga@balcao.test": ("--operator",),
    "marina@balcao.test": ("--account", ACCOUNT, "--role", "manager"),
}
LINES_SHOWN = 25


def memory_mb(pid: int) -> dict[str, float]:
    """Return the memory of a process, as the kernel counts it."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    lines = dict(line.split(":") for line in text.splitlines()[1:])
    return {name: int(lines[name].split()[0]) / 1024 for name in ("Rss", "Pss", "Anonymous")}


def signed_in(base: str, link: str) -> httpx2.Client:
    """Return a session of a person who has just chosen a password."""
    client = httpx2.Client(base_url=base, trust_env=False, timeout=120, follow_redirects=True)
    where = link[link.index("/app/") :].strip()
    form = dict(re.findall(r'name="(csrf)" value="([^"]+)"', client.get(where).text))
    form |= {"senha": PASSWORD, "de_novo": PASSWORD}
    client.post(where, data=form, headers={"origin": base}).raise_for_status()
    return client


def pages_of(env: Mapping[str, str], client: httpx2.Client) -> list[str]:
    """Return the addresses without parameters that this person may see."""
    routes = json.loads(balcao(env, "routes", "--json"))
    every = {row["path"] for row in routes if "GET" in row["methods"] and "{" not in row["path"]}
    ours = sorted(path for path in every if path.startswith(("/app", "/status", "/metrics")))
    return [path for path in ours if client.get(path).status_code == 200]


def addresses(month: Path) -> list[str]:
    """Return lookups: mostly available, and a few of every other kind."""
    cold = [PREFIX + each for each in documents_of(month)]
    elsewhere = companies_elsewhere(HOT)
    cached = [f"{PREFIX}{each}?cache_strategy=CACHE_PREFERENCIAL" for each in elsewhere]
    wrong = [f"{PREFIX}{number:014d}" for number in range(500)]
    online = [f"{FEDERAL}?cnpj={each}&cache_strategy=CACHE_SE_EXISTIR" for each in elsewhere]
    states = [f"/consultas/v2/sintegra/{each}?uf=SP" for each in elsewhere]
    some = [*cached * 10, *wrong, *online, *states]
    return [path for number, path in enumerate(cold) for path in (path, some[number % len(some)])]


def run(lookups: int = LOOKUPS, traced: Path | None = None) -> dict[str, float]:
    """Measure and print; return the growth from start to end, in MB."""
    need_wrk()
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as open_:
        folder = Path(temporary)
        port = free_port()
        env = settings(folder / "home", port)
        generate(folder / "month", ESTABLISHMENTS, seed=7, clean=True)
        with running(SERVE, port, env):
            pass  # the first start, which makes the data folder
        balcao(env, "opendata", "build", str(folder / "month"), "--sandbox", "--force")
        balcao(env, "opendata", "answers", "--sandbox")
        key = account_by_words(env, ACCOUNT)
        script = script_of(folder, "all", addresses(folder / "month"))
        command = (sys.executable, "-m", "bench.memory", "--serve", str(traced))
        pid = open_.enter_context(running(command if traced else SERVE, port, env))
        clients = open_.enter_context(_people(env, port))
        pages = {client: pages_of(env, client) for client in clients}
        side = Side("all", [port], script, key, parts=only(pid), cold=True)
        print(machine())
        print(f"\npython -m bench memory   ({lookups:,} lookups, MB)")
        start = memory_mb(pid)
        _print_figures("start", start)
        seen = 0
        for tenth in range(1, TENTHS + 1):
            while (sent := sum(shot.requests for shot in side.shots)) < lookups * tenth / TENTHS:
                shoot(side, SHOT_SECONDS)
            seen += sum(_browse(client, found) for client, found in pages.items())
            _print_figures(f"{sent:,} lookups, {seen:,} pages", memory_mb(pid), start)
            if traced and tenth in (1, TENTHS):
                os.kill(pid, signal.SIGUSR1)  # first the reference, then the report
                time.sleep(5)
        time.sleep(10)
        end = memory_mb(pid)
        _print_figures("ten seconds later", end, start)
        most = side.median(lambda shot: shot.us["cpu"])
        print(f"  {most:.0f} us of a processor a lookup")
    return {name: end[name] - start[name] for name in end}


def _print_figures(
    what: str, now: Mapping[str, float], start: Mapping[str, float] | None = None
) -> None:
    columns = (
        f"{name} {mb:6.1f}" + (f" ({mb - start[name]:+6.1f})" if start else " " * 9)
        for name, mb in now.items()
    )
    print(f"  {what:36s} {'  '.join(columns)}", flush=True)


@contextlib.contextmanager
def _people(env: Mapping[str, str], port: int) -> Iterator[list[httpx2.Client]]:
    with contextlib.ExitStack() as open_:
        clients = []
        for email, words in PEOPLE.items():
            link = balcao(env, "user", "create", email, "--name", "Pessoa", *words)
            client = signed_in(f"http://127.0.0.1:{port}", link)
            open_.callback(client.close)
            clients.append(client)
        yield clients


def _browse(client: httpx2.Client, pages: Sequence[str]) -> int:
    """Request pages one after another, and each table as a file once. Returns their number."""
    files = [page for page in pages if page.endswith((".csv", ".xlsx"))]
    shown = [page for page in pages if page not in files]
    for number in range(PAGES_A_TENTH):
        client.get(shown[number % len(shown)])
    for page in files:
        with client.stream("GET", page) as reply:
            for _ in reply.iter_bytes():
                pass
    return PAGES_A_TENTH + len(files)


def serve_traced(file: Path) -> None:
    """Run the service with tracemalloc: the first signal takes the reference, later ones report."""
    remembered: list[tracemalloc.Snapshot] = []

    def on_signal(*_: object) -> None:
        now = tracemalloc.take_snapshot()
        if remembered:
            found = now.compare_to(remembered[0], "traceback")
            blocks = [(str(each), *each.traceback.format()) for each in found[:LINES_SHOWN]]
            file.write_text("\n\n".join("\n".join(block) for block in blocks))
        remembered.append(now)

    tracemalloc.start(5)
    signal.signal(signal.SIGUSR1, on_signal)
    sys.argv = ["balcao", "serve"]
    runpy.run_module("balcao", run_name="__main__")


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench memory")
    parser.add_argument("--lookups", type=int, default=LOOKUPS)
    parser.add_argument("--traced", type=Path, help="where to write who holds what")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.serve:
        serve_traced(given.serve)
        return
    run(given.lookups, given.traced)


if __name__ == "__main__":
    main(sys.argv[1:])
