"""Cost of a lookup with full tables: 10 thousand, a million, ten million rows of each kind.

    .venv/bin/python -m bench scaling [--postgresql] [--rows 10000 1000000 10000000]

Each size is a separate installation, filled (`bench.filling`) with as many charged lookups (the
rows of cached lookups) and cache entries; all of them serve at the same time, and wrk measures one
after another, with requests spread evenly over the cache (the worst case for caches in memory).
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import apsw
from tests.storage.postgres import Server

from balcao.core.questions import Mode
from balcao.home import Home
from balcao.storage.places import place_at
from bench import filling
from bench.load import Side, machine, need_wrk, only, shoot
from bench.nodes import DURABLE
from bench.serving import (
    PREFIX,
    SERVE,
    companies_elsewhere,
    fetch,
    free_port,
    open_account,
    running,
    settings,
)

T = TypeVar("T")

MODE: Mode = "test"
SIZES = (10_000, 1_000_000, 10_000_000)
CONNECTIONS = (1, 16)
ROUNDS, SECONDS = 5, 5
BODIES = 200

# The check digits of a CNPJ, in wrk's language.
_SCRIPT = """
local n = {count}
local w1 = {{5,4,3,2,9,8,7,6,5,4,3,2}}
local w2 = {{6,5,4,3,2,9,8,7,6,5,4,3,2}}
local function digit(text, weights)
  local sum = 0
  for i = 1, #weights do sum = sum + (text:byte(i) - 48) * weights[i] end
  local rest = sum % 11
  return rest < 2 and 0 or 11 - rest
end
math.randomseed({seed})
request = function()
  local base = string.format("7%07d0001", math.random(0, n - 1))
  base = base .. digit(base, w1)
  base = base .. digit(base, w2)
  return wrk.format("GET", "{prefix}" .. base .. "?cache_strategy=CACHE_PREFERENCIAL")
end
"""


@dataclass
class Full:
    """One filled and serving installation."""

    count: int
    sides: dict[int, Side]  # by connections
    seconds: dict[str, float]  # seconds of everything other than lookups
    bytes: dict[str, int]


def run(sizes: Sequence[int] = SIZES, *, postgresql: bool, folder: Path | None = None) -> None:
    """Fill, serve, measure, print."""
    need_wrk()
    engine = "PostgreSQL, fsync on" if postgresql else "SQLite"
    print(f"$ python -m bench scaling  ({engine}, {os.cpu_count()} cores, {filling.today()})")
    with (
        tempfile.TemporaryDirectory(dir=folder) as temporary,
        contextlib.ExitStack() as open_,
    ):
        here = Path(temporary)
        bodies = real_bodies(here / "first")
        server = None
        if postgresql:
            server = Server({**DURABLE, "shared_buffers": "2GB", "max_wal_size": "8GB"}, folder)
            open_.callback(server.remove)
        full = [
            open_.enter_context(filled(here / str(size), size, bodies, server)) for size in sizes
        ]
        for number in range(ROUNDS):
            for each in full:
                for side in each.sides.values():
                    print(
                        f"  {number + 1}/{ROUNDS} {side.name}: {shoot(side, SECONDS)}", flush=True
                    )
        print(machine(folder))
        report(full)


def real_bodies(home: Path) -> list[bytes]:
    """Return answers as cached, of companies of the simulated providers."""
    key = open_account(home)
    port = free_port()
    with running(SERVE, port, settings(home, port)):
        for document in companies_elsewhere(BODIES):
            fetch(port, key, PREFIX + document)
    with contextlib.closing(apsw.Connection(str(Home(home).cache(MODE)))) as connection:
        rows = connection.execute("SELECT body FROM entry").fetchall()
    return [bytes(row[0]) for row in rows]  # type: ignore[arg-type]


@contextlib.contextmanager
def filled(home: Path, count: int, bodies: list[bytes], server: Server | None) -> Iterator[Full]:
    """Serve an installation with so many rows of each kind."""
    database = "" if server is None else server.new_database()
    key = open_account(home, database=database)
    place = Home(home)
    cache = place_at(database, place).open_cache(MODE, pepper=place.pepper())
    asyncio.run(cache.read(["its tables are made with the first question"]))
    cache.close()
    seconds: dict[str, float] = {}
    now = filling.now()

    def fill() -> None:
        if database:
            filling.fill_postgresql(database, count, now, bodies)
        else:
            filling.fill_sqlite(place.desk, place.cache(MODE), count, now, bodies)

    seconds["fill"] = timed(fill)[0]
    print(f"  {count:,} filled in {seconds['fill']:.0f} s", flush=True)
    seconds["open"], desk = timed(
        lambda: place_at(database, place).open_desk(pepper=place.pepper())
    )
    try:
        month = now - 30 * 86_400_000
        account = desk.accounts()[-1].account_id
        seconds["month of one account"] = timed(lambda: [*desk.entries(account, month, now)])[0]
        seconds["check of all books"], books = timed(desk.check)
        assert not books.complaints, books.complaints
        assert books.entries > count
    finally:
        desk.close()
    port = free_port()
    script = home / "random.lua"
    script.write_text(_SCRIPT.format(count=count, seed=count, prefix=PREFIX))
    try:
        with running(SERVE, port, settings(home, port, database=database)) as pid:
            must_be_cached(port, key, filling.company(count // 2))
            sides = {
                number: Side(f"{count:,}", [port], script, key, number, only(pid))
                for number in CONNECTIONS
            }
            yield Full(count, sides, seconds, sizes_of(place, database, server))
    finally:
        shutil.rmtree(home)


def must_be_cached(port: int, key: str, document: str) -> None:
    """Check that the answer comes from the cache."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{PREFIX}{document}?cache_strategy=CACHE_SE_EXISTIR",
        headers={"x-api-key": key},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert reply.headers["cache-status"].endswith("; hit"), reply.headers


def timed(work: Callable[[], T]) -> tuple[float, T]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def sizes_of(place: Home, database: str, server: Server | None) -> dict[str, int]:
    """Return bytes on disk, indexes included."""
    if server is None:
        return {"desk": place.desk.stat().st_size, "cache": place.cache(MODE).stat().st_size}
    import psycopg  # noqa: PLC0415

    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT coalesce(parent.relname, c.relname), sum(pg_total_relation_size(c.oid))"
            " FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid"
            " LEFT JOIN pg_class AS parent ON parent.oid = i.inhparent"
            " WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY 1"
        ).fetchall()
    sizes = {str(name): int(size) for name, size in rows}
    desk = sizes["ledger_entry"] + sizes["charged_lookup"] + sizes["trace"]
    return {"desk": desk, "cache": sizes["entry"]}


def report(full: Sequence[Full]) -> None:
    print("\nmedians; times beside the smallest installation in the same rounds")
    for each in full:
        print(f"  {each.count:>12,} of everything")
        for connections, side in each.sides.items():
            first = full[0].sides[connections]
            figures = (
                f"  {name} {mine:8.3f} ({mine / of_first:4.2f})"
                for name, mine, of_first in zip(
                    ("rate", "p50 ms", "p99 ms", "cpu us"),
                    medians(side),
                    medians(first),
                    strict=True,
                )
            )
            refused = sum(shot.refused for shot in side.shots)
            print(f"    {connections:3d} connections{''.join(figures)}  refused {refused}")
        for what, size in each.bytes.items():
            print(f"    {what}: {size / 1e6:,.0f} MB, {size / each.count:,.0f} bytes each")
        for what, seconds in each.seconds.items():
            print(f"    {what}: {seconds:.2f} s")


def medians(side: Side) -> tuple[float, ...]:
    return (
        side.median(lambda shot: shot.per_second),
        side.median(lambda shot: shot.p50_ms),
        side.median(lambda shot: shot.p99_ms),
        side.median(lambda shot: shot.us["cpu"]),
    )


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench scaling")
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES)
    parser.add_argument("--folder", type=Path, help="where the databases should lie")
    given = parser.parse_args(arguments)
    run(given.rows, postgresql=given.postgresql, folder=given.folder)


if __name__ == "__main__":
    main(sys.argv[1:])
