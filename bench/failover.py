"""Fail-over of PostgreSQL with two real servers; the ledger is compared with every answer.

    .venv/bin/python -m bench failover          20 crashes, 5 cuts, one round of each other kind
    .venv/bin/python -m bench failover --crashes 2 --cuts 1 --others 0

A primary, a synchronous standby, and two nodes with both hosts in their address. Callers send
requests without keys, with a key until it is answered, and by the project's client for Python.

    crash    the primary is killed (every third one is frozen instead), the standby promoted
    cut      the standby receives nothing and commits wait; then the primary dies
    frozen   the standby is frozen for a while and continues
    old      a frozen primary continues after the promotion, first in the address
    restart  the nodes are restarted, one after the other
    name     one host, a name that leads to the demoted server for some seconds

Each round ends with the judge: acknowledged charges and replays that are missing in the ledger,
duplicates, questions that were charged twice, keys whose answers changed. Fails if there are any.
"""

import argparse
import random
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from tests.nodes.harness import Node

from balcao.home import Home
from bench.failover_callers import Callers, Verdict
from bench.failover_pair import Pair, until
from bench.serving import open_account, settings

CRASHES, CUTS, OTHERS = 20, 5, 1
CUT_SECONDS = 25.0
FROZEN_SECONDS = 15.0
CALLERS_OF_A_KIND = 3
PAUSE_SECONDS = 0.05
WELL_SECONDS = 2.0  # of further load after recovery
NAME_SECONDS = 5.0


class Drill:
    """The servers, the nodes and their callers, through all rounds."""

    def __init__(self, folder: Path, seed: int, callers: int) -> None:
        self.dice = random.Random(seed)
        self.each = callers
        self.folder = folder
        self.pair = Pair(folder)
        self.nodes: list[Node] = []
        self._secret = secrets.token_bytes(32)
        key = open_account(self._home("desk"), "test", self.pair.address("a", "b"))
        for _ in range(2):
            self.add(self.pair.address("a", "b"))
        self.callers = Callers([node.base for node in self.nodes], key, seed, PAUSE_SECONDS)
        self.start(self.nodes)

    def add(self, address: str) -> Node:
        """Add one more node, not yet started."""
        home = self._home(f"node{len(self.nodes) + 1}")
        env = settings(home, 0, database=address, log_level="warning")
        node = Node(home, {name: env[name] for name in env if name != "BALCAO_PORT"}, ())
        self.nodes.append(node)
        return node

    def start(self, nodes: Sequence[Node]) -> None:
        """Start these nodes, and wait until they are ready."""
        for node in nodes:
            node.start()
        until(lambda: all(node.ready() for node in nodes), "nodes are ready", 180)

    def restart(self, node: Node) -> None:
        """Stop a node like an upgrade does, and start it."""
        self.end(node)
        self.start([node])

    def end(self, node: Node) -> None:
        """Stop a node gracefully."""
        assert node.process is not None
        node.process.send_signal(signal.SIGTERM)
        node.process.wait(60)

    def close(self) -> None:
        """Stop everything."""
        for node in self.nodes:
            if node.process is not None and node.process.poll() is None:
                node.kill()
        self.pair.remove()

    @contextmanager
    def asking(self, bases: Sequence[str] | None = None) -> Iterator[None]:
        """Run callers during a block, and for a while after."""
        if bases is not None:
            self.callers.bases = bases
        self.callers.start(self.each)
        try:
            self.work()
            yield
            time.sleep(WELL_SECONDS)
        finally:
            self.callers.stop()
            self.callers.bases = [node.base for node in self.nodes[:2]]

    def work(self) -> None:
        """Let callers run for one to three seconds."""
        time.sleep(self.dice.uniform(1.0, 3.0))

    def wait_until_ready(self) -> None:
        """Wait for the first two nodes."""
        until(lambda: all(node.ready() for node in self.nodes[:2]), "the nodes are ready again")

    def judge(self) -> Verdict:
        """Compare with the primary's ledger."""
        return self.callers.judge(self.pair.address_of(self.pair.primary))

    def _home(self, name: str) -> Path:
        home = Home(self.folder / name)
        home.create()
        home.secret.write_bytes(self._secret)
        home.secret.chmod(0o600)
        return home.path


def crash(drill: Drill, number: int) -> str:
    """Kill or freeze the primary, and promote the standby."""
    pair, still = drill.pair, number % 3 == 0
    with drill.asking():
        if still:
            pair.primary.freeze()
        else:
            pair.primary.kill()
        began = time.monotonic()
        old = pair.promote()
        promoted = time.monotonic()
        first = drill.callers.first_answer_after(promoted)
        if still:
            old.kill()
        drill.wait_until_ready()
    old.remove()
    pair.follow()
    return (
        f"{'stands still' if still else 'killed'}, promoted in {promoted - began:.1f} s, first"
        f" answer {first:.1f} s after it"
    )


def cut(drill: Drill, _: int, seconds: float = CUT_SECONDS) -> str:
    """Cut off the standby, then kill the primary and promote the standby."""
    pair = drill.pair
    assert pair.link is not None
    with drill.asking():
        document = drill.callers.warm()
        drill.callers.pause()
        pair.link.cut()
        cut_at = time.monotonic()
        # The first commit of each node waits: it is a charge with a key.
        drill.callers.ask_first(document)
        until(lambda: pair.waiting() >= len(drill.nodes[:2]), "a commit of each node waits")
        drill.callers.go_on()
        time.sleep(seconds)
        waiting = pair.waiting()
        pair.primary.kill()
        dead = time.monotonic()
        answers = [one for one in drill.callers.answered if cut_at < one.at < dead]
        old = pair.promote()
        first = drill.callers.first_answer_after(time.monotonic())
        drill.wait_until_ready()
    old.remove()
    pair.follow()
    return (
        f"cut for {seconds:.0f} s, {waiting} commits waiting at its end, meanwhile {len(answers)}"
        f" answers, {sum(each.replayed for each in answers)} of them replays; first"
        f" answer {first:.1f} s"
        " after the promotion"
    )


def frozen(drill: Drill, _: int) -> str:
    """Freeze the standby for a while."""
    standby = drill.pair.standby
    assert standby is not None
    with drill.asking():
        with standby.frozen():
            time.sleep(FROZEN_SECONDS)
        first = drill.callers.first_answer_after(time.monotonic())
        drill.wait_until_ready()
    return f"the standby stood still for {FROZEN_SECONDS:.0f} s, first answer {first:.1f} s after"


def old(drill: Drill, _: int) -> str:
    """Let an old primary continue after the promotion: nothing may be written there."""
    pair = drill.pair
    with drill.asking():
        processes = pair.primary.freeze()
        left = pair.promote()
        drill.callers.first_answer_after(time.monotonic())
        left.thaw(processes)
        left.set("synchronous_standby_names", "")  # without a standby: the worst case
        before = _rows(pair.address_of(left))
        if pair.first is not left:
            pair.swap_places()
        pair.disconnect_nodes()
        drill.callers.first_answer_after(time.monotonic())
        drill.restart(drill.nodes[0])  # its data folder has the newest timeline
        drill.callers.first_answer_after(time.monotonic())
        drill.wait_until_ready()
    written = _rows(pair.address_of(left)) - before
    left.remove()
    pair.follow()
    assert written == 0, f"{written} rows were written on the old primary"
    return "the old primary went on, writable and first in the address: 0 rows written there"


def restart(drill: Drill, _: int) -> str:
    """Restart the nodes, one after the other."""
    took = []
    with drill.asking():
        for node in drill.nodes[:2]:
            began = time.monotonic()
            drill.restart(node)
            took.append(f"{time.monotonic() - began:.1f} s")
        ended = time.monotonic()
        time.sleep(WELL_SECONDS)
    others = Counter(status for at, status in drill.callers.statuses if at < ended)
    return f"nodes restarted in {', '.join(took)}; statuses meanwhile {_shown(others)}"


def name(drill: Drill, _: int) -> str:
    """Let a name lead to the demoted server for some seconds after a switch-over."""
    pair = drill.pair
    pair.name("name", pair.primary)
    named = [drill.add(pair.address("name")) for _ in range(2)]
    drill.start(named)
    with drill.asking([node.base for node in named]):
        pair.primary.stop()
        left = pair.promote()
        pair.be_read_only(left)
        time.sleep(NAME_SECONDS)
        pair.name("name", pair.primary)
        moved = time.monotonic()
        first = drill.callers.first_answer_after(moved)
        until(lambda: all(node.ready() for node in named), "the nodes are ready again")
        time.sleep(2.0)  # failed connections are retried after a second
        well = time.monotonic()
        time.sleep(2 * WELL_SECONDS)
        since = Counter(status for at, status in list(drill.callers.statuses) if at > well + 1.0)
    for node in named:
        drill.end(node)
    left.remove()
    pair.follow()
    assert set(since) == {200}, f"errors after the name moved: {_shown(since)}"
    return (
        f"the name led to the demoted server for {NAME_SECONDS:.0f} s; first answer {first:.1f} s"
        f" after it moved, then {_shown(since)}"
    )


def _rows(address: str) -> int:
    with psycopg.connect(address) as connection:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM ledger_entry) + (SELECT count(*) FROM charged_lookup)"
            " + (SELECT count(*) FROM idempotency) + (SELECT count(*) FROM rate_limit)"
        ).fetchone()
    assert row is not None
    return int(row[0])


def _shown(statuses: Counter[int]) -> str:
    return ", ".join(f"{many} × {status or 'none'}" for status, many in sorted(statuses.items()))


def run(plan: Sequence[tuple[str, Callable[[Drill, int], str], int]], seed: int, each: int) -> None:
    """Run all rounds; print each, and the sums. Raises SystemExit if anything was lost."""
    total = Verdict()
    done: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="balcao-drill-") as temporary:
        drill = Drill(Path(temporary), seed, each)
        try:
            for title, round_, many in plan:
                for number in range(1, many + 1):
                    result = round_(drill, number)
                    verdict = drill.judge()
                    total.add(verdict)
                    done[title] += 1
                    print(f"{title} {number}: {result}\n    {verdict}", flush=True)
        finally:
            drill.close()
    rounds = ", ".join(f"{many} × {title}" for title, many in done.items())
    print(f"{rounds}: {total}")
    if not total.is_good:
        raise SystemExit("bench failover: a promise was broken")


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="bench failover", description="Lose the primary, again and again, and count."
    )
    parser.add_argument("--crashes", type=int, default=CRASHES)
    parser.add_argument("--cuts", type=int, default=CUTS)
    parser.add_argument("--cut-seconds", type=float, default=CUT_SECONDS)
    parser.add_argument("--others", type=int, default=OTHERS, help="rounds of each other kind")
    parser.add_argument("--callers", type=int, default=CALLERS_OF_A_KIND, help="of each kind")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    given = parser.parse_args(words)
    print(
        f"$ python -m bench failover --crashes {given.crashes} --cuts {given.cuts}"
        f" --cut-seconds {given.cut_seconds:g} --others {given.others} --callers {given.callers}"
        f" --seed {given.seed}"
    )
    plan: list[tuple[str, Callable[[Drill, int], str], int]] = [
        ("crash", crash, given.crashes),
        ("cut", lambda drill, number: cut(drill, number, given.cut_seconds), given.cuts),
        ("frozen", frozen, given.others),
        ("old", old, given.others),
        ("restart", restart, given.others),
        ("name", name, given.others),
    ]
    run(plan, given.seed, given.callers)


if __name__ == "__main__":
    main(sys.argv[1:])
