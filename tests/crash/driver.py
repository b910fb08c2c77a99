"""Kill the worker at random instants and compare its database with what it acknowledged."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from balcao.core.ledger import TopUp
from balcao.core.receipts import digest_of
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.sqlite.desk import SqliteDesk
from tests.crash.worker import RECEIPTS
from tests.service import at_once

ROOT = Path(__file__).parent.parent.parent
FOREVER_MS = 1 << 52

# Some are killed while they start or release holds, most while they work.
KILLED_AT_START = 0.2
START_SECONDS_MAX = 0.4
WORK_SECONDS_MAX = 0.5


@dataclass
class Promises:
    """Everything that was acknowledged in all cycles."""

    charged: dict[str, tuple[int, int]] = field(default_factory=dict)  # request: account, credits
    topped_up: dict[str, tuple[int, int]] = field(default_factory=dict)  # reason
    keys: dict[str, tuple[int, str, bool]] = field(default_factory=dict)  # account, request, done
    receipts: dict[str, tuple[int, str]] = field(default_factory=dict)  # number: account, digest

    def __len__(self) -> int:
        return len(self.charged) + len(self.topped_up) + len(self.keys) + len(self.receipts)

    def note(self, line: str) -> None:
        """Record one line of the worker's output."""
        kind, *words = line.split()
        if kind == "charged":
            account, request, credits = words
            assert request not in self.charged, f"{request} was acknowledged twice"
            self.charged[request] = (int(account), int(credits))
        elif kind == "topped-up":
            account, reason, credits = words
            self.topped_up[reason] = (int(account), int(credits))
        elif kind == "kept":
            account, number, digest = words
            self.receipts[number] = (int(account), digest)
        elif kind in ("bound", "finished"):
            account, request, key = words
            self.keys[key] = (int(account), request, kind == "finished")
        else:
            assert kind == "ready", line


@dataclass(frozen=True)
class Cycle:
    """Result of one kill."""

    acknowledged: int
    unacknowledged: int  # committed charges that were not acknowledged
    given_back: int  # released holds


def prepare(database: Path) -> Promises:
    """Create three accounts with many credits, and one that often lacks them."""
    desk = SqliteDesk(database)
    promises = Promises()
    for number, credits in enumerate((1_000_000, 1_000_000, 1_000_000, 5), start=1):
        account = desk.create_account(NewAccount(f"conta-{number}", "pre_pago", "live"), 0)
        desk.create_key(NewKey(account.account_id, "k", "p", number.to_bytes(32, "big")), 0)
        reason = f"carga-{number}"
        assert desk.commit_now([TopUp(account.account_id, credits, reason, 0)]) is None
        promises.topped_up[reason] = (account.account_id, credits)
    desk.close()
    return promises


def kill_once(database: Path, name: str, promises: Promises, dice: random.Random) -> Cycle:
    """Start a worker, kill it, compare. Raises AssertionError if anything acknowledged is lost."""
    before = len(promises)
    with worker(database, name) as process:
        assert process.stdout is not None
        lines, reader = collect(process.stdout)
        if dice.random() < KILLED_AT_START:
            time.sleep(dice.random() * START_SECONDS_MAX)
        else:
            wait_for_first(lines, process)
            time.sleep(dice.random() * WORK_SECONDS_MAX)
        assert process.poll() is None, "the worker ended by itself"
        os.killpg(process.pid, signal.SIGKILL)
        reader.join()
    for line in lines:
        promises.note(line)
    given_back, unacknowledged = inspect(database, promises)
    return Cycle(len(promises) - before, unacknowledged, given_back)


@contextmanager
def worker(database: Path, name: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash.worker", str(database), name],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def collect(stream: IO[bytes]) -> tuple[list[str], threading.Thread]:
    """Collect the lines of a stream in a thread."""
    lines: list[str] = []

    def read() -> None:
        for line in stream:
            if line.endswith(b"\n"):
                lines.append(line.decode().rstrip("\n"))

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return lines, thread


def wait_for_first(lines: list[str], process: subprocess.Popen[bytes]) -> None:
    """Wait until the worker is ready to be killed."""
    while not lines:
        assert process.poll() is None, "the worker ended by itself"
        time.sleep(0.001)


def inspect(database: Path, promises: Promises) -> tuple[int, int]:
    """Recover the database as a server would; return released holds, unacknowledged charges."""
    desk = SqliteDesk(database)
    try:
        given_back = desk.recover(time.time_ns() // 1_000_000)
        unacknowledged = compare(desk, promises)
        compare_receipts(desk, promises, database.parent / RECEIPTS)
        return given_back, unacknowledged
    finally:
        desk.close()


def compare_receipts(desk: SqliteDesk, promises: Promises, folder: Path) -> None:
    """Check that acknowledged receipts are recorded, and that recorded ones have their bytes."""
    for number, (account, digest) in promises.receipts.items():
        receipt = desk.receipt(number)
        assert receipt is not None, f"the acknowledged receipt {number} is gone"
        assert (receipt.account_id, receipt.digest) == (account, digest)
    if not folder.is_dir():  # no bytes were stored
        return
    for (named,) in desk._connection.execute("SELECT DISTINCT digest FROM receipt").fetchall():
        file = folder / str(named)[:2] / str(named)
        assert file.is_file(), f"a record names bytes that are not there: {named}"
        assert digest_of(file.read_bytes()) == named, f"half a receipt: {named}"


def compare(desk: SqliteDesk, promises: Promises) -> int:
    """Compare the promises with the ledger; return the number of unacknowledged charges."""
    books = desk.check()
    assert not books.complaints, books.complaints
    assert books.open_operations == 0, "a hold of the dead process was not given back"

    charged: dict[str, tuple[int, int]] = {}
    topped_up: dict[str, tuple[int, int]] = {}
    for account in desk.accounts():
        number, balance = account.account_id, 0
        assert account.held_credits == 0
        for entry in desk.entries(number, 0, FOREVER_MS):
            balance += entry.credits
            if entry.request_id is not None:
                assert entry.request_id not in charged, f"{entry.request_id} was charged twice"
                charged[entry.request_id] = (number, -entry.credits)
            else:
                assert entry.reason is not None
                assert entry.reason not in topped_up, f"{entry.reason} was given twice"
                topped_up[entry.reason] = (number, entry.credits)
        assert account.balance_credits == balance >= 0

    lost = {request for request, what in promises.charged.items() if charged.get(request) != what}
    assert not lost, f"acknowledged charges are missing: {sorted(lost)[:5]}"
    for reason, what in promises.topped_up.items():
        assert topped_up.get(reason) == what, f"an acknowledged top-up is missing: {reason}"

    for key, (number, request, finished) in promises.keys.items():
        attempt = at_once(desk.find_attempt(number, key, 0))
        assert attempt is not None, f"the key of {request} is gone"
        if attempt.recorded is None:
            assert not finished, f"the acknowledged answer of {request} is gone"
            assert attempt.state == "died"
            assert request not in charged, f"{request} died and was charged"
        else:
            assert attempt.recorded.request_id == request
            credits = int(attempt.recorded.body)
            assert charged.get(request, (number, 0)) == (number, credits), (
                f"{request} was answered for {credits} and charged {charged.get(request)}"
            )
    return len(charged.keys() - promises.charged.keys())
