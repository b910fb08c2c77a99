"""One lookup of an instant source: the time that the service adds, and its parts.

    .venv/bin/python -m bench source

A live account of a real `balcao serve` queries a real `balcao simulator serve`, one request after
the other; rounds alternate with direct requests of the same client to the simulator. Once with the
data folder on the disk and once, if there is one, on a RAM disk: the difference is the flushes of
two commits. Also, in this process: a call through `Upstream` against plain clients, wall clock and
processor time.
"""

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import httpx2

from balcao.sources.contract import HttpReply, HttpRequest
from balcao.sources.upstream import Upstream
from bench.registrations import (
    HOME,
    HOST,
    WANTED_OVERHEAD_MS,
    Report,
    ask_one,
    ask_vendor,
    companies,
    fsync_ms,
    service,
    simulator,
)

ROUNDS = 12
ASKED_PER_ROUND = 40
CALLS_PER_ROUND = 200
RAM = Path("/dev/shm")


def lookups(port: int, folder: Path, what: str, documents: Iterator[str], report: Report) -> None:
    """Time lookups through the service against the source itself."""
    cnpja = {"BALCAO_CNPJA__URL": f"{HOST}:{port}/cnpja", "BALCAO_CNPJA__KEY": "sandbox"}
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(service(folder, "cnpja", cnpja))
        by_us, itself = ask_one(stack, ours), ask_vendor(stack, port)
        took: dict[str, list[float]] = {"ours": [], "itself": []}
        cpu_ms = 0.0
        for number in range(ROUNDS + 1):
            if number == 1:  # the first round is a warm-up
                cpu_ms = ours.cpu_ms()
                took = {"ours": [], "itself": []}
            for name, ask in (("ours", by_us), ("itself", itself)):
                took[name] += [ask(document) for document in islice(documents, ASKED_PER_ROUND)]
        cpu_ms = (ours.cpu_ms() - cpu_ms) / len(took["ours"])
    fastest = {name: statistics.quantiles(values, n=10)[0] for name, values in took.items()}
    middle = {name: statistics.median(values) for name, values in took.items()}
    report.note(f"{what}: a lookup, p50 ({len(took['ours'])})", middle["ours"], "ms")
    report.note(f"{what}: the source itself, p50", middle["itself"], "ms")
    report.note(f"{what}: our processor time per lookup", cpu_ms, "ms")
    more = middle["ours"] - middle["itself"]
    report.at_most(f"{what}: ours over the source's, p50", more, WANTED_OVERHEAD_MS, "ms")
    report.note(f"{what}: ours over the source's, p10", fastest["ours"] - fastest["itself"], "ms")


Ask = Callable[[], Awaitable[int]]


async def calls(port: int, report: Report) -> None:
    """Time one small request, by `Upstream` and by plain clients."""
    path = "/minha-receita/healthz"
    upstream = Upstream("bench", f"{HOST}:{port}", timeout_seconds=30, answer_bytes_max=1_000_000)

    def asked() -> Generator[HttpRequest, HttpReply, int]:
        reply = yield HttpRequest("GET", path)
        return reply.status

    async def by_upstream() -> int:
        return await upstream.run(asked()) or 0

    async with (
        httpx2.AsyncClient(trust_env=False) as client,
        httpx2.AsyncHTTPTransport() as transport,
    ):

        async def by_client() -> int:
            return (await client.get(f"{HOST}:{port}{path}")).status_code

        async def by_transport() -> int:
            request = httpx2.Request("GET", f"{HOST}:{port}{path}")
            reply = await transport.handle_async_request(request)
            await reply.aread()
            await reply.aclose()
            return reply.status_code

        contestants: Mapping[str, Ask] = {
            "Upstream": by_upstream,
            "httpx2, its client": by_client,
            "httpx2, its transport": by_transport,
        }
        took: dict[str, list[float]] = {name: [] for name in contestants}
        spent: dict[str, list[float]] = {name: [] for name in contestants}
        for number in range(ROUNDS + 1):
            for name, ask in contestants.items():
                begun, cpu = time.perf_counter(), time.thread_time()
                for _ in range(CALLS_PER_ROUND):
                    assert await ask() == 200
                if number:
                    took[name].append((time.perf_counter() - begun) / CALLS_PER_ROUND * 1000)
                    spent[name].append((time.thread_time() - cpu) / CALLS_PER_ROUND * 1000)
    await upstream.close()
    for name in contestants:
        report.note(f"a call by {name}: wall clock", statistics.median(took[name]), "ms")
        report.note(f"a call by {name}: processor time", statistics.median(spent[name]), "ms")


def run() -> Report:
    """Measure and print."""
    report, documents = Report("source"), companies(HOME)
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folders = {"disk": Path(temporary)}
        if RAM.is_dir():
            folders["RAM disk"] = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=RAM)))
        report.note("one flush (fdatasync), p50", fsync_ms(Path(temporary)), "ms")
        port = stack.enter_context(simulator(0))
        for what, folder in folders.items():
            lookups(port, folder / "home", what, documents, report)
        asyncio.run(calls(port, report))
    report.print()
    return report


def main(words: Sequence[str]) -> None:
    argparse.ArgumentParser(prog="bench source").parse_args(words)
    run()


if __name__ == "__main__":
    main(sys.argv[1:])
