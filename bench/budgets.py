"""Budgets under kill -9 on several nodes, and the cost of two of them per charge.

    .venv/bin/python -m bench budgets [--operations 100000] [--nodes 3] [--only proof|cost]

The proof: nodes on one PostgreSQL charge, hold, settle and release at random against five
overlapping budgets, and are killed meanwhile. No budget may ever exceed its ceiling; at the end the
spent amount of each is the sum of its entries, by independent statements and by `ledger check`.

The cost: the writer's time per charge of an account with two budgets against one without, batch by
batch in turns, on a RAM disk. The figure is the least disturbed quarter of some hundred batches, so
that other load on the machine matters little.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import psycopg
import uuid_utils
from tests.storage.postgres import Server

from balcao.core.budgets import Budget
from balcao.core.ledger import Change, Charge, Hold, Settle, TopUp
from balcao.core.people import AT_THE_TERMINAL
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.desk.budgets import make_budget
from balcao.storage.desk.desk import Desk
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.writer import write as write_file
from bench.desk import AT_MS, PATH, RAM, RULE, lookup

OPERATIONS = 100_000
NODES = 3
LISTS = 25  # in a commit
KILLED_EVERY_SECONDS = 2.0
CLIENT, BATCH = "loja-7", "0198f2d4-0000-7000-8000-000000000001"
DAY_MS = 86_400_000
DAYS = 3  # simulated during a run, so that periods end

COST_BATCHES = {1: 1_200, 8: 500, 64: 150}
CARRIED_OVER_EVERY = 20  # batches, so that SQLite's log stays short


def main(words: list[str]) -> None:
    """Prove and measure; exits with 1 when an invariant is broken."""
    parser = argparse.ArgumentParser(prog="python -m bench budgets")
    parser.add_argument("--operations", type=int, default=OPERATIONS)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--only", choices=("proof", "cost"))
    parser.add_argument("--node", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if given.node:
        _work(given.node[0], int(given.node[1]), int(given.node[2]))
        return
    if given.only != "cost" and not prove(given.operations, given.nodes):
        raise SystemExit(1)
    if given.only != "proof":
        cost()


# The proof


def _budgets(account_id: int, key_id: int, share: int) -> Sequence[Budget]:
    """Return five overlapping budgets, each too small for all requests."""

    def one(  # noqa: PLR0917
        number: int, kind: str, owner: str, period: str, credits: int, calls: int
    ) -> Budget:
        return Budget(
            0, account_id, f"budget-{number}", f"{number}", kind, owner, period,  # type: ignore[arg-type]
            credits * share or None, calls * share or None, None, 80, AT_MS,
        )  # fmt: skip

    key = str(key_id)
    return (
        one(1, "chave", key, "dia", 12, 0),
        one(2, "chave", key, "uma_vez", 30, 9),
        one(3, "cliente", CLIENT, "mes", 20, 0),
        one(4, "lote", BATCH, "uma_vez", 10, 8),
        one(5, "cliente", "outro", "dia", 0, 2),
    )


def prove(operations: int, nodes: int) -> bool:
    """Print the findings; return whether all invariants hold."""
    server = Server({"fsync": "off", "synchronous_commit": "on"}, RAM if RAM.exists() else None)
    running: list[subprocess.Popen[str]] = []
    try:
        address = server.new_database()
        desk = PostgresDesk(address)
        desk.recover(AT_MS)
        account_id = desk.create_account(NewAccount("ana", "pre_pago", "live"), AT_MS).account_id
        key_id = desk.create_key(NewKey(account_id, "x", "x", b"x" * 32), AT_MS).key_id
        desk.commit_now([TopUp(account_id, 10**12, "carga", AT_MS)])
        with desk.engine.write_in_place() as here:
            for budget in _budgets(account_id, key_id, max(1, operations // 100)):
                make_budget(here, budget, AT_THE_TERMINAL)
        began, done, kills, looks, above = time.monotonic(), 0, 0, 0, 0
        outcomes = Counter[str]()
        running = [_node(address, seed, account_id) for seed in range(nodes)]
        seed, next_kill = nodes, began + KILLED_EVERY_SECONDS
        chance = random.Random(1)
        while done < operations:
            for number, process in enumerate(running):
                line = process.stdout.readline() if process.stdout else ""
                if line.endswith("\n"):
                    counted = Counter(json.loads(line))
                    outcomes += counted
                    done += counted.total()
                else:  # it was killed
                    process.wait()
                    running[number], seed = _node(address, seed, account_id), seed + 1
            looks, above = looks + 1, above + _above(address)
            if time.monotonic() > next_kill:
                running[chance.randrange(nodes)].send_signal(signal.SIGKILL)
                kills, next_kill = kills + 1, time.monotonic() + KILLED_EVERY_SECONDS
        for process in running:
            process.kill()
            process.wait()
        took = time.monotonic() - began
        given_back = desk.recover(AT_MS + DAYS * DAY_MS)
        complaints = [*desk.check().complaints, *_differences(address)]
        above += _above(address)
        desk.close()
    finally:
        for process in running:
            process.kill()
            process.wait()
        server.remove()
    summary = ", ".join(f"{what} {count}" for what, count in sorted(outcomes.items()))
    print(f"{done} operations on {nodes} nodes in {took:.0f} s, {kills} of them killed: {summary}")
    print(f"  {given_back} holds given back in the end")
    print(f"  above its ceiling: {above} in {looks} looks; books: {complaints or 'agree'}")
    return not above and not complaints


def _node(address: str, seed: int, account_id: int) -> subprocess.Popen[str]:
    words = [address, str(seed), str(account_id)]
    return subprocess.Popen(
        [sys.executable, "-m", "bench.budgets", "--node", *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
        env=os.environ,
    )


def _above(address: str) -> int:
    with psycopg.connect(address) as connection:
        row = connection.execute(
            "SELECT count(*) FROM budget_use JOIN budget USING (budget_id)"
            " WHERE spent_credits + held_credits > credits_max OR calls > calls_max"
        ).fetchone()
        assert row is not None
        return int(row[0])


def _differences(address: str) -> Sequence[str]:
    """Compare budgets with the sums of their entries, in PostgreSQL."""
    with psycopg.connect(address) as connection:
        rows = connection.execute(
            "SELECT u.budget_id, u.period, u.spent_credits, u.calls, e.spent, e.calls"
            " FROM budget_use AS u LEFT JOIN ("
            "  SELECT (pair ->> 0)::bigint AS budget_id, pair ->> 1 AS period,"
            "         sum(-balance_change) AS spent, count(*) AS calls"
            "  FROM ledger_entry, json_array_elements(budgets::json) AS pair"
            "  WHERE kind IN ('charge', 'post') GROUP BY 1, 2"
            " ) AS e USING (budget_id, period)"
            " WHERE u.spent_credits <> coalesce(e.spent, 0) OR u.held_credits <> 0"
            "    OR u.calls <> coalesce(e.calls, 0)"
        ).fetchall()
    return [str(row) for row in rows]


def _work(address: str, seed: int, account_id: int) -> None:
    """Run one node until it is killed: random lists, several per commit."""
    chance, desk = random.Random(seed), PostgresDesk(address)
    now_ms = AT_MS + chance.randrange(DAYS) * DAY_MS
    desk.recover(now_ms)
    open_: list[tuple[str, int]] = []
    while True:
        now_ms = min(now_ms + chance.randrange(3_600_000), AT_MS + DAYS * DAY_MS)
        lists: list[Sequence[Change]] = []
        for _ in range(LISTS):
            lists.append([_change(chance, account_id, now_ms, open_)])
        counted = Counter[str]()
        for (change,), outcome in zip(lists, desk.engine._writer.write(lists), strict=True):
            counted[type(change if outcome is None else outcome).__name__] += 1
            if isinstance(change, Hold) and outcome is None:
                open_.append((change.request_id, change.credits))
        print(json.dumps(counted), flush=True)


def _change(
    chance: random.Random, account_id: int, now_ms: int, open_: list[tuple[str, int]]
) -> Change:
    if open_ and chance.random() < 0.4:
        request, held = open_.pop(chance.randrange(len(open_)))
        credits = chance.randint(0, held)
        rule, origin = (RULE, "online") if credits else ("error", None)
        return Settle(account_id, request, credits, rule, origin, now_ms)  # type: ignore[arg-type]
    marks = (chance.choice([CLIENT, "outro", None]), None, chance.choice([BATCH, None]))
    key_id, request = chance.choice([1, 1, None]), str(uuid_utils.uuid7())
    credits = chance.randint(1, 4)
    if chance.random() < 0.5:
        return Hold(account_id, key_id, request, PATH, credits, now_ms, *marks)
    return Charge(account_id, key_id, request, PATH, credits, RULE, "cache", now_ms, *marks)


# The cost


def cost() -> None:
    """Print microseconds per charge without budgets and with two, on both engines."""
    with tempfile.TemporaryDirectory(dir=RAM if RAM.exists() else None) as folder:
        file = SqliteDesk(Path(folder) / "balcao.db")
        writer = file.engine._writer

        def write(lists: Sequence[Sequence[Change]]) -> Sequence[object]:
            return write_file(writer._connection, lists, writer._budgets)

        _compare("SQLite", file, write, lambda: writer._connection.wal_checkpoint(mode=0))
        file.close()
    server = Server({"fsync": "off", "synchronous_commit": "off"}, RAM if RAM.exists() else None)
    try:
        desk = PostgresDesk(server.new_database())
        desk.recover(AT_MS)
        _compare("PostgreSQL, its answers included", desk, desk.engine._writer.write)
        desk.close()
    finally:
        server.remove()


def _compare(
    engine: str,
    desk: Desk,
    write: Callable[[Sequence[Sequence[Change]]], Sequence[object]],
    carry_over: Callable[[], object] = lambda: None,
) -> None:
    without, with_two = (_account(desk, name) for name in ("sem", "com"))
    with desk.engine.write_in_place() as here:
        for number, period in enumerate(("dia", "mes")):
            budget = Budget(
                0, with_two[0], f"b{number}", "x", "chave", str(with_two[1]), period,  # type: ignore[arg-type]
                10**9, None, None, 80, AT_MS,
            )  # fmt: skip
            make_budget(here, budget, AT_THE_TERMINAL)
    print(f"{engine}, RAM disk, us a charge")
    for size, batches in COST_BATCHES.items():
        figures: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(batches):
            for budgeted in (False, True) if turn % 2 else (True, False):
                account_id, key_id = with_two if budgeted else without
                lists = [lookup(AT_MS, account_id, key_id) for _ in range(size)]
                began = time.perf_counter()
                outcomes = write(lists)
                figures[budgeted].append((time.perf_counter() - began) / size * 1e6)
                assert not any(outcomes)
            if turn % CARRIED_OVER_EVERY == 0:
                carry_over()
        none, two = (statistics.quantiles(figures[which], n=4)[0] for which in (False, True))
        print(f"  batch of {size:2}: {none:6.1f} without, {two:6.1f} with two: {two - none:+.1f}")


def _account(desk: Desk, name: str) -> tuple[int, int]:
    account_id = desk.create_account(NewAccount(name, "pre_pago", "live"), AT_MS).account_id
    desk.commit_now([TopUp(account_id, 10**9, "carga", AT_MS)])
    key = NewKey(account_id, "x", "x", name.encode().rjust(32))
    return account_id, desk.create_key(key, AT_MS).key_id


if __name__ == "__main__":
    main(sys.argv[1:])
