"""Backups of a large desk: time to make one and to verify it.

    .venv/bin/python -m bench.backup [--postgresql] [--operations 1000000] [--folder …]

An operation is a charge and its trace (`bench.filling`).
"""

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from pydantic import SecretStr
from tests.storage.postgres import Server

from balcao.backup.making import NewBackup, make
from balcao.backup.restoring import verify
from balcao.core.ledger import Charge
from balcao.home import Home
from balcao.service.clock import system_now_ms
from balcao.settings import Settings
from balcao.storage.desk.desk import Desk
from balcao.storage.places import place_at
from bench import filling
from bench.nodes import DURABLE

OPERATION = "cnpj-receita-federal"
# Charges one after another, before and during a backup.
ALONE_SECONDS = 2.0


async def charges(desk: Desk, until: "asyncio.Task[NewBackup] | float") -> list[float]:
    """Charge one after another; returns the seconds of each."""
    taken: list[float] = []
    end = time.monotonic() + until if isinstance(until, float) else None
    tag = time.monotonic_ns()
    while time.monotonic() < end if end is not None else not until.done():  # type: ignore[union-attr]
        began = time.monotonic()
        charge = Charge(
            1, None, f"{tag}-{len(taken)}", OPERATION, 1, "consulta", "cache", system_now_ms()
        )
        assert await desk.commit([charge]) is None
        taken.append(time.monotonic() - began)
        await asyncio.sleep(0.001)
    return sorted(taken)


async def during_charges(settings: Settings, desk: Desk) -> None:
    """Make a backup during charges."""
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


def main(words: Sequence[str]) -> None:
    """Fill a folder and measure."""
    parser = argparse.ArgumentParser(description="Backups of a large desk.")
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args(words)
    engine = "PostgreSQL, fsync on" if given.postgresql else "SQLite"
    print(f"$ {Path(sys.executable).name} -m bench.backup  ({os.cpu_count()} cores, {engine})")
    with tempfile.TemporaryDirectory(dir=given.folder) as name, contextlib.ExitStack() as open_:
        database = ""
        if given.postgresql:
            server = Server(DURABLE, given.folder)
            open_.callback(server.remove)
            database = server.new_database()
        settings = Settings(home=Path(name) / "dados", database=SecretStr(database))
        home = Home(settings.home)
        home.create()
        now = filling.now()
        place_at(database, home).open_desk(pepper=home.pepper()).close()
        if database:
            filling.fill_postgresql(database, given.operations, now, [])
        else:
            filling.fill_sqlite(home.desk, home.cache("test"), given.operations, now, [])
        print(f"{'operations':<40}{given.operations:>10}")
        if not database:
            print(f"{'desk':<40}{home.desk.stat().st_size / 1e6:>10.0f} MB")
        began = time.monotonic()
        made = make(settings, system_now_ms)
        print(f"{'create':<40}{time.monotonic() - began:>10.2f} s")
        print(f"{'backup':<40}{made.bytes / 1e6:>10.0f} MB")
        began = time.monotonic()
        verdict = verify(made.path)
        print(f"{'restore --verify':<40}{time.monotonic() - began:>10.2f} s")
        assert not verdict.complaints, verdict.complaints
        desk = place_at(database, home).open_desk(pepper=home.pepper())
        with closing(desk):
            asyncio.run(during_charges(settings, desk))


if __name__ == "__main__":
    main(sys.argv[1:])
