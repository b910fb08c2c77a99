"""Calls to sources: the time of `uf=BR`, and the rate of a batch, against another revision.

    .venv/bin/python -m bench outgoing [--before REVISION] [--rounds 3] [--lookups 40] [--rows 400]

27 simulated treasuries answer after 200 ms. Per round each revision serves once, in turn:
consecutive lookups of all UFs, each with 27 concurrent calls, and a batch whose every row is a call
for one UF. Printed are the median and the 95th percentile of the lookups, the processor time of the
service per call, and the rows per second of the batch.
"""

import argparse
import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from balcao.core.federation import UFS
from bench.alternate import ROOT, checked_out
from bench.batches import ENDED, Batches, table
from bench.registrations import (
    DELAY_MS,
    HOME,
    MA,
    WANTED_BR_MS,
    Service,
    ask_everywhere,
    client_of,
    companies,
    everywhere_settings,
    percentile,
    service,
    treasuries,
)


@dataclass
class Figures:
    """Results of one revision."""

    br_ms: list[float] = field(default_factory=list)
    call_cpu_ms: list[float] = field(default_factory=list)
    rows_per_second: list[float] = field(default_factory=list)


async def everywhere(at: Service, documents: Iterator[str], lookups: int, found: Figures) -> None:
    async with client_of(at) as client:
        for document in islice(documents, 3):  # warm-up: opens connections
            await ask_everywhere(client, document)
        before = at.cpu_ms()
        for document in islice(documents, lookups):
            took, missing = await ask_everywhere(client, document)
            assert not missing, f"no answer of {missing}"
            found.br_ms.append(took)
        found.call_cpu_ms.append((at.cpu_ms() - before) / lookups / len(UFS))


def batch(at: Service, documents: Sequence[str], found: Figures) -> None:
    client = Batches(at.port, at.key)
    operation = f"sintegra&uf={HOME}&cache_strategy=SO_ONLINE"
    number = client.create(table(list(documents)), operation, "chave-do-lote")
    client.confirm(number)
    began = time.monotonic()
    state = client.until(number, *ENDED)
    assert state["estado"] == "concluido", state
    found.rows_per_second.append(len(documents) / (time.monotonic() - began))


def run(before: str | None, rounds: int, lookups: int, rows: int) -> dict[str, Figures]:
    """Measure and print; returns the figures by revision."""
    with contextlib.ExitStack() as open_:
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory()))
        port = open_.enter_context(treasuries(DELAY_MS))
        trees = {"here": ROOT}
        if before is not None:
            trees = {before: open_.enter_context(checked_out(before)), **trees}
        found = {name: Figures() for name in trees}
        anywhere, at_home = companies(), companies(HOME)
        for number in range(rounds):
            for name, tree in trees.items():
                env = {**everywhere_settings(port, MA), "PYTHONPATH": str(tree / "src")}
                home = folder / f"{len(trees) * number}-{list(trees).index(name)}"
                with service(home, "sefaz", env) as at:
                    asyncio.run(everywhere(at, anywhere, lookups, found[name]))
                    batch(at, list(islice(at_home, rows)), found[name])
    print("python -m bench outgoing")
    print(f"  {'':14} {'BR p50':>8} {'BR p95':>8} {'CPU a call':>11} {'batch rows/s':>13}")
    for name, of in found.items():
        print(
            f"  {name:14} {statistics.median(of.br_ms):5.0f} ms {percentile(of.br_ms, 95):5.0f} ms"
            f" {statistics.median(of.call_cpu_ms):8.2f} ms"
            f" {statistics.median(of.rows_per_second):13.1f}"
        )
    good = statistics.median(found["here"].br_ms) <= WANTED_BR_MS
    print(f"  wanted: BR p50 <= {WANTED_BR_MS:.0f} ms: {'ok' if good else 'MISSED'}")
    return found


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench outgoing")
    parser.add_argument("--before", metavar="REVISION", help="to be measured as well")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--lookups", type=int, default=40, help="per round")
    parser.add_argument("--rows", type=int, default=400, help="of each batch")
    given = parser.parse_args(words)
    run(given.before, given.rounds, given.lookups, given.rows)
