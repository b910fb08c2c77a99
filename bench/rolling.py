"""Upgrade two nodes on one PostgreSQL to a next version, one after the other, under load.

    .venv/bin/python -m bench rolling

Both versions are wheels of this tree; the next one has a larger version and one more migration,
which adds a column and a table. Each is installed in an environment of its own. Clients of three
accounts send lookups with an `Idempotency-Key` to both nodes in turn, on a new connection each;
where a connection is refused they use the other node, as the proxies in `deploy/` do. Some keys are
repeated later, at the other node.

Prints what each node answered, second by second. Fails at an answer other than 200 or 503, at 503
for longer than two seconds, at a request that was cut off, at a repeated key with another answer or
a charge, and if the ledger is not what was answered. At the end the old version must refuse to
start.
"""

import argparse
import http.client
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from tests.deploy.wheels import build, checkout, install
from tests.nodes.harness import until
from tests.storage.postgres import Server

from balcao import __version__
from balcao.accounts.keys import issue_key
from balcao.core.ledger import TopUp
from balcao.home import Home
from balcao.storage.contract import NewAccount
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.statements import migrations
from bench.serving import PREFIX, companies_elsewhere, free_port, settings

ACCOUNTS = 3
CREDITS = 1_000_000
CLIENTS = 4
PAUSE_SECONDS = 0.03
QUIET_SECONDS = 4.0  # of load before, between and after the two upgrades
REPEATED = 0.2
UNAVAILABLE_SECONDS_MAX = 2.0
READY_SECONDS_MAX = 120.0
DURABLE = {"fsync": "on", "full_page_writes": "on"}
STRATEGIES = ("SO_ONLINE", "CACHE_PREFERENCIAL")

_EXPANDS = {
    "sqlite": """-- oldest compatible schema: {has}
ALTER TABLE account ADD COLUMN nickname TEXT NOT NULL DEFAULT '';
CREATE TABLE note (note_id INTEGER NOT NULL PRIMARY KEY, text TEXT NOT NULL) STRICT;
""",
    "postgresql": """-- oldest compatible schema: {has}
ALTER TABLE account ADD COLUMN nickname text NOT NULL DEFAULT '';
CREATE TABLE note (note_id bigint NOT NULL PRIMARY KEY, text text NOT NULL);
""",
}
_CHARGES = (
    "SELECT request_id, -balance_change FROM ledger_entry WHERE kind IN ('charge', 'post')"
    " UNION ALL SELECT request_id, credits FROM charged_lookup"
)


def next_version() -> str:
    """Return the version after this one that may add to the schema."""
    major, minor, _ = __version__.split(".")
    return f"{major}.{int(minor) + 1}.0"


def make_next(tree: Path) -> None:
    """Turn a checkout into the next version."""
    module = tree / "src/balcao/__init__.py"
    module.write_text(module.read_text("utf-8").replace(__version__, next_version()), "utf-8")
    has = max(migrations("postgresql", "desk"))
    for engine, sql in _EXPANDS.items():
        folder = tree / "src/balcao/storage" / engine / "migrations/desk"
        (folder / f"{has + 1:04}_note.sql").write_text(sql.format(has=has), "utf-8")


class Node:
    """A node that is stopped and started with another version."""

    def __init__(self, name: str, home: Path, database: str) -> None:
        self.name = name
        self.home = home
        self.port = free_port()
        self.version = ""
        environment = {key: value for key, value in os.environ.items() if "BALCAO" not in key}
        own = settings(home, self.port, database=database, log_level="warning")
        self.environment = environment | own | {"PYTHONNOUSERSITE": "1"}
        self.log = home.with_suffix(".log")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, python: Path, version: str) -> None:
        """Start this version, and wait until the node is ready."""
        self.version = version
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [python, "-m", "balcao", "serve"],
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=self.environment,
            )
        until(self._is_ready, READY_SECONDS_MAX, f"{self.name} is ready")

    def stop(self) -> None:
        """End the node as a service manager does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(150)

    def _is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text("utf-8")[-2000:]
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=15)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


@dataclass(frozen=True)
class Answer:
    """An answer, and where it came from."""

    at: float
    node: str
    version: str
    status: int
    body: bytes
    request_id: str
    charged: int
    replayed: bool


@dataclass
class Diary:
    """All answers, and the events between them."""

    began: float = field(default_factory=time.monotonic)
    answers: list[Answer] = field(default_factory=list)
    cut_off: list[str] = field(default_factory=list)
    events: list[tuple[float, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, event: str) -> None:
        self.events.append((time.monotonic() - self.began, event))


class Clients:
    """Concurrent clients of all accounts, each in a thread."""

    def __init__(self, nodes: Sequence[Node], keys: Sequence[str], seed: int) -> None:
        self.nodes = nodes
        self.keys = keys
        self.diary = Diary()
        self.ended = threading.Event()
        self.faults: list[str] = []
        self._documents = companies_elsewhere(500)
        self._threads = [
            threading.Thread(target=self._work, args=(number, random.Random(seed + number)))
            for number in range(CLIENTS)
        ]

    def start(self) -> None:
        self.diary = Diary()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self.ended.set()
        for thread in self._threads:
            thread.join()

    def _work(self, client: int, dice: random.Random) -> None:
        answered: list[tuple[str, str, str, Answer]] = []
        number = 0
        while not self.ended.is_set():
            number += 1
            if answered and dice.random() < REPEATED:
                key, path, idempotency_key, first = dice.choice(answered)
                again = self._send(number, key, path, idempotency_key)
                if again is not None and again.status == 200:
                    self._compare(first, again)
            else:
                strategy = dice.choice(STRATEGIES)
                path = f"{PREFIX}{dice.choice(self._documents)}?cache_strategy={strategy}"
                key = dice.choice(self.keys)
                idempotency_key = f"cliente-{client}-{number}"
                answer = self._send(number, key, path, idempotency_key)
                if answer is not None and answer.status == 200:
                    if answer.charged != 1 or answer.replayed:
                        self.faults.append(f"{answer.charged} credits, {answer.replayed=}")
                    answered.append((key, path, idempotency_key, answer))
            time.sleep(PAUSE_SECONDS)

    def _compare(self, first: Answer, again: Answer) -> None:
        same = (first.body, first.request_id) == (again.body, again.request_id)
        if not same or again.charged or not again.replayed:
            self.faults.append(f"a repeated key was answered otherwise by {again.node}")

    def _send(self, number: int, key: str, path: str, idempotency_key: str) -> Answer | None:
        """Send a request to one node, or where it does not accept connections, to the other."""
        for turn in range(len(self.nodes)):
            node = self.nodes[(number + turn) % len(self.nodes)]
            version = node.version
            connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=60)
            try:
                connection.connect()
            except ConnectionRefusedError:
                continue
            try:
                headers = {"x-api-key": key, "idempotency-key": idempotency_key}
                connection.request("GET", path, headers=headers)
                reply = connection.getresponse()
                body = reply.read()
            except (OSError, http.client.HTTPException) as error:
                with self.diary.lock:
                    self.diary.cut_off.append(f"{node.name}: {error!r}")
                return None
            finally:
                connection.close()
            answer = Answer(
                time.monotonic() - self.diary.began,
                node.name,
                version,
                reply.status,
                body,
                reply.headers["x-request-id"],
                int(reply.headers.get("x-creditos-cobrados", "0")),
                reply.headers.get("idempotent-replayed") == "true",
            )
            with self.diary.lock:
                self.diary.answers.append(answer)
            return answer
        with self.diary.lock:
            self.diary.cut_off.append("no node accepted a connection")
        return None


def shown(diary: Diary) -> str:
    """Return the log: the events, and each node's answers by status, for every second."""
    seconds: dict[int, dict[str, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    for answer in diary.answers:
        seconds[int(answer.at)][f"{answer.node} {answer.version}"][answer.status] += 1
    lines = []
    events = sorted(diary.events)
    for second in sorted(seconds):
        while events and events[0][0] < second + 1:
            at, event = events.pop(0)
            lines.append(f"{at:5.1f} s   {event}")
        nodes = (
            f"{node}: " + ", ".join(f"{many} × {status}" for status, many in sorted(counts.items()))
            for node, counts in sorted(seconds[second].items())
        )
        lines.append(f"{second:3d}     {'   '.join(nodes)}")
    return "\n".join(lines)


def judge(clients: Clients, address: str, accounts: Sequence[int]) -> str:
    """Compare all answers with the ledger; return the sums. Raises AssertionError."""
    diary = clients.diary
    assert not clients.faults, clients.faults[:5]
    assert not diary.cut_off, diary.cut_off[:5]
    statuses = Counter(answer.status for answer in diary.answers)
    assert set(statuses) <= {200, 503}, statuses
    away = [answer.at for answer in diary.answers if answer.status == 503]
    lasted = max(away) - min(away) if away else 0.0
    assert lasted <= UNAVAILABLE_SECONDS_MAX, f"503 for {lasted:.1f} s"
    with psycopg.connect(address) as connection:
        charges = connection.execute(_CHARGES).fetchall()
        balances = connection.execute(
            "SELECT sum(balance_credits), sum(held_credits) FROM account"
            " WHERE account_id = ANY(%s)",
            (list(accounts),),
        ).fetchone()
    ledger = Counter(request_id for request_id, _ in charges)
    answered = {
        answer.request_id: answer.charged
        for answer in diary.answers
        if answer.status == 200 and not answer.replayed
    }
    assert max(ledger.values()) == 1, "a request was charged twice"
    assert dict(charges) == answered
    assert balances == (CREDITS * len(accounts) - sum(answered.values()), 0), balances
    replays = sum(answer.replayed for answer in diary.answers)
    return (
        f"{statuses[200]} answers, {statuses[503]} × 503 within {lasted:.1f} s, none cut off;"
        f" {len(answered)} charged, each once; {replays} repeated keys, none charged again;"
        " balances exact"
    )


def run(seed: int) -> None:
    """Upgrade both nodes under load, print the log, and compare. Raises AssertionError."""
    with tempfile.TemporaryDirectory(prefix="bench-rolling-") as name:
        folder = Path(name)
        old_tree, new_tree = checkout(folder / "old"), checkout(folder / "new")
        make_next(new_tree)
        versions = {
            __version__: install(build(old_tree)[".whl"], folder / "venv-old"),
            next_version(): install(build(new_tree)[".whl"], folder / "venv-new"),
        }
        server = Server(DURABLE)
        address = server.new_database()
        nodes = [Node(name, folder / f"node-{name}", address) for name in "AB"]
        try:
            _run(seed, nodes, versions, address)
        finally:
            for node in nodes:
                node.stop()
            server.remove()


def _run(seed: int, nodes: Sequence[Node], versions: dict[str, Path], address: str) -> None:
    a, b = nodes
    old, new = versions
    Home(a.home).create()
    pepper = Home(a.home).pepper()
    b.home.mkdir(mode=0o700)
    shutil.copy(Home(a.home).secret, Home(b.home).secret)
    for node in nodes:
        node.start(versions[old], old)
    desk = PostgresDesk(address, pepper=pepper)
    accounts, keys = [], []
    for number in range(ACCOUNTS):
        now_ms = time.time_ns() // 1_000_000
        account = desk.create_account(NewAccount(f"cliente {number}", "pre_pago", "test"), now_ms)
        desk.commit_now([TopUp(account.account_id, CREDITS, "bench", now_ms)])
        key, _ = issue_key(desk, Home(a.home), account, "bench", now_ms)
        keys.append(key)
        accounts.append(account.account_id)
    desk.close()
    clients = Clients(nodes, keys, seed)
    clients.start()
    try:
        time.sleep(QUIET_SECONDS)
        for node in (b, a):
            clients.diary.note(f"{node.name} is stopped")
            node.stop()
            clients.diary.note(f"{node.name} has ended; {new} is started")
            node.start(versions[new], new)
            clients.diary.note(f"{node.name} is ready")
            time.sleep(QUIET_SECONDS)
    finally:
        clients.stop()
    print(shown(clients.diary))
    print(judge(clients, address, accounts))
    for line in b.log.read_text("utf-8").splitlines():
        if line.startswith(("O banco de dados passa", "Migração")):
            print(f"B: {line}")
    a.stop()
    refused = subprocess.run(
        [versions[old], "-m", "balcao", "serve"],
        env=a.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert refused.returncode == 1, refused
    assert re.search(rf"Balcão {re.escape(new)}, e este é o {re.escape(old)}", refused.stderr)
    print(f"A with {old} again: exit code 1\n{refused.stderr}")


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="bench rolling", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    given = parser.parse_args(words)
    print(f"$ python -m bench rolling --seed {given.seed}")
    run(given.seed)


if __name__ == "__main__":
    main(sys.argv[1:])
