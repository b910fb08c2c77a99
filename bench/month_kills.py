"""Comparison of portfolios by several nodes that are killed at random points.

    python -m bench month_kills [--kills 200] [--nodes 3]

Each node is a process with months of its own, on one PostgreSQL. All notice each change of the
month and compare the same portfolios at once, a few items a commit, and are killed with SIGKILL
meanwhile. After each comparison every portfolio must have each event of the sandbox's two months
once; after a return the corrections; compared from the beginning once more, nothing.
"""

import argparse
import asyncio
import json
import logging
import multiprocessing
import random
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import date
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import structlog
from tests.storage.postgres import Server
from tests.storage.test_months_contract import EVENTS, TOPICS

from balcao.core.month_comparison import Comparison, WatchedSubject
from balcao.fiction.sandbox import EXISTING_COMPANIES
from balcao.home import Home
from balcao.opendata.comparing import MonthPair, open_pair
from balcao.opendata.generator import EARLIER_EXTRACTION_DATE, EXTRACTION_DATE
from balcao.service.month_comparison import Comparer, MonthComparison, MonthWatch
from balcao.storage.contract import NewAccount
from balcao.storage.desk.desk import Desk
from balcao.storage.places import place_at
from bench.months import make_months, read, serving_now

ACCOUNTS = 6
AT_ONCE = 3  # items a commit
KILL_AFTER_SECONDS = 0.4  # at most
SECONDS_MAX = 120.0  # of one comparison

_INSERT = (
    "INSERT INTO wallet_item (item_id, account_id, document, root, client, tags, watched,"
    " registrations, created_ms) VALUES (?, ?, ?, ?, '', '[]', ?, '[]', ?)"
)


class InThisProcess(Comparer):
    """Compares without another process, which has no state of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._pairs = ExitStack()
        self._pair: MonthPair | None = None

    async def compare(
        self, before: Path, after: Path, subjects: Sequence[WatchedSubject]
    ) -> Sequence[Comparison]:
        if self._pair is None:
            self._pair = self._pairs.enter_context(open_pair(before, after))
        return self._pair.compare(subjects)


def serve(home: Path, database: str) -> None:
    """Be a node until the last change of the month is compared."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    place = Home(home)
    desk = place_at(database, place).open_desk(pepper=place.pepper())
    store = place.opendata("live")

    async def work() -> None:
        await MonthWatch(store, desk.months, serving_now).poll()
        last = await desk.months.last_comparison()
        if last is not None:
            job = MonthComparison(
                {"live": store}, desk.months, InThisProcess(), serving_now, at_once=AT_ONCE
            )
            while await job.work(str(last.switch.switch_id)) is not None:
                pass

    asyncio.run(work())
    desk.close()


class Nodes:
    """The nodes, started again whenever one was killed."""

    def __init__(self, homes: Sequence[Path], database: str, desk: Desk, kills: int) -> None:
        self.homes, self.database, self.desk = homes, database, desk
        self.left, self.killed, self.dice = kills, 0, random.Random(1)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["bench.month_kills"])

    def query(self, sql: str) -> list[Any]:
        with self.desk.engine.open_reader() as connection:
            return read(connection, sql)

    def start(self, home: Path) -> ForkServerProcess:
        process = self._context.Process(target=serve, args=(home, self.database), daemon=True)
        process.start()
        return process

    def compare(self, day: date, switches: int) -> None:
        """Put a month into use on every node, and kill them until it is compared."""
        for home in self.homes:
            (Home(home).opendata("live") / "current").write_text(f"{day}.snapshot\n", "utf-8")
        running = [self.start(home) for home in self.homes]
        until = time.monotonic() + SECONDS_MAX
        done = f"SELECT 1 FROM month_switch WHERE switch_id = {switches} AND ended_ms IS NOT NULL"
        while not self.query(done):
            assert time.monotonic() < until, "the comparison did not end"
            time.sleep(self.dice.uniform(0, KILL_AFTER_SECONDS))
            at = self.dice.randrange(len(running))
            if self.left and running[at].is_alive():
                running[at].kill()
                running[at].join()
                self.left, self.killed = self.left - 1, self.killed + 1
            if not running[at].is_alive():
                running[at] = self.start(self.homes[at])
        for process in running:
            process.join(SECONDS_MAX)
        ends = [process.exitcode for process in running]
        assert ends == [0] * len(running), ends
        assert self.query("SELECT count(*) FROM month_switch") == [(switches,)]

    def compare_again(self, day: date, switches: int) -> None:
        """Compare the last change from the beginning, as if no position had been stored."""
        with self.desk.engine.write_in_place() as connection, connection.transaction():
            values = (switches,)
            connection.execute("DELETE FROM month_comparison WHERE switch_id = ?", values)
            connection.execute(
                "UPDATE month_switch SET ended_ms = NULL WHERE switch_id = ?", values
            )
        self.compare(day, switches)


def fill(desk: Desk) -> Sequence[int]:
    """Add portfolios with the companies that differ between the months; return the accounts."""
    now, accounts = serving_now(), []
    for number in range(ACCOUNTS):
        account = desk.create_account(NewAccount(f"carteira-{number}", "pre_pago", "live"), now)
        accounts.append(account.account_id)
        with desk.engine.write_in_place() as connection, connection.transaction():
            for document in EVENTS:
                values = (
                    f"{account.account_id}-{document}", account.account_id, document, document[:8],
                    json.dumps(TOPICS), now,
                )  # fmt: skip
                connection.execute(_INSERT, values)
    return accounts


Found = Mapping[str, Sequence[Mapping[str, Any]]]


class Check:
    """The events that each portfolio had so far."""

    def __init__(self, desk: Desk, accounts: Sequence[int]) -> None:
        self.desk = desk
        self.last = dict.fromkeys(accounts, 0)
        self.sequences: dict[str, int] = defaultdict(int)
        self.events = 0

    def nothing_new(self) -> None:
        for account_id, last in self.last.items():
            assert not self.desk.events.after(account_id, last, 1_000), account_id

    def changed(self, before: Mapping[int, Found] | None = None) -> Mapping[int, Found]:
        """Check the events since the last call; `before`: those that a return corrects."""
        found: dict[int, Found] = {}
        for account_id in self.last:
            found[account_id] = self._changed(
                account_id, None if before is None else before[account_id]
            )
        return found

    def _changed(self, account_id: int, before: Found | None) -> Found:
        found: dict[str, list[Mapping[str, Any]]] = {document: [] for document in EVENTS}
        others = []
        events = self.desk.events.after(account_id, self.last[account_id], 1_000)
        for event in events:
            body = json.loads(event.body) | {"tipo": event.kind, "id": event.event_id}
            if event.item_id is None:
                others.append(body)
                continue
            self.sequences[event.item_id] += 1
            assert body["sequencia"] == self.sequences[event.item_id], body
            found[event.item_id.partition("-")[2]].append(body)
        self.last[account_id] = events[-1].number
        self.events += len(events) - len(others)
        assert [each["tipo"] for each in others] == ["base.trocada", "carteira.comparada"], others
        assert (others[1]["itens"], others[1]["com_mudanca"]) == (len(EVENTS), 10), others[1]
        for document, several in found.items():
            if before is None:
                assert [each["tipo"] for each in several] == EVENTS[document], several
                assert not any("corrige" in each for each in several), several
            else:
                corrected = [each["id"] for each in before[document]]
                assert [each["corrige"] for each in several] == corrected, several
        return found


def run(nodes: Nodes, check: Check) -> int:
    """Change the month there, back and there again, until every kill is used; return how often."""
    switches = 0
    there: Mapping[int, Found] | None = None
    while nodes.left or switches < 3:
        nodes.compare(EXTRACTION_DATE, switches := switches + 1)
        there = check.changed()
        nodes.compare_again(EXTRACTION_DATE, switches)
        check.nothing_new()
        nodes.compare(EARLIER_EXTRACTION_DATE, switches := switches + 1)
        check.changed(there)
        print(f"{switches} changes of the month, {nodes.killed} kills", flush=True)
    return switches


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench month_kills")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=3)
    asked = parser.parse_args(words)
    server = Server()
    try:
        with tempfile.TemporaryDirectory() as folder:
            first = Home(Path(folder) / "node-0")
            first.create()
            pepper = first.pepper()  # made now, and the same on every node
            make_months(first.opendata("live"), Path(folder), len(EXISTING_COMPANIES))
            homes = [first.path]
            for number in range(1, asked.nodes):
                homes.append(Path(folder) / f"node-{number}")
                shutil.copytree(first.path, homes[-1])
            database = server.new_database()
            desk = place_at(database, first).open_desk(pepper=pepper)
            nodes = Nodes(homes, database, desk, asked.kills)
            for home in homes:
                serve(home, database)  # the first month is the baseline
            check = Check(desk, fill(desk))
            began = time.monotonic()
            switches = run(nodes, check)
            desk.close()
            seconds = time.monotonic() - began
            print(
                f"{nodes.killed} kills of {asked.nodes} nodes in {switches} changes and"
                f" {seconds:.0f} s: {check.events} events, each once"
            )
    finally:
        server.remove()
