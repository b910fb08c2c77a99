"""Backups of a large SQLite desk: how long one takes, and how long it takes to verify it.

    .venv/bin/python -m bench.backup [--operations 1000000] [--folder /where/the/data/would/live]

The entries are inserted in bulk, a charge each, of the same form as the service's own.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import apsw

from balcao.backup.bringing_back import verify
from balcao.backup.making import Made, make
from balcao.clock import system_now_ms
from balcao.core.ledger import Charge, TopUp
from balcao.home import Home
from balcao.settings import Settings
from balcao.storage.contract import NewAccount
from balcao.storage.sqlite.desk import SqliteDesk

AT_MS = 1_785_000_000_000
OPERATION = "cnpj-receita-federal"
ACCOUNTS = 16
# Charges one after another, before and during a backup.
ALONE_SECONDS = 2.0


def fill(home: Home, operations: int) -> None:
    """So many charges, shared by some accounts."""
    with closing(SqliteDesk(home.desk)) as desk:
        for number in range(ACCOUNTS):
            account = desk.create_account(NewAccount(f"c{number}", "pre_pago", "live"), AT_MS)
            desk.commit_now([TopUp(account.account_id, 10 * operations, "carga", AT_MS)])
    with closing(apsw.Connection(str(home.desk))) as raw:
        raw.execute("PRAGMA synchronous = OFF")
        with raw:
            raw.executemany(
                "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change,"
                " held_change, request_id, operation, rule, origin)"
                " VALUES (?, ?, '2026-07', 'charge', -1, 0, ?, ?, 'consulta', 'cache')",
                (
                    (1 + n % ACCOUNTS, AT_MS + n, f"01987654-0000-7000-8000-{n:012d}", OPERATION)
                    for n in range(operations)
                ),
            )


async def charges(desk: SqliteDesk, until: "asyncio.Task[Made] | float") -> list[float]:
    """Charge one after another; seconds each took."""
    taken: list[float] = []
    end = time.monotonic() + until if isinstance(until, float) else None
    tag = time.monotonic_ns()
    while time.monotonic() < end if end is not None else not until.done():  # type: ignore[union-attr]
        began = time.monotonic()
        charge = Charge(1, None, f"{tag}-{len(taken)}", OPERATION, 1, "consulta", "cache", AT_MS)
        assert await desk.commit([charge]) is None
        taken.append(time.monotonic() - began)
        await asyncio.sleep(0.001)
    return sorted(taken)


async def beside(settings: Settings, desk: SqliteDesk) -> None:
    """A backup while somebody is charged."""
    quiet = await charges(desk, ALONE_SECONDS)
    began = time.monotonic()
    making = asyncio.create_task(asyncio.to_thread(make, settings, system_now_ms))
    busy = await charges(desk, making)
    seconds = time.monotonic() - began
    print(f"{'create, while charging':<40}{seconds:>10.2f} s")
    for name, taken in (("without a backup", quiet), ("during one", busy)):
        middle, late = taken[len(taken) // 2], taken[int(len(taken) * 0.99)]
        print(
            f"{'commit ' + name:<40}{middle * 1000:>10.2f} ms, 99%: {late * 1000:.2f} ms,"
            f" longest {taken[-1] * 1000:.0f} ms, of {len(taken)}"
        )


def main() -> None:
    """Fill a folder, and measure."""
    parser = argparse.ArgumentParser(description="Backups of a large SQLite desk.")
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    print(f"$ {Path(sys.executable).name} -m bench.backup  ({os.cpu_count()} cores)")
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        settings = Settings(home=Path(name) / "dados")
        home = Home(settings.home)
        home.create()
        home.pepper()
        fill(home, given.operations)
        print(f"{'operations':<40}{given.operations:>10}")
        print(f"{'desk':<40}{home.desk.stat().st_size / 1e6:>10.0f} MB")
        began = time.monotonic()
        made = make(settings, system_now_ms)
        print(f"{'create':<40}{time.monotonic() - began:>10.2f} s")
        print(f"{'backup':<40}{made.bytes / 1e6:>10.0f} MB")
        began = time.monotonic()
        verdict = verify(made.path, settings)
        print(f"{'restore --verify':<40}{time.monotonic() - began:>10.2f} s")
        assert not verdict.complaints, verdict.complaints
        with closing(SqliteDesk(home.desk)) as desk:
            asyncio.run(beside(settings, desk))


if __name__ == "__main__":
    main()
