"""`balcao storage move`: there and back, beside a service, killed, repeated, refused."""

import asyncio
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from balcao.core.freshness import Kept
from balcao.core.people import Signature
from balcao.core.rate_limit import Limit
from balcao.errors import StorageFailed
from balcao.moving import marks
from balcao.moving import move as moving
from balcao.moving.difference import Difference, Lines, compare
from balcao.moving.errors import MoveRefused
from balcao.moving.lines import Sum, reader, told
from balcao.moving.progress import NoProgress
from balcao.moving.sqlite import SqliteEnd
from balcao.moving.tables import LEFT_BEHIND, all_tables, cache_table, desk_tables
from balcao.settings import Settings
from balcao.storage.contract import Desk, NewAccount
from balcao.storage.people import NewUser
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.shared.numbers import least_number
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk
from tests.cli.shell import Shell, free_port
from tests.storage import postgres
from tests.storage.people import BY, a_token, a_trace
from tests.storage.world import (
    NOW,
    a_bind,
    a_charge,
    a_finish,
    a_hold,
    a_keep,
    a_top_up,
    brasilia,
)

# Whatever COPY has its own way of writing.
ODD = "aba\tlinha\nretorno\rbarra\\ nulo \\N 'aspas\" ção 😀\b\v\f"


@pytest.fixture(autouse=True)
def _no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BALCAO_SANDBOX_ESTABLISHMENTS", "0")


@pytest.fixture
def address() -> Iterator[str]:
    address = postgres.server().new_database()
    yield address
    postgres.server().drop_database(address)


@pytest.fixture
def filled(shell: Shell) -> Shell:
    """A row at least in every table, an open hold and a running key among them."""
    shell("account create acme --plan pre_pago")
    shell("account create beta --plan pos_pago")
    shell("key create acme")
    with shell.desk() as desk:
        furnish(desk)
    keep(SqliteCache(shell.home.cache("live")), 300)
    keep(SqliteCache(shell.home.cache("test")), 5)
    return shell


def furnish(desk: Desk) -> None:
    acme, beta = desk.accounts()
    desk.commit_now([a_top_up(acme, 1000, reason=ODD)])
    for number in range(200):
        desk.commit_now([a_charge(acme, f"r{number:04}"), a_trace(acme, f"r{number:04}")])
    desk.commit_now([a_charge(beta, "b1", 7), a_keep(acme, "n1"), a_keep(None, "n2", "outro")])
    desk.commit_now([a_bind(acme, "k1", "x1"), a_finish(acme, "k1", "x1", body=bytes(range(256)))])
    desk.commit_now([a_hold(acme, "h1", 3), a_bind(acme, "k2", "h1")])
    hashed = a_trace(acme, "p1", document="***", document_hash=b"\0\1\xff", uf="SP", code=ODD)
    desk.commit_now([hashed])

    async def people() -> None:
        said = desk.people
        await said.add_user(NewUser("op@exemplo.com.br", "Op", "operator", None), BY, NOW)
        lia = await said.add_user(
            NewUser("lia@exemplo.com.br", ODD, "manager", acme.account_id), BY, NOW
        )
        await said.set_password(lia.user_id, "argon", BY, NOW)
        await said.open_session(lia.user_id, a_token("s1"), Signature("web", lia.user_id), NOW)
        await said.make_link(
            a_token("l1"), "set_password", lia.user_id, signed=BY, now_ms=NOW, expires_ms=NOW * 2
        )
        caller = await desk.caller(next(iter(hashes(desk))), NOW)
        assert caller is not None
        await desk.spend(caller, [Limit("minuto", 5, 7, of_key=True)], NOW)

    asyncio.run(people())


def hashes(desk: Desk) -> list[bytes]:
    assert isinstance(desk, SqliteDesk)
    return [bytes(one) for (one,) in desk._here.execute("SELECT hash FROM api_key")]


def keep(cache: SqliteCache | PostgresCache, number: int, *, asked_ms: int = NOW) -> None:
    with closing(cache):
        cache.keep(
            [
                (f"empresa:{one}:{ODD if one == 1 else ''}", Kept(b"\0x" * one, asked_ms, "s"))
                for one in range(number)
            ]
        )


def contents(settings: Settings) -> Mapping[str, tuple[int, str]]:
    """What every table adds up to, where the settings say that the data are."""
    with closing(moving.open_source(settings)) as end:
        found = {}
        for table in all_tables():
            total = Sum()
            for line in end.lines(table):
                total.add(line)
            found[table.label] = (total.rows, total.checksum)
        return found


def at(address: str = "") -> Settings:
    return Settings(database=SecretStr(address))


def in_postgres(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("BALCAO_DATABASE", address)


def in_sqlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BALCAO_DATABASE")


def rows(report: Any, name: str) -> Any:
    return next(one for one in report["tables"] if one["name"] == name)


# What is moved.


def test_every_table_of_both_engines_is_moved_or_known_to_stay(address: str) -> None:
    PostgresDesk(address).close()
    with psycopg.connect(address) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'p') AND NOT relispartition"
        ).fetchall()
        columns = connection.execute(
            "SELECT table_name::text, column_name::text FROM information_schema.columns"
            " WHERE table_schema = 'public' AND is_generated = 'NEVER'"
        ).fetchall()
    moved = {table.name: set(table.names) for table in desk_tables()}
    of_nodes = {"schema_version", "node", "pepper"}
    assert {name for (name,) in tables} == {*moved, *LEFT_BEHIND, *of_nodes}
    for name, wanted in moved.items():
        has = {column for table, column in columns if table == name}
        assert has - {"node_id"} == wanted, name


def test_what_only_grows() -> None:
    assert {table.name for table in all_tables() if table.appended} == {
        "ledger_entry",
        "audit_entry",
    }


def test_lines_say_what_copy_says(address: str) -> None:
    table = next(table for table in desk_tables() if table.name == "person")
    row = (5, None, ODD, "\\N", "", "operator", None, b"\\\0\t", 3, NOW, None, 0)
    line = told(row)
    assert reader(table)(line) == row
    with psycopg.connect(address) as connection:
        connection.execute(
            "CREATE TABLE t (a int, b int, c text, d text, e text, f text, g text, h bytea, i int,"
            " j bigint, k int, l int)"
        )
        with connection.cursor().copy("COPY t FROM STDIN") as copy:
            copy.write(line)
        with connection.cursor().copy("COPY t TO STDOUT") as copy:
            assert b"".join(map(bytes, copy)) == line
        assert connection.execute("SELECT * FROM t").fetchone() == row


def test_a_difference_is_found() -> None:
    table = next(table for table in desk_tables() if table.name == "rate_limit")
    here = [told((name, size)) for name, size in (("a", 1), ("b", 2), ("d", 4), ("e\\", 5))]
    there = [told((name, size)) for name, size in (("b", 3), ("c", 9), ("e\\", 5), ("f", 6))]
    total = Sum()
    with closing(Difference()) as found:
        compare(table, here, there, total, found)
        assert [*found.missing] == [here[0], here[2]]
        assert [*found.changed] == [here[1]]
        assert [*found.extra] == [there[1], there[3]]
    assert total.rows == 4


# There and back.


def test_many_changed_rows_are_not_all_in_memory(shell: Shell) -> None:
    """A cache that was refreshed between two runs."""
    table = cache_table("live")

    def told_at(asked_ms: int) -> Iterator[bytes]:
        for number in range(3_000):
            yield told((f"company:{number:014}:", asked_ms, "s", b"x" * 2_000))

    with closing(SqliteEnd(shell.home, target=True)) as end, closing(Lines()) as changed:
        end.insert(table, told_at(1))
        for line in told_at(2):
            changed.put(line)
        tracemalloc.start()
        end.update(table, changed)
        _, most_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert [*end.lines(table)] == [*told_at(2)]
    assert most_bytes < 1_000_000


def test_there_and_back(filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(at())
    empty = [name for name, (count, _) in before.items() if count == 0]
    assert empty == [], "this proves nothing of these"

    first = filled(f"storage move --to {address} --json").json
    assert first["ok"]
    assert rows(first, "ledger_entry")["inserted"] == before["ledger_entry"][0]
    filled("account list")  # the source is still the place
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
        assert (acme.balance_credits, acme.held_credits) == (800, 0)
        assert desk.recover(NOW) == 0
        desk.commit_now([a_charge(acme, "r9000"), a_hold(acme, "h9", 2)])
        desk.create_account(NewAccount("gama", "gratuito", "test"), NOW)
        assert [account.account_id for account in desk.accounts()] == [1, 2, 3]
    keep(PostgresCache(address, "live"), 301, asked_ms=NOW + 1)
    with psycopg.connect(address) as connection:  # names that go round
        for name, number in (("x", 1), ("acme", 2), ("beta", 1)):
            connection.execute("UPDATE account SET name = %s WHERE account_id = %s", (name, number))

    back = filled("storage move --to sqlite --final --json").json
    assert back["holds_given_back"] == 1
    assert rows(back, "ledger_entry")["inserted"] == 3  # a charge, a hold, and what gave it back
    assert contents(at()) == contents(at(address)) != closed
    assert "postgresql" not in filled("account list", code=1).err
    in_sqlite(monkeypatch)
    assert "O livro confere" in filled("ledger check").out
    with filled.desk() as desk:
        assert [account.name for account in desk.accounts()] == ["beta", "acme", "gama"]
        desk.commit_now([a_charge(desk.accounts()[0], "r9001")])  # its triggers work again
        assert desk.accounts()[0].balance_credits == 798
    # And there again: the database that was left waits for what is new.
    assert filled(f"storage move --to {address} --final --json").json["ok"]
    assert contents(at()) == contents(at(address))


def test_history_comes_to_lie_in_its_months(filled: Shell, address: str) -> None:
    """Else every new month's partition would be held against all of it, for as long as it lasts."""
    asked = [brasilia(f"2026-{month}-01 00:00:00") - 1 for month in ("03", "05", "08")]
    with filled.desk() as desk:
        acme = desk.accounts()[0]
        for at_ms in asked:
            request = f"{least_number(at_ms)}-7abc-8def-000000000000"
            desk.commit_now(
                [a_charge(acme, request, at_ms=at_ms), a_trace(acme, request, opened_ms=at_ms)]
            )
    assert filled(f"storage move --to {address} --final --json").json["ok"]
    with psycopg.connect(address) as connection:
        for table in ("ledger_entry", "trace"):
            found = connection.execute(
                f"SELECT DISTINCT tableoid::regclass::text FROM {table}"
                " WHERE request_id LIKE '%-7abc-%' ORDER BY 1"
            ).fetchall()
            assert found == [(f"{table}_2026_{month}",) for month in ("02", "04", "07")]


def test_numbers_are_never_given_twice(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of rows that are gone."""

    async def come_and_go(desk: Desk) -> int:
        token = a_token(str(time.monotonic_ns()))
        await desk.people.open_session(2, token, BY, NOW)
        session = desk.people.session(token, NOW, 10**9, 10**9)
        await desk.people.close_session(token)
        assert session is not None
        return session.session_id

    with filled.desk() as here:
        last = asyncio.run(come_and_go(here))
    filled(f"storage move --to {address} --final")
    in_postgres(monkeypatch, address)
    with closing(PostgresDesk(address)) as desk:
        assert asyncio.run(come_and_go(desk)) == last + 1
    filled("storage move --to sqlite --final")
    with filled.desk() as here:
        assert asyncio.run(come_and_go(here)) == last + 2


# Beside those who write.


def test_nothing_acknowledged_is_lost(filled: Shell, address: str) -> None:
    """Rounds while somebody charges; the last one after that."""
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


def test_a_command_that_was_open_finds_the_wall(filled: Shell, address: str) -> None:
    """It looked before the end, and writes after it: it is told, and nothing is lost."""
    with filled.desk() as late:
        filled(f"storage move --to {address} --final")
        with pytest.raises(StorageFailed, match="ConstraintError"):
            late.commit_now([a_charge(late.accounts()[0], "late")])


def test_a_node_that_was_open_keeps_it_from_ending(
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
        assert here.accounts()[0].balance_credits == 799


def test_what_is_committed_while_the_end_waits_for_its_turn_comes_along(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that was at it when the last run began: what it was told is kept, is."""
    filled(f"storage move --to {address} --final")
    in_postgres(monkeypatch, address)
    said: list[Any] = []
    ending = threading.Thread(
        target=lambda: said.append(filled("storage move --to sqlite --final --json").json)
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
    assert said[0]["ok"]
    with filled.desk() as here:
        assert here.accounts()[0].balance_credits == 800 + 5
        assert here.check().complaints == []


def test_a_storage_that_was_left_says_so_to_doctor_and_is_not_backed_up(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There and back: what was left is a SQLite first, and a PostgreSQL then."""
    monkeypatch.setenv("BALCAO_PORT", str(free_port()))

    def insists_on(place: str) -> None:
        found = {one["name"]: one for one in filled("doctor --json", code=1).json["checks"]}
        assert found["banco de dados"]["status"] == "fail"
        assert f"movidos daqui para {place}" in found["banco de dados"]["text"]
        assert f"movidos daqui para {place}" in filled("backup create", code=1).err
        assert filled("backup list --json").json["backups"] == []

    filled(f"storage move --to {address} --final")
    insists_on("postgresql:")
    with monkeypatch.context() as patch:
        in_postgres(patch, address)
        filled("storage move --to sqlite --final")
        insists_on("SQLite em")


def test_a_backup_can_be_brought_back_over_a_storage_that_was_left(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(f"storage move --to {address} --final")
    in_postgres(monkeypatch, address)
    copy = filled("backup create --json").json["file"]
    filled("storage move --to sqlite --final")
    restored = filled(f"backup restore {copy} --replace --json").json
    assert restored["saved"] is not None
    assert "acme" in filled("account list").out


_LOCK_AWAITED = (
    "SELECT 1 FROM pg_locks JOIN pg_database AS d ON d.oid = database"
    " WHERE NOT granted AND mode = 'ShareRowExclusiveLock' AND datname = current_database()"
)


def test_numbers_that_were_committed_late_come_along(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL the lesser number may be committed after the greater one."""
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
        said = filled(f"storage move --to {address} --final", code=1).err
        assert "Há um servidor usando a pasta de dados" in said
        assert "OUTRA_PASTA" not in said
    with filled.desk() as desk:  # nothing was given back that a server may be holding
        assert desk.accounts()[0].held_credits == 3


# Interrupted.


class Killed(BaseException):
    """The process ends here."""


class KilledAt(NoProgress):
    """Dies when a step begins."""

    def __init__(self, number: int) -> None:
        self.left = number

    def begin(self, step: str, rows_total: int) -> None:
        if self.left == 0:
            raise Killed(step)
        self.left -= 1


@pytest.mark.parametrize("direction", ["there", "back"])
def test_killed_between_any_two_steps(
    filled: Shell, address: str, direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = address
    if direction == "back":
        filled(f"storage move --to {address} --final")
        for file in filled.path.glob("*.db*"):
            file.unlink()
        to = "sqlite"
        in_postgres(monkeypatch, address)
    settings = Settings()
    number, killed = 0, True
    while killed:
        try:
            killed = False
            moving.move(settings, to, final=True, now_ms=NOW, progress=KilledAt(number))
        except Killed:
            killed = True
            assert "ainda estão sendo movidos" in _opening_fails(filled, to, monkeypatch)
            number += 2 if number < 8 else 7
    assert number > 8
    assert contents(at()) == contents(at(address))
    assert "foram movidos daqui" in filled("account list", code=1).err


def _opening_fails(shell: Shell, to: str, monkeypatch: pytest.MonkeyPatch) -> str:
    with monkeypatch.context() as patch:
        patch.setenv("BALCAO_DATABASE", "" if to == "sqlite" else to)
        return shell("account list", code=1).err


def test_killed_after_the_source_was_closed(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(marks, "arrived", die)
        with pytest.raises(Killed):
            moving.move(Settings(), address, final=True, now_ms=NOW, progress=NoProgress())
    assert "foram movidos daqui" in filled("account list", code=1).err
    assert "ainda estão sendo movidos" in _opening_fails(filled, address, monkeypatch)
    assert "repita com --final" in filled(f"storage move --to {address}", code=1).err
    assert filled(f"storage move --to {address} --final --json").json["ok"]
    in_postgres(monkeypatch, address)
    assert "acme" in filled("account list").out


_DIES = """
import os, signal, sys
from balcao.moving.move import move
from balcao.moving.progress import NoProgress
from balcao.settings import Settings

class Dies(NoProgress):
    left = int(sys.argv[2])
    def advance(self, rows):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

move(Settings(), sys.argv[1], final=True, now_ms=1, progress=Dies())
"""


def test_kill_9_in_the_middle_of_a_table(filled: Shell, address: str) -> None:
    """Its rows are on their way, and not committed."""
    for left in (1, 4, 7, 10, 13):
        dies = [sys.executable, "-c", _DIES, address, str(left)]
        assert subprocess.run(dies, check=False, timeout=60).returncode == -signal.SIGKILL
        deadline = time.monotonic() + 30
        while "Outra mudança" in (said := _refusal(address)):
            assert time.monotonic() < deadline, said
            time.sleep(0.05)
        assert said == ""
    assert filled(f"storage move --to {address} --final --json").json["ok"]
    assert contents(at()) == contents(at(address))


def _refusal(address: str) -> str:
    """The server takes a moment to notice that a process was killed."""
    try:
        moving.move(Settings(), address, final=False, now_ms=NOW, progress=NoProgress())
    except MoveRefused as refused:
        return str(refused)
    return ""


# Refused.


def test_a_target_with_others_data(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(PostgresDesk(address, pepper=filled.home.pepper())) as desk:
        desk.create_account(NewAccount("alheia", "pre_pago", "live"), NOW)
    assert "dados de outra instalação" in filled(f"storage move --to {address}", code=1).err
    in_postgres(monkeypatch, address)
    assert "alheia" in filled("account list").out


def test_a_target_with_another_secret(filled: Shell, address: str) -> None:
    PostgresDesk(address, pepper=b"x" * 32).close()
    assert "outro segredo" in filled(f"storage move --to {address}", code=1).err


def test_a_target_of_a_newer_program(filled: Shell, address: str) -> None:
    PostgresDesk(address).close()
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE schema_version SET version = 9999")
    assert "versão mais nova" in filled(f"storage move --to {address}", code=1).err


def test_a_source_of_another_version(filled: Shell, address: str) -> None:
    with filled.desk() as desk:
        desk._here.execute("PRAGMA user_version = 2")
    assert "inicie antes" in filled(f"storage move --to {address}", code=1).err


def test_the_target_was_used_meanwhile(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Moved, reopened, and charged on both: neither replaces the other."""
    filled(f"storage move --to {address} --final")
    assert "foram movidos daqui" in filled("credit add acme 5 --reason x", code=1).err
    assert "Reaberto" in filled("storage reopen").out
    filled("credit add acme 5 --reason x")
    assert "não são mais" in filled(f"storage move --to {address}", code=1).err
    in_postgres(monkeypatch, address)
    assert "Use um destino vazio" in filled("storage move --to sqlite", code=1).err
    assert "não há o que reabrir" in filled("storage reopen", code=1).err


def test_rows_that_only_the_target_has(filled: Shell, address: str) -> None:
    filled(f"storage move --to {address}")
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE storage_move SET state = 'here', proven = '{}'")
    with closing(PostgresDesk(address)) as desk:
        desk.commit_now([a_charge(desk.accounts()[0], "r9000")])
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE storage_move SET state = 'arriving'")
    assert "nunca são apagados" in filled(f"storage move --to {address}", code=1).err


def test_the_old_storage_is_neither_backed_up_nor_called_well(
    filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A setting that was forgotten would go on backing up what nobody uses any more."""

    def looked(code: int) -> tuple[str, str]:
        checks = filled("doctor --json", code=code).json["checks"]
        return next(
            (one["status"], one["text"]) for one in checks if one["name"] == "banco de dados"
        )

    filled("backup create")
    filled(f"storage move --to {address}")
    in_postgres(monkeypatch, address)
    assert "ainda estão sendo movidos" in filled("backup create", code=1).err
    assert looked(1)[0] == "fail"
    in_sqlite(monkeypatch)
    filled(f"storage move --to {address} --final")
    assert "foram movidos daqui" in filled("backup create", code=1).err
    assert looked(1)[0] == "fail"
    assert "foram movidos daqui" in looked(1)[1]
    in_postgres(monkeypatch, address)
    filled("backup create")
    assert looked(0)[0] == "ok"


def test_what_does_not_agree_closes_nothing(filled: Shell, address: str) -> None:
    """A target that does not do what it is told."""
    filled(f"storage move --to {address}")
    with filled.desk() as desk:
        desk.commit_now([a_charge(desk.accounts()[0], "r9000")])
    with psycopg.connect(address) as connection:
        connection.execute("CREATE RULE stay AS ON UPDATE TO account DO INSTEAD NOTHING")
    said = filled(f"storage move --to {address} --final", code=1)
    assert "account: a origem e o destino não somam o mesmo" in said.err
    assert "destino: conta acme: saldo" in said.err
    filled("account list")


def test_addresses(filled: Shell, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "postgresql://" in filled("storage move --to mysql://x", code=1).err
    assert "já estão em SQLite" in filled("storage move --to sqlite", code=1).err
    secret = address.replace("postgres@", "postgres:segredo@")
    said = filled(f"storage move --to {secret}")
    assert "segredo" not in said.out + said.err
    said = filled("storage move --to postgresql://eu:segredo@127.0.0.1:1/x", code=1)
    assert "Ninguém responde no endereço do PostgreSQL" in said.err
    assert "segredo" not in said.out + said.err
    filled(f"storage move --to {secret} --final")
    assert "segredo" not in filled("account list", code=1).err
    in_postgres(monkeypatch, address)
    assert "própria origem" in filled(f"storage move --to {address}", code=1).err


def test_nothing_to_move(shell: Shell, address: str) -> None:
    assert "não há o que mover" in shell(f"storage move --to {address}", code=1).err
    assert not shell.path.exists()
