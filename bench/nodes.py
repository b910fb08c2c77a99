"""Several nodes on one PostgreSQL against one node on SQLite: metered lookups from the cache.

    .venv/bin/python -m bench nodes

Everything shares this machine: the load generator (wrk), the nodes and the database, which makes
every commit durable (fsync on). 64 connections in total, spread evenly over the nodes. Rounds
alternate, as in `bench http`; meaningful are the ratios, and the processor time per lookup in the
nodes and in the database.
"""

import argparse
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.storage.postgres import Server

from balcao.home import Home
from bench.http import HOT
from bench.load import (
    ROUNDS,
    SECONDS,
    Side,
    family,
    hello,
    machine,
    need_wrk,
    report,
    script_of,
    take_turns,
)
from bench.serving import (
    PREFIX,
    SERVE,
    companies_elsewhere,
    fetch,
    free_port,
    open_account,
    running,
    settings,
)

DURABLE = {"fsync": "on", "full_page_writes": "on", "shared_buffers": "512MB"}


def run(rounds: int = ROUNDS, seconds: int = SECONDS) -> dict[str, float]:
    """Measure and print; returns the medians."""
    need_wrk()
    query = "?cache_strategy=CACHE_PREFERENCIAL"
    paths = [PREFIX + document + query for document in companies_elsewhere(HOT)]
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as open_:
        folder = Path(temporary)
        script = script_of(folder, "cached", paths)
        server = Server(DURABLE)
        open_.callback(server.remove)
        sides = [
            open_.enter_context(serving(name, folder / name, script, database, nodes))
            for name, database, nodes in (
                ("sqlite, 1 node", None, 1),
                ("postgresql, 1 node", server, 1),
                ("postgresql, 2 nodes", server, 2),
            )
        ]
        for side in sides:
            for path in paths:
                fetch(side.ports[0], side.key, path)
        size = len(fetch(sides[0].ports[0], sides[0].key, paths[0]))
        bare = open_.enter_context(hello(size, script))
        take_turns([*sides, bare], rounds, seconds)
        print(machine())
        title = "python -m bench nodes   (medians, everything on the same cores)"
        return report(title, [*sides, bare], [bare, sides[0]])


@contextlib.contextmanager
def serving(
    name: str, folder: Path, script: Path, server: Server | None, nodes: int
) -> Iterator[Side]:
    """Run so many nodes on one database, with an account that has ample credits."""
    database = "" if server is None else server.new_database()
    homes = [folder / str(number) for number in range(nodes)]
    ports = [free_port() for _ in homes]
    key = open_account(homes[0], database=database)
    for other in homes[1:]:
        other.mkdir(parents=True)
        shutil.copy(Home(homes[0]).secret, Home(other).secret)
    with contextlib.ExitStack() as open_:
        pids = [
            open_.enter_context(running(SERVE, port, settings(home, port, database=database)))
            for home, port in zip(homes, ports, strict=True)
        ]
        parts = {"node": lambda: [each for pid in pids for each in family(pid)]}
        if server is not None:
            parts["database"] = lambda: family(server.process.pid)
        yield Side(name, ports, script, key, parts=parts)


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench nodes")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    given = parser.parse_args(words)
    run(given.rounds, given.seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
