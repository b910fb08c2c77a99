"""Kill the service at random moments and verify every answer that it gave.

    .venv/bin/python -m bench.crash --cycles 50          the desk alone, 32 clients
    .venv/bin/python -m bench.crash --http --cycles 10   the real server, over HTTP

Fails with an AssertionError at the first broken promise: an acknowledged charge that is missing, a
request that was charged twice, balances that are not the sum of their entries, an unreleased hold
of the killed process; over HTTP also a repeated Idempotency-Key with a different answer or a new
charge. Most requests over HTTP have a key; until the kill, some of these are sent twice at once and
some answered ones are repeated.
"""

import argparse
import asyncio
import csv
import io
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx2
from stdnum.br.cnpj import calc_check_digits
from tests.crash.driver import kill_once, prepare

from bench.serving import CREDITS, SERVE, account_by_words, balcao, free_port, settings

CLIENTS = 32
START_SECONDS_MAX = 60.0
WORK_SECONDS = (0.3, 3.0)
ACCOUNT = "queda"
PATH = "/consultas/v2/cnpj-receita-federal/"

# Shares of the requests until the kill: repetitions of an answered key, keys sent twice at once.
REPEATED = 0.15
TWICE = 0.15

# Answered from the imported month: charge and answer are one commit.
AT_HAND = ("90010001000100", "90010002000154", "90010007000268", "12ABC34501DE35")


def run_desk(cycles: int, folder: Path, seed: int) -> None:
    """Test the desk alone."""
    database, dice = folder / "balcao.db", random.Random(seed)
    promises = prepare(database)
    totals: Counter[str] = Counter()
    for number in range(1, cycles + 1):
        cycle = kill_once(database, f"c{number}", promises, dice)
        totals["acknowledged"] += cycle.acknowledged
        totals["holds given back"] += cycle.given_back
        print(
            f"{number:4}: {cycle.acknowledged:6} acknowledged, {cycle.given_back:3} holds given"
            f" back, {cycle.unacknowledged:5} unacknowledged charges (in all)",
            flush=True,
        )
    print(
        f"{cycles} kills, {totals['acknowledged']} acknowledged changes all there, none twice;"
        f" {totals['holds given back']} holds given back; the books agree"
    )


# Over HTTP.


@dataclass(frozen=True)
class Request:
    """A client's request; with a key it can be repeated."""

    document: str
    key: str | None
    strategy: str


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status: int
    body: bytes
    request_id: str
    charged: int
    replayed: bool


@dataclass
class Diary:
    """All requests and answers of the clients."""

    answered: list[tuple[Request, Answer]] = field(default_factory=list)
    by_key: dict[str, tuple[Request, Answer]] = field(default_factory=dict)
    unanswered: list[Request] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)  # of `by_key`
    counts: Counter[str] = field(default_factory=Counter)  # of the requests before the kills

    def note(self, request: Request, answer: Answer) -> None:
        assert answer.status == 200, f"{answer.status}: {answer.body[:300]!r}"
        assert not answer.replayed, "a key that was never sent before was known"
        assert answer.charged == 1, f"{request} was answered for {answer.charged} credits"
        self.keep(request, answer)

    def keep(self, request: Request, answer: Answer) -> None:
        """Keep an answer that must be in the ledger once."""
        self.answered.append((request, answer))
        if request.key is not None:
            self.by_key[request.key] = (request, answer)
            self.keys.append(request.key)

    def note_replay(self, request: Request, first: Answer, second: Answer) -> None:
        """Check the answer to a repeated key."""
        assert second.replayed, f"{request} was not recognised"
        assert (second.status, second.body) == (first.status, first.body), request
        assert (second.request_id, second.charged) == (first.request_id, 0), request
        self.counts["repeated"] += 1

    def note_twice(self, request: Request, answers: Sequence[Answer]) -> None:
        """Check the answers to a key that was sent twice at once; those cut off are missing."""
        given = [answer for answer in answers if answer.status != 409]
        for answer in answers:
            assert answer in given or b"OPERACAO_EM_ANDAMENTO" in answer.body, answer
            assert answer in given or not answer.charged, answer
        firsts = [answer for answer in given if not answer.replayed]
        assert len(firsts) <= 1, f"{request} was carried out twice"
        if firsts:
            self.note(request, firsts[0])
        elif given:  # the first answer was cut off
            self.keep(request, given[0])
        else:
            self.unanswered.append(request)
        for answer in given:
            if firsts and answer is not firsts[0]:
                self.note_replay(request, firsts[0], answer)
        self.counts["twice at once"] += 1


def run_http(cycles: int, folder: Path, seed: int) -> None:
    """Test the whole program over HTTP."""
    dice = random.Random(seed)
    port = free_port()
    env = dict(os.environ) | settings(
        folder / "home", port, sandbox_establishments="100", log_level="error"
    )
    with server(env, port, folder):
        api_key = account_by_words(env, ACCOUNT)
    diary = Diary()
    callers = Callers(port, api_key, diary, dice)
    totals: Counter[str] = Counter()
    for number in range(1, cycles + 1):
        before = len(diary.answered), len(diary.unanswered)
        with server(env, port, folder) as process:
            seconds = dice.uniform(*WORK_SECONDS)
            asyncio.run(callers.work_until_killed(process, seconds))
        held = check_books(env)["open_operations"]
        with server(env, port, folder):
            fates = asyncio.run(callers.replay(before[1]))
            assert check_books(env)["open_operations"] == 0, "a hold was not given back"
            compare(env, diary)
        totals += fates
        print(
            f"{number:4}: {len(diary.answered) - before[0]:6} answered, {held:3} holds left behind,"
            f" {len(diary.unanswered) - before[1]:3} cut off: "
            + ", ".join(f"{many} {fate}" for fate, many in sorted(fates.items())),
            flush=True,
        )
    print(
        f"{cycles} kills, {len(diary.answered)} answers each charged once,"
        f" {len(diary.by_key)} keys repeated after every restart without a charge"
        f" ({diary.counts['repeated']} repetitions, {diary.counts['twice at once']} keys sent twice"
        " at once); cut off: "
        + ", ".join(f"{many} {fate}" for fate, many in sorted(totals.items()))
    )


@contextmanager
def server(env: Mapping[str, str], port: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `balcao serve` in a separate process group; always killed at the end."""
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            SERVE,
            env=dict(env),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        wait_for(port, process)
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended by itself; see server.log"
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError("the server did not start")


@dataclass
class Callers:
    """Concurrent clients of one account; each sends one request after another."""

    port: int
    api_key: str
    diary: Diary
    dice: random.Random
    numbers: Iterator[int] = field(default_factory=count)

    async def work_until_killed(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        """Send requests, and kill the server meanwhile."""
        async with self.client() as client:
            work = asyncio.gather(*(self.one_after_another(client) for _ in range(CLIENTS)))
            await asyncio.wait([work], timeout=seconds)
            assert not work.done(), "the server was gone before it was killed"
            os.killpg(process.pid, signal.SIGKILL)
            await work

    async def one_after_another(self, client: httpx2.AsyncClient) -> None:
        """Run one client until the server is gone."""
        diary = self.diary
        while True:
            kind = self.dice.random()
            if kind < REPEATED and diary.keys:
                request, first = diary.by_key[self.dice.choice(diary.keys)]
                with suppress(httpx2.TransportError):
                    diary.note_replay(request, first, await send(client, request))
                    continue
                return
            request = some_request(self.dice, next(self.numbers))
            times = 2 if request.key is not None and kind > 1 - TWICE else 1
            answers = await asyncio.gather(
                *(send(client, request) for _ in range(times)), return_exceptions=True
            )
            given = [answer for answer in answers if isinstance(answer, Answer)]
            errors = [answer for answer in answers if isinstance(answer, BaseException)]
            for error in errors:
                if not isinstance(error, httpx2.TransportError):
                    raise error
            if times == 2:
                diary.note_twice(request, given)
            elif given:
                diary.note(request, given[0])
            else:
                diary.unanswered.append(request)
            if errors:
                return

    async def replay(self, first_cut_off: int) -> Counter[str]:
        """Repeat every key of all cycles; count the fates of interrupted requests."""
        diary, fates = self.diary, Counter[str]()
        async with self.client() as client:
            gate = asyncio.Semaphore(CLIENTS)

            async def again(request: Request) -> Answer:
                async with gate:
                    return await send(client, request)

            first_answers = list(diary.by_key.values())
            answers = await asyncio.gather(*(again(request) for request, _ in first_answers))
            for (request, first), second in zip(first_answers, answers, strict=True):
                diary.note_replay(request, first, second)

            cut_off = diary.unanswered[first_cut_off:]
            keyed = [request for request in cut_off if request.key is not None]
            fates["without a key"] = len(cut_off) - len(keyed)
            answers = await asyncio.gather(*map(again, keyed))
            for request, answer in zip(keyed, answers, strict=True):
                fates[fate_of(request, answer, diary)] += 1
        return +fates

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"x-api-key": self.api_key},
            limits=httpx2.Limits(max_connections=CLIENTS),
            timeout=30,
            trust_env=False,
        )


def some_request(dice: random.Random, number: int) -> Request:
    """Draw a request: from the month, a provider, or the cache; three of four with a key."""
    key = None if dice.random() < 0.25 else f"chave-{number:08d}"
    kind = dice.random()
    if kind < 0.3:
        return Request(dice.choice(AT_HAND), key, "ONLINE_PREFERENCIAL")
    base = f"7{dice.randrange(2_000):07d}0001"  # in no month, but known to the simulated providers
    strategy = "SO_ONLINE" if kind < 0.8 else "CACHE_PREFERENCIAL"
    return Request(base + calc_check_digits(base), key, strategy)


async def send(client: httpx2.AsyncClient, request: Request) -> Answer:
    headers = {} if request.key is None else {"idempotency-key": request.key}
    reply = await client.get(
        PATH + request.document, params={"cache_strategy": request.strategy}, headers=headers
    )
    return Answer(
        reply.status_code,
        reply.content,
        reply.headers["x-request-id"],
        int(reply.headers.get("x-creditos-cobrados", "0")),
        reply.headers.get("idempotent-replayed") == "true",
    )


def fate_of(request: Request, answer: Answer, diary: Diary) -> str:
    """Classify the answer to a repeated request that the kill had interrupted."""
    assert request.key is not None
    if answer.status == 409:
        assert b"RESULTADO_INDISPONIVEL" in answer.body, answer.body
        assert answer.charged == 0
        return "died with the process"
    assert answer.status == 200, answer.body
    if answer.replayed:
        assert answer.charged == 0
        # Charged before the kill, but not answered: it must be in the ledger once.
        diary.keep(request, answer)
        return "finished before the kill"
    diary.note(request, answer)
    return "not begun before the kill"


def check_books(env: Mapping[str, str]) -> dict[str, int]:
    """Run `balcao ledger check`, which fails on discrepancies."""
    found: dict[str, int] = json.loads(balcao(env, "ledger", "check", "--json"))
    assert found["ok"], found
    return found


def compare(env: Mapping[str, str], diary: Diary) -> None:
    """Check that every answer has exactly one entry."""
    text = balcao(env, "usage", ACCOUNT, "--csv", "--from", "2020-01-01")
    rows = list(csv.DictReader(io.StringIO(text)))
    charges = Counter(row["request_id"] for row in rows)
    twice = [request_id for request_id, many in charges.items() if many > 1]
    assert not twice, f"charged twice: {twice[:5]}"
    credits = {row["request_id"]: int(row["credits"]) for row in rows}
    for request, answer in diary.answered:
        assert credits.get(answer.request_id) == 1, f"{request} was answered and never charged"
    shown = json.loads(balcao(env, "account", "show", ACCOUNT, "--json"))
    assert shown["balance_credits"] == CREDITS - sum(credits.values())
    assert shown["held_credits"] == 0


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Kill it, start it, count again.")
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--http", action="store_true", help="the real server, over HTTP")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--folder", type=Path, help="where to put the database (a real disk)")
    chosen = parser.parse_args(words)
    http = " --http" if chosen.http else ""
    print(f"$ python -m bench.crash{http} --cycles {chosen.cycles} --seed {chosen.seed}")
    with tempfile.TemporaryDirectory(dir=chosen.folder, prefix="bench-crash-") as name:
        (run_http if chosen.http else run_desk)(chosen.cycles, Path(name), chosen.seed)


if __name__ == "__main__":
    main()
