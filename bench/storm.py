"""Many duplicates of many Idempotency-Keys on the real server, which is killed meanwhile.

    .venv/bin/python -m bench.storm --cycles 3

Federal certificates of a live account; their provider is in this process, and counts its requests.
Each cycle has 200 new keys, each for another company, and sends every key 25 times at once. The
server is killed with signal 9 while it answers, restarted, and everything is sent again. Fails with
an AssertionError at the first broken promise: an acknowledged answer that is lost or changed, a
charge that is missing or duplicated, a consultation bought twice for one key, an unreleased hold.
"""

import argparse
import asyncio
import csv
import io
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs

import httpx2
from stdnum.br.cnpj import calc_check_digits

from balcao.providers.simulation.app import create_app
from bench.crash import CLIENTS, check_books, server
from bench.serving import CREDITS, account_by_words, balcao, free_port, settings

KEYS = 200
DUPLICATES = 25
PRICE = 2
ACCOUNT = "tempestade"
PATH = "/consultas/v2/certidao-negativa-de-debitos-federal"
SOURCE_SECONDS = 0.05  # so that a kill interrupts some of them
REFUSED = "OPERACAO_EM_ANDAMENTO"
DIED = "RESULTADO_INDISPONIVEL"


@dataclass
class Provider:
    """The simulated provider on a separate port; counts its requests by company."""

    asked: Counter[str] = field(default_factory=Counter)

    @asynccontextmanager
    async def listening(self, port: int) -> AsyncIterator[None]:
        """Answer on 127.0.0.1, one request per connection."""
        transport = httpx2.ASGITransport(app=create_app(delay_seconds=SOURCE_SECONDS))
        async with httpx2.AsyncClient(transport=transport, trust_env=False) as simulator:

            async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                try:
                    await self._answer(reader, writer, simulator, port)
                except (ConnectionError, asyncio.IncompleteReadError):
                    pass  # the server was killed during the request
                finally:
                    writer.close()

            listener = await asyncio.start_server(talk, "127.0.0.1", port)
            try:
                yield
            finally:
                listener.close()

    async def _answer(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        simulator: httpx2.AsyncClient,
        port: int,
    ) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        method, path, _ = first.split(" ")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        form = parse_qs(body.decode())
        if "cnpj" in form:
            self.asked[form["cnpj"][0]] += 1
        reply = await simulator.request(
            method,
            f"http://127.0.0.1:{port}{path}",
            headers={"content-type": headers.get("content-type", "text/plain")},
            content=body,
        )
        writer.write(
            f"HTTP/1.1 {reply.status_code} OK\r\ncontent-type: {reply.headers['content-type']}\r\n"
            f"content-length: {len(reply.content)}\r\nconnection: close\r\n\r\n".encode()
        )
        writer.write(reply.content)
        await writer.drain()


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status: int
    body: bytes
    request_id: str
    charged: int
    replayed: bool

    @property
    def code(self) -> str | None:
        """Return the internal code of a refusal."""
        error = json.loads(self.body)["error_message"]
        return error.get("code") if error else None


@dataclass
class Storm:
    """One cycle: its companies (the key is derived from the company) and acknowledged answers."""

    documents: Sequence[str]
    firsts: dict[str, Answer] = field(default_factory=dict)  # acknowledged answers
    died: set[str] = field(default_factory=set)
    still_running: int = 0
    replays: int = 0
    cut_off: int = 0

    def note(self, document: str, answer: Answer) -> None:
        """Check an answer against all earlier ones."""
        if answer.status == 409:
            assert answer.charged == 0
            if answer.code == REFUSED:
                self.still_running += 1
                return
            assert answer.code == DIED, answer.body
            assert document not in self.firsts, f"{document}: an acknowledged answer is lost"
            self.died.add(document)
            return
        assert answer.status == 200, f"{answer.status}: {answer.body[:300]!r}"
        assert document not in self.died, f"{document}: executed again after it died"
        assert answer.charged == (0 if answer.replayed else PRICE), answer
        first = self.firsts.setdefault(document, answer)
        if answer.replayed:
            self.replays += 1
            assert (answer.body, answer.request_id) == (first.body, first.request_id), document
        else:
            # The replays of a duplicate may overtake the answer itself.
            assert answer.request_id == first.request_id, f"{document}: executed twice"

    def everything(self, dice: random.Random) -> list[str]:
        """Return all duplicates, shuffled."""
        documents = list(self.documents) * DUPLICATES
        dice.shuffle(documents)
        return documents


async def send(client: httpx2.AsyncClient, document: str) -> Answer:
    reply = await client.get(
        PATH, params={"cnpj": document}, headers={"idempotency-key": f"pedido-{document}"}
    )
    return Answer(
        reply.status_code,
        reply.content,
        reply.headers["x-request-id"],
        int(reply.headers["x-creditos-cobrados"]),
        reply.headers.get("idempotent-replayed") == "true",
    )


async def rage(
    storm: Storm, port: int, api_key: str, dice: random.Random, kill: "Kill | None" = None
) -> None:
    """Send everything at once, within the number of connections, until the server is gone."""
    waiting = storm.everything(dice)
    async with httpx2.AsyncClient(
        base_url=f"http://127.0.0.1:{port}",
        headers={"x-api-key": api_key},
        limits=httpx2.Limits(max_connections=2 * CLIENTS),
        timeout=60,
        trust_env=False,
    ) as client:

        async def one_after_another() -> None:
            while waiting:
                document = waiting.pop()
                try:
                    answer = await send(client, document)
                except httpx2.TransportError:
                    assert kill is not None, "the server ended without being killed"
                    storm.cut_off += 1
                    return
                storm.note(document, answer)
                if kill is not None:
                    kill.perhaps(len(storm.firsts))

        await asyncio.gather(*(one_after_another() for _ in range(2 * CLIENTS)))


@dataclass
class Kill:
    """Signal 9 after so many answered keys."""

    process: subprocess.Popen[bytes]
    after: int
    done: bool = False

    def perhaps(self, answered: int) -> None:
        if answered >= self.after and not self.done:
            self.done = True
            os.killpg(self.process.pid, signal.SIGKILL)


async def run(cycles: int, folder: Path, seed: int) -> None:
    dice = random.Random(seed)
    port, source_port = free_port(), free_port()
    env = dict(os.environ) | settings(
        folder / "home",
        port,
        log_level="error",
        infosimples__url=f"http://127.0.0.1:{source_port}/infosimples",
        infosimples__token="bancada",
    )
    provider, storms = Provider(), list[Storm]()
    async with provider.listening(source_port):
        with server(env, port, folder):
            api_key = await asyncio.to_thread(account_by_words, env, ACCOUNT, live=True)
        for number in range(1, cycles + 1):
            storm = Storm(companies(number))
            storms.append(storm)
            started = time.perf_counter()
            with server(env, port, folder) as process:
                kill = Kill(process, dice.randrange(KEYS // 10, KEYS * 9 // 10))
                await rage(storm, port, api_key, dice, kill)
                assert kill.done, "the storm was over before the kill"
            acknowledged = len(storm.firsts)
            held = (await asyncio.to_thread(check_books, env))["open_operations"]
            with server(env, port, folder):
                await rage(storm, port, api_key, dice)
                books = await asyncio.to_thread(check_books, env)
                assert books["open_operations"] == 0, "a hold was not given back"
                await asyncio.to_thread(compare, env, storms, provider)
            print(
                f"{number:4}: {acknowledged:3} keys answered before the kill, {held:3} holds left"
                f" behind, {storm.cut_off:3} requests cut off; after the restart"
                f" {len(storm.firsts) - acknowledged:3} more answered, {len(storm.died):3} died"
                f" with the process; {storm.still_running:5} times 409, {storm.replays:5} replays;"
                f" {time.perf_counter() - started:.1f} s",
                flush=True,
            )
    answered = sum(len(storm.firsts) for storm in storms)
    print(
        f"{cycles} kills, {cycles * KEYS} keys with {DUPLICATES} duplicates before and after:"
        f" {answered} answers, each charged once and replayed byte for byte,"
        f" {sum(len(storm.died) for storm in storms)} died and were not charged;"
        f" {provider.asked.total()} consultations, none bought twice for one key"
    )


def companies(cycle: int) -> list[str]:
    """Return companies that always have a CND as federal certificate, different in every cycle."""
    bases = (f"9004{(KEYS * cycle + each) % 10_000:04d}0001" for each in range(KEYS))
    return [base + calc_check_digits(base) for base in bases]


def compare(env: Mapping[str, str], storms: Sequence[Storm], provider: Provider) -> None:
    """Check that every answer has exactly one charge and one consultation, and no others exist."""
    text = balcao(env, "usage", ACCOUNT, "--csv", "--from", "2020-01-01")
    rows = list(csv.DictReader(io.StringIO(text)))
    charges = Counter(row["request_id"] for row in rows)
    answered = [answer.request_id for storm in storms for answer in storm.firsts.values()]
    assert charges == Counter(answered), "charges and answers are not one for one"
    assert {int(row["credits"]) for row in rows} == {PRICE}
    for storm in storms:
        assert set(storm.firsts) | storm.died == set(storm.documents)
        for document in storm.documents:
            many = provider.asked[document]
            assert many <= 1, f"{document} was bought {many} times"
            assert many == 1 or document in storm.died, f"{document} was never bought"
    shown = json.loads(balcao(env, "account", "show", ACCOUNT, "--json"))
    assert shown["balance_credits"] == CREDITS - PRICE * len(answered)
    assert shown["held_credits"] == 0


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Kill it in a storm, start it, count again.")
    parser.add_argument("--cycles", type=int, default=3)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    parser.add_argument("--folder", type=Path, help="where to put the database (a real disk)")
    chosen = parser.parse_args(words)
    print(f"$ python -m bench.storm --cycles {chosen.cycles} --seed {chosen.seed}")
    with tempfile.TemporaryDirectory(dir=chosen.folder, prefix="bench-storm-") as name:
        asyncio.run(run(chosen.cycles, Path(name), chosen.seed))


if __name__ == "__main__":
    main()
