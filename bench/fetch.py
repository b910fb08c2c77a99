"""Fetch a month repeatedly from a share with random faults, and check the result.

    .venv/bin/python -m bench fetch --runs 200

Each run has its own random faults: the month appears file by file over some minutes; files are at
first empty, partial, or of another extraction with equal sizes; answers break off or stall at any
byte, ignore ranges, refuse, begin elsewhere, have a wrong byte; the token changes; the process is
killed. The driver acts like the service: it looks again when it may, until the month is in use.
Fails with an AssertionError if another month is ever in use, or a zip differs from the last
published one. Time is simulated, so 200 runs take some minutes.
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
    parser = argparse.ArgumentParser(prog="python -m bench fetch")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    arguments = parser.parse_args(words)
    began, counts = time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = zips_of(folder / "before", OCTOBER)
        right = zips_of(folder / "right", NOVEMBER)
        # With equal sizes or others: the first is harder to detect.
        wrongs = [
            zips_of(folder / "same sizes", OTHER),
            zips_of(folder / "other sizes", OTHER, seed=8),
        ]
        for run in range(arguments.runs):
            seed = arguments.seed + run
            counts += bad_day(seed, folder / f"run{run}", before, right, wrongs[seed % 2])
            if (run + 1) % 50 == 0:
                print(f"{run + 1} runs, {time.monotonic() - began:.0f} s", flush=True)
    print(f"the right month, and no other, in {arguments.runs} of {arguments.runs} runs")
    print("went wrong meanwhile: " + ", ".join(f"{kind} {n}" for kind, n in sorted(counts.items())))
