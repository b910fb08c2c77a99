"""The statement of an account with a million charges in a month: the server's cost of its pages.

    .venv/bin/python -m bench statement [--charges 1000000] [--postgresql]

The charges are spread over 30 days, and at random over operations, keys, people, UFs, clients and
origins. Folding them is measured first. Then a browser's session requests the pages: the server's
processor time, and the elapsed time.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import apsw
import psycopg

from balcao.accounts.links import new_token, token_digest
from balcao.core.calendar import civil_day, civil_month
from balcao.core.people import Signature
from balcao.home import Home
from balcao.service.clock import system_now_ms
from balcao.storage.batch import CHARGED_LOOKUP_COLUMNS
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.exports import StoredExport
from balcao.storage.people import NewUser
from balcao.storage.places import place_at
from balcao.storage.postgresql.partitions import Partitions
from balcao.web.kit import guard
from bench.filling import Row, _copy, _insert, now
from bench.serving import SERVE, fetch, free_port, open_account, running, settings

DAY_MS = 86_400_000
SPAN_MS = 30 * DAY_MS
ROUNDS = 7
OPERATIONS = (
    "cnpj-receita-federal", "sintegra", "suframa", "certidao-negativa-de-debitos-federal",
    "certidao-negativa-de-debitos-estadual", "produtor-rural",
)  # fmt: skip
UFS = (
    "AC", "AL", "AM", "AP", "BA", "CE", "DF", "ES", "GO", "MA", "MG", "MS", "MT", "PA", "PB", "PE",
    "PI", "PR", "RJ", "RN", "RO", "RR", "RS", "SC", "SE", "SP", "TO",
)  # fmt: skip
CLIENTS = [f"cliente-{number}" for number in range(200)]
PAGES = {
    "by operation (as it opens)": "",
    "by client": "&agrupar=cliente",
    "by UF": "&agrupar=uf",
    "by person": "&agrupar=pessoa",
    "by client and day": "&agrupar=cliente&por_dia=1",
    "by key, of one client": "&agrupar=chave&cliente=cliente-7",
}


def charges(count: int, now_ms: int, account_id: int, keys: range, users: range) -> Iterator[Row]:
    """Yield cached lookups, oldest first: columns of `CHARGED_LOOKUP_COLUMNS`."""
    chance = random.Random(4)
    for number in range(count):
        at_ms = now_ms - SPAN_MS + SPAN_MS * number // count
        text = f"{at_ms:012x}7{number % 4096:03x}{0x8000000000000000 | chance.getrandbits(62):016x}"
        request_id = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        by_key = chance.random() < 0.8
        origin, operation = chance.choice(("cache", "online")), chance.choice(OPERATIONS)
        yield (account_id, request_id, at_ms, chance.choice(keys) if by_key else None,
               None if by_key else chance.choice(users), operation, f"{number:014d}",
               chance.choice(UFS), "CACHE_SE_EXISTIR", 0, 200, None, origin, "cnpja", at_ms,
               1 + (origin == "online"), f"{operation}/{origin}", at_ms, chance.choice(CLIENTS),
               None, civil_month(at_ms), None)  # fmt: skip


def fill(home: Path, database: str, count: int, account_id: int) -> None:
    """Insert the account's charges directly, and set its balance."""
    rows = charges(count, now(), account_id, range(1, 6), range(1, 13))
    spent = (
        "UPDATE account SET balance_credits = balance_credits -"
        " (SELECT sum(credits) FROM charged_lookup"
        f" WHERE account_id = {account_id}), month = '{civil_month(now())}'"
        f" WHERE account_id = {account_id}"
    )
    if database:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")
            Partitions().make(connection, civil_day(now() - SPAN_MS), civil_day(now()))
            _copy(connection, "charged_lookup", CHARGED_LOOKUP_COLUMNS, rows)
            connection.execute(spent.encode())
            connection.execute("VACUUM ANALYZE")
        return
    with closing(apsw.Connection(str(Home(home).desk))) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        _insert(connection, "charged_lookup", CHARGED_LOOKUP_COLUMNS, rows)
        connection.execute(spent)


async def prepare(desk: Desk, account_id: int, count: int) -> str:
    """Fold everything; return a manager's session."""
    began, strokes = time.process_time(), 0
    while await desk.totals.fold(system_now_ms()):
        strokes += 1
    took = (time.process_time() - began) / count * 1e6
    print(f"folded {count:,} charges in {strokes} strokes: {took:.1f} us of this process a charge")
    user = await desk.people.add_user(
        NewUser("gerente@balcao.test", "Gerente", "manager", account_id), Signature("cli"), now()
    )
    token = new_token()
    await desk.people.open_session(user.user_id, token_digest(token), Signature("web"), now())
    await desk.exports.begin(
        StoredExport("none", account_id, user.user_id, "csv", "x", "{}", 0, None, now())
    )
    await desk.exports.erase()
    return token


def _ticks(pid: int) -> float:
    """Return the processor time of a process with all threads, in milliseconds."""
    spent = 0
    for each in Path(f"/proc/{pid}/task").iterdir():
        spent += int((each / "schedstat").read_text("ascii").split()[0])
    return spent / 1e6


def measure(pid: int, ask: Callable[[], object]) -> tuple[float, float]:
    """Return medians of the server's processor time and of elapsed time, in milliseconds."""
    spent, took = [], []
    for _ in range(ROUNDS):
        before, began = _ticks(pid), time.perf_counter()
        ask()
        took.append((time.perf_counter() - began) * 1000)
        spent.append(_ticks(pid) - before)
    return statistics.median(spent), statistics.median(took)


def run(count: int, *, postgresql: bool) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database = ""
        if postgresql:
            from tests.storage.postgres import Server  # noqa: PLC0415

            server = Server({})
            stack.callback(server.remove)
            database = server.new_database()
        key, home, port = open_account(folder, database=database), Home(folder), free_port()
        fill(folder, database, count, 1)
        desk = place_at(database, home).open_desk(pepper=home.pepper())
        token = asyncio.run(prepare(desk, 1, count))
        (totals,) = desk.engine.connection.execute("SELECT count(*) FROM daily_total").fetchone()
        print(f"{totals:,} rows of totals")
        desk.close()
        more = {"database": database} if database else {}
        pid = stack.enter_context(running(SERVE, port, settings(folder, port, **more)))
        fetch(port, key, "/conta/v1/saldo")
        first, last = civil_day(now() - SPAN_MS), civil_day(now())
        period = f"de={first}&ate={last}"

        def page(path: str) -> Callable[[], object]:
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}{path}", headers={"cookie": f"{guard.SESSION}={token}"}
            )

            def ask() -> object:
                with urllib.request.urlopen(request, timeout=120) as reply:
                    text = reply.read().decode()
                assert "<title>Entrar" not in text, "the session was not taken"
                return text

            return ask

        print(f"{count:,} charges in 30 days: ms of the server's processor, ms until it is here")
        asked = {
            f"statement {name}": f"/app/extrato?{period}{more}" for name, more in PAGES.items()
        }
        asked["home"] = "/app"
        asked["list of one client, some 5,000 requests"] = (
            f"/app/historico?{period}&cobradas=1&cliente=cliente-7"
        )
        for name, path in asked.items():
            page(path)()
            spent, took = measure(pid, page(path))
            print(f"  {name:44} {spent:8.1f} {took:8.1f}")
        spent, took = measure(pid, lambda: fetch(port, key, f"/conta/v1/consumo?{period}"))
        print(f"  {'/conta/v1/consumo, a line each':44} {spent:8.1f} {took:8.1f}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench statement", description=__doc__)
    parser.add_argument("--charges", type=int, default=1_000_000)
    parser.add_argument("--postgresql", action="store_true")
    given = parser.parse_args(arguments)
    run(given.charges, postgresql=given.postgresql)
