"""The feed of events under kill -9: no event is skipped, repeated or out of order (contract 19.2).

    .venv/bin/python -m bench feed [--events 200000] [--nodes 3] [--writers 20] [--accounts 50]

Nodes on one PostgreSQL write events of random accounts from several connections each, by both ways
(a commit of requests, and a transaction of its own), with random pauses before the commit, and are
killed meanwhile. A reader of each account, with pages of 1 to 1,000 events, continues with the
cursor of each answer. At the end each must have read what is stored, in the order of the numbers.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psycopg
from tests.storage.postgres import Server

from balcao.core.errors import StorageFailed
from balcao.core.event_feed import FeedFilter
from balcao.core.events import NewEvent
from balcao.http.event_pages import EventPages
from balcao.storage.contract import NewAccount
from balcao.storage.desk.events import write_events
from balcao.storage.postgresql.desk import PostgresDesk
from bench.desk import RAM

KILLS = 40
TOGETHER_MAX = 40  # events in a commit
ACCOUNTS_TOGETHER = 2
PAUSE_SECONDS_MAX = 0.01  # before a commit
PAGE_SIZES = (1, 2, 7, 10, 50, 100, 333, 1_000)
READERS = 2  # processes


def main(words: list[str]) -> None:
    """Prove; exits with 1 when a reader differs from what is stored."""
    parser = argparse.ArgumentParser(prog="python -m bench feed")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--writers", type=int, default=20)
    parser.add_argument("--accounts", type=int, default=50)
    parser.add_argument("--node", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--reader", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.node:
        address, *numbers = given.node
        _write(address, *map(int, numbers))
    elif given.reader:
        asyncio.run(_read(given.reader[0], json.loads(given.reader[1])))
    elif not prove(given.events, given.nodes, given.writers, given.accounts):
        raise SystemExit(1)


def prove(events: int, nodes: int, writers: int, accounts: int) -> bool:
    """Print the findings; return whether all readers read everything, once and in order."""
    server = Server({"fsync": "off"}, RAM if RAM.exists() else None)
    running: list[subprocess.Popen[str]] = []
    readers: list[subprocess.Popen[str]] = []
    try:
        address = server.new_database()
        desk = PostgresDesk(address)
        desk.recover(_now_ms())
        numbers = [
            desk.create_account(NewAccount(f"a{each}", "pre_pago", "live"), _now_ms()).account_id
            for each in range(accounts)
        ]
        desk.close()
        shares = [writers // nodes + (each < writers % nodes) for each in range(nodes)]

        def node(seed: int) -> subprocess.Popen[str]:
            return _process("--node", address, str(seed), str(shares[seed % nodes]), str(accounts))

        running = [node(seed) for seed in range(nodes)]
        readers = [
            _process("--reader", address, json.dumps(numbers[each::READERS]))
            for each in range(READERS)
        ]
        chance, began, kills = random.Random(1), time.monotonic(), 0
        share, before = events // KILLS, 0
        while (now := _count(address)) < events:
            time.sleep(0.2)
            if now - before < share:  # a node that starts gets as far as writing
                continue
            place, before = chance.randrange(nodes), now
            running[place].send_signal(signal.SIGKILL)
            running[place].wait()
            kills += 1
            running[place] = node(place + nodes * kills)
        for process in running:
            process.kill()
            process.wait()
        took = time.monotonic() - began
        stored = _stored(address)
        read: dict[int, list[int]] = {}
        for process in readers:
            said, _ = process.communicate("end\n")
            found = json.loads(said.splitlines()[-1])
            read |= {int(number): events for number, events in found.items()}
    finally:
        for process in (*running, *readers):
            process.kill()
            process.wait()
        server.remove()
    total = sum(map(len, stored.values()))
    skipped = sum(len(set(stored[each]) - set(read[each])) for each in numbers)
    repeated = sum(len(read[each]) - len(set(read[each])) for each in numbers)
    unordered = sum(read[each] != sorted(read[each]) for each in numbers)
    print(f"{total} events of {accounts} accounts, {nodes} nodes, {writers} writers,")
    print(f"  {kills} nodes killed, {took:.0f} s; pages of {', '.join(map(str, PAGE_SIZES))}")
    print(f"  skipped {skipped}, repeated {repeated}, accounts out of order {unordered}")
    return all(read[each] == stored[each] for each in numbers)


def _process(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench", "feed", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        env=os.environ,
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _count(address: str) -> int:
    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT count(*) FROM event").fetchone()
        assert row is not None
        return int(row[0])


def _stored(address: str) -> dict[int, list[int]]:
    with psycopg.connect(address) as connection:
        rows = connection.execute(
            "SELECT account_id, array_agg(event_id ORDER BY event_id) FROM event GROUP BY 1"
        ).fetchall()
    return dict(rows)


def _write(address: str, seed: int, writers: int, accounts: int) -> None:
    """Run one node until it is killed."""
    chances = [random.Random(seed * 100 + each) for each in range(writers)]
    works = [
        threading.Thread(target=_writer, args=(address, each, chance, accounts), daemon=True)
        for each, chance in enumerate(chances)
    ]
    for work in works:
        work.start()
    for work in works:
        work.join()


def _writer(address: str, place: int, chance: random.Random, accounts: int) -> None:
    """Write events on one connection: even places in commits of requests, others on their own."""
    desk = PostgresDesk(address)
    while True:
        some_accounts = chance.sample(range(1, accounts + 1), ACCOUNTS_TOGETHER)
        some = [
            NewEvent(chance.choice(some_accounts), "lote.cotado", _now_ms(), "{}")
            for _ in range(chance.randrange(1, TOGETHER_MAX))
        ]
        with suppress(StorageFailed):  # it waited too long for an account's lock
            if place % 2 == 0:
                time.sleep(chance.random() * PAUSE_SECONDS_MAX)
                desk.engine._writer.write([[each] for each in some])
                continue
            with desk.engine.write_in_place() as here, here.transaction():
                write_events(here, some)
                time.sleep(chance.random() * PAUSE_SECONDS_MAX)


async def _read(address: str, numbers: Sequence[int]) -> None:
    """Read the feeds of some accounts until the input ends, then to their ends."""
    desk = PostgresDesk(address)
    pages, over = EventPages(desk.events, _now_ms), asyncio.Event()

    async def follow(place: int, account_id: int) -> tuple[int, list[int]]:
        read, cursor, limit = list[int](), None, PAGE_SIZES[place % len(PAGE_SIZES)]
        while True:
            last = over.is_set()
            page = await pages.page(account_id, cursor, limit, FeedFilter())
            read += [event.number for event in page.events]
            cursor = page.cursor.text
            if not page.events:
                if last:
                    return account_id, read
                await asyncio.sleep(0.02)

    async def wait() -> None:
        await asyncio.to_thread(sys.stdin.readline)
        over.set()

    waiting = asyncio.create_task(wait())
    found = await asyncio.gather(*(follow(*each) for each in enumerate(numbers)))
    await waiting
    print(json.dumps(dict(found)))
