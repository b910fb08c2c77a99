"""A month fetched from a share on a bad day, again and again: is it always the right one?

    .venv/bin/python -m bench fetch --runs 200

Each run has chance of its own: the month appears file by file over some minutes, files are empty,
half, or of another extraction of the same sizes at first; answers break off or stall at any byte,
ignore ranges, refuse, begin elsewhere, have a wrong byte; the token changes; the process is killed.
What follows is what the service does: it looks again when it may, until the month is in use. Ends
with an AssertionError if another month ever is, or if one zip is not what was published at last.
Time passes only on paper, so 200 runs take some minutes.
"""

import argparse
import tempfile
import time
from collections import Counter
from datetime import date
from pathlib import Path

from tests.opendata.fetching import NOVEMBER, OCTOBER, bad_day, zips_of

OTHER = date(2026, 11, 7)  # another extraction of the same month


def main(words: list[str]) -> None:
    asked = argparse.ArgumentParser(prog="python -m bench fetch")
    asked.add_argument("--runs", type=int, default=200)
    asked.add_argument("--seed", type=int, default=0, help="of the first run")
    told = asked.parse_args(words)
    began, counts = time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = zips_of(folder / "before", OCTOBER)
        right = zips_of(folder / "right", NOVEMBER)
        # Of the same sizes, or of others: the first is harder to find out.
        wrongs = [
            zips_of(folder / "same sizes", OTHER),
            zips_of(folder / "other sizes", OTHER, seed=8),
        ]
        for run in range(told.runs):
            seed = told.seed + run
            counts += bad_day(seed, folder / f"run{run}", before, right, wrongs[seed % 2])
            if (run + 1) % 50 == 0:
                print(f"{run + 1} runs, {time.monotonic() - began:.0f} s", flush=True)
    print(f"the right month, and no other, in {told.runs} of {told.runs} runs")
    print("went wrong meanwhile: " + ", ".join(f"{kind} {n}" for kind, n in sorted(counts.items())))
