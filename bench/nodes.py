"""Several nodes on one PostgreSQL beside one node on SQLite: metered lookups from the cache.

    .venv/bin/python -m bench nodes

Everything shares this machine: the load generator (wrk), the nodes and the database, which makes
every commit durable (fsync on). 64 connections in all, spread evenly over the nodes. Rounds
alternate, as in `bench http`; the ratios are what counts.
"""

import contextlib
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.storage.postgres import Server

from balcao.core.access import key_hash, new_key
from balcao.core.ledger import TopUp
from balcao.home import Home
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.engine import open_desk
from bench.http import (
    CONNECTIONS,
    PLENTY,
    ROUNDS,
    SECONDS,
    Shot,
    companies_elsewhere,
    fetch,
    free_port,
    need_wrk,
    running,
    script_of,
    shoot,
)

COMPANIES = 2_000
DURABLE = {"fsync": "on", "full_page_writes": "on", "shared_buffers": "512MB"}


@dataclass(frozen=True)
class Contestant:
    """One installation that serves: its nodes' ports, and a key that they know."""

    name: str
    ports: Sequence[int]
    key: str


def run(rounds: int = ROUNDS, seconds: int = SECONDS) -> dict[str, float]:
    """Measure and print; returns the medians."""
    need_wrk()
    documents = companies_elsewhere(COMPANIES)
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as open_:
        folder = Path(temporary)
        server = Server(DURABLE)
        open_.callback(server.remove)
        database = server.new_database()
        contestants = [
            open_.enter_context(serving(folder / "sqlite", "sqlite, 1 node", "", 1)),
            open_.enter_context(serving(folder / "pg1", "postgresql, 1 node", database, 1)),
            open_.enter_context(
                serving(folder / "pg2", "postgresql, 2 nodes", server.new_database(), 2)
            ),
        ]
        size = len(fetch(contestants[0].ports[0], contestants[0].key, documents[0]))
        hello_port = free_port()
        command = [sys.executable, "-m", "bench.hello", str(size), str(hello_port)]
        open_.enter_context(running(command, hello_port, {}))
        contestants.insert(0, Contestant("hello", [hello_port], "-"))
        script = script_of(folder, "cached", documents, "?cache_strategy=CACHE_PREFERENCIAL")
        for contestant in contestants[1:]:
            for document in documents:
                fetch(contestant.ports[0], contestant.key, document)
        shots: dict[str, list[Shot]] = {contestant.name: [] for contestant in contestants}
        for number in range(rounds):
            for contestant in contestants:
                shots[contestant.name].append(together(contestant, script, seconds))
                print(
                    f"  {number + 1}/{rounds} {contestant.name}: {shots[contestant.name][-1]}",
                    flush=True,
                )
        return report(shots)


@contextlib.contextmanager
def serving(folder: Path, name: str, database: str, nodes: int) -> Iterator[Contestant]:
    """So many nodes on one database, with an account that has plenty of everything."""
    homes = [folder / str(number) for number in range(nodes)]
    env = {
        "BALCAO_DATABASE": database,
        "BALCAO_LIMITS_PRE_PAGO": PLENTY,
        "BALCAO_LOG_FORMAT": "json",
        "BALCAO_SANDBOX_ESTABLISHMENTS": "0",
        "BALCAO_BACKUP_EVERY_HOURS": "0",
    }
    ports = [free_port() for _ in homes]
    key = open_account(homes[0], database)
    for other in homes[1:]:
        other.mkdir(parents=True)
        shutil.copy(Home(homes[0]).secret, Home(other).secret)
    with contextlib.ExitStack() as open_:
        for home, port in zip(homes, ports, strict=True):
            own = {"BALCAO_HOME": str(home), "BALCAO_PORT": str(port)}
            command = [sys.executable, "-m", "balcao", "serve"]
            open_.enter_context(running(command, port, env | own))
        yield Contestant(name, ports, key)


def open_account(home: Path, database: str) -> str:
    """An account with credits for a long day; returns its key."""
    now = time.time_ns() // 1_000_000
    Home(home).create()
    pepper = Home(home).pepper()
    desk = open_desk(database, Home(home).desk, pepper=pepper, now_ms=now)
    account = desk.create_account(NewAccount("bench", "pre_pago", "test"), now)
    desk.commit_now([TopUp(account.account_id, 10**9, "bench", now)])
    key = new_key("test")
    desk.create_key(NewKey(account.account_id, "bench", key[:18], key_hash(key, pepper)), now)
    desk.close()
    return key


def together(contestant: Contestant, script: Path, seconds: int) -> Shot:
    """One run on all nodes at once; the slowest node's latencies count."""
    each = CONNECTIONS // len(contestant.ports)
    with ThreadPoolExecutor(len(contestant.ports)) as pool:
        shots = [
            *pool.map(
                lambda port: shoot(port, contestant.key, script, each, seconds), contestant.ports
            )
        ]
    return Shot(
        sum(shot.per_second for shot in shots),
        max(shot.p50_ms for shot in shots),
        max(shot.p99_ms for shot in shots),
        sum(shot.refused for shot in shots),
    )


def report(shots: dict[str, list[Shot]]) -> dict[str, float]:
    figures: dict[str, float] = {}
    rates = {name: statistics.median(s.per_second for s in runs) for name, runs in shots.items()}
    print(f"\npython -m bench nodes   (medians, {os.cpu_count()} cores shared by everything)")
    for name, runs in shots.items():
        p50 = statistics.median(shot.p50_ms for shot in runs)
        p99 = statistics.median(shot.p99_ms for shot in runs)
        print(
            f"  {name:20s} {rates[name]:8.0f}/s  {rates[name] / rates['hello']:5.2f} of hello"
            f"  {rates[name] / rates['sqlite, 1 node']:5.2f} of sqlite"
            f"  p50 {p50:6.2f} ms  p99 {p99:6.2f} ms  refused {sum(s.refused for s in runs)}"
        )
        figures |= {name: rates[name], f"{name} p99": p99}
    return figures


if __name__ == "__main__":
    run()
