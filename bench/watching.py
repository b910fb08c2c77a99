"""Cost of a charge whose answer may be about a watched subject: processor time per lookup.

    .venv/bin/python -m bench watching [--postgresql] [--rounds 3]

Commits of eight charges on a RAM disk, as in `bench.desk`: of an account that watches nothing, of
one that watches other subjects, and of one that watches the company of every lookup, with the same
status and with another one each time (an event).
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.watching import an_item

from balcao.core.ledger import Change
from balcao.core.observations import Observation, ObservedAnswer
from balcao.operations import OPERATIONS
from bench.desk import AT_MS, RAM, _accounts, _seconds_of, lookup

SIZE, ROWS = 8, 4_000
WATCHED, OTHER = "12345678000195", "90010001000100"
CASES = ("nothing watched", "others watched", "watched, the same", "watched, an event each")


def _changes(case: str, account_id: int, number: int) -> Sequence[Change]:
    changes = [*lookup(AT_MS + number, account_id)]
    if case == CASES[0]:
        return changes
    company: Any = OPERATIONS["company"].examples()[0].outcomes[0]
    body = company.body
    if case == CASES[3] and number % 2:
        body = body.replace(b'"ATIVA"', b'"INAPTA"')
    request_id = changes[0].request_id  # type: ignore[union-attr]
    answer = ObservedAnswer(None, "fonte", AT_MS + number, body)
    seen = Observation(
        account_id, "live", request_id, "company", WATCHED, None, (answer,), AT_MS + number
    )
    return [*changes, seen]


def _measure(
    case: str, desk: Any, write: Callable[[Any], Any], clock: Callable[[], float]
) -> float:
    (account_id,) = _accounts(desk, 1)
    execute = desk.engine.connection.execute
    if case != CASES[0]:
        document = OTHER if case == CASES[1] else WATCHED
        an_item(execute, account_id, document, "cadastro", "socios", "simples")
    batches = [
        [_changes(case, account_id, start + n) for n in range(SIZE)]
        for start in range(0, ROWS, SIZE)
    ]
    began = clock()
    for lists in batches:
        outcomes = write(lists)
        assert not any(outcomes), outcomes
    return (clock() - began) / ROWS * 1e6


def _one(case: str, *, postgresql: bool) -> float:
    if postgresql:
        from tests.storage.postgres import Server  # noqa: PLC0415

        from balcao.storage.postgresql.desk import PostgresDesk  # noqa: PLC0415

        server = Server({"fsync": "off", "synchronous_commit": "off"}, RAM)
        try:
            there = PostgresDesk(server.new_database())
            there.recover(AT_MS)
            pid = there.engine._writing.get().info.backend_pid
            write = there.engine._writer.write
            try:
                return _measure(case, there, write, lambda: time.process_time() + _seconds_of(pid))
            finally:
                there.close()
        finally:
            server.remove()
    from balcao.storage.sqlite.desk import SqliteDesk  # noqa: PLC0415
    from balcao.storage.sqlite.writer import Job  # noqa: PLC0415

    with tempfile.TemporaryDirectory(dir=RAM) as folder:
        desk = SqliteDesk(Path(folder) / "balcao.db")
        try:
            writer = desk.engine._writer
            return _measure(case, desk, lambda lists: writer.write(Job(lists)), time.process_time)
        finally:
            desk.close()


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Processor time of a charge, by what is watched.")
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    found: dict[str, list[float]] = {case: [] for case in CASES}
    for turn in range(given.rounds):
        for case in CASES if turn % 2 == 0 else CASES[::-1]:
            found[case].append(_one(case, postgresql=given.postgresql))
    for case, values in found.items():
        print(f"{case:24} {statistics.median(values):8.1f} us   (from {min(values):.1f})")
