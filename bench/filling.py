"""Fill tables with half a year of use in minutes: charged lookups and cache entries.

Rows are like those of real lookups: request numbers are UUIDs of version 7 that grow with time,
spread over six months; bodies are real answers. Lookups are spread over `ACCOUNTS` accounts at
random.
"""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import psycopg
from stdnum.br.cnpj import calc_check_digits

from balcao.core.calendar import civil_day, civil_month
from balcao.storage.batch import CHARGED_LOOKUP_COLUMNS
from balcao.storage.postgresql.partitions import Partitions

Row: TypeAlias = tuple[Any, ...]

ACCOUNTS = 1_000
SPAN_MS = 180 * 86_400_000
PATH = "cnpj-receita-federal"
RULE = "cnpj-cache"
AT_ONCE = 20_000
CACHE_COLUMNS = ("key", "asked_ms", "source", "body")


def company(number: int) -> str:
    """Return the CNPJ of a company that is in no month; up to ten million."""
    base = f"7{number:07d}0001"
    return base + calc_check_digits(base)


def charged_lookups(count: int, now_ms: int, accounts: Sequence[int]) -> Iterator[Row]:
    """Yield cached lookups of one credit, oldest first: columns of `CHARGED_LOOKUP_COLUMNS`."""
    for number, (at_ms, request_id, account_id) in enumerate(_requests(count, now_ms, accounts)):
        yield (account_id, request_id, at_ms, None, None, PATH, f"{number:014d}", None,
               "CACHE_SE_EXISTIR", 0, 200, None, "cache", "cnpja", at_ms, 1, RULE, at_ms, None,
               None, civil_month(at_ms), None)  # fmt: skip


def cached(count: int, now_ms: int, bodies: Sequence[bytes]) -> Iterator[Row]:
    """Yield cached companies, unordered: columns of `CACHE_COLUMNS`."""
    numbers = list(range(count))
    random.Random(1).shuffle(numbers)
    for number in numbers:
        yield f"company:{company(number)}:", now_ms, "cnpja", bodies[number % len(bodies)]


def _requests(count: int, now_ms: int, accounts: Sequence[int]) -> Iterator[tuple[int, str, int]]:
    rest = random.Random(2)
    for number in range(count):
        at_ms = now_ms - SPAN_MS + SPAN_MS * number // count
        tail = rest.getrandbits(62)
        text = f"{at_ms:012x}7{number % 4096:03x}{0x8000000000000000 | tail:016x}"
        request_id = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
        yield at_ms, request_id, accounts[tail % len(accounts)]


def fill_sqlite(desk: Path, cache: Path, count: int, now_ms: int, bodies: Sequence[bytes]) -> None:
    """Insert so many of each into the files of a stopped installation.

    Without `bodies` nothing goes into the cache.
    """
    with closing(apsw.Connection(str(desk))) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        accounts = _more_accounts(connection, now_ms)
        _insert(
            connection,
            "charged_lookup",
            CHARGED_LOOKUP_COLUMNS,
            charged_lookups(count, now_ms, accounts),
        )
        connection.execute(_BOOKS)
    if not bodies:
        return
    with closing(apsw.Connection(str(cache))) as connection:
        _insert(connection, "entry", CACHE_COLUMNS, cached(count, now_ms, bodies))


def fill_postgresql(address: str, count: int, now_ms: int, bodies: Sequence[bytes]) -> None:
    """Insert so many of each into a database; needs a superuser."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        Partitions().make(connection, civil_day(now_ms - SPAN_MS), civil_day(now_ms))
        accounts = _more_accounts(connection, now_ms)
        _copy(
            connection,
            "charged_lookup",
            CHARGED_LOOKUP_COLUMNS,
            charged_lookups(count, now_ms, accounts),
        )
        connection.execute(_BOOKS)
        if bodies:
            in_test = (("test", *row) for row in cached(count, now_ms, bodies))
            _copy(connection, "entry", ("mode", *CACHE_COLUMNS), in_test)
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


# Replaces the disabled triggers: every account has paid for what it spent.
_TOP_UPS = (
    "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change, held_change, reason)"
    " SELECT account_id, {now}, '{month}', 'top_up', 1000000000, 0, 'bench' FROM account"
    " WHERE name LIKE 'full-%'"
)
_BOOKS = (
    "UPDATE account SET balance_credits = (SELECT sum(balance_change) FROM ledger_entry AS e"
    " WHERE e.account_id = account.account_id) -"
    " coalesce((SELECT sum(credits) FROM charged_lookup AS v"
    " WHERE v.account_id = account.account_id), 0) WHERE name LIKE 'full-%'"
)


def _more_accounts(connection: "apsw.Connection | psycopg.Connection[Any]", now_ms: int) -> Any:
    values = ", ".join(
        f"('full-{number}', 'pre_pago', 'test', 0, 0, {now_ms})" for number in range(ACCOUNTS)
    )
    connection.execute(
        "INSERT INTO account (name, plan, mode, certificates, partner_optin, created_ms)"
        f" VALUES {values}"
    )
    connection.execute(_TOP_UPS.format(now=now_ms - SPAN_MS, month=civil_month(now_ms - SPAN_MS)))
    found = connection.execute("SELECT account_id FROM account WHERE name LIKE 'full-%'")
    return [account_id for (account_id,) in found]


def _insert(
    connection: apsw.Connection, table: str, columns: Sequence[str], rows: Iterator[Row]
) -> None:
    marks = ", ".join("?" * len(columns))
    sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    connection.execute("PRAGMA synchronous = OFF")
    while chunk := [*islice(rows, AT_ONCE)]:
        with connection:
            connection.executemany(sql, chunk)


def _copy(
    connection: "psycopg.Connection[Any]", table: str, columns: Sequence[str], rows: Iterator[Row]
) -> None:
    with connection.cursor() as cursor:
        sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN"
        with cursor.copy(sql.encode()) as copy:
            for row in rows:
                copy.write_row(row)


def now() -> int:
    """Return milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def today() -> str:
    """Return the present date for the report."""
    return datetime.now(UTC).date().isoformat()
