"""`balcao storage move` during writes loses nothing that was acknowledged."""

import threading
import time
from contextlib import closing
from typing import Any

import psycopg
import pytest

from balcao.core.errors import StorageFailed
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.sqlite.desk import SqliteDesk
from tests.cli.shell import Shell
from tests.cli.storage_move.world import in_postgres, rows
from tests.storage.people import a_trace
from tests.storage.world import NOW, a_charge, a_top_up


def test_nothing_acknowledged_is_lost(filled: Shell, address: str) -> None:
    """Rounds during charges, then the final one."""
    acknowledged: list[str] = []
    over = threading.Event()

    def charge() -> None:
        with closing(SqliteDesk(filled.home.desk)) as desk:
            acme = desk.accounts()[0]
            desk.commit_now([a_top_up(acme, 1_000_000)])
            while not over.is_set():
                request = f"w{len(acknowledged):06}"
                desk.commit_now([a_charge(acme, request), a_trace(acme, request)])
                acknowledged.append(request)

    thread = threading.Thread(target=charge)
    thread.start()
    try:
        counts = []
        for _ in range(3):
            assert filled(f"storage move --to {address} --json").json["ok"]
            counts.append(len(acknowledged))
    finally:
        over.set()
        thread.join()
    assert counts[0] < counts[-1], "nothing was charged meanwhile: this proves nothing"
    assert filled(f"storage move --to {address} --final --json").json["ok"]
    with closing(PostgresDesk(address)) as desk:
        assert desk.check().complaints == []
        entries = desk.entries(desk.accounts()[0].account_id, 0, NOW * 2)
        charged = [entry.request_id for entry in entries if (entry.request_id or "")[0:1] == "w"]
    assert charged == acknowledged


def test_an_open_command_cannot_write_to_the_closed_source(filled: Shell, address: str) -> None:
    """A command that opened the source before the final round and writes after it fails."""
    with filled.desk() as late:
        filled(f"storage move --to {address} --final")
        with pytest.raises(StorageFailed, match="ConstraintError"):
            late.commit_now([a_charge(late.accounts()[0], "late")])


def test_an_open_node_prevents_the_final_round(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(f"storage move --to {address} --final")
    in_postgres(monkeypatch, address)
    with closing(PostgresDesk(address)) as desk:
        assert filled("storage move --to sqlite --json").json["ok"]
        assert "Encerre todos os nós" in filled("storage move --to sqlite --final", code=1).err
        desk.commit_now([a_charge(desk.accounts()[0], "r9000")])
    assert filled("storage move --to sqlite --final --json").json["ok"]
    with filled.desk() as here:
        assert here.accounts()[0].balance_credits == 794


_LOCK_AWAITED = (
    "SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database"
    " WHERE NOT granted AND mode = 'ShareRowExclusiveLock' AND datname = current_database()"
)


def test_commits_while_the_final_round_waits_are_copied(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits acknowledged while the final round waits for its lock are copied."""
    filled(f"storage move --to {address} --final")
    in_postgres(monkeypatch, address)
    result: list[Any] = []
    ending = threading.Thread(
        target=lambda: result.append(filled("storage move --to sqlite --final --json").json)
    )
    with psycopg.connect(address) as late:
        late.execute(
            "INSERT INTO ledger_entry (account_id, at_ms, month, kind, balance_change,"
            " held_change, reason) VALUES (1, 1, '2026-08', 'top_up', 5, 0, 'no último instante')"
        )
        ending.start()
        with psycopg.connect(address, autocommit=True) as looking:
            deadline = time.monotonic() + 30
            while looking.execute(_LOCK_AWAITED).fetchone() is None:
                assert time.monotonic() < deadline
                time.sleep(0.02)
        late.commit()
    ending.join()
    assert result[0]["ok"]
    with filled.desk() as here:
        assert here.accounts()[0].balance_credits == 795 + 5
        assert here.check().complaints == []


def test_numbers_committed_late_are_copied(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL a lower number may be committed after a higher one."""
    filled(f"storage move --to {address} --final")
    in_postgres(monkeypatch, address)
    entry = (
        "INSERT INTO audit_entry (at_ms, channel, action, target, detail)"
        " VALUES (1, 'cli', 'x', %s, '')"
    )
    with psycopg.connect(address) as slow:
        slow.execute(entry, ("lento",))
        with psycopg.connect(address) as quick:
            quick.execute(entry, ("rápido",))
        filled("storage move --to sqlite")
    last = filled("storage move --to sqlite --json").json
    assert rows(last, "audit_entry")["inserted"] == 1
    assert last["ok"]


def test_a_server_is_running(filled: Shell, address: str) -> None:
    with filled.home.lock():
        assert filled(f"storage move --to {address} --json").json["ok"]
        result = filled(f"storage move --to {address} --final", code=1).err
        assert "Há um servidor usando a pasta de dados" in result
        assert "OUTRA_PASTA" not in result
    with filled.desk() as desk:  # no hold of a running server was released
        assert desk.accounts()[0].held_credits == 3
