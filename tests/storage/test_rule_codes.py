"""A database of the version before, whose rules were sentences: brought up to codes.

On both engines, with the ledger's walls up before and afterwards, also with an old node beside.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from balcao.storage.contract import NewAccount
from balcao.storage.numbers import least_number
from balcao.storage.postgresql.desk import PostgresDesk
from tests.cli.shell import PATIENCE_SECONDS
from tests.storage import sentences
from tests.storage.engines import Engine, PostgresEngine, SqliteEngine
from tests.storage.people import a_trace
from tests.storage.world import NOW, a_charge, a_hold, a_settle, a_top_up
from tests.test_tariff import SENTENCES

UNKNOWN = "regra de um programa de outros"
# Of rules that are younger no database has a sentence.
CODES = {
    sentence: code for code, sentence in SENTENCES.items() if not code.startswith("search/")
} | {UNKNOWN: UNKNOWN}
TRACE = (
    "INSERT INTO {} (account_id, request_id, operation, document, strategy, refresh, status,"
    " credits, rule, opened_ms, settled_ms) VALUES (1, ?, 'x', 'x', 'x', 0, 200, 1, ?, 1, 1)"
)
MONEY = "SELECT balance_credits, held_credits, month, month_credits FROM account"
ENTRY = (
    "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change, held_change,"
    " request_id, key_id, operation, rule, origin, reason) VALUES (1, 1, '2026-08', ?, ?, ?, ?, 1,"
    " ?, ?, ?, ?)"
)
WITH_RULES = {
    "sqlite": "SELECT m.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c"
    " WHERE m.type = 'table' AND c.name = 'rule'",
    "postgresql": "SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON attrelid = c.oid"
    " WHERE relnamespace = 'public'::regnamespace AND attname = 'rule' AND NOT relispartition"
    " AND relkind IN ('r', 'p')",
}


def fill(engine: Engine) -> list[tuple[str, str]]:
    """A charge and a trace of every sentence, in the month's partition and beside it, and voids.

    The numbers of requests with their sentences.
    """
    engine.sql(
        "INSERT INTO account (account_id, name, plan, mode, certificates, partner_optin,"
        " created_ms) VALUES (1, 'ana', 'pre_pago', 'live', 0, 0, 1)"
    )
    engine.sql(ENTRY, "top_up", 1000, 0, None, None, None, None, "carga")
    filled = []
    for number, sentence in enumerate(CODES):
        in_a_month = f"{least_number(NOW + number)}-7abc"
        for request in (in_a_month, f"{number}"):
            if sentence in ("erro", "processo interrompido"):
                engine.sql(ENTRY, "hold", 0, 2, request, "x", None, None, None)
                engine.sql(ENTRY, "void", 0, -2, request, "x", sentence, None, None)
            else:
                engine.sql(ENTRY, "charge", -1, 0, request, "x", sentence, "cache", None)
            for table in tables(engine) - {"ledger_entry"}:
                engine.sql(TRACE.format(table), request, sentence)
            filled.append((request, sentence))
    return filled


def tables(engine: Engine) -> set[str]:
    """Those that keep a rule."""
    asked = WITH_RULES["sqlite" if isinstance(engine, SqliteEngine) else "postgresql"]
    return {name for (name,) in engine.sql(asked)}


def books(engine: Engine) -> list[tuple[object, ...]]:
    """All that the ledger has besides rules."""
    kept = "entry_id, account_id, at_ms, month, kind, balance_change, held_change, request_id"
    return engine.sql(
        f"SELECT {kept}, key_id, operation, origin, reason FROM ledger_entry ORDER BY entry_id"
    )


def rules(engine: Engine, table: str) -> set[tuple[str, str]]:
    return {*engine.sql(f"SELECT request_id, rule FROM {table} WHERE rule IS NOT NULL")}


@pytest.fixture
def old(engine: Engine) -> Engine:
    if isinstance(engine, SqliteEngine):
        sentences.make_sqlite(engine.path)
    else:
        assert isinstance(engine, PostgresEngine)
        sentences.make_postgresql(engine.address)
    return engine


def test_every_sentence_becomes_its_code(old: Engine) -> None:
    filled = fill(old)
    kept_in = tables(old)
    assert len(kept_in) >= 2
    entries, purse = books(old), old.sql(MONEY)

    desk = old.open()

    for table in kept_in:
        assert rules(old, table) == {(request, CODES[rule]) for request, rule in filled}, table
    assert (books(old), old.sql(MONEY)) == (entries, purse)
    assert not desk.check().complaints
    said = desk.operation(1, filled[0][0])
    assert said is not None
    assert said.rule == CODES[filled[0][1]]


def test_the_walls_stand_afterwards(old: Engine) -> None:
    fill(old)
    old.open()
    for statement in ("UPDATE ledger_entry SET rule = 'x'", "DELETE FROM ledger_entry"):
        with pytest.raises(old.wall, match="a ledger entry never"):
            old.sql(statement)
    with pytest.raises(old.wall, match="for ever"):
        old.sql("UPDATE account SET mode = 'test'")


def test_a_desk_whose_data_moved_away_is_brought_up_to_date_too(old: Engine) -> None:
    """A later move may bring the data back to it. Its walls stand before and afterwards."""
    filled = fill(old)
    walled = sorted(tables(old))
    for table in walled:
        if isinstance(old, SqliteEngine):
            wall = "BEGIN SELECT RAISE(ABORT, 'moved away'); END"
            old.sql(f"CREATE TRIGGER moved_{table} BEFORE UPDATE ON {table} {wall}")
        else:
            wall = "FOR EACH STATEMENT EXECUTE FUNCTION never('moved away')"
            old.sql(f"CREATE TRIGGER a_moved BEFORE INSERT OR UPDATE ON {table} {wall}")
    old.open()
    assert rules(old, "ledger_entry") == {(request, CODES[rule]) for request, rule in filled}
    for table in walled:
        with pytest.raises(old.wall, match="moved away"):
            old.sql(f"UPDATE {table} SET rule = 'x'")


# Nodes of the version before, which are still running.


@pytest.fixture
def old_node(address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresDesk]:
    """A desk that was opened before the migration. It has columns that today's program writes."""
    sentences.make_postgresql(address)
    with psycopg.connect(address) as connection:
        for table in ("ledger_entry", "trace", "open_operation"):
            for column in ("client", "reference"):
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} text".encode())
        for table, kind in (
            ("ledger_entry", "text"),
            ("open_operation", "text"),
            ("account", "bigint NOT NULL DEFAULT 0"),
        ):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN budgets {kind}".encode())
        connection.execute("ALTER TABLE trace ADD COLUMN name text, ADD COLUMN result text")
        connection.execute("ALTER TABLE account ADD COLUMN folded_ms bigint NOT NULL DEFAULT 0")
    with monkeypatch.context() as patched:
        patched.setattr("balcao.storage.postgresql.engine.migrate", lambda connection, folder: None)
        desk = PostgresDesk(address)
    with closing(desk):
        desk.create_account(NewAccount("ana", "pre_pago", "live"), NOW)
        desk.commit_now([a_top_up(desk.accounts()[0], 100)])
        yield desk


def asked(address: str, sql: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(address) as connection:
        return connection.execute(sql.encode(), values or None).fetchall()


def test_what_an_old_node_still_writes_is_brought_to_codes(
    old_node: PostgresDesk, address: str
) -> None:
    (ana,) = old_node.accounts()
    sentence = SENTENCES["rural_producer/uf+addresses"]
    assert old_node.commit_now([a_hold(ana, "held", 5)]) is None
    PostgresDesk(address).close()
    for number, rule in enumerate([sentence, "state_registration/uf", UNKNOWN]):
        request = f"{least_number(NOW + number)}-7abc"
        charge = replace(a_charge(ana, request, 3), rule=rule)
        assert old_node.commit_now([charge]) is None  # an entry and a trace: it knew no visits
        assert old_node.commit_now([a_trace(ana, request, rule=rule)]) is None
    settled = replace(a_settle(ana, "held", 2), rule=sentence)
    assert old_node.commit_now([settled]) is None

    written = [
        ("rural_producer/uf+addresses",),
        ("state_registration/uf",),
        (UNKNOWN,),
        ("rural_producer/uf+addresses",),
    ]
    ledger = "SELECT rule FROM ledger_entry WHERE rule IS NOT NULL ORDER BY entry_id"
    assert asked(address, ledger) == written
    assert asked(address, "SELECT rule FROM trace ORDER BY request_id") == written[:3]
    assert old_node.accounts()[0].balance_credits == 100 - 3 * 3 - 2
    assert not old_node.check().complaints


def test_what_an_old_node_writes_meanwhile_is_brought_to_codes(
    old_node: PostgresDesk, address: str
) -> None:
    """Its transaction began before, and ends after the first round over the ledger."""
    (ana,) = old_node.accounts()
    waiting = (
        "SELECT count(*) FROM pg_locks WHERE NOT granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    sentence = SENTENCES["suframa/lookup"]
    with psycopg.connect(address) as writing, ThreadPoolExecutor(1) as beside:
        writing.execute(
            "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change, held_change,"
            " request_id, operation, rule, origin)"
            " VALUES (%s, 1, '2026-08', 'charge', -1, 0, 'late', 'suframa', %s, 'online')",
            (ana.account_id, sentence),
        )
        migration = beside.submit(lambda: PostgresDesk(address).close())
        until = time.monotonic() + PATIENCE_SECONDS
        while asked(address, waiting) == [(0,)] and not migration.done():
            assert time.monotonic() < until
            time.sleep(0.02)
        assert not migration.done()
        writing.commit()
        migration.result(PATIENCE_SECONDS)
    late = "SELECT rule FROM ledger_entry WHERE request_id = 'late'"
    assert asked(address, late) == [("suframa/lookup",)]
