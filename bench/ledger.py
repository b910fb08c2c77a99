"""The ledger alone: durable debits per second.

    .venv/bin/python -m bench.ledger [--folder /where/the/database/would/live] [--postgresql]

No HTTP, no cache, no lookup: clients that each send one debit, wait until it is durable and send
the next. This measures group commit: one fsync at a time, shared by all waiting clients. The
figures depend on the disk's fsync, whose time alone is in the last line.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

from tests.storage.postgres import Server

from balcao.core.idempotency import RecordedAnswer
from balcao.core.ledger import Bind, Charge, Finish, Hold, Settle, TopUp
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.desk.desk import Desk
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.sqlite.desk import SqliteDesk

OPERATION = "cnpj-receita-federal"
AT_MS = 1_785_000_000_000
DAY_MS = 86_400_000
BODY = b"x" * 1_500  # about the size of a company's answer

# One in flight waits for one fsync per debit: fewer of them suffice.
DEBITS_ALONE = 3_000
DEBITS_TOGETHER = 60_000
LOOKUPS_TOGETHER = 20_000
ACCOUNTS = 16
ROUNDS = 3

_server: Server | None = None  # None: SQLite

Client = Callable[[str, int], Awaitable[None]]


def run(folder: Path | None = None, server: Server | None = None) -> dict[str, float]:
    """Measure everything once and print it. Returns figures per second by name."""
    engine = "SQLite" if server is None else "PostgreSQL, fsync on, same machine"
    print(f"$ {Path(sys.executable).name} -m bench.ledger  ({os.cpu_count()} cores, {engine})")
    global _server  # noqa: PLW0603
    _server = server
    before = sys.getswitchinterval()
    try:
        figures = {
            "debits/s, 1 in flight": best(folder, 1, DEBITS_ALONE, debit),
            "debits/s, 64 in flight": best(folder, 64, DEBITS_TOGETHER, debit),
            "debits/s, 256 in flight": best(folder, 256, DEBITS_TOGETHER, debit),
            "online lookups with a key/s, 64 in flight": best(
                folder, 64, LOOKUPS_TOGETHER, online_lookup
            ),
            "fsyncs/s of 4 KB": fsyncs(folder),
        }
    finally:
        sys.setswitchinterval(before)
    for what, value in figures.items():
        print(f"{what:45} {value:>10,.0f}")
    return figures


def best(
    folder: Path | None, in_flight: int, total: int, work: Callable[[Desk, int], Client]
) -> float:
    """Return the best of a few rounds, the one with the least other load."""
    return max(measure(folder, in_flight, total, work) for _ in range(ROUNDS))


def measure(
    folder: Path | None, in_flight: int, total: int, work: Callable[[Desk, int], Client]
) -> float:
    """Return the operations per second on a new database, which is checked afterwards."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="bench-ledger-") as name:
        batches: list[int] = []
        desk: Desk
        if _server is None:
            desk = SqliteDesk(Path(name) / "balcao.db", batches.append)
        else:
            desk = PostgresDesk(_server.new_database(), observe_batch=batches.append)
        try:
            desk.recover(AT_MS)  # like a node at its start: creates the month's partitions
            accounts = open_accounts(desk)
            batches.clear()
            seconds = asyncio.run(drive(in_flight, total, work(desk, accounts[0])))
            books = desk.check()
        finally:
            desk.close()
    assert not books.complaints, books.complaints
    assert books.open_operations == 0
    return total / seconds


def open_accounts(desk: Desk) -> Sequence[int]:
    """Return the numbers of new prepaid accounts, each with one key."""
    accounts = []
    for number in range(ACCOUNTS):
        account_id = desk.create_account(NewAccount(f"conta-{number}", "pre_pago", "live"), AT_MS)
        desk.create_key(NewKey(account_id.account_id, "k", "p", number.to_bytes(32, "big")), AT_MS)
        desk.commit_now([TopUp(account_id.account_id, 10_000_000, "carga", AT_MS)])
        accounts.append(account_id.account_id)
    return accounts


async def drive(in_flight: int, total: int, client: Client) -> float:
    """Keep `in_flight` operations running until `total` are done; return the seconds."""
    # Request numbers are made beforehand: that is not the ledger's work.
    made = f"{AT_MS:012x}"
    ids = [f"{made[:8]}-{made[8:]}-7000-8000-{number:012x}" for number in range(total)]
    left: Iterator[tuple[int, str]] = zip(count(), ids, strict=False)

    async def work() -> None:
        for number, request_id in left:
            await client(request_id, number % ACCOUNTS)

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    return time.perf_counter() - start


def debit(desk: Desk, first_account: int) -> Client:
    """Return a client that makes one charge, like a cached answer."""

    async def client(request_id: str, account: int) -> None:
        account_id = first_account + account
        charge = Charge(
            account_id, account_id, request_id, OPERATION, 1, "consulta", "cache", AT_MS
        )
        assert await desk.commit([charge]) is None

    return client


def online_lookup(desk: Desk, first_account: int) -> Client:
    """Return a client that makes two commits: hold and bind; settle and finish."""

    async def client(request_id: str, account: int) -> None:
        account_id = first_account + account
        until = AT_MS + DAY_MS
        hold = Hold(account_id, account_id, request_id, OPERATION, 2, AT_MS)
        bind = Bind(account_id, request_id, "f", request_id, AT_MS, until)
        assert await desk.commit([hold, bind]) is None
        settle = Settle(account_id, request_id, 1, "consulta", "online", AT_MS)
        finish = Finish(
            account_id, request_id, "f", RecordedAnswer(request_id, 200, BODY), AT_MS, until
        )
        assert await desk.commit([settle, finish]) is None

    return client


def fsyncs(folder: Path | None) -> float:
    """Return how often per second this disk syncs one page: the maximum for one in flight."""
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        descriptor = file.fileno()
        start = time.perf_counter()
        rounds = 1_000
        for number in range(rounds):
            os.pwrite(descriptor, b"x" * 4096, 4096 * number)
            os.fdatasync(descriptor)
        return rounds / (time.perf_counter() - start)


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Debits per second of the ledger alone.")
    parser.add_argument("--folder", type=Path, help="where to put the database (a real disk)")
    parser.add_argument(
        "--postgresql", action="store_true", help="also on a PostgreSQL started for this"
    )
    given = parser.parse_args(words)
    run(given.folder)
    if given.postgresql:
        server = Server({"fsync": "on", "full_page_writes": "on"}, given.folder)
        try:
            run(given.folder, server)
        finally:
            server.remove()


if __name__ == "__main__":
    main(sys.argv[1:])
