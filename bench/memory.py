"""What the service keeps in memory, over a million lookups and a day of its pages.

    .venv/bin/python -m bench memory [--lookups 1000000] [--traced FILE]

Companies of the month in no order, companies from the cache, some asked online, some that are
wrong; in between every page of an operator and of a manager, and their tables as files. After
each tenth: what the process has in memory (RSS), its share of what others have too (PSS), and
what is in no file (anonymous: what can only grow by our doing). With `--traced` the service tells
at the end which lines hold more than after the first tenth; it is much slower then.
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
PAGES_A_TENTH = 200  # of each person: four thousand a day, of both
ACCOUNT = "bench"
PASSWORD = "uma frase bem comprida"
PEOPLE: Mapping[str, Sequence[str]] = {
    "olga@balcao.test": ("--operator",),
    "marina@balcao.test": ("--account", ACCOUNT, "--role", "manager"),
}
TOLD = 25


def memory_mb(pid: int) -> dict[str, float]:
    """What a process has in memory, as the kernel counts it."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
    lines = dict(line.split(":") for line in text.splitlines()[1:])
    return {name: int(lines[name].split()[0]) / 1024 for name in ("Rss", "Pss", "Anonymous")}


def signed_in(base: str, link: str) -> httpx2.Client:
    """A person who has just chosen a password."""
    client = httpx2.Client(base_url=base, trust_env=False, timeout=120, follow_redirects=True)
    where = link[link.index("/app/") :].strip()
    form = dict(re.findall(r'name="(csrf)" value="([^"]+)"', client.get(where).text))
    form |= {"senha": PASSWORD, "de_novo": PASSWORD}
    client.post(where, data=form, headers={"origin": base}).raise_for_status()
    return client


def pages_of(env: Mapping[str, str], client: httpx2.Client) -> list[str]:
    """The addresses without parameters that this person may see."""
    routes = json.loads(balcao(env, "routes", "--json"))
    every = {row["path"] for row in routes if "GET" in row["methods"] and "{" not in row["path"]}
    ours = sorted(path for path in every if path.startswith(("/app", "/status", "/metrics")))
    return [path for path in ours if client.get(path).status_code == 200]


def addresses(month: Path) -> list[str]:
    """What is looked up: mostly at hand, and a little of everything else."""
    cold = [PREFIX + each for each in documents_of(month)]
    elsewhere = companies_elsewhere(HOT)
    cached = [f"{PREFIX}{each}?cache_strategy=CACHE_PREFERENCIAL" for each in elsewhere]
    wrong = [f"{PREFIX}{number:014d}" for number in range(500)]
    online = [f"{FEDERAL}?cnpj={each}&cache_strategy=CACHE_SE_EXISTIR" for each in elsewhere]
    states = [f"/consultas/v2/sintegra/{each}?uf=SP" for each in elsewhere]
    some = [*cached * 10, *wrong, *online, *states]
    return [path for number, path in enumerate(cold) for path in (path, some[number % len(some)])]


def run(lookups: int = LOOKUPS, traced: Path | None = None) -> dict[str, float]:
    """Measure and print; what was there at the end, above the start, in MB."""
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
        _say("start", start)
        seen = 0
        for tenth in range(1, TENTHS + 1):
            while (asked := sum(shot.requests for shot in side.shots)) < lookups * tenth / TENTHS:
                shoot(side, SHOT_SECONDS)
            seen += sum(_browse(client, found) for client, found in pages.items())
            _say(f"{asked:,} lookups, {seen:,} pages", memory_mb(pid), start)
            if traced and tenth in (1, TENTHS):
                os.kill(pid, signal.SIGUSR1)  # to be compared with, then to be told
                time.sleep(5)
        time.sleep(10)
        end = memory_mb(pid)
        _say("ten seconds later", end, start)
        most = side.median(lambda shot: shot.us["cpu"])
        print(f"  {most:.0f} us of a processor a lookup")
    return {name: end[name] - start[name] for name in end}


def _say(what: str, now: Mapping[str, float], start: Mapping[str, float] | None = None) -> None:
    said = (
        f"{name} {mb:6.1f}" + (f" ({mb - start[name]:+6.1f})" if start else " " * 9)
        for name, mb in now.items()
    )
    print(f"  {what:36s} {'  '.join(said)}", flush=True)


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
    """See pages, one after another; a table as a file once. How many it were."""
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
    """The service with its memory traced: the first signal remembers, each later one tells."""
    remembered: list[tracemalloc.Snapshot] = []

    def heard(*_: object) -> None:
        now = tracemalloc.take_snapshot()
        if remembered:
            found = now.compare_to(remembered[0], "traceback")
            blocks = [(str(each), *each.traceback.format()) for each in found[:TOLD]]
            file.write_text("\n\n".join("\n".join(block) for block in blocks))
        remembered.append(now)

    tracemalloc.start(5)
    signal.signal(signal.SIGUSR1, heard)
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
