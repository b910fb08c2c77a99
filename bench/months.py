"""Comparison of portfolios after a change of the month, while lookups are served.

Generates two months, fills portfolios of 10,000 items each, of which some changed, serves, puts
the second month into use, and measures comparison and lookups. With `--kills` the server is killed
at random points of the comparison and started again. At the end every expected event must exist
once, and the counts of each account must add up.

    python -m bench months [--items N] [--establishments N] [--kills N] [--database ADDRESS]
"""

import argparse
import contextlib
import json
import os
import random
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from balcao.core.company_record import record_bytes, registry_record
from balcao.core.documents import Cnpj
from balcao.core.month_comparison import base_ms
from balcao.fiction.sandbox import EXISTING_COMPANIES
from balcao.home import Home
from balcao.opendata.generator import EARLIER_EXTRACTION_DATE, EXTRACTION_DATE, generate
from balcao.opendata.importer import build, rollback
from balcao.opendata.snapshot import Snapshot, current_path
from balcao.storage.connection import SqlConnection
from balcao.storage.contract import NewAccount
from balcao.storage.desk.desk import Desk
from balcao.storage.places import place_at
from bench import serving

TODAY = date(2026, 8, 20)
EACH = 10_000  # items of an account
CHANGED_EVERY = 50
TOPICS = '["cadastro","socios","simples"]'
SECONDS_MAX = 600.0
WARM_SECONDS = 5.0

_INSERT = (
    "INSERT INTO wallet_item (item_id, account_id, document, root, client, tags, watched,"
    " registrations, record, record_ms, created_ms) VALUES (?, ?, ?, ?, '', '[]', ?, '[]', ?, ?, ?)"
)


def make_months(store: Path, work: Path, establishments: int) -> None:
    """Import two months into the store; the first one is in use."""
    for earlier, day in ((True, EARLIER_EXTRACTION_DATE), (False, EXTRACTION_DATE)):
        month = generate(
            work / str(day),
            establishments,
            1,
            include=EXISTING_COMPANIES,
            extraction_date=day,
            earlier=earlier,
            workers=2,
        )
        build(month.files, store, today=TODAY, workers=2)
    rollback(store)


def fill(desk: Desk, items: int, documents: list[str], store: Path) -> int:
    """Add portfolios; return the count of items that will have an event.

    One item in fifty has an own lookup between the months, of another size of company.
    """
    snapshot = Snapshot.open(current_path(store))
    between, now, expected = base_ms(EARLIER_EXTRACTION_DATE) + 1, serving_now(), 0
    for first in range(0, items, EACH):
        name = f"carteira-{first // EACH}"
        account = desk.create_account(NewAccount(name, "pre_pago", "live"), now)
        with desk.engine.write_in_place() as connection, connection.transaction():
            for at in range(min(EACH, items - first)):
                document = documents[at % len(documents)]
                record = None
                if at % CHANGED_EVERY == 0:
                    company = snapshot.find(Cnpj(document))
                    assert company is not None
                    record = record_bytes(registry_record(replace(company, porte="OUTRO")))
                    expected += 1
                values = (
                    f"{first:08d}-{at:05d}", account.account_id, document, document[:8], TOPICS,
                    record, None if record is None else between, now,
                )  # fmt: skip
                connection.execute(_INSERT, values)
    snapshot.close()
    return expected


def serving_now() -> int:
    return time.time_ns() // 1_000_000


@contextlib.contextmanager
def timed_lookups(port: int, key: str) -> Iterator[list[tuple[float, float]]]:
    """Look companies up one after another; yield the growing list of instants and seconds."""
    found: list[tuple[float, float]] = []
    ends = threading.Event()

    def work() -> None:
        number = 0
        while not ends.is_set():
            number += 1
            began = time.monotonic()
            with contextlib.suppress(OSError):
                serving.fetch(port, key, serving.PREFIX + "90010001000100")
                found.append((began, time.monotonic() - began))
            time.sleep(0.005)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield found
    finally:
        ends.set()
        thread.join()


def p99_ms(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98] * 1000


def ended(query: Any) -> tuple[int, int] | None:
    """Return the instants at which the comparison was recorded and had ended."""
    row = query("SELECT at_ms, ended_ms FROM month_switch ORDER BY switch_id DESC LIMIT 1")
    return None if not row or row[0][1] is None else (row[0][0], row[0][1])


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench months")
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--establishments", type=int, default=50_000)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--database", default="")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        home = Home(work / "home")
        key = serving.open_account(home.path, database=asked.database)
        store = home.opendata("live")
        make_months(store, work, asked.establishments)
        documents = serving.documents_of(work / str(EXTRACTION_DATE))
        documents = [each for each in dict.fromkeys(documents) if len(each) == 14]
        known = Snapshot.open(current_path(store))
        documents = [
            each
            for each in documents
            if known.stored_rows(each[:12]) and not each.startswith("9003")
        ][:EACH]
        known.close()
        assert len(documents) == min(EACH, asked.items), "more establishments are needed"
        desk = place_at(asked.database, home).open_desk(pepper=home.pepper())
        expected = fill(desk, asked.items, documents, store)
        run(asked, home, key, desk, expected)
        desk.close()


def run(asked: argparse.Namespace, home: Home, key: str, desk: Desk, expected: int) -> None:
    """Change the month while lookups are served; print the figures and check the events."""

    def query(sql: str) -> list[Any]:
        with desk.engine.open_reader() as connection:
            return read(connection, sql)

    port = serving.free_port()
    more: Mapping[str, str] = {"database": asked.database} if asked.database else {}
    env = serving.settings(home.path, port, sandbox_establishments="100", **more)
    store, killed, chance = home.opendata("live"), 0, random.Random(1)
    with contextlib.ExitStack() as stack:
        pid = stack.enter_context(serving.running(serving.SERVE, port, env))
        lookups = stack.enter_context(timed_lookups(port, key))
        time.sleep(WARM_SECONDS)
        switched = time.monotonic()
        (store / "current").write_text(f"{EXTRACTION_DATE}.snapshot\n", "utf-8")
        until = switched + SECONDS_MAX
        while (span := ended(query)) is None and time.monotonic() < until:
            if killed < asked.kills and query("SELECT 1 FROM month_switch"):
                time.sleep(chance.random())
                os.kill(pid, signal.SIGKILL)
                killed += 1
                pid = stack.enter_context(serving.running(serving.SERVE, port, env))
            time.sleep(0.05)
        over = time.monotonic()
    assert span is not None, "the comparison did not end"
    before = [seconds for at, seconds in lookups if at < switched]
    during = [seconds for at, seconds in lookups if switched <= at < over]
    check(query, asked.items, expected)
    print(f"{asked.items} items, {expected} changed, {killed} kills")
    print(f"from the change of the file to the end: {over - switched:.1f} s")
    print(f"comparison: {(span[1] - span[0]) / 1000:.1f} s")
    if not killed:
        print(f"lookups' p99: {p99_ms(before):.1f} ms before, {p99_ms(during):.1f} ms during")


def read(connection: SqlConnection, sql: str) -> list[Any]:
    return connection.execute(sql).fetchall()


def check(query: Any, items: int, expected: int) -> None:
    """Every expected event exists once, and the counts of each account add up."""
    ((events, causes),) = query(
        "SELECT count(*), count(DISTINCT cause) FROM event WHERE item_id IS NOT NULL"
    )
    assert events == causes == expected, (events, causes, expected)
    bodies = [
        json.loads(body)
        for (body,) in query("SELECT body FROM event WHERE kind = 'carteira.comparada'")
    ]
    assert len(bodies) == -(-items // EACH)
    assert sum(body["itens"] for body in bodies) == items
    for body in bodies:
        assert body["comparados"] + body["nao_verificados"] == body["itens"]
    assert sum(body["com_mudanca"] for body in bodies) == expected
