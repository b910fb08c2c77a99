"""`balcao storage move` there and back preserves everything."""

import asyncio
import time
from contextlib import closing

import psycopg
import pytest

from balcao.storage.contract import NewAccount
from balcao.storage.desk.desk import Desk
from balcao.storage.numbers import least_number
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.postgresql.desk import PostgresDesk
from tests.cli.shell import Shell
from tests.cli.storage_move.world import at, contents, in_postgres, in_sqlite, keep, rows
from tests.storage.people import BY, a_token, a_trace, together
from tests.storage.world import NOW, a_charge, a_hold, brasilia


def test_there_and_back(filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(at())
    empty = [name for name, (count, _) in before.items() if count == 0]
    assert empty == [], "this proves nothing of these"

    first = filled(f"storage move --to {address} --json").json
    assert first["ok"]
    assert rows(first, "ledger_entry")["inserted"] == before["ledger_entry"][0]
    filled("account list")  # the source is still in use
    again = filled(f"storage move --to {address} --json").json
    assert all(one["inserted"] == one["updated"] == one["deleted"] == 0 for one in again["tables"])
    assert contents(at()) == before

    final = filled(f"storage move --to {address} --final --json").json
    assert final["holds_given_back"] == 1
    assert rows(final, "open_operation")["rows"] == 0
    closed = contents(at())
    assert contents(at(address)) == closed
    in_postgres(monkeypatch, address)
    with closing(PostgresDesk(address, pepper=filled.home.pepper())) as desk:
        assert desk.check().complaints == []
        acme = desk.accounts()[0]
        assert (acme.balance_credits, acme.held_credits) == (795, 0)
        assert desk.recover(NOW) == 0
        desk.commit_now([a_charge(acme, "r9000"), a_hold(acme, "h9", 2)])
        desk.create_account(NewAccount("gama", "gratuito", "test"), NOW)
        assert [account.account_id for account in desk.accounts()] == [1, 2, 3]
    keep(PostgresCache(address, "live"), 301, asked_ms=NOW + 1)
    with psycopg.connect(address) as connection:  # swapped names
        for name, number in (("x", 1), ("acme", 2), ("beta", 1)):
            connection.execute("UPDATE account SET name = %s WHERE account_id = %s", (name, number))

    back = filled("storage move --to sqlite --final --json").json
    assert back["holds_given_back"] == 1
    assert rows(back, "ledger_entry")["inserted"] == 3  # a charge, a hold, and its release
    assert contents(at()) == contents(at(address)) != closed
    assert "postgresql" not in filled("account list", code=1).err
    in_sqlite(monkeypatch)
    assert "O livro-razão confere" in filled("ledger check").out
    with filled.desk() as desk:
        assert [account.name for account in desk.accounts()] == ["beta", "acme", "gama"]
        desk.commit_now([a_charge(desk.accounts()[0], "r9001")])  # triggers are active again
        assert desk.accounts()[0].balance_credits == 793
    # Move again: the old database gets the new rows.
    assert filled(f"storage move --to {address} --final --json").json["ok"]
    assert contents(at()) == contents(at(address))


def test_history_goes_to_its_monthly_partitions(filled: Shell, address: str) -> None:
    """Otherwise every new partition would be checked against all of the history."""
    asked = [brasilia(f"2026-{month}-01 00:00:00") - 1 for month in ("03", "05", "08")]
    with filled.desk() as desk:
        acme = desk.accounts()[0]
        for at_ms in asked:
            charged_lookup, request = (f"{least_number(at_ms)}-7abc-8def-{n:012}" for n in range(2))
            desk.commit_now(
                [
                    together(
                        a_charge(acme, charged_lookup, at_ms=at_ms),
                        a_trace(acme, charged_lookup, opened_ms=at_ms),
                    )
                ]
            )
            desk.commit_now([a_charge(acme, request, at_ms=at_ms)])
            desk.commit_now([a_trace(acme, request, opened_ms=at_ms)])
    assert filled(f"storage move --to {address} --final --json").json["ok"]
    with psycopg.connect(address) as connection:
        for table in ("charged_lookup", "ledger_entry", "trace"):
            found = connection.execute(
                f"SELECT DISTINCT tableoid::regclass::text FROM {table}"
                " WHERE request_id LIKE '%-7abc-8def-%' ORDER BY 1"
            ).fetchall()
            assert found == [(f"{table}_2026_{month}",) for month in ("02", "04", "07")]


def test_numbers_are_never_reused(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also numbers of deleted rows."""

    async def come_and_go(desk: Desk) -> int:
        token = a_token(str(time.monotonic_ns()))
        await desk.people.open_session(2, token, BY, NOW)
        session = desk.people.session(token, NOW, 10**9, 10**9)
        await desk.people.close_session(token)
        assert session is not None
        return session.session_id

    def a_job(desk: Desk) -> int:
        with desk.engine.write_in_place() as connection:
            connection.execute(
                "INSERT INTO job (kind, about, state, due_ms, attempts, causes, changed_ms)"
                " VALUES ('of-a-test', 'x', 'done', 0, 1, 1, 0)"
            )
            ((number,),) = connection.execute("SELECT max(job_id) FROM job").fetchall()
            connection.execute("DELETE FROM job WHERE kind = 'of-a-test'")
        return int(number)

    with filled.desk() as here:
        last = asyncio.run(come_and_go(here))
        last_job = a_job(here)
    filled(f"storage move --to {address} --final")
    in_postgres(monkeypatch, address)
    with closing(PostgresDesk(address)) as desk:
        assert asyncio.run(come_and_go(desk)) == last + 1
        assert a_job(desk) == last_job + 1
    filled("storage move --to sqlite --final")
    with filled.desk() as here:
        assert asyncio.run(come_and_go(here)) == last + 2
        assert a_job(here) == last_job + 2
