"""Speed of importing a month, against `unzip -p | wc -l` over the same zips; and of lookups.

Generates a month (once per working folder), then measures in turns, so that other load affects
both: unzip alone, and an import in a fresh process. The full month is extrapolated from imports
with compressed spill files, as it would use.

    .venv/bin/python -m bench import [FOLDER [ESTABLISHMENTS]]
"""

import argparse
import json
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from balcao.core.documents import Cnpj
from balcao.opendata import plan
from balcao.opendata.archive import discover, read_chunks
from balcao.opendata.generator import generate
from balcao.opendata.importer import build
from balcao.opendata.snapshot import Snapshot

ROUNDS = 3
LOOKUPS = 20_000
ESTABLISHMENTS = 3_000_000
FULL_ESTABLISHMENTS = 73_000_000
FULL_CSV_BYTES = 28.4e9
TODAY = date(2026, 9, 1)

_UNZIP = 'for zip in "$0"/*.zip; do unzip -p "$zip"; done | wc -l'
_COMPRESSED = "compressed"


def run(workdir: Path, establishments: int = 3_000_000) -> dict[str, float]:
    """Measure, print, and return the figures."""
    folder = _month(workdir, establishments)
    parts = discover([folder]).parts
    csv_bytes = sum(part.bytes for part in parts)
    store = workdir / "store"

    unzips, imports, packed, disks = [], [], [], []
    last: dict[str, float] = {}
    for _ in range(ROUNDS):
        unzips.append(_seconds_of_unzip(folder))
        last, _ = _import(folder, store, "plain")
        imports.append(last["seconds"])
        compressed, disk = _import(folder, store, _COMPRESSED)
        packed.append(compressed["seconds"])
        disks.append(disk)

    figures = {
        "establishments": float(establishments),
        "csv_mb": csv_bytes / 1e6,
        "unzip_seconds": statistics.median(unzips),
        "import_seconds": statistics.median(imports),
        "import_compressed_seconds": statistics.median(packed),
        "peak_rss_mb_main": last["rss_main_mb"],
        "peak_rss_mb_worker": last["rss_worker_mb"],
        "bytes_per_establishment": last["bytes_on_disk"] / establishments,
        "peak_disk_per_csv_byte": max(disks) / csv_bytes,
        "lookup_us": _lookup_us(store, folder),
    }
    figures["ratio"] = figures["import_seconds"] / figures["unzip_seconds"]
    scale = FULL_CSV_BYTES / csv_bytes
    figures["full_minutes"] = figures["import_compressed_seconds"] * scale / 60
    figures["full_disk_gb"] = figures["bytes_per_establishment"] * FULL_ESTABLISHMENTS / 1e9
    figures["full_peak_disk_gb"] = figures["peak_disk_per_csv_byte"] * FULL_CSV_BYTES / 1e9
    _print(figures, unzips, imports, packed)
    shutil.rmtree(store)
    return figures


def _month(workdir: Path, establishments: int) -> Path:
    folder = workdir / f"month-{establishments}"
    if not folder.exists():
        temporary = workdir / f"month-{establishments}.part"
        shutil.rmtree(temporary, ignore_errors=True)
        generate(temporary, establishments, seed=1, workers=2)
        temporary.rename(folder)
    return folder


def _seconds_of_unzip(folder: Path) -> float:
    began = time.perf_counter()
    subprocess.run(["sh", "-c", _UNZIP, folder], check=True, capture_output=True)
    return time.perf_counter() - began


def _import(folder: Path, store: Path, spill: str) -> tuple[dict[str, float], int]:
    """Import in a separate process; return its figures and the store's peak size."""
    shutil.rmtree(store, ignore_errors=True)
    module = [sys.executable, "-m", "bench.import_month"]
    command = [*module, "--one", str(folder), str(store), spill]
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            peak = max(peak, _bytes_in(store))
            time.sleep(0.1)
        assert process.stdout is not None
        output = process.stdout.read()
    assert process.returncode == 0
    return json.loads(output), peak


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # removed by the import meanwhile
            continue
    return total


def _one(folder: Path, store: Path, spill: str) -> None:
    if spill == _COMPRESSED:
        plan.PLAIN_SPILL_CSV_BYTES_MAX = 0
    report = build([folder], store, today=TODAY, workers=2)
    figures = {
        "seconds": report.seconds,
        "bytes_on_disk": report.bytes_on_disk,
        "rss_main_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "rss_worker_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    }
    print(json.dumps(figures))


def _lookup_us(store: Path, folder: Path) -> float:
    """Return microseconds per lookup of CNPJs from all parts, in random order, after a warm-up."""
    chance = random.Random(1)
    cnpjs: list[Cnpj] = []
    for part in discover([folder]).parts:
        if part.table == "Estabelecimentos":
            rows = [row.split(b'"') for row in next(read_chunks(part))[0].split(b"\n")[1:-1]]
            good = [row for row in rows if len(row) == 61]
            cnpjs += [Cnpj((row[1] + row[3] + row[5]).decode()) for row in good]
    chance.shuffle(cnpjs)
    del cnpjs[LOOKUPS:]
    snapshot = Snapshot.open(next(store.glob("*.snapshot")))
    took = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        for cnpj in cnpjs:
            assert snapshot.find(cnpj) is not None
        took.append((time.perf_counter() - began) / len(cnpjs) * 1e6)
    snapshot.close()
    return statistics.median(took[1:])


def _print(figures: dict[str, float], *series: list[float]) -> None:
    for name, values in zip(("unzip", "import", "import, compressed"), series, strict=True):
        print(f"{name:>20}: {', '.join(f'{value:.2f}' for value in values)} s")
    for name, value in figures.items():
        print(f"{name:>28}  {value:,.2f}")


def main(arguments: list[str]) -> None:
    """Parse the command line and run."""
    if arguments[:1] == ["--one"]:
        _one(Path(arguments[1]), Path(arguments[2]), arguments[3])
        return
    parser = argparse.ArgumentParser(prog="bench import")
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
