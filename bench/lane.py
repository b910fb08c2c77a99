"""The lane beside the front: processor time of a metered lookup, by where the answer is.

    .venv/bin/python -m bench.lane [--folder /dev/shm] [--rounds 3] [--seconds 2]

One server with the lane and one without, each with a home of its own; rounds alternate and turn
around. The figure is the processor's time of all threads of the server by request: a loaded
machine changes it far less than rates. On a RAM disk the flush is free, and nothing is durable.
"""

import argparse
import contextlib
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from balcao.home import Home
from balcao.opendata.answers import finish
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.providers.opendata.adapter import said_of
from bench.http import (
    CONNECTIONS,
    PLENTY,
    TODAY,
    Shot,
    companies_elsewhere,
    documents_of,
    fetch,
    free_port,
    open_account,
    running,
    script_of,
    shoot,
)

ESTABLISHMENTS = 60_000  # more than are remembered: in turn, each is read anew
HOT = 2_000


@dataclass
class Side:
    """A server with or without the lane, and what was seen of it."""

    port: int
    process: int
    key: str
    runs: dict[str, list[tuple[float, Shot]]] = field(default_factory=dict)

    def run(self, name: str, script: Path, connections: int, seconds: int, gzip: bool) -> None:
        """One run of the load generator."""
        before = processor_us(self.process)
        shot = shoot(self.port, self.key, script, connections, seconds, gzip=gzip)
        spent = processor_us(self.process) - before
        self.runs.setdefault(name, []).append((spent / (shot.per_second * seconds), shot))


def processor_us(process: int) -> float:
    """Of all threads, those that ended excepted."""
    tasks = Path(f"/proc/{process}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in tasks) / 1000


def prepare(home: Path, month: Path) -> str:
    """A home with a finished month and an account."""
    port = free_port()
    env = {"BALCAO_HOME": str(home), "BALCAO_PORT": str(port), "BALCAO_SANDBOX_ESTABLISHMENTS": "9"}
    with running([sys.executable, "-m", "balcao", "serve"], port, env):
        pass
    store = Home(home).opendata("test")
    build([month], store, today=TODAY, force=True)
    finish(store, said_of)
    return open_account(home)


def run(folder: Path, rounds: int, seconds: int) -> None:
    """Measure and print."""
    month = folder / "month"
    generate(month, ESTABLISHMENTS, seed=7, clean=True)
    cold = documents_of(month)
    cached = companies_elsewhere(HOT)
    first = "?cache_strategy=CACHE_PREFERENCIAL"
    what = {
        "cold": (script_of(folder, "cold", cold, ""), CONNECTIONS, False),
        "hot": (script_of(folder, "hot", cold[:HOT], ""), CONNECTIONS, False),
        "cached": (script_of(folder, "cached", cached, first), CONNECTIONS, False),
        "cold, gzip": (script_of(folder, "gzip", cold, ""), CONNECTIONS, True),
        "hot, one connection": (script_of(folder, "one", cold[:HOT], ""), 1, False),
    }
    with contextlib.ExitStack() as stack:
        sides: Mapping[str, Side] = {
            name: _open(stack, folder / name, month, lane) for name, lane in _SIDES.items()
        }
        for side in sides.values():
            for document in cached:
                fetch(side.port, side.key, document)
        for number in range(rounds):
            for name, (script, connections, gzip) in what.items():
                turn = list(sides.values())
                for side in turn if number % 2 else reversed(turn):
                    side.run(name, script, connections, seconds, gzip)
    print(f"\npython -m bench.lane   ({folder.parent}; medians of {rounds})")
    for name in what:
        for title, side in sides.items():
            runs = side.runs[name]
            rate = statistics.median(shot.per_second for _, shot in runs)
            spent = statistics.median(us for us, _ in runs)
            p50 = statistics.median(shot.p50_ms for _, shot in runs)
            refused = sum(shot.refused for _, shot in runs)
            print(
                f"  {name:20s} {title:9s} {spent:6.0f} us (least {min(runs)[0]:4.0f})"
                f"  {rate:7.0f}/s  p50 {p50:6.2f} ms  refused {refused}"
            )


_SIDES = {"lane": "true", "front": "false"}


def _open(stack: contextlib.ExitStack, home: Path, month: Path, lane: str) -> Side:
    key, port = prepare(home, month), free_port()
    env = {
        "BALCAO_HOME": str(home),
        "BALCAO_PORT": str(port),
        "BALCAO_LIMITS_PRE_PAGO": PLENTY,
        "BALCAO_LOG_FORMAT": "json",
        "BALCAO_LANE": lane,
    }
    command = [sys.executable, "-m", "balcao", "serve"]
    return Side(port, stack.enter_context(running(command, port, env)), key)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="where the homes lie, a RAM disk for one")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        run(Path(temporary), options.rounds, options.seconds)


if __name__ == "__main__":
    main()
