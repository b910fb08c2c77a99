"""Batches whose ceilings change while nodes run their rows: `python -m bench batches ceilings`.

Nodes on one PostgreSQL take rows, charge, settle and release at random while ceilings are raised
and lowered. No batch may ever exceed its ceiling; once it was lowered below the used amount,
nothing more may pass. At the end rows, entries and budgets agree.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import psycopg
import uuid_utils
from tests.storage.postgres import Server

from balcao.core.batches import BatchQuote
from balcao.core.budgets import Budget
from balcao.core.ledger import Change, Charge, Hold, RowMoved, Settle, TopUp
from balcao.core.people import AT_THE_TERMINAL
from balcao.storage.batches import NewBatch, NewRow
from balcao.storage.connection import SqlConnection
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.desk.budgets import make_budget
from balcao.storage.desk.desk import Desk
from balcao.storage.postgresql.desk import PostgresDesk
from bench.desk import AT_MS, PATH, RAM, RULE

ROWS = 6  # of a batch, of one or two credits each
AT_ONCE = 500  # concurrent batches
MOVES = 4  # rows of a batch before the next batch's turn
STILL = 30  # checks without a change: all ceilings are reached
LISTS = 50  # per commit
KILLED_EVERY_SECONDS = 10.0


def prove(batches: int, nodes: int, seed: int) -> bool:
    """Print the findings; return whether all invariants hold."""
    server = Server({"fsync": "off", "synchronous_commit": "on"}, RAM if RAM.exists() else None)
    proof: _Proof | None = None
    try:
        proof = _Proof(server.new_database(), nodes, seed)
        return proof.run(batches)
    finally:
        if proof is not None:
            proof.end()
        server.remove()


class _Proof:
    def __init__(self, address: str, nodes: int, seed: int) -> None:
        self.address, self.chance = address, random.Random(seed)
        self.loop = asyncio.Runner()
        self.reader = psycopg.connect(address, autocommit=True)
        self.desk: Desk = PostgresDesk(address)
        self.desk.recover(AT_MS)
        account = self.desk.create_account(NewAccount("ana", "pre_pago", "live"), AT_MS)
        self.account_id = account.account_id
        new = NewKey(self.account_id, "x", "x", b"x" * 32)
        self.key_id = self.desk.create_key(new, AT_MS).key_id
        self.desk.commit_now([TopUp(self.account_id, 10**12, "carga", AT_MS)])
        self.budgets: dict[str, str] = {}  # by batch, the number of its ceiling
        self.lowered: dict[str, int] = {}  # used amount when its ceiling was lowered below it
        self.outcomes = Counter[str]()
        self.seed, self.kills, self.changes, self.checks, self.above = nodes, 0, 0, 0, 0
        self.nodes = [self._node(number) for number in range(nodes)]
        self.next_kill = time.monotonic() + KILLED_EVERY_SECONDS

    def run(self, batches: int) -> bool:
        began, made = time.monotonic(), 0
        while made < batches:
            wave = min(AT_ONCE, batches - made)
            for number in range(wave):
                self.loop.run(self._begin(made + number))
            made += wave
            self._ask(self._moves + wave * MOVES)
            print(f"  {made}: above its ceiling {self.above} in {self.checks} looks", flush=True)
        took = time.monotonic() - began
        self._stop_nodes()
        given_back = self.desk.recover(AT_MS + 86_400_000)
        for batch_id in self.budgets:
            self.loop.run(self._reopened(batch_id))
        self._check()
        complaints = self.desk.check().complaints
        summary = ", ".join(f"{what} {count}" for what, count in sorted(self.outcomes.items()))
        print(
            f"{made} batches on {len(self.nodes)} nodes, {self.changes} changes of ceilings,"
            f" {self.kills} kills in {took:.0f} s: {summary}"
        )
        print(f"  {given_back} holds given back in the end; above its ceiling: {self.above} in")
        print(f"  {self.checks} looks at all; rows, entries, budgets: {complaints or 'agree'}")
        return not self.above and not complaints

    def end(self) -> None:
        self._stop_nodes()
        self.desk.close()
        self.reader.close()
        self.loop.close()

    @property
    def _moves(self) -> int:
        return sum(self.outcomes[one.__name__] for one in (Charge, Hold, Settle))

    def _ask(self, until: int) -> None:
        still = 0
        while self._moves < until and still < STILL:
            before = self._moves
            for number, process in enumerate(self.nodes):
                line = process.stdout.readline() if process.stdout else ""
                if line.endswith("\n"):
                    self.outcomes += Counter(json.loads(line))
                else:  # it was killed
                    process.wait()
                    self.nodes[number] = self._node(self.seed)
                    self.seed += 1
                for _ in range(4):
                    self._change()
            self._check()
            still = still + 1 if self._moves == before else 0
            if time.monotonic() > self.next_kill:
                self.chance.choice(self.nodes).send_signal(signal.SIGKILL)
                self.kills += 1
                self.next_kill = time.monotonic() + KILLED_EVERY_SECONDS

    def _change(self) -> None:
        """Change one batch's ceiling, perhaps to less than the used amount."""
        batch_id = self.chance.choice([*self.budgets][-AT_ONCE:])
        ceiling = self.chance.randint(0, 2 * ROWS)

        def edit(budget: Budget) -> Budget:
            return msgspec.structs.replace(budget, credits_max=ceiling)

        number = self.budgets[batch_id]
        # Read after the change, when nothing more may pass: an upper bound for later checks.
        change = self.desk.budgets.change(self.account_id, number, edit, AT_THE_TERMINAL, AT_MS)
        self.loop.run(change)
        self.changes += 1
        used, _ = self._used(batch_id)[batch_id]
        self.lowered[batch_id] = max(used, ceiling)

    def _check(self) -> None:
        self.checks += 1
        for batch_id, (used, ceiling) in self._used().items():
            self.above += used > max(ceiling, self.lowered.get(batch_id, ceiling))

    def _used(self, batch_id: str = "%") -> Mapping[str, tuple[int, int]]:
        """Return what is spent and held of each budget, and its ceiling."""
        rows = self.reader.execute(
            "SELECT owner, coalesce(spent_credits + held_credits, 0), credits_max"
            " FROM budget LEFT JOIN budget_use USING (budget_id) WHERE owner LIKE %s",
            (batch_id,),
        ).fetchall()
        return {owner: (used, ceiling) for owner, used, ceiling in rows}

    async def _begin(self, number: int) -> None:
        """Create one more confirmed batch."""
        batch_id, stored = f"{number:08x}-0000-7000-8000-000000000000", self.desk.batches
        await stored.receive(
            NewBatch(
                batch_id, self.account_id, self.key_id, None, "n", None, PATH, "", "{}",
                "text/csv", None, None, "f", AT_MS + number,
            ),
            (),
        )  # fmt: skip
        await stored.begin(batch_id)
        await stored.add_rows(batch_id, [_row(line) for line in range(2, ROWS + 2)])
        quote = BatchQuote("d", 0, 2 * ROWS, ROWS, 0, AT_MS, AT_MS + 1)
        await stored.quote(batch_id, quote, state="validando")
        ceiling, self.budgets[batch_id] = self.chance.randint(0, 2 * ROWS), f"b{number}"
        budget = Budget(
            0, self.account_id, f"b{number}", "n", "lote", batch_id, "uma_vez", ceiling, None,
            None, 80, AT_MS,
        )  # fmt: skip

        def also(connection: SqlConnection) -> None:
            make_budget(connection, budget, AT_THE_TERMINAL)

        assert await stored.confirm(batch_id, ceiling, AT_MS, (), also)

    async def _reopened(self, batch_id: str) -> None:
        while await self.desk.batches.reopen_lost(batch_id):
            pass

    def _node(self, seed: int) -> subprocess.Popen[str]:
        words = [self.address, str(seed), str(self.account_id), str(self.key_id)]
        return subprocess.Popen(
            [sys.executable, "-m", "bench.batch_ceilings", *words],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
            env=os.environ,
        )

    def _stop_nodes(self) -> None:
        for process in self.nodes:
            process.kill()
            process.wait()


def _row(line: int) -> NewRow:
    document, same = "90010001000100", b"%016d" % line
    return NewRow(
        line, "pendente", None, None, document, None, same, 0, 2, False, None, b"cells"
    )  # fmt: skip


def _work(address: str, seed: int, account_id: int, key_id: int) -> None:
    """Run one node until it is killed: random rows' changes, several lists per commit."""
    chance, desk = random.Random(seed), PostgresDesk(address)
    desk.recover(AT_MS)
    taken: list[tuple[str, int, str]] = []
    with psycopg.connect(address, autocommit=True) as connection:
        while True:
            found = connection.execute(
                "SELECT r.batch_id, r.line FROM batch_row AS r JOIN (SELECT batch_id FROM batch"
                " WHERE state = 'executando' ORDER BY created_ms DESC LIMIT %s) AS b"
                " USING (batch_id) JOIN budget AS c ON c.owner = r.batch_id"
                " LEFT JOIN budget_use AS u USING (budget_id) WHERE r.state = 'pendente'"
                # Including batches that have reached their ceiling.
                " AND (coalesce(spent_credits + held_credits, 0) < credits_max OR random() < 0.1)",
                (AT_ONCE,),
            ).fetchall()
            if not found and not taken:
                time.sleep(0.05)
                continue
            some: list[tuple[tuple[str, int, str], Sequence[Change]]] = []
            while len(some) < LISTS and (found or taken):
                some.append(_changes(chance, account_id, key_id, found, taken))
            counted = Counter[str]()
            outcomes = desk.engine._writer.write([changes for _, changes in some])
            for (row, changes), outcome in zip(some, outcomes, strict=True):
                counted[type(changes[0] if outcome is None else outcome).__name__] += 1
                if isinstance(changes[0], Hold) and outcome is None:
                    taken.append(row)
            print(json.dumps(counted), flush=True)


def _changes(
    chance: random.Random,
    account_id: int,
    key_id: int,
    open_rows: Sequence[tuple[str, int]],
    taken: list[tuple[str, int, str]],
) -> tuple[tuple[str, int, str], Sequence[Change]]:
    if taken and (not open_rows or chance.random() < 0.4):
        batch_id, line, request = row = taken.pop(chance.randrange(len(taken)))
        credits = chance.randint(0, 2)
        rule, origin = (RULE, "online") if credits else ("error", None)
        state = "concluida" if credits else "pendente"
        moved = RowMoved(account_id, batch_id, line, request, state, credits, None, b"", AT_MS)  # type: ignore[arg-type]
        return row, [Settle(account_id, request, credits, rule, origin, AT_MS), moved]  # type: ignore[arg-type]
    batch_id, line = chance.choice(open_rows)
    request = str(uuid_utils.uuid7())
    of = (batch_id, line, request)
    marks = (None, None, batch_id)
    if chance.random() < 0.5:
        hold = Hold(account_id, key_id, request, PATH, 2, AT_MS, *marks)
        return of, [hold, RowMoved(account_id, *of, "em_andamento", 2, None, None, AT_MS)]
    charge = Charge(account_id, key_id, request, PATH, 1, RULE, "cache", AT_MS, *marks)
    return of, [charge, RowMoved(account_id, *of, "concluida", 1, None, b"", AT_MS)]


if __name__ == "__main__":
    _work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
