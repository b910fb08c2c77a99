"""Several nodes on one PostgreSQL beside one node on SQLite: metered lookups from the cache.

    .venv/bin/python -m bench nodes

Everything shares this machine: the load generator (wrk), the nodes and the database, which makes
every commit durable (fsync on). 64 connections in all, spread evenly over the nodes. Rounds
alternate, as in `bench http`; the ratios are what counts, and what one lookup costs in processor
time, in the nodes and in the database.
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
from dataclasses import dataclass, field
from pathlib import Path

from tests.storage.postgres import Server

from balcao.core.access import key_hash, new_key
from balcao.core.ledger import TopUp
from balcao.home import Home
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.places import place_at
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
    pids: Sequence[int] = ()
    database: Server | None = None
    node_us: list[float] = field(default_factory=list)  # processor time a lookup, each round
    database_us: list[float] = field(default_factory=list)


def run(rounds: int = ROUNDS, seconds: int = SECONDS) -> dict[str, float]:
    """Measure and print; returns the medians."""
    need_wrk()
    documents = companies_elsewhere(COMPANIES)
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as open_:
        folder = Path(temporary)
        server = Server(DURABLE)
        open_.callback(server.remove)
        contestants = [
            open_.enter_context(serving(folder / "sqlite", "sqlite, 1 node", None, 1)),
            open_.enter_context(serving(folder / "pg1", "postgresql, 1 node", server, 1)),
            open_.enter_context(serving(folder / "pg2", "postgresql, 2 nodes", server, 2)),
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
        return report(shots, contestants)


@contextlib.contextmanager
def serving(folder: Path, name: str, server: Server | None, nodes: int) -> Iterator[Contestant]:
    """So many nodes on one database, with an account that has plenty of everything."""
    database = "" if server is None else server.new_database()
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
    pids: list[int] = []
    with contextlib.ExitStack() as open_:
        for home, port in zip(homes, ports, strict=True):
            own = {"BALCAO_HOME": str(home), "BALCAO_PORT": str(port)}
            command = [sys.executable, "-m", "balcao", "serve"]
            pids.append(open_.enter_context(running(command, port, env | own)))
        yield Contestant(name, ports, key, pids, server)


def open_account(home: Path, database: str) -> str:
    """An account with credits for a long day; returns its key."""
    now = time.time_ns() // 1_000_000
    Home(home).create()
    pepper = Home(home).pepper()
    desk = place_at(database, Home(home)).open_desk(pepper=pepper)
    account = desk.create_account(NewAccount("bench", "pre_pago", "test"), now)
    desk.commit_now([TopUp(account.account_id, 10**9, "bench", now)])
    key = new_key("test")
    desk.create_key(NewKey(account.account_id, "bench", key[:18], key_hash(key, pepper)), now)
    desk.close()
    return key


def together(contestant: Contestant, script: Path, seconds: int) -> Shot:
    """One run on all nodes at once; the slowest node's latencies count."""
    each = CONNECTIONS // len(contestant.ports)
    nodes, database = contestant.pids, processes_of(contestant.database)
    before = processor_seconds(nodes), processor_seconds(database)
    with ThreadPoolExecutor(len(contestant.ports)) as pool:
        shots = [
            *pool.map(
                lambda port: shoot(port, contestant.key, script, each, seconds), contestant.ports
            )
        ]
    lookups = sum(shot.per_second for shot in shots) * seconds
    contestant.node_us.append((processor_seconds(nodes) - before[0]) / lookups * 1e6)
    contestant.database_us.append((processor_seconds(database) - before[1]) / lookups * 1e6)
    return Shot(
        sum(shot.per_second for shot in shots),
        max(shot.p50_ms for shot in shots),
        max(shot.p99_ms for shot in shots),
        sum(shot.refused for shot in shots),
    )


def processes_of(server: Server | None) -> list[int]:
    """The database's, those of its connections too."""
    if server is None:
        return []
    own = server.process.pid
    children = Path(f"/proc/{own}/task/{own}/children").read_text("ascii")
    return [own, *map(int, children.split())]


def processor_seconds(pids: Sequence[int]) -> float:
    """What these processes have used so far; those that have ended count no more."""
    ticks = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def report(shots: dict[str, list[Shot]], contestants: Sequence[Contestant]) -> dict[str, float]:
    figures: dict[str, float] = {}
    rates = {name: statistics.median(s.per_second for s in runs) for name, runs in shots.items()}
    print(f"\npython -m bench nodes   (medians, {os.cpu_count()} cores shared by everything)")
    for contestant in contestants:
        name, runs = contestant.name, shots[contestant.name]
        p50 = statistics.median(shot.p50_ms for shot in runs)
        p99 = statistics.median(shot.p99_ms for shot in runs)
        print(
            f"  {name:20s} {rates[name]:8.0f}/s  {rates[name] / rates['hello']:5.2f} of hello"
            f"  {rates[name] / rates['sqlite, 1 node']:5.2f} of sqlite"
            f"  p50 {p50:6.2f} ms  p99 {p99:6.2f} ms  refused {sum(s.refused for s in runs)}"
            f"  node {statistics.median(contestant.node_us):4.0f} us"
            f"  database {statistics.median(contestant.database_us):4.0f} us"
        )
        figures |= {name: rates[name], f"{name} p99": p99}
    return figures


if __name__ == "__main__":
    run()
