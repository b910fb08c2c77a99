"""Cost of a change: another revision against the working tree, in processor time per request.

    .venv/bin/python -m bench alternate --before REVISION [--rounds 12] [--figures cold cached ...]

Each serves its own data folder, made by its own code, and they are asked in the order A B B A for
each figure. Processor time is compared, since other load on the machine affects it least. Printed
is the median of the blocks' ratios with its 95 % interval (as the notch of a box plot: 1.57 times
the interquartile range divided by the root of their number).
"""

import argparse
import contextlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from stdnum.br.cnpj import calc_check_digits

from balcao.opendata.generator import generate
from bench.http import FEDERAL, HOT, MONTH_ESTABLISHMENTS, cacheable, kept
from bench.load import CONNECTIONS, Side, machine, need_wrk, only, script_of, shoot
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

ROUNDS, SECONDS = 12, 1
ONLINE = "cache_strategy=SO_ONLINE"
ASKED_ONLINE = 200
ROOT = Path(__file__).parent.parent
FIGURES = (
    "cold",
    "hot",
    *(f"cached {name}" for name in cacheable()),
    "online company",
    "online registrations",
    "online federal certificate",
)


@contextlib.contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """Create a worktree of a revision and remove it afterwards."""
    with tempfile.TemporaryDirectory(prefix="bench-before-") as temporary:
        tree = Path(temporary) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(tree), revision], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


@contextlib.contextmanager
def serving(tree: Path, folder: Path, month: Path, names: Sequence[str]) -> Iterator[list[Side]]:
    """Serve from this tree; yields one side for each figure."""
    port = free_port()
    env = settings(folder / "home", port) | {"PYTHONPATH": str(tree / "src")}
    with running(SERVE, port, env):
        pass  # the first start, which makes the data folder
    balcao(env, "opendata", "build", str(month), "--sandbox", "--force")
    if (tree / "src/balcao/opendata/answers.py").exists():
        balcao(env, "opendata", "answers", "--sandbox")
    key = account_by_words(env, "bench")
    with running(SERVE, port, env) as pid:
        yield [
            Side(
                name,
                [port],
                script_of(folder, name.replace(" ", "-"), paths),
                key,
                # Requests pending at the end of a round would distort few, expensive answers.
                connections=8 if name.startswith("online") else CONNECTIONS,
                parts=only(pid),
                cold=name == "cold",
            )
            for name, paths in addresses(month, port, key, names)
        ]


def addresses(
    month: Path, port: int, key: str, names: Sequence[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the requested paths of each figure."""
    cold = [PREFIX + document for document in documents_of(month)]
    elsewhere = companies_elsewhere(ASKED_ONLINE)
    some = {
        "cold": cold,
        "hot": cold[:HOT],
        "online company": [f"{PREFIX}{each}?{ONLINE}" for each in elsewhere],
        "online registrations": [
            f"/consultas/v2/sintegra/{each}?uf=SP&{ONLINE}" for each in elsewhere
        ],
        "online federal certificate": [
            f"{FEDERAL}?cnpj={each}&{ONLINE}" for each in certified(ASKED_ONLINE)
        ],
    }
    for name in names:
        if name in some:
            yield name, some[name]
        else:
            yield name, kept(port, key, cacheable()[name.removeprefix("cached ")])


def certified(count: int) -> list[str]:
    """Return companies that always have a federal certificate in the sandbox."""
    bases = (f"9004{number:04d}0001" for number in range(1, count + 1))
    return [base + calc_check_digits(base) for base in bases]


def run(
    revision: str, figures: Sequence[str] = FIGURES, rounds: int = ROUNDS, seconds: int = SECONDS
) -> dict[str, float]:
    """Measure and print; returns after / before by figure."""
    need_wrk()
    with contextlib.ExitStack() as open_:
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory(prefix="bench-alternate-")))
        generate(folder / "month", MONTH_ESTABLISHMENTS, seed=7, clean=True)
        trees = {"before": open_.enter_context(checked_out(revision)), "after": ROOT}
        sides = {}
        for name, tree in trees.items():
            (folder / name).mkdir()
            serves = serving(tree, folder / name, folder / "month", figures)
            sides[name] = open_.enter_context(serves)
        pairs = list(zip(sides["before"], sides["after"], strict=True))
        for pair in pairs:
            for side in pair:
                shoot(side, seconds)  # warm-up, not counted
                side.shots.clear()
        for number in range(rounds):
            for before, after in pairs:
                for side in (before, after, after, before):
                    # Online answers take ten times as long, and there must be enough of them.
                    shoot(side, 3 * seconds if "online" in side.name else seconds)
            print(f"  {number + 1}/{rounds}", flush=True)
    print(machine())
    print(f"\npython -m bench alternate --before {revision}   (processor time a request)")
    return {before.name: _compare(before, after) for before, after in pairs}


def _compare(before: Side, after: Side) -> float:
    """Print one figure; return after / before."""
    ratios = [new / old for old, new in zip(_blocks(before), _blocks(after), strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    spread = 1.57 * (high - low) / len(ratios) ** 0.5
    refused = [sum(shot.refused for shot in side.shots) for side in (before, after)]
    rate = [side.median(lambda shot: shot.per_second) for side in (before, after)]
    print(
        f"  {before.name:28s} {statistics.median(_blocks(before)):6.0f} us ->"
        f" {statistics.median(_blocks(after)):6.0f} us  ratio {middle:5.3f} ± {spread:5.3f}"
        f"  {rate[0]:7.0f}/s -> {rate[1]:7.0f}/s  refused {refused[0]}, {refused[1]}"
    )
    return middle


def _blocks(side: Side) -> list[float]:
    """Return the processor time per request over both shots of each block A B B A."""
    pairs = zip(side.shots[::2], side.shots[1::2], strict=True)
    return [
        (one.us["cpu"] * one.requests + two.us["cpu"] * two.requests)
        / (one.requests + two.requests)
        for one, two in pairs
    ]


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench alternate")
    parser.add_argument("--before", required=True, help="a git revision")
    parser.add_argument("--figures", nargs="+", choices=FIGURES, default=FIGURES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    given = parser.parse_args(words)
    run(given.before, given.figures, given.rounds, given.seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
