"""Batches: survival of kills, speed, memory, and effect on other requests.

    .venv/bin/python -m bench batches kills [--rows 5000] [--kills 30] [--postgresql ADDRESS]
    .venv/bin/python -m bench batches speed [--rows 100000]
    .venv/bin/python -m bench batches memory [--rows 1000000]
    .venv/bin/python -m bench batches beside [--rows 100000]
    .venv/bin/python -m bench batches ceilings [--rows 10000]

`kills`: a server with a batch of certificates and companies is killed at random moments. Each row
ends in one state and is charged at most once, and the rows' sum equals that of the entries and the
use of the budget (`balcao ledger check`, and a separate check here). `speed`: seconds of the quote,
the run and the results, for companies that are all in the cache or the month. `memory`: a million
rows. `beside`: single lookups during a batch against those while it is paused, in turns.
`ceilings`: concurrent batches on two nodes that are killed, while their ceilings change
(`batch_ceilings.py`).
"""

import argparse
import contextlib
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx2

from balcao.opendata.generator import generate
from bench import batch_ceilings
from bench.crash import check_books, server
from bench.memory import memory_mb
from bench.serving import (
    PREFIX,
    SERVE,
    account_by_words,
    balcao,
    companies_elsewhere,
    cpu_seconds,
    documents_of,
    free_port,
    running,
    settings,
)

ACCOUNT = "lotes"
COMPANY, FEDERAL = "cnpj-receita-federal", "certidao-negativa-de-debitos-federal"
ENDED = ("concluido", "encerrado", "recusado", "expirado")
PATIENCE_SECONDS = 3_600.0
WORK_SECONDS = (0.2, 4.0)
LOOKUPS_A_TURN, TURNS = 1_000, 8


class Batches:
    """A client of `/lotes/v1`."""

    def __init__(self, port: int, key: str) -> None:
        address, headers = f"http://127.0.0.1:{port}", {"x-api-key": key}
        self.http = httpx2.Client(base_url=address, headers=headers, timeout=600, trust_env=False)

    def create(self, content: bytes, operation: str, key: str) -> str:
        answer = self.http.post(
            f"/lotes/v1?operacao={operation}",
            content=content,
            headers={"content-type": "text/csv", "idempotency-key": key},
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def show(self, number: str) -> Any:
        return self.http.get(f"/lotes/v1/{number}").json()

    def until(self, number: str, *states: str, pause: float = 0.2) -> Any:
        end = time.monotonic() + PATIENCE_SECONDS
        while (batch := self.show(number))["estado"] not in states:
            assert time.monotonic() < end, batch
            time.sleep(pause)
        return batch

    def confirm(self, number: str) -> None:
        quote = self.until(number, "cotado", *ENDED)["cotacao"]
        word = {"digest": quote["digest"], "teto_creditos": quote["creditos_max"]}
        answer = self.http.post(f"/lotes/v1/{number}/confirmar", json=word)
        assert answer.status_code == 200, answer.text

    def rows(self, number: str) -> Iterator[Any]:
        cursor = ""
        while True:
            page = self.http.get(f"/lotes/v1/{number}/linhas?limite=1000{cursor}").json()
            yield from page["itens"]
            if page["cursor"] is None:
                return
            cursor = f"&cursor={page['cursor']}"


def table(documents: list[str]) -> bytes:
    return ("cnpj\n" + "\n".join(documents) + "\n").encode()


@contextlib.contextmanager
def imported(folder: Path, establishments: int) -> Iterator[tuple[dict[str, str], int, str]]:
    """Prepare a data folder with a month and an account; returns environment, port and key."""
    port = free_port()
    env = settings(folder / "home", port)
    generate(folder / "month", establishments, seed=7, clean=True)
    with running(SERVE, port, env):
        pass  # the first start, which makes the data folder
    balcao(env, "opendata", "build", str(folder / "month"), "--sandbox", "--force")
    balcao(env, "opendata", "answers", "--sandbox")
    yield env, port, account_by_words(env, ACCOUNT)


def crash(rows: int, kills: int, database: str, seed: int) -> None:
    """Kill the server repeatedly; then check all sums."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder, port = Path(temporary), free_port()
        more = {"database": database} if database else {}
        env = dict(os.environ) | settings(folder / "home", port, log_level="error", **more)
        with server(env, port, folder):
            key = account_by_words(env, ACCOUNT)
        client, number, killed = Batches(port, key), "", 0
        documents = companies_elsewhere(rows)
        began = time.monotonic()
        while True:
            with server(env, port, folder) as process:
                if not number:
                    number = client.create(table(documents), FEDERAL, "um-lote-so")
                    client.confirm(number)
                if killed < kills:
                    time.sleep(dice.uniform(*WORK_SECONDS))
                    batch = client.show(number)
                    if batch["estado"] == "pausado":
                        client.http.post(f"/lotes/v1/{number}/retomar")
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                    killed += 1
                    done = batch["linhas"]["concluidas"] + batch["linhas"]["falhas"]
                    print(f"{killed:4}: killed at {done} rows, {batch['estado']}", flush=True)
                    if batch["estado"] != "concluido":
                        continue
            break
        with server(env, port, folder):
            batch = _finish(client, number)
            _check_sums(client, number, batch, rows)
        assert not check_books(env)["complaints"]
        seconds = time.monotonic() - began
        print(
            f"{rows} rows, {killed} kills, {batch['creditos_gastos']} credits: each in one state,"
            f" charged once at most; rows = entries = budget; the books agree ({seconds:.0f} s)"
        )


def _finish(client: Batches, number: str) -> Any:
    while (batch := client.until(number, "pausado", *ENDED))["estado"] == "pausado":
        client.http.post(f"/lotes/v1/{number}/retomar")
    return batch


def _check_sums(client: Batches, number: str, batch: Any, rows: int) -> None:
    found = [*client.rows(number)]
    assert len(found) == rows
    states = Counter(row["estado"] for row in found)
    assert set(states) <= {"concluida", "falha"}, states
    spent = sum(row["creditos"] for row in found)
    day = time.strftime("%Y-%m-%d")
    usage = client.http.get(f"/conta/v1/consumo?de={day}&ate={day}").json()
    balance = client.http.get("/conta/v1/saldo").json()
    assert spent == batch["creditos_gastos"], (spent, batch["creditos_gastos"])
    assert balance["creditos_gastos_no_mes"] == spent, (balance, spent)
    assert balance["creditos_reservados"] == 0
    assert usage["total_creditos"] == spent, (usage["total_creditos"], spent)
    numbers = [row["request_id"] for row in found]
    assert len(set(numbers)) == rows, "a request's number stands in two rows"
    print(f"      {dict(states)}, {spent} credits, also by the account's own books")


def speed(rows: int) -> None:
    """Time quote, run and results of rows that need no source."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        imported(Path(temporary), rows) as (env, port, key),
        running(SERVE, port, env) as pid,
    ):
        client, timed = Batches(port, key), partial(_timed, pid=pid)
        documents = documents_of(Path(temporary) / "month")[:rows]
        print(f"{len(documents)} companies, all at hand; of the server's processor in brackets")
        number, took = timed(lambda: client.create(table(documents), COMPANY, "rapidez-1"))
        print(f"  received in {took}")
        batch, took = timed(lambda: client.until(number, "cotado", *ENDED))
        print(f"  quoted in {took}: {batch['linhas']}")
        client.confirm(number)
        batch, took = timed(lambda: client.until(number, *ENDED, pause=1.0))
        print(f"  run in {took}: {batch['estado']}")
        for form in ("csv", "xlsx", "jsonl"):
            path = f"/lotes/v1/{number}/resultado.{form}"
            answer, took = timed(partial(client.http.get, path))
            assert answer.status_code == 200
            print(f"  {form}: {len(answer.content) / 1e6:.0f} MB in {took}")


def memory(rows: int) -> None:
    """Measure the peak of additional memory, from the upload to the results."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        imported(Path(temporary), 50_000) as (env, port, key),
        running(SERVE, port, env) as pid,
    ):
        client = Batches(port, key)
        in_month = documents_of(Path(temporary) / "month")
        documents = (in_month + companies_elsewhere(rows))[:rows]
        idle, most = memory_mb(pid)["Pss"], 0.0
        number = client.create(table(documents), COMPANY, "memoria-1")
        while True:
            batch = client.show(number)
            most = max(most, memory_mb(pid)["Pss"] - idle)
            if batch["estado"] == "cotado":
                print(f"  quoted: {batch['linhas']}; {most:.0f} MB above idle", flush=True)
                client.confirm(number)
            if batch["estado"] in ENDED or batch["linhas"]["concluidas"] >= len(in_month):
                break
            time.sleep(0.5)
        print(f"{rows} rows: {most:.0f} MB above idle ({idle:.0f} MB)")


def concurrent(rows: int) -> None:
    """Time single lookups in turns, during a paused and a running batch, on the same disk."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        imported(Path(temporary), rows) as (env, port, key),
        running(SERVE, port, env),
    ):
        client = Batches(port, key)
        documents = documents_of(Path(temporary) / "month")
        some = documents[-LOOKUPS_A_TURN:]
        _latencies(client, some)
        number = client.create(table(documents[:rows]), COMPANY, "ao-lado-1")
        client.confirm(number)
        idle: list[float] = []
        busy: list[float] = []
        for turn in range(TURNS):
            busy += _latencies(client, some)
            batch = client.show(number)
            assert batch["estado"] == "executando", batch["estado"]
            client.http.post(f"/lotes/v1/{number}/pausar").raise_for_status()
            idle += _latencies(client, some)
            client.http.post(f"/lotes/v1/{number}/retomar").raise_for_status()
            done = batch["linhas"]["concluidas"]
            print(f"{turn + 1:3}: {_comparison(idle, busy)}; {done} rows", flush=True)


def _comparison(idle: list[float], busy: list[float]) -> str:
    parts = []
    for name, place in (("p50", 49), ("p90", 89), ("p99", 98)):
        one, other = (statistics.quantiles(some, n=100)[place] for some in (idle, busy))
        parts.append(f"{name} {one * 1000:.1f} and {other * 1000:.1f} ms, {other / one:.2f} times")
    return "; ".join(parts)


def _latencies(client: Batches, documents: list[str]) -> list[float]:
    """Return the seconds of consecutive lookups."""
    took = []
    for document in documents:
        began = time.monotonic()
        client.http.get(PREFIX + document)
        took.append(time.monotonic() - began)
    return took


def _timed(work: Callable[[], Any], pid: int) -> tuple[Any, str]:
    """Return the result, and `1.0 s (0.9 s)`: wall-clock time and the server's processor time."""
    began, used = time.monotonic(), cpu_seconds(pid)
    came = work()
    return came, f"{time.monotonic() - began:.1f} s ({cpu_seconds(pid) - used:.1f} s)"


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench batches")
    parser.add_argument("what", choices=("kills", "speed", "memory", "beside", "ceilings"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--postgresql", default="", metavar="ADDRESS")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words or ["speed"])
    usual: Mapping[str, int] = {
        "kills": 5_000, "speed": 100_000, "memory": 1_000_000, "beside": 100_000,
        "ceilings": 10_000,
    }  # fmt: skip
    rows = given.rows or usual[given.what]
    match given.what:
        case "kills":
            crash(rows, given.kills, given.postgresql, given.seed)
        case "speed":
            speed(rows)
        case "memory":
            memory(rows)
        case "ceilings":
            if not batch_ceilings.prove(rows, 2, given.seed):
                raise SystemExit(1)
        case _:
            concurrent(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
