"""Several processes (`fronts = N`) beside one: what a lookup costs each of them.

    .venv/bin/python -m bench fronts [--fronts 1 2] [--rounds 5] [--seconds 3] [--folder /dev/shm]

The same companies, from the finished answers of a month: more than are remembered (cold), and 2,000
of them (hot). The load generator takes a core of its own. Where there are too few cores the rates
say nothing of more of them; the processor time of the house does: it is what one core has to bear
of every request, however many fronts there are.
"""

import argparse
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from balcao.opendata.generator import generate
from bench.http import HOT, MONTH_ESTABLISHMENTS
from bench.load import (
    CONNECTIONS,
    ROUNDS,
    SECONDS,
    Side,
    family,
    machine,
    need_wrk,
    report,
    script_of,
    shoot,
    take_turns,
)
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

FRONTS = (1, 2)


def prepare(folder: Path) -> str:
    """A month, and a data folder with its finished answers; the key of its account."""
    home, month, port = folder / "home", folder / "month", free_port()
    env = settings(home, port)
    generate(month, MONTH_ESTABLISHMENTS, seed=7, clean=True)
    with running(SERVE, port, env):
        pass  # the first start, which makes the data folder
    balcao(env, "opendata", "build", str(month), "--sandbox", "--force")
    balcao(env, "opendata", "answers", "--sandbox")
    return open_account(home)


def parts_of(pid: int) -> Mapping[str, Callable[[], Iterable[int]]]:
    """The house and its fronts, apart."""
    return {"house": lambda: [pid], "fronts": lambda: [each for each in family(pid) if each != pid]}


@contextlib.contextmanager
def serving(
    folder: Path, key: str, count: int, scripts: Mapping[str, Path], connections: int
) -> Iterator[list[Side]]:
    """A server of so many processes on a copy of the data folder; a side for each script."""
    home, port = folder / f"home-{count}", free_port()
    shutil.copytree(folder / "home", home)
    with running(SERVE, port, settings(home, port, fronts=str(count))) as pid:
        parts = parts_of(pid)
        yield [
            Side(
                f"{name}, fronts = {count}", [port], script, key, connections, parts, name == "cold"
            )
            for name, script in scripts.items()
        ]


def run(
    fronts: Sequence[int] = FRONTS,
    rounds: int = ROUNDS,
    seconds: int = SECONDS,
    connections: int = CONNECTIONS,
    where: Path | None = None,
) -> dict[str, float]:
    """Measure and print; returns the medians."""
    need_wrk()
    with contextlib.ExitStack() as open_:
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory(dir=where)))
        key = prepare(folder)
        cold = [PREFIX + document for document in documents_of(folder / "month")]
        scripts = {
            "cold": script_of(folder, "cold", cold),
            "hot": script_of(folder, "hot", cold[:HOT]),
        }
        served = [
            open_.enter_context(serving(folder, key, count, scripts, connections))
            for count in fronts
        ]
        sides = [side for pair in zip(*served, strict=True) for side in pair]
        for side in sides:
            shoot(side, 1)  # to warm up, and not counted
            side.shots.clear()
        take_turns(sides, rounds, seconds)
    print(machine(where))
    return report(f"python -m bench fronts   (medians, {connections} connections)", sides)


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench fronts")
    parser.add_argument("--fronts", type=int, nargs="+", default=FRONTS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--folder", type=Path, help="where the data folder should lie")
    given = parser.parse_args(words)
    run(given.fronts, given.rounds, given.seconds, given.connections, given.folder)


if __name__ == "__main__":
    main(sys.argv[1:])
