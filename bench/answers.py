"""Cost of building one finished answer of a month, and of compressing it alone.

Generates and imports a month (once per working folder), then builds its answers in fresh processes
and prints the processor time per establishment. Compression is a fixed part of it, so on a shared
machine the ratio is more meaningful than either.

    .venv/bin/python -m bench answers [FOLDER [ESTABLISHMENTS]]
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import date
from pathlib import Path

import apsw
import zstandard

from balcao.opendata.answers import finish
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.providers.opendata.adapter import finished_company

ROUNDS = 3
ESTABLISHMENTS = 300_000
TODAY = date(2026, 9, 1)


def run(workdir: Path, establishments: int = ESTABLISHMENTS) -> dict[str, float]:
    """Measure, print, and return the figures per establishment, in microseconds and bytes."""
    store = workdir / f"store-{establishments}"
    if not store.exists():
        generate(workdir / f"month-{establishments}", establishments, seed=1, workers=2)
        build([workdir / f"month-{establishments}"], store, today=TODAY, workers=2)
    module = [sys.executable, "-m", "bench.answers", "--one", str(store), str(establishments)]
    rounds: list[dict[str, float]] = []
    for _ in range(ROUNDS):
        done = subprocess.run(module, check=True, capture_output=True, text=True)
        rounds.append(json.loads(done.stdout))
    figures = {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}
    for name, value in figures.items():
        print(f"{name:>16}  {value:,.2f}")
    return figures


def _one(store: Path, establishments: int) -> dict[str, float]:
    for path in store.glob("*.answers"):
        path.unlink()
    began = time.process_time()
    path = finish(store, finished_company)
    built = time.process_time() - began
    packed = _pack(path)
    return {
        "build_us": built / establishments * 1e6,
        "compress_us": packed * 1e6,
        "ratio": built / establishments / packed,
        "bytes": path.stat().st_size / establishments,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _pack(path: Path) -> float:
    """Return the processor time in seconds to compress one answer as in the file."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        trained = connection.execute("SELECT value FROM meta WHERE name = 'dictionary'").get
        packed = connection.execute("SELECT body FROM answer LIMIT 20000").get
    dictionary = zstandard.ZstdCompressionDict(trained)
    unpack = zstandard.ZstdDecompressor(dict_data=dictionary).decompress
    bodies = [unpack(body) for body in packed]
    dictionary.precompute_compress(level=3)
    pack = zstandard.ZstdCompressor(level=3, dict_data=dictionary, write_checksum=True).compress
    began = time.process_time()
    for body in bodies:
        pack(body)
    return (time.process_time() - began) / len(bodies)


def main(arguments: list[str]) -> None:
    """Parse the command line and run."""
    if arguments[:1] == ["--one"]:
        print(json.dumps(_one(Path(arguments[1]), int(arguments[2]))))
        return
    parser = argparse.ArgumentParser(prog="bench answers")
    parser.add_argument("folder", nargs="?", type=Path, help="kept, with what is generated in it")
    parser.add_argument("establishments", nargs="?", type=int, default=ESTABLISHMENTS)
    given = parser.parse_args(arguments)
    if given.folder is not None:
        run(given.folder, given.establishments)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), given.establishments)


if __name__ == "__main__":
    main(sys.argv[1:])
