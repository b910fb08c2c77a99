"""Three `balcao serve` on one PostgreSQL that can be stopped, crashed and disconnected.

Everything listens on loopback, or in network namespaces of the test.
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

import balcao
from balcao.accounts.keys import issue_key
from balcao.core.access import Plan
from balcao.core.ledger import TopUp
from balcao.home import Home
from balcao.service.clock import system_now_ms
from balcao.storage.contract import NewAccount
from balcao.storage.postgresql.desk import PostgresDesk
from tests.cli.shell import PATIENCE_SECONDS, free_port
from tests.nodes.upstream import Upstream
from tests.storage.postgres import Server

PLENTY = json.dumps({"per_minute": 1_000_000_000, "per_day": 1_000_000_000})
PER_MINUTE = 60  # of the plan `pos_pago` in these tests

CREDITS = 1_000_000


def until(true: Callable[[], bool], seconds: float, what: str) -> float:
    """Wait for a condition; return the waited seconds. Raises AssertionError after `seconds`."""
    started = time.monotonic()
    while not true():
        assert time.monotonic() - started < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.05)
    return time.monotonic() - started


class Database(Server):
    """A PostgreSQL with durable commits, reachable by TCP and by its Unix socket."""

    def __init__(self, host: str = "127.0.0.1", within: Sequence[str] = ()) -> None:
        self.host = host
        self.port = free_port()
        settings = {
            "fsync": "on",
            "full_page_writes": "on",
            "listen_addresses": host,
            "port": str(self.port),
            "track_commit_timestamp": "on",
        }
        super().__init__(settings, within=within)
        with (self._data / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {host}/24 trust\n")
        self.admin("SELECT pg_reload_conf()")

    def address(self, database: str) -> str:
        """Return the address of its Unix socket, which needs no network."""
        return f"postgresql://postgres@/{database}?host={self._folder}&port={self.port}"

    def tcp(self, database: str) -> str:
        return f"postgresql://postgres@{self.host}:{self.port}/{database}"

    @contextmanager
    def down(self, how: signal.Signals) -> Iterator[None]:
        """Stop the server in this context, then start it again."""
        self.stop(how)
        try:
            yield
        finally:
            self.start()


class Node:
    """A `balcao serve` that may be restarted."""

    def __init__(self, folder: Path, settings: Mapping[str, str], within: Sequence[str]) -> None:
        self.home = Home(folder)
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"  # address for clients
        self.log = folder.with_suffix(".log")
        # The tested code, even if another version is installed.
        source = str(Path(balcao.__file__).parent.parent)
        self.env = os.environ | settings | {"BALCAO_HOME": str(folder), "PYTHONPATH": source}
        self._within = within
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self._within, sys.executable, "-m", "balcao", "serve"],
                stdout=log,
                stderr=log,
                cwd=self.home.path.parent,
                env=self.env | {"BALCAO_PORT": str(self.port)},
            )

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def ready(self) -> bool:
        """Return the readiness that a load balancer sees."""
        assert self.process is not None
        assert self.process.poll() is None, f"it ended by itself: {self.log.read_text()[-2000:]}"
        try:
            return httpx2.get(f"{self.base}/readyz", timeout=15, trust_env=False).is_success
        except httpx2.TransportError:
            return False


@dataclass(frozen=True)
class Account:
    """An account with its API key."""

    name: str
    account_id: int
    key_id: int
    key: str


class Cluster:
    """Nodes, their database, the provider, and a separate desk for the tests."""

    def __init__(self, folder: Path, database: Database, upstream: Upstream) -> None:
        self.database = database
        self.upstream = upstream
        self._folder = folder
        self._secret = secrets.token_bytes(32)
        self._names = count(1)
        address = database.new_database()
        self._name = address.partition("@/")[2].partition("?")[0]
        self._home = self._new_home("beside")
        self.desk = PostgresDesk(address, pepper=self._home.pepper())
        self.nodes: list[Node] = []

    def add(self, *, by_tcp: bool = True, within: Sequence[str] = (), **more: str) -> Node:
        """Add a node without starting it; `more` are settings as in the environment."""
        home = self._new_home(f"node{len(self.nodes) + 1}")
        name, upstream = self._name, self.upstream
        settings = {
            "BALCAO_DATABASE": self.database.tcp(name) if by_tcp else self.database.address(name),
            "BALCAO_RECEIPTS": str(self._folder / "receipts"),
            "BALCAO_BACKUP_EVERY_HOURS": "0",
            "BALCAO_SANDBOX_ESTABLISHMENTS": "0",
            "BALCAO_LOG_LEVEL": "info",
            "BALCAO_REQUESTS_MAX": "16384",
            "BALCAO_LIMITS_POS_PAGO": json.dumps({"per_minute": PER_MINUTE, "per_day": 1_000_000}),
            "BALCAO_LIMITS_PRE_PAGO": PLENTY,
            "BALCAO_INFOSIMPLES__URL": f"http://127.0.0.1:{upstream.port}/infosimples",
            "BALCAO_INFOSIMPLES__TOKEN": "ensaio",
        }
        self.nodes.append(Node(home.path, settings | more, within))
        return self.nodes[-1]

    def start(self) -> None:
        """Start all nodes at once, as after a power cut."""
        for node in self.nodes:
            node.start()
        self.wait_until_ready()

    def revive(self) -> None:
        """Restart the nodes that have ended."""
        for node in self.nodes:
            if node.process is not None and node.process.poll() is not None:
                node.start()
        self.wait_until_ready()

    def wait_until_ready(self, seconds: float = PATIENCE_SECONDS) -> float:
        """Wait until all nodes are ready; return the seconds."""
        return until(lambda: all(node.ready() for node in self.nodes), seconds, "nodes are ready")

    def close(self) -> None:
        for node in self.nodes:
            if node.process is not None and node.process.poll() is None:
                node.kill()
        self.desk.close()

    def account(self, *, plan: Plan = "pre_pago", credits: int = CREDITS) -> Account:
        """Create a live account with certificates."""
        name, now = f"conta-{next(self._names)}", system_now_ms()
        account = self.desk.create_account(NewAccount(name, plan, "live", certificates=True), now)
        if plan == "pre_pago":
            self.desk.commit_now([TopUp(account.account_id, credits, "ensaio", now)])
        text, key = issue_key(self.desk, self._home, account, "ensaio", now)
        return Account(name, account.account_id, key.key_id, text)

    def balcao(self, *words: str) -> Any:
        """Run a command on the nodes' database, and return its JSON output."""
        done = subprocess.run(
            [sys.executable, "-m", "balcao", *words, "--json"],
            env=self.nodes[0].env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    # Queries of the database

    def sql(self, text: str, *values: Any) -> list[tuple[Any, ...]]:
        return self.desk.engine.connection.execute(text, values).fetchall()

    def charges(self, account: Account) -> dict[str, int]:
        """Return the charged credits by request; the schema makes requests unique."""
        rows = self.sql(
            "SELECT request_id, -balance_change FROM ledger_entry"
            " WHERE account_id = ? AND kind IN ('charge', 'post')"
            " UNION ALL SELECT request_id, credits FROM charged_lookup WHERE account_id = ?",
            account.account_id,
            account.account_id,
        )
        charged = dict(rows)
        assert len(charged) == len(rows), "a request is charged twice"
        return charged

    def held(self) -> int:
        """Return the number of open operations of all nodes."""
        return int(self.sql("SELECT count(*) FROM open_operation")[0][0])

    def assert_books_agree(self) -> None:
        """Assert that nothing is held and all sums agree."""
        checked = self.desk.check()
        assert checked.complaints == []
        assert checked.open_operations == 0

    def _new_home(self, name: str) -> Home:
        home = Home(self._folder / name)
        home.create()
        home.secret.write_bytes(self._secret)
        home.secret.chmod(0o600)
        return home
