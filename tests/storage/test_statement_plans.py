"""Plans of PostgreSQL for the statements of a request, when there are many rows of everything.

The desk and the cache are used as by requests, on a database that was filled by other means; the
server logs the plan of every statement, including those within triggers. So no statement is
missed, and the plans are those of the statements that the program sends.
"""

import asyncio
import datetime
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from balcao.core.access import Account
from balcao.core.calendar import civil_day
from balcao.core.freshness import CacheEntry
from balcao.core.ledger import Change, Touch, Unbind
from balcao.core.rate_limit import Limit
from balcao.storage.numbers import least_number
from balcao.storage.people import TraceFilter
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.postgresql.partitions import Partitions
from tests.storage import postgres
from tests.storage.people import a_trace
from tests.storage.world import (
    DAY_MS,
    KEPT_MS,
    NOW,
    a_bind,
    a_charge,
    a_finish,
    a_hold,
    a_keep,
    a_settle,
    brasilia,
    consumption,
)

ACTIVE = 60  # accounts; of 5,000
FIRST_MS = brasilia("2026-02-02 00:00:00")
# psycopg prepares at the sixth time, and PostgreSQL plans for all values at the sixth after that,
# if that is not more expensive.
ROUNDS = 14

# Tables that do not grow with the number of requests.
SMALL = {"node", "heartbeat", "open_operation", "schema_version", "budget_use", "seat"}


def _filling(rows: int) -> Sequence[Sequence[str]]:
    """Return the statements that fill a database, in two lists that do not wait for each other."""
    step_ms = (NOW - FIRST_MS) // rows

    def requests(first: float, last: float) -> str:
        """Return the requests between two shares of all, with their times and numbers."""
        return f"""
            (SELECT n, at_ms, substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-7000-8000-'
                    || lpad(to_hex(n), 12, '0') AS number
             FROM (SELECT n, at_ms, lpad(to_hex(at_ms), 12, '0') AS hex
                   FROM (SELECT n, {FIRST_MS} + n::bigint * {step_ms} AS at_ms
                         FROM generate_series({int(first * rows) + 1}, {int(last * rows)}) AS n
                        ) AS moment
                  ) AS text) AS request"""

    def entries(of: str, kinds: str) -> str:
        return (
            "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change, held_change,"
            f" request_id, key_id, operation, rule, origin) SELECT 1 + n % {ACTIVE}, at_ms,"
            " '2026-08', kind, balance, held, number, 1, 'cnpj', 'x', 'online'"
            f" FROM {of}, (VALUES {kinds}) AS k (kind, balance, held)"
        )

    account = f"CASE n % 7 WHEN 0 THEN 1 ELSE 1 + n % {ACTIVE} END"
    return (
        (
            "INSERT INTO account (name, plan, mode, certificates, partner_optin, created_ms,"
            " balance_credits) SELECT 'conta-' || n, 'pre_pago', 'live', 0, 0, 0, 1000000"
            " FROM generate_series(1, 5000) AS n",
            "INSERT INTO api_key (account_id, name, prefix, hash, created_ms)"
            " SELECT n, 'k', 'p', sha256(n::text::bytea), 0 FROM generate_series(1, 5000) AS n",
            entries(requests(0, 0.6), "('charge', -1, 0)"),
            entries(requests(0.6, 0.8), "('hold', 0, 1), ('post', -1, -1)"),
            f"INSERT INTO receipt SELECT 'r' || n, 1 + n % {ACTIVE}, 'x', md5(n::text)"
            f" || md5(n::text), 'application/pdf', 10, at_ms FROM {requests(0, 0.1)}",
            "INSERT INTO person (account_id, email, email_key, name, role, created_ms)"
            " SELECT n, n, n, 'X', 'manager', 0 FROM generate_series(1, 5000) AS n",
            "INSERT INTO web_session (token_digest, user_id, opened_ms, seen_ms)"
            f" SELECT sha256(n::text::bytea), n, {NOW}, {NOW} FROM generate_series(1, 5000) AS n",
            "INSERT INTO audit_entry (at_ms, channel, action, account_id, target, detail)"
            " SELECT 0, 'cli', 'key.create', 1 + n % 5000, 'x', 'x'"
            " FROM generate_series(1, 50000) AS n",
            "INSERT INTO rate_limit SELECT 'minuto:' || n, 0 FROM generate_series(1, 5000) AS n",
        ),
        (
            "INSERT INTO entry SELECT 'live', 'cnpj:' || n, 1, 'serpro', ''::bytea"
            f" FROM generate_series(1, {rows}) AS n",
            "INSERT INTO trace (request_id, account_id, key_id, operation, document, strategy,"
            " refresh, status, credits, rule, opened_ms, settled_ms)"
            f" SELECT number, {account}, 1, 'cnpj', '11222333000181', 'x', 0, 200, 1, 'x', at_ms,"
            f" at_ms FROM {requests(0, 0.8)}",
            "INSERT INTO charged_lookup (request_id, account_id, key_id, operation, document,"
            " strategy, refresh, status, origin, credits, rule, month, opened_ms, settled_ms)"
            f" SELECT number, {account}, 1, 'cnpj', '11222333000181', 'x', 0, 200, 'cache', 1, 'x',"
            f" '2026-08', at_ms, at_ms FROM {requests(0.8, 1)}",
            f"INSERT INTO idempotency SELECT 1 + n % {ACTIVE}, 'k' || n, 'f', number, 'finished',"
            f" at_ms, at_ms + {KEPT_MS}, 200, ''::bytea, NULL, 1 FROM {requests(0.7, 1)}",
        ),
    )


@pytest.fixture(
    scope="module", params=[120_000, pytest.param(1_000_000, marks=pytest.mark.nightly)]
)
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Return the address of a database with so many rows in each of its large tables."""
    address = postgres.new_address()
    with closing(PostgresCache(address, "live")) as cache:
        asyncio.run(cache.read(["its table is made"]))
    with psycopg.connect(address, autocommit=True) as connection:
        Partitions().make(connection, datetime.date(2026, 2, 1), datetime.date(2026, 10, 1))

    def fill(statements: Sequence[str]) -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")  # no triggers
            for statement in statements:
                connection.execute(statement.encode())

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(fill, _filling(request.param)))
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("ANALYZE")
    yield address
    postgres.server().drop_database(address)


@pytest.fixture(params=["auto", "force_generic_plan"])
def plans(address: str, request: pytest.FixtureRequest) -> "Plans":
    return Plans(address, request.param)


class Plans:
    """Collect the plans of statements on new connections, from the server's log."""

    def __init__(self, address: str, mode: str) -> None:
        self.mode = mode
        self._address = address
        name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
        for setting in (
            "session_preload_libraries = auto_explain",
            "auto_explain.log_min_duration = 0",
            "auto_explain.log_nested_statements = on",
            "auto_explain.log_analyze = on",
            "auto_explain.log_timing = off",
            "auto_explain.log_format = json",
            f"plan_cache_mode = {mode}",
        ):
            postgres.server().admin(f"ALTER DATABASE {name} SET {setting}")

    def of(
        self, work: Callable[[PostgresDesk, PostgresCache, int], Awaitable[None]]
    ) -> "list[Any]":
        """Repeat work often enough; return the plans in the order of their statements."""
        log = postgres.server().log
        before = log.stat().st_size

        async def story(desk: PostgresDesk, cache: PostgresCache) -> None:
            for number in range(ROUNDS):
                await work(desk, cache, number)

        with (
            closing(PostgresDesk(self._address)) as desk,
            closing(PostgresCache(self._address, "live")) as cache,
        ):
            asyncio.run(story(desk, cache))
        with log.open("rb") as file:
            file.seek(before)
            written = file.read().decode()
        found = [json.loads(text) for text in re.findall(r"plan:\n((?:\t.*\n)+)", written)]
        assert found, "no plans in the log: is auto_explain loaded?"
        return found


def scans(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all nodes of a plan that read a table."""
    if "Relation Name" in plan and plan["Node Type"].endswith(" Scan"):
        yield plan
    for part in plan.get("Plans", ()):
        yield from scans(part)


def finds(scan: Mapping[str, Any]) -> bool:
    """Return whether a node searches for rows, instead of reading a whole table or index."""
    if scan["Node Type"] == "Bitmap Heap Scan":
        return all("Index Cond" in part for part in _leaves(scan))
    return "Index Cond" in scan


def _leaves(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    parts = plan.get("Plans", ())
    if not parts:
        yield plan
    for part in parts:
        yield from _leaves(part)


def table_of(scan: Mapping[str, Any]) -> str:
    """Return the table that is read, also of a partition."""
    return re.sub(r"_(rest|\d{4}_\d{2})$", "", scan["Relation Name"])


def check(plans: Sequence[Any], *expected: str, but: Sequence[str] = ()) -> None:
    """Check that scans are searches, except of these small tables, and that all tables are read."""
    read, complaints = set(), set()
    for plan in plans:
        for scan in scans(plan["Plan"]):
            table = table_of(scan)
            read.add(table)
            if not (finds(scan) or table in SMALL or table in but):
                complaints.add(f"{scan['Node Type']} of {table}: {plan['Query Text']}")
    assert not complaints, "\n".join(sorted(complaints))
    assert read >= set(expected), read


def number(at_ms: int, n: int) -> str:
    """Return a request number."""
    return f"{least_number(at_ms)}-7000-9000-{n:012x}"


def test_requests(plans: Plans) -> None:
    """Every step of a lookup, for one request and for sixty-four at once."""
    limits = [Limit("minuto", 60, 60_000), Limit("dia", 1_000, DAY_MS, of_key=True)]
    offset = int(plans.mode != "auto") * 10_000

    async def work(desk: PostgresDesk, cache: PostgresCache, turn: int) -> None:
        size = (1, 64)[turn % 2]
        # A turn in every second hour: some before the month ends and some after.
        now = brasilia("2026-08-31 12:00:00") + turn * 7_200_000
        at_once = asyncio.gather
        numbers = [number(now, offset + turn * 100 + n) for n in range(size)]
        accounts = [desk.account(1 + n) for n in range(size)]
        callers = await at_once(*(desk.caller(key_hash(turn * 64 + n), now) for n in range(size)))
        allowed = await at_once(*(desk.spend(who, limits, now) for who in callers if who))
        assert len(allowed) == size
        await at_once(*(desk.find_attempt(1 + n % ACTIVE, f"k{n}", now) for n in range(size)))
        await at_once(*(cache.read([f"cnpj:{turn * 64 + n + 1}"]) for n in range(size)))
        cache.keep(
            [(f"cnpj:{turn * 64 + n + 1}", CacheEntry(b"", turn, "serpro")) for n in range(size)]
        )

        async def commit(of: Callable[[Account, str], Sequence[Change]]) -> None:
            lists = [of(*pair) for pair in zip(accounts, numbers, strict=True)]
            assert await at_once(*map(desk.commit, lists)) == [None] * size

        # From the cache, then online, then one whose source had nothing, then one given up.
        await commit(
            lambda ana, one: [
                a_charge(ana, one, at_ms=now),
                a_finish(ana, one, one, at_ms=now),
                a_trace(ana, one, opened_ms=now),
                a_keep(ana, one, one, at_ms=now),
                Touch(ana.account_id, now),
            ]
        )
        for credits in (1, 0):
            numbers = [one[:-12] + f"{credits + 1:x}" + one[-11:] for one in numbers]
            await commit(
                lambda ana, one: [a_hold(ana, one, 2, at_ms=now), a_bind(ana, one, one, at_ms=now)]
            )
            await commit(settled(credits, now))
        numbers = [one[:-12] + "f" + one[-11:] for one in numbers]
        await commit(
            lambda ana, one: [a_hold(ana, one, 2, at_ms=now), a_bind(ana, one, one, at_ms=now)]
        )
        await commit(
            lambda ana, one: [
                a_settle(ana, one, 0, at_ms=now),
                Unbind(ana.account_id, one, one, at_ms=now),
            ]
        )

    found = plans.of(work)
    check(
        found,
        *("account", "api_key", "rate_limit", "idempotency", "entry"),
        *("open_operation", "ledger_entry"),
    )
    # Searches by a request number read only its month.
    probes = [
        scan
        for plan in found
        for scan in scans(plan["Plan"])
        if table_of(scan) == "ledger_entry" and scan["Actual Loops"]
    ]
    assert {scan["Relation Name"] for scan in probes} == {
        "ledger_entry_2026_08",
        "ledger_entry_2026_09",
    }


def settled(credits: int, now: int) -> Callable[[Account, str], Sequence[Change]]:
    return lambda ana, one: [
        a_settle(ana, one, credits, at_ms=now),
        a_finish(ana, one, one, at_ms=now),
        a_trace(ana, one, opened_ms=now),
    ]


def key_hash(n: int) -> bytes:
    return hashlib.sha256(str(n % 5_000 + 1).encode()).digest()


def test_pages(plans: Plans) -> None:
    """Queries of the web application and of accounts."""
    month = brasilia("2026-04-01 00:00:00"), brasilia("2026-05-01 00:00:00")
    lately = TraceFilter(NOW - 30 * DAY_MS, NOW + DAY_MS)
    nobodys = TraceFilter(NOW - DAY_MS, NOW + DAY_MS, user_id=7)

    async def work(desk: PostgresDesk, cache: PostgresCache, turn: int) -> None:
        people = desk.people
        account = 1 + turn
        page = people.traces(account, lately, 50)
        assert len(page) == 50
        assert len(people.traces(account, lately, 50, page[-1].request_id)) == 50
        assert people.traces(account, nobodys, 50) == []
        assert people.trace(account, page[0].request_id) == page[0]
        assert people.owner_of(page[0].request_id) == account
        charged = next(iter(desk.entries(account, *month)))
        assert charged.request_id is not None
        assert desk.operation(account, charged.request_id) is not None
        assert consumption(desk, account, "2026-04-01", "2026-04-30")
        day = civil_day(month[0])
        assert desk.totals.books(account, day, day).balance_credits
        assert people.traces(account, replace(lately, charged=True), 50)
        assert desk.account(account).account_id == account
        assert len(desk.keys(account)) == 1
        assert desk.receipt(f"r{turn + 1}") is not None
        assert desk.unnamed(["0" * 64])
        assert people.session(key_hash(turn), NOW, 1, 1) is not None
        assert people.credentials(str(account)) is not None
        assert len(people.audit(50, account_id=account)) == 10

    found = plans.of(work)
    check(found, "ledger_entry", "charged_lookup", "trace", "receipt", "account", "api_key")


def test_pages_of_traces(plans: Plans) -> None:
    """For a large account: newest first, stops when the page is full, reads no older month."""
    lately = TraceFilter(NOW - 30 * DAY_MS, NOW + DAY_MS)

    async def work(desk: PostgresDesk, cache: PostgresCache, turn: int) -> None:
        page = desk.people.traces(1, lately, 50)
        assert len(page) == 50
        assert len(desk.people.traces(1, lately, 50, page[-1].request_id)) == 50

    found = plans.of(work)
    check(found, "charged_lookup", "trace")
    pages = [plan for plan in found if re.search("FROM (trace|charged_lookup)", plan["Query Text"])]
    read = [scan for plan in pages for scan in scans(plan["Plan"]) if scan["Actual Loops"]]
    months = [f"2026_{month:02}" for month in (7, 8, 9, 10)]
    assert {scan["Relation Name"] for scan in read} <= {
        f"{table}_{month}" for table in ("charged_lookup", "trace") for month in (*months, "rest")
    }
    assert max(scan["Actual Rows"] for scan in read) <= 50


def test_beside_the_requests(plans: Plans) -> None:
    """Heartbeats, recovery and purges. These may read every account, key or bucket."""
    # Nearly a month of its own for each mode: months that are over go as a whole.
    kept_from = NOW - (100 if plans.mode == "auto" else 70) * DAY_MS

    async def work(desk: PostgresDesk, cache: PostgresCache, turn: int) -> None:
        if turn == 0:
            desk.recover(NOW)
        await desk.heartbeat(NOW)
        await desk.recover_others(NOW)
        assert await desk.purge(NOW) == 1_000
        assert await desk.people.purge_people(NOW, kept_from, NOW, 0) >= 1_000
        assert await desk.purge_receipts(NOW, 100, NOW) == 100

    check(
        plans.of(work),
        "trace",
        "idempotency",
        "receipt",
        but=("account", "rate_limit", "one_time_link"),
    )
