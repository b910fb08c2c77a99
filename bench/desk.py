"""Cost of committing cached lookups: processor time per row, by size of the batch.

    .venv/bin/python -m bench.desk [--against SRC ...] [--postgresql] [--rounds 3]

A metered, available answer is a charge and its trace. The files are on a RAM disk, where flushes
are free, so what remains is processor time (for PostgreSQL of both the node and its backend in the
server). `--against` names the `src` folder of another checkout: both are measured in turns, each in
a separate process, and the medians are printed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import uuid_utils

from balcao.core.ledger import Change, TopUp, TracedCharge
from balcao.storage.contract import NewAccount

RAM = Path("/dev/shm")
SIZES = (1, 8, 64)
ROWS = 25_600  # of each size
ACCOUNTS = (1, 64)
AT_MS = 1_785_000_000_000
PATH, RULE = "cnpj-receita-federal", "company/lookup"

Write = Callable[[Sequence[Sequence[Change]]], object]


def run(against: Sequence[Path] = (), *, postgresql: bool = False, rounds: int = 3) -> None:
    """Measure this checkout and others in turns; print microseconds per row."""
    here = Path(__file__).parents[1] / "src"
    sources = [here, *against]
    found: dict[Path, list[dict[str, float]]] = {source: [] for source in sources}
    for turn in range(rounds):
        for source in sources if turn % 2 == 0 else sources[::-1]:
            found[source].append(_in_subprocess(source, postgresql=postgresql))
    engine = "PostgreSQL" if postgresql else "SQLite"
    print(f"{engine}, RAM disk, processor time a row in us, medians of {rounds}")
    for source in sources:
        print(f"  {source}")
        for what in found[source][0]:
            values = [one[what] for one in found[source]]
            print(f"    {what:40} {statistics.median(values):8.1f}   (from {min(values):.1f})")


def _in_subprocess(source: Path, *, postgresql: bool) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.desk", "--one"]
    if postgresql:
        command.append("--postgresql")
    environment = {**os.environ, "PYTHONPATH": str(source)}
    result = subprocess.run(
        command, env=environment, cwd=Path(__file__).parents[1], check=True, capture_output=True
    )
    figures: dict[str, float] = json.loads(result.stdout)
    return figures


def _one_sqlite() -> dict[str, float]:
    from balcao.storage.sqlite.desk import SqliteDesk  # noqa: PLC0415
    from balcao.storage.sqlite.writer import Job  # noqa: PLC0415

    figures = {}
    for accounts in ACCOUNTS:
        for size in SIZES:
            with tempfile.TemporaryDirectory(dir=RAM) as folder:
                desk = SqliteDesk(Path(folder) / "balcao.db")
                writer = desk.engine._writer
                numbers = _accounts(desk, accounts)

                def write(lists: Sequence[Sequence[Change]], writer: object = writer) -> None:
                    commit = getattr(writer, "write", None) or writer.patiently  # type: ignore[attr-defined]
                    result = commit(Job(lists))
                    assert not any(result), result

                rows = ROWS if size > 1 else ROWS // 4
                took = _measure(write, numbers, size, rows, time.process_time)
                figures[f"batch of {size}, {accounts} accounts"] = took
                desk.close()
    return figures


def _one_postgresql() -> dict[str, float]:
    from tests.storage.postgres import Server  # noqa: PLC0415

    from balcao.storage.postgresql.desk import PostgresDesk  # noqa: PLC0415

    figures = {}
    server = Server({"fsync": "off", "synchronous_commit": "off"}, RAM)
    try:
        for accounts in ACCOUNTS:
            for size in SIZES:
                address = server.new_database()
                desk = PostgresDesk(address)
                desk.recover(AT_MS)
                numbers = _accounts(desk, accounts)
                writer = desk.engine._writer
                write = writer.write
                write([[TopUp(numbers[0], 1, "x", AT_MS)]])
                pid = desk.engine._writing.get().info.backend_pid

                def clock(pid: int = pid) -> float:
                    return time.process_time() + _seconds_of(pid)

                rows = ROWS if size > 1 else ROWS // 8
                wal = server_wal(desk)
                took = _measure(write, numbers, size, rows, clock)
                figures[f"batch of {size}, {accounts} accounts"] = took
                log = (server_wal(desk) - wal) / rows
                figures[f"batch of {size}, {accounts} accounts, log bytes"] = log
                desk.close()
    finally:
        server.remove()
    return figures


def server_wal(desk: object) -> int:
    """Return the bytes of log written so far."""
    engine = desk.engine  # type: ignore[attr-defined]
    connection = getattr(engine, "connection", None) or engine.here  # the name in older checkouts
    return int(connection.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()[0])


def _seconds_of(pid: int) -> float:
    """Return the processor time of a process, from the scheduler."""
    return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[0]) / 1e9


def _accounts(desk: object, count: int) -> Sequence[int]:
    numbers = []
    for number in range(count):
        new = NewAccount(f"conta-{number}", "pre_pago", "live")
        account_id = desk.create_account(new, AT_MS).account_id  # type: ignore[attr-defined]
        desk.commit_now([TopUp(account_id, 10**9, "carga", AT_MS)])  # type: ignore[attr-defined]
        numbers.append(account_id)
    return numbers


def _measure(
    write: Write, accounts: Sequence[int], size: int, rows: int, clock: Callable[[], float]
) -> float:
    """Return microseconds per row. The changes are made beforehand, since lookups make them."""
    count, took = 0, 0.0
    for warm in (True, False):
        count = rows // 8 if warm else rows
        batches = []
        for start in range(0, count, size):
            at_ms = AT_MS + start // 8 + (0 if warm else 10_000_000)
            batches.append([lookup(at_ms, accounts[(start + n) % len(accounts)])
                            for n in range(size)])  # fmt: skip
        began = clock()
        for lists in batches:
            write(lists)
        took = clock() - began
    return took / count * 1e6


def lookup(at_ms: int, account_id: int, key_id: int = 1) -> Sequence[Change]:
    """Return the changes of a metered, available lookup: a charge and its trace."""
    number = str(uuid_utils.uuid7(nanoseconds=at_ms * 1_000_000))
    return [
        TracedCharge(account_id, number, at_ms, key_id, None, PATH, "12345678000195", None,
              "CACHE_SE_EXISTIR", False, 200, None, "cache", "snapshot", at_ms, 1, RULE, at_ms),
    ]  # fmt: skip


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Processor time of a commit, a row.")
    parser.add_argument("--against", type=Path, action="append", default=[])
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        json.dump(_one_postgresql() if given.postgresql else _one_sqlite(), sys.stdout)
    else:
        run([path.resolve() for path in given.against], postgresql=given.postgresql,
            rounds=given.rounds)  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
