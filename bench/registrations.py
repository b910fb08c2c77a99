"""Online lookups of state registrations: the time that the service adds to that of its sources.

    .venv/bin/python -m bench registrations

Live accounts of a real `balcao serve` query a real `balcao simulator serve`, all on 127.0.0.1. For
27 UFs at once the simulator also has a treasury of MA, which it normally lacks, and accepts 1 728
connections instead of 128: `python -m bench.registrations treasuries PORT DELAY_MS`. Every answer
is compared with the simulated treasuries' data. Server, simulator and load generator share the
machine's cores: with few of them the figures of 27 UFs at once describe all three together more
than the service; the rate of a plain client is printed for comparison.
"""

import argparse
import asyncio
import contextlib
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count, islice
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import msgspec
from granian.constants import Interfaces
from granian.log import LogLevels
from granian.server.embed import Server
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from stdnum.br.cnpj import calc_check_digits

from balcao.core.documents import Cnpj
from balcao.core.federation import UFS
from balcao.fiction import registrations_of
from balcao.home import Home
from balcao.operations.state_registration.operation import StateRegistrationLookup
from balcao.providers.sefaz.message import request_body, request_headers
from balcao.providers.sefaz.settings import endpoint
from balcao.providers.sefaz.simulator import taxpayers
from balcao.providers.sefaz.simulator.request_reader import read_request
from balcao.providers.sefaz.simulator.response_writer import TreasuryReplies
from balcao.providers.sefaz.simulator.treasuries import Treasury
from balcao.providers.simulation.app import create_server_app
from balcao.providers.simulation.messages import asgi_response, simulated_request
from bench.ledger import fsyncs
from bench.load import family, threads_ns
from bench.serving import SERVE, free_port, open_account, running, settings

HOST = "http://127.0.0.1"
PATH = f"/consultas/v2/{StateRegistrationLookup.path}/"

MA, NEVER = "/ma", "/never"

# Every part ends when its count or its time is reached, whichever comes first.
DELAY_MS = 200
EVERYWHERE = 120
BARE = 30
EVERYWHERE_SECONDS = 45.0

HOME = "SP"
DELAYS_MS = (0, 20)
ROUNDS = 8
ASKED_PER_ROUND = {0: 50, 20: 15}
ONE_SECONDS = 20.0  # per delay

TOGETHER = 64
WAVES = 4
WAVES_SECONDS = 25.0

DEADLINE_SECONDS = 2.0
HOLE_FIRST = 5  # consecutive failures that open a circuit
HOLE_SECONDS = 17.0  # a little more than the time until a circuit is probed

WANTED_BR_MS = 260.0
WANTED_OVERHEAD_MS = 3.0
WANTED_MB = 300.0
WANTED_HOLE_MS = DEADLINE_SECONDS * 1000 + 250


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    what: str
    reached: str
    target: str = ""
    good: bool | None = None


@dataclass
class Report:
    """Figures, for people and for programs."""

    bench: str = "registrations"
    rows: list[Row] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)

    def note(self, name: str, value: float, unit: str = "") -> None:
        """Add a figure without a target, which explains the others."""
        self.figures[name] = value
        self.rows.append(Row(name, _shown(value, unit)))

    def at_most(self, name: str, value: float, limit: float, unit: str = "") -> None:
        self.figures[name] = value
        target = f"<= {_shown(limit, unit)}"
        self.rows.append(Row(name, _shown(value, unit), target, value <= limit))

    def print(self) -> None:
        print(f"\npython -m bench {self.bench}   ({os.cpu_count()} cores, load included)")
        print(f"  {'what':58s} {'reached':>12s}   wanted")
        for row in self.rows:
            verdict = {None: "", True: "  ok", False: "  MISSED"}[row.good]
            print(f"  {row.what:58s} {row.reached:>12s}   {row.target}{verdict}".rstrip())


def _shown(value: float, unit: str) -> str:
    places = 0 if value == int(value) else 1 if value >= 10 else 2
    number = f"{value:.{places}f}"
    return f"{number} {unit}".rstrip()


# Requests and expected answers.


def companies(uf: str | None = None) -> Iterator[str]:
    """Yield companies that are registered in some UF, or in this one, without repetitions.

    For one without registrations the service would ask the company registry too.
    """
    for number in count():
        base = f"7{number:07d}0001"
        cnpj = base + calc_check_digits(base)
        if any(uf is None or each.uf == uf for each in registrations_of(cnpj)):
            yield cnpj


class _Origin(msgspec.Struct):
    uf: str
    origem: str


class _Registered(msgspec.Struct):
    inscricao_estadual: str
    uf: str


class _Answer(msgspec.Struct):
    cnpj: str
    inscricoes_estaduais: list[_Registered]
    ufs: list[_Origin] | None = None


class Refused(Exception):
    """There was no answer."""


def unanswered(reply: httpx2.Response, document: str, asked: Sequence[str] = UFS) -> set[str]:
    """Return the UFs that did not answer. All other content must be correct, and charged."""
    if reply.status_code != 200:
        raise Refused(f"{reply.status_code} {reply.text[:200]}")
    answer = msgspec.json.decode(reply.content, type=_Answer)
    silent: set[str] = set()
    if answer.ufs is not None:
        assert [each.uf for each in answer.ufs] == list(asked)
        silent = {each.uf for each in answer.ufs if each.origem == "indisponivel"}
        assert all(each.origem == "online" for each in answer.ufs if each.uf not in silent)
    registrations = sorted(
        (each.uf, each.inscricao_estadual) for each in answer.inscricoes_estaduais
    )
    answered = set(asked) - silent
    known = sorted(
        (each.uf, each.number) for each in registrations_of(document) if each.uf in answered
    )
    assert (answer.cnpj, registrations) == (document, known)
    assert int(reply.headers["x-creditos-cobrados"]) == len(answered)
    return silent


# Servers.


@contextlib.contextmanager
def simulator(delay_ms: int) -> Iterator[int]:
    """Run `balcao simulator serve`; yields its port."""
    port = free_port()
    words = ["simulator", "serve", "--port", str(port), "--delay-ms", str(delay_ms)]
    with running([sys.executable, "-m", "balcao", *words], port, {}):
        yield port


@contextlib.contextmanager
def treasuries(delay_ms: int) -> Iterator[int]:
    """Run the simulator with more connections and with MA; yields its port."""
    port = free_port()
    words = ["treasuries", str(port), str(delay_ms)]
    with running([sys.executable, "-m", "bench.registrations", *words], port, {}):
        yield port


async def serve_treasuries(port: int, delay_ms: int) -> None:
    """Run the server of `treasuries`, with two of MA: one answers, the other never does."""
    others = create_server_app(delay_seconds=delay_ms / 1000)
    maranhao = Treasury(MA, "MA", frozenset({"MA"}), "MA")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in (f"/sefaz{MA}", f"/sefaz{NEVER}"):
            await others(scope, receive, send)
            return
        request = await simulated_request(Request(scope, receive), "/sefaz")
        if request.path == NEVER:
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        asked = read_request(request.body, "", needs_wrapper=False)
        await asyncio.sleep(delay_ms / 1000)
        voice = TreasuryReplies(maranhao, asked, datetime.now(UTC))
        answer = asgi_response(voice.registrations_reply(taxpayers.company(asked.argument)))
        await answer(scope, receive, send)

    await Server(
        app,
        port=port,
        interface=Interfaces.ASGI,
        websockets=False,
        backlog=4096,
        backpressure=4096,  # connections, idle ones included; 64 times 27 will come
        log_level=LogLevels.error,
    ).serve()


@dataclass(frozen=True)
class Service:
    """A `balcao serve` and a live account of it."""

    port: int
    key: str
    pid: int

    @property
    def url(self) -> str:
        return f"{HOST}:{self.port}"

    def headers(self) -> Mapping[str, str]:
        return {"x-api-key": self.key}

    def calls(self) -> Counter[tuple[str, str]]:
        """Return calls to sources so far, by UF and outcome."""
        text = httpx2.get(f"{self.url}/metrics", trust_env=False).text
        found = Counter[tuple[str, str]]()
        for measured in text_string_to_metric_families(text):
            for sample in measured.samples:
                if sample.name == "balcao_source_calls_total":
                    found[sample.labels["uf"], sample.labels["outcome"]] += int(sample.value)
        return found

    def cpu_ms(self) -> float:
        """Return the processor time of the process so far, in all its threads."""
        return sum(threads_ns(family(self.pid)).values()) / 1e6

    def memory_mb(self, line: str) -> float:
        """Return `VmHWM` or `VmRSS` of the process."""
        for each in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if each.startswith(f"{line}:"):
                return int(each.split()[1]) / 1024
        raise LookupError(line)


@contextlib.contextmanager
def service(home: Path, source: str, env: Mapping[str, str]) -> Iterator[Service]:
    """Run the service on a new data folder, with one source of registrations."""
    port = free_port()
    Home(home).create()
    Home(home).pepper()  # before the database exists, which needs it
    key = open_account(home, "live")
    chosen = settings(
        home, port, company_sources='["snapshot"]', state_registration_sources=f'["{source}"]'
    )
    with running(SERVE, port, chosen | {"NO_PROXY": "127.0.0.1"} | dict(env)) as pid:
        yield Service(port, key, pid)


def everywhere_settings(port: int, ma: str) -> Mapping[str, str]:
    """Return settings for all 27 UFs at one address; `ma` is the path of the additional one."""
    return {
        "BALCAO_SEFAZ__URL": f"{HOST}:{port}/sefaz",
        "BALCAO_SEFAZ__ENDPOINTS": msgspec.json.encode({"MA": f"https://ma.invalid{ma}"}).decode(),
    }


def addresses(port: int) -> Mapping[str, str]:
    """Return the addresses for a client that queries the treasuries directly."""
    paths = {uf: urlsplit(endpoint("production", uf) or "").path for uf in UFS}
    return {uf: f"{HOST}:{port}/sefaz{path or MA}" for uf, path in paths.items()}


# Consecutive BR lookups.


async def ask_everywhere(client: httpx2.AsyncClient, document: str) -> tuple[float, set[str]]:
    """Make one BR lookup; return milliseconds, and the UFs that did not answer."""
    query = {"uf": "BR", "cache_strategy": "SO_ONLINE"}
    start = time.perf_counter()
    reply = await client.get(PATH + document, params=query)
    took = (time.perf_counter() - start) * 1000
    return took, unanswered(reply, document)


async def ask_bare(client: httpx2.AsyncClient, urls: Mapping[str, str], document: str) -> float:
    """Send the same concurrent questions without the service; return milliseconds."""

    async def one(uf: str, url: str) -> None:
        body = request_body(uf, Cnpj(document), with_header=False)
        reply = await client.post(url, content=body, headers=request_headers(uf))
        assert reply.status_code == 200, reply.text

    start = time.perf_counter()
    await asyncio.gather(*(one(uf, url) for uf, url in urls.items()))
    return (time.perf_counter() - start) * 1000


def client_of(at: Service, connections: int = 1) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        base_url=at.url,
        headers=at.headers(),
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
        timeout=60,
        trust_env=False,
    )


async def everywhere(
    at: Service, urls: Mapping[str, str], documents: Iterator[str], report: Report
) -> None:
    """Run part 1."""
    ours: list[float] = []
    bare: list[float] = []
    silent = 0
    limits = httpx2.Limits(max_connections=len(UFS), max_keepalive_connections=len(UFS))
    async with (
        client_of(at) as client,
        httpx2.AsyncClient(trust_env=False, timeout=30, limits=limits) as direct,
    ):
        for document in islice(documents, 3):  # warm-up: opens connections
            await ask_everywhere(client, document)
            await ask_bare(direct, urls, document)
        before = at.calls().total()
        until = time.monotonic() + EVERYWHERE_SECONDS
        while len(ours) < EVERYWHERE and time.monotonic() < until:
            took, missing = await ask_everywhere(client, next(documents))
            ours.append(took)
            silent += len(missing)
            if len(ours) % (EVERYWHERE // BARE) == 0:
                bare.append(await ask_bare(direct, urls, next(documents)))
    calls = (at.calls().total() - before) / len(ours)
    report.note(f"BR, 27 UFs of {DELAY_MS} ms, 1 connection: requests", len(ours))
    report.at_most("BR: p50", statistics.median(ours), WANTED_BR_MS, "ms")
    report.note("BR: p95", percentile(ours, 95), "ms")
    report.note("BR: p99", percentile(ours, 99), "ms")
    report.at_most("BR: calls to sources per request", calls, len(UFS))
    report.at_most("BR: UFs that did not answer", silent, 0)
    report.note("BR: the same 27 by a bare httpx2 client, p50", statistics.median(bare), "ms")


def percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


# One UF: the service against the source itself.


def overhead(folder: Path, delay_ms: int, documents: Iterator[str], report: Report) -> None:
    """Run part 2, for one delay."""
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(simulator(delay_ms))
        base = f"{HOST}:{port}"
        sefaz = {"BALCAO_SEFAZ__URL": f"{base}/sefaz"}
        cnpja = {"BALCAO_CNPJA__URL": f"{base}/cnpja", "BALCAO_CNPJA__KEY": "sandbox"}
        by_sefaz = stack.enter_context(service(folder / f"sefaz-{delay_ms}", "sefaz", sefaz))
        by_cnpja = stack.enter_context(service(folder / f"cnpja-{delay_ms}", "cnpja", cnpja))
        contestants: Mapping[str, Callable[[str], float]] = {
            "sefaz": ask_one(stack, by_sefaz),
            "sefaz itself": ask_treasury(stack, port),
            "cnpja": ask_one(stack, by_cnpja),
            "cnpja itself": ask_vendor(stack, port),
        }
        took: dict[str, list[float]] = {name: [] for name in contestants}
        cpu: dict[str, float] = {}
        until = time.monotonic() + ONE_SECONDS
        for number in range(ROUNDS + 1):
            if number > 2 and time.monotonic() > until:
                break
            if number == 1:  # the first round is a warm-up
                cpu = {"sefaz": by_sefaz.cpu_ms(), "cnpja": by_cnpja.cpu_ms()}
            for name, ask in contestants.items():
                for document in islice(documents, ASKED_PER_ROUND[delay_ms]):
                    milliseconds = ask(document)
                    if number:
                        took[name].append(milliseconds)
        cpu = {
            "sefaz": by_sefaz.cpu_ms() - cpu["sefaz"],
            "cnpja": by_cnpja.cpu_ms() - cpu["cnpja"],
        }
    for name in ("sefaz", "cnpja"):
        ours, itself = took[name], took[f"{name} itself"]
        what = f"one UF, {name} of {delay_ms} ms"
        more = statistics.median(ours) - statistics.median(itself)
        report.note(f"{what}: p50 ({len(ours)} requests)", statistics.median(ours), "ms")
        report.note(f"{what}: p50 of the source itself", statistics.median(itself), "ms")
        report.note(f"{what}: our processor time per request", cpu[name] / len(ours), "ms")
        report.at_most(f"{what}: ours over the source's", more, WANTED_OVERHEAD_MS, "ms")


def timed(send: Callable[[], httpx2.Response]) -> tuple[float, httpx2.Response]:
    """Return milliseconds until the reply, and the reply."""
    start = time.perf_counter()
    reply = send()
    return (time.perf_counter() - start) * 1000, reply


def ask_one(stack: contextlib.ExitStack, at: Service) -> Callable[[str], float]:
    """Return a function that asks the service."""
    client = stack.enter_context(
        httpx2.Client(base_url=at.url, headers=at.headers(), trust_env=False)
    )
    query = {"uf": HOME, "cache_strategy": "SO_ONLINE"}

    def ask(document: str) -> float:
        took, reply = timed(lambda: client.get(PATH + document, params=query))
        unanswered(reply, document, (HOME,))
        return took

    return ask


def ask_treasury(stack: contextlib.ExitStack, port: int) -> Callable[[str], float]:
    """Return a function that asks the state treasury itself."""
    client = stack.enter_context(httpx2.Client(trust_env=False))
    url, headers = addresses(port)[HOME], request_headers(HOME)

    def ask(document: str) -> float:
        body = request_body(HOME, Cnpj(document), with_header=False)
        took, reply = timed(lambda: client.post(url, content=body, headers=headers))
        assert b"<cStat>111" in reply.content, reply.text
        return took

    return ask


def ask_vendor(stack: contextlib.ExitStack, port: int) -> Callable[[str], float]:
    """Return a function that asks the vendor itself."""
    client = stack.enter_context(httpx2.Client(trust_env=False))
    url, headers = f"{HOST}:{port}/cnpja/ccc", {"authorization": "sandbox"}

    def ask(document: str) -> float:
        query = {"taxId": document, "states": HOME, "strategy": "CACHE_IF_FRESH", "maxAge": "1"}
        took, reply = timed(lambda: client.get(url, params=query, headers=headers))
        assert reply.status_code == 200, reply.text
        return took

    return ask


# Concurrent lookups.


async def together(at: Service, documents: Iterator[str], report: Report) -> None:
    """Run part 3."""
    took: list[float] = []
    waves: list[float] = []
    silent: list[int] = []
    refused = untrue = 0
    idle, cpu = at.memory_mb("VmRSS"), at.cpu_ms()
    until = time.monotonic() + WAVES_SECONDS
    async with client_of(at, TOGETHER) as client:
        while len(waves) < WAVES and (len(waves) < 2 or time.monotonic() < until):
            start = time.monotonic()
            asked = [ask_everywhere(client, document) for document in islice(documents, TOGETHER)]
            for outcome in await asyncio.gather(*asked, return_exceptions=True):
                if isinstance(outcome, BaseException):
                    refused += isinstance(outcome, Refused)
                    untrue += not isinstance(outcome, Refused)
                    if refused + untrue <= 3:
                        print(f"  {outcome!r}"[:300], flush=True)
                else:
                    took.append(outcome[0])
                    silent.append(len(outcome[1]))
            waves.append(time.monotonic() - start)
            print(f"  wave {len(waves)}: {waves[-1]:.1f} s", flush=True)
    report.note(f"{TOGETHER} BR at once: waves", len(waves))
    report.note(f"{TOGETHER} BR at once: a wave, median", statistics.median(waves), "s")
    assert took, "no lookup was answered"
    per_call = (at.cpu_ms() - cpu) / (len(waves) * TOGETHER * len(UFS))
    report.note(f"{TOGETHER} BR at once: our processor time per call", per_call, "ms")
    report.note(f"{TOGETHER} BR at once: a request, p50", statistics.median(took), "ms")
    report.at_most(f"{TOGETHER} BR at once: not answered 200", refused, 0)
    report.at_most(f"{TOGETHER} BR at once: answers that are not true", untrue, 0)
    report.at_most(f"{TOGETHER} BR at once: UFs that did not answer", sum(silent), 0)
    report.note("memory before (VmRSS)", idle, "MB")
    report.at_most("memory at its most (VmHWM)", at.memory_mb("VmHWM"), WANTED_MB, "MB")


# One UF that never answers.


async def black_hole(at: Service, documents: Iterator[str], report: Report) -> None:
    """Run part 4."""
    slow: list[float] = []
    fast: list[float] = []
    probes: list[float] = []
    silent = Counter[str]()
    async with client_of(at) as client:
        began = at.calls()
        for document in islice(documents, HOLE_FIRST):
            took, missing = await ask_everywhere(client, document)
            slow.append(took)
            silent.update(missing)
        opened = at.calls()
        until = time.monotonic() + HOLE_SECONDS
        while time.monotonic() < until:
            took, missing = await ask_everywhere(client, next(documents))
            (fast if took < DEADLINE_SECONDS * 900 else probes).append(took)
            silent.update(missing)
        ended = at.calls()
    assert fast, "the circuit never opened"
    # Refusals of an open circuit are counted among the calls.
    refused = ended["MA", "unavailable"] - opened["MA", "unavailable"]
    asked = len(fast) + len(probes)
    others = silent.total() - silent["MA"]
    deadline = f"deadline {DEADLINE_SECONDS:.0f} s"
    report.at_most(f"one UF never answers, {deadline}: BR at most", max(slow), WANTED_HOLE_MS, "ms")
    report.at_most("  calls per BR", (opened - began).total() / len(slow), len(UFS))
    report.note(f"  circuit open, {HOLE_SECONDS:.0f} s: BR", asked)
    report.at_most("  circuit open: p50", statistics.median(fast), WANTED_BR_MS, "ms")
    report.note("  circuit open: p95", percentile(fast, 95), "ms")
    report.at_most(
        "  circuit open: calls per BR", ((ended - opened).total() - refused) / asked, len(UFS)
    )
    report.note("  circuit open: calls per BR as /metrics counts", (ended - opened).total() / asked)
    report.note("  circuit open: BR that waited for a probe", len(probes))
    report.at_most("  circuit open: slowest BR", max(*fast, *probes), WANTED_HOLE_MS, "ms")
    report.at_most("  answers of other UFs that are missing", others, 0)


def run() -> dict[str, float]:
    """Measure and print; returns the figures."""
    report = Report()
    anywhere, at_home = companies(), companies(HOME)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        print(f"  27 UFs of {DELAY_MS} ms", flush=True)
        with treasuries(DELAY_MS) as port:
            with service(folder / "everywhere", "sefaz", everywhere_settings(port, MA)) as at:
                asyncio.run(everywhere(at, addresses(port), anywhere, report))
                print(f"  {TOGETHER} at once", flush=True)
                asyncio.run(together(at, anywhere, report))
            print("  one that never answers", flush=True)
            deadline = {"BALCAO_SOURCE_DEADLINE_SECONDS": str(DEADLINE_SECONDS)}
            env = {**everywhere_settings(port, NEVER), **deadline}
            with service(folder / "hole", "sefaz", env) as at:
                asyncio.run(black_hole(at, anywhere, report))
        for delay_ms in DELAYS_MS:
            print(f"  one UF of {delay_ms} ms", flush=True)
            overhead(folder, delay_ms, at_home, report)
        report.note(
            "one fsync of this disk (an online lookup waits for two)", fsync_ms(folder), "ms"
        )
    report.note("this benchmark", time.monotonic() - began, "s")
    report.print()
    return report.figures


def fsync_ms(folder: Path) -> float:
    return 1000 / fsyncs(folder)


def main(words: Sequence[str]) -> None:
    argparse.ArgumentParser(prog="bench registrations").parse_args(words)
    run()


if __name__ == "__main__":
    if sys.argv[1:2] == ["treasuries"]:
        asyncio.run(serve_treasuries(int(sys.argv[2]), int(sys.argv[3])))
    else:
        main(sys.argv[1:])
