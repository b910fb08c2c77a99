"""Specifics of SQLite: the file, its log, the writer, the desk without an event loop."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from balcao.core.access import Account
from balcao.core.errors import PepperDiffers, StorageFailed
from balcao.core.ledger import Change, InsufficientFunds, TopUp
from balcao.core.rate_limit import Limit
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.desk import (
    data_subjects,
    folding,
    people,
    people_queries,
    queries,
    receipts,
    totals,
)
from balcao.storage.desk import desk as desk_module
from balcao.storage.desk.desk import Desk
from balcao.storage.pepper import may_be_pepper
from balcao.storage.sqlite import QUERIES, writer
from balcao.storage.sqlite import engine as engine_module
from balcao.storage.sqlite.desk import SqliteDesk
from balcao.storage.sqlite.files import connect, migrate
from tests.storage.engines import SqliteEngine
from tests.storage.world import (
    NOW,
    Balance,
    a_bind,
    a_charge,
    a_finish,
    a_hash,
    a_hold,
    a_keep,
    a_settle,
    a_top_up,
    balance,
    charged,
    open_account,
)

LIMIT = Limit("minuto", 2, 60_000)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    engine = SqliteEngine(tmp_path)
    yield engine
    engine.close()


@pytest.fixture
def desk(engine: SqliteEngine) -> SqliteDesk:
    return engine.open()


# The disk.


@contextmanager
def no_more_pages(desk: SqliteDesk) -> Iterator[None]:
    """The database file cannot grow: statements fail half way, before any commit."""
    connection = desk.engine._writer._connection
    connection.execute("PRAGMA max_page_count = 1")  # not more than there are
    try:
        yield
    finally:
        connection.execute("PRAGMA max_page_count = 1073741823")


def test_a_database_that_cannot_grow_refuses_and_recovers(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account
) -> None:
    large = b"x" * 100_000
    with no_more_pages(desk), pytest.raises(StorageFailed):
        engine.commit(desk, a_charge(ana, "r1"), a_finish(ana, "key", "r1", body=large))

    assert balance(desk, ana) == Balance(10, 0)
    assert engine.run(desk.find_attempt(ana.account_id, "key", NOW)) is None
    engine.commit(desk, a_charge(ana, "r1"), a_finish(ana, "key", "r1", body=large))
    assert charged(engine.open(), ana) == {"r1": 1}


def test_an_operator_gets_an_error_when_nothing_can_be_written(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account
) -> None:
    engine.commit(desk, a_hold(ana, "r1"), a_bind(ana, "key", "r1"))
    with engine.cannot_write(desk):
        with pytest.raises(StorageFailed):
            desk.commit_now([a_top_up(ana, 5)])
        with pytest.raises(StorageFailed):
            desk.create_account(NewAccount("bruno", "pre_pago", "live"), NOW)
        with pytest.raises(StorageFailed):
            desk.create_key(NewKey(ana.account_id, "k", "p", a_hash("k")), NOW)
        with pytest.raises(StorageFailed):
            desk.revoke_key(ana.account_id, NOW)
        with pytest.raises(StorageFailed):
            desk.recover(NOW)
        with pytest.raises(StorageFailed):
            engine.run(desk.purge(NOW * 2))

    assert [account.name for account in desk.accounts()] == ["ana"]
    assert [key.revoked_ms for key in desk.keys(ana.account_id)] == [None]
    assert balance(desk, ana) == Balance(10, 1)
    assert desk.recover(NOW) == 1


def test_a_heartbeat_is_readable_by_other_processes(engine: SqliteEngine, desk: SqliteDesk) -> None:
    for at_ms in (NOW, NOW + 1_000):
        engine.run(desk.heartbeat(at_ms))
        assert engine.sql("SELECT at_ms FROM heartbeat") == [(at_ms,)]


def test_a_heartbeat_fails_and_recovers_with_the_disk(
    engine: SqliteEngine, desk: SqliteDesk
) -> None:
    engine.run(desk.heartbeat(NOW))
    with engine.cannot_write(desk), pytest.raises(StorageFailed):
        engine.run(desk.heartbeat(NOW + 1_000))
    engine.run(desk.heartbeat(NOW + 2_000))
    assert engine.sql("SELECT at_ms FROM heartbeat") == [(NOW + 2_000,)]


def test_a_heartbeat_fails_where_the_next_lookup_would(
    engine: SqliteEngine, desk: SqliteDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would fit into the log of a full disk, and `/readyz` would report success."""
    engine.run(desk.heartbeat(NOW))
    monkeypatch.setattr(engine_module, "FREE_BYTES_MIN", 1 << 60)
    with pytest.raises(StorageFailed, match="disk full"):
        engine.run(desk.heartbeat(NOW + 1_000))
    monkeypatch.undo()
    engine.run(desk.heartbeat(NOW + 2_000))


def test_purging_does_not_block_the_loop_while_the_file_is_busy(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account
) -> None:
    engine.commit(desk, a_charge(ana, "r1"), a_finish(ana, "key", "r1"))

    async def story() -> None:
        with closing(apsw.Connection(str(engine.path))) as somebody:
            somebody.execute("BEGIN IMMEDIATE")
            purging = asyncio.create_task(desk.purge(NOW * 2))
            for _ in range(10):  # the loop is not blocked
                await asyncio.sleep(0)
            assert not purging.done()
            assert await desk.caller(a_hash("ana"), NOW) is not None
            somebody.execute("ROLLBACK")
            assert await purging == 1

    engine.run(story())


def test_the_log_is_checkpointed_and_does_not_grow_without_limit(
    engine: SqliteEngine, desk: SqliteDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "WAL_PAGES_MAX", 40)
    ana = open_account(engine, desk, "ana", credits=1_000)
    for number in range(200):
        request = f"r{number}"
        engine.commit(desk, a_charge(ana, request), a_finish(ana, request, request))
        if number % 20 == 19:  # the threads have had their turns, and with them the log
            engine.run(carried_over(desk))
            engine.run(desk.heartbeat(NOW))

    log = engine.path.with_name("balcao.db-wal")  # 1,466 pages if none is used again
    assert log.stat().st_size < 400 * 4_200, "pages of the log are used again"
    assert len(charged(desk, ana)) == 200
    assert desk.check().complaints == []


async def carried_over(desk: SqliteDesk) -> None:
    """Wait until the checkpointer has finished."""
    while desk.engine._writer._checkpointed is False:  # noqa: ASYNC110 - it has no event to wait for
        await asyncio.sleep(0.001)


def test_a_failed_checkpoint_does_not_block_commits(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "WAL_PAGES_MAX", 0)
    with closing(apsw.Connection(str(engine.path))) as reader:
        reader.execute("BEGIN; SELECT * FROM account").fetchall()  # it keeps its snapshot
        for number in range(5):
            engine.commit(desk, a_charge(ana, f"r{number}"))
        reader.execute("ROLLBACK")
    assert balance(desk, ana) == Balance(5, 0)


def test_closing_closes_the_files(engine: SqliteEngine, desk: SqliteDesk, ana: Account) -> None:
    desk.close()
    assert sorted(file.name for file in engine.path.parent.iterdir()) == ["balcao.db"]


def test_an_interrupted_migration_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "migrations" / "desk"
    folder.mkdir(parents=True)
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    (folder / "0001_first.sql").write_text("CREATE TABLE one (a INTEGER);")
    (folder / "0002_second.sql").write_text("CREATE TABLE two (a INTEGER); SELECT nonsense;")
    with closing(connect(tmp_path / "some.db", synchronous="FULL")) as connection:
        with pytest.raises(apsw.SQLError):
            migrate(connection, "desk")
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == []

        (folder / "0002_second.sql").write_text("CREATE TABLE two (a INTEGER);")
        migrate(connection, "desk")
        migrate(connection, "desk")  # nothing to do
        assert connection.execute("PRAGMA user_version").fetchall() == [(2,)]


def test_a_file_of_another_pepper_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "balcao.db"
    for _ in range(2):
        SqliteDesk(path, pepper=b"one").close()
    with pytest.raises(PepperDiffers):
        SqliteDesk(path, pepper=b"another")
    with closing(apsw.Connection(str(path))) as connection:
        assert may_be_pepper(connection, b"one")
        assert not may_be_pepper(connection, b"another")


def test_a_file_without_a_pepper_is_marked_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "balcao.db"
    SqliteDesk(path).close()
    SqliteDesk(path, pepper=b"one").close()
    with pytest.raises(PepperDiffers):
        SqliteDesk(path, pepper=b"another")


def test_of_many_concurrent_peppers_one_is_marked(tmp_path: Path) -> None:
    path, begin = tmp_path / "balcao.db", threading.Barrier(4)

    def taken(pepper: bytes) -> bool:
        begin.wait()
        try:
            SqliteDesk(path, pepper=pepper).close()
        except PepperDiffers:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(taken, [b"one", b"one", b"another", b"third"]))
    assert outcomes in (
        [True, True, False, False],
        [False, False, True, False],
        [False] * 3 + [True],
    )


def test_many_threads_can_open_a_new_file_at_the_same_time(tmp_path: Path) -> None:
    begin = threading.Barrier(6)
    failures: list[Exception] = []

    def open_it() -> None:
        begin.wait()
        try:
            SqliteDesk(tmp_path / "balcao.db").close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_an_entry_cannot_be_replaced_either(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account
) -> None:
    """REPLACE deletes a conflicting row, by default without running triggers."""
    engine.commit(desk, a_charge(ana, "r1"))
    with (
        closing(connect(engine.path, synchronous="FULL")) as connection,
        pytest.raises(apsw.ConstraintError),
    ):
        connection.execute(
            "INSERT OR REPLACE INTO ledger_entry (entry_id, account_id, at_ms, month, kind,"
            " balance_change, held_change, request_id, key_id, operation, rule, origin, reason)"
            " SELECT entry_id, account_id, at_ms, month, kind,"
            " -2, held_change, request_id, key_id, operation, rule, origin, reason"
            " FROM ledger_entry WHERE request_id = 'r1'"
        )
    assert charged(desk, ana) == {"r1": 1}


def test_the_check_does_not_trust_indexes(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account
) -> None:
    engine.commit(desk, a_charge(ana, "r1"))
    engine.sql("DROP INDEX ledger_entry_of_request")
    engine.commit(desk, a_charge(ana, "r1"))
    assert desk.check().complaints == ["lançada duas vezes: r1"]


# The writer.


def test_inserts_work_for_any_size_of_batch(engine: SqliteEngine, desk: SqliteDesk) -> None:
    ana = open_account(engine, desk, "ana", credits=1_000)
    for size in (1, 2, 3, 127, 128, 129, 300):
        lists: list[list[Change]] = [
            [a_hold(ana, f"r{size}-{n}"), a_bind(ana, f"k{size}-{n}", f"r{size}-{n}")]
            for n in range(size)
        ]
        assert set(engine.together(desk, *lists)) == {None}
        settled: list[list[Change]] = [
            [a_settle(ana, f"r{size}-{n}", 1), a_finish(ana, f"k{size}-{n}", f"r{size}-{n}")]
            for n in range(size)
        ]
        assert set(engine.together(desk, *settled)) == {None}
    assert len(charged(desk, ana)) == 690
    assert balance(desk, ana) == Balance(310, 0)
    assert desk.check().complaints == []


def test_the_writer_outlives_its_event_loop(tmp_path: Path) -> None:
    """A stopping server leaves a commit under way; the desk is closed after the loop."""
    desk = SqliteDesk(tmp_path / "balcao.db")
    account = desk.create_account(NewAccount("ana", "pre_pago", "live"), NOW)
    begun, go_on, finished = threading.Event(), threading.Event(), threading.Event()

    def hold_up() -> bool:
        begun.set()
        go_on.wait()
        return False  # go on with the commit

    async def leave_it_under_way() -> None:
        desk.engine._writer._connection.set_commit_hook(hold_up)
        task = asyncio.create_task(desk.commit([TopUp(account.account_id, 3, "carga", NOW)]))
        await asyncio.to_thread(begun.wait)
        task.cancel()

    asyncio.run(leave_it_under_way())
    go_on.set()
    desk.engine._writer.worker.submit(finished.set)
    assert finished.wait(10), "the writer died with the loop"
    assert asyncio.run(desk.commit([TopUp(account.account_id, 4, "carga", NOW)])) is None
    assert balance(desk, account) == Balance(7, 0)
    desk.close()


def test_a_file_locked_by_another_process_does_not_block_the_loop(tmp_path: Path) -> None:
    desk = SqliteDesk(tmp_path / "balcao.db")
    account = desk.create_account(NewAccount("ana", "pre_pago", "live"), NOW)
    other = apsw.Connection(str(tmp_path / "balcao.db"))
    other.execute("BEGIN IMMEDIATE")

    async def story() -> None:
        task = asyncio.create_task(desk.commit([TopUp(account.account_id, 1, "carga", NOW)]))
        for _ in range(10):
            await asyncio.sleep(0)  # the loop goes on
        assert not task.done()
        other.execute("ROLLBACK")
        assert await task is None

    asyncio.run(story())
    assert balance(desk, account) == Balance(1, 0)
    other.close()
    desk.close()


def test_the_command_line_commits_without_a_loop(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account
) -> None:
    assert desk.commit_now([a_top_up(ana, 5)]) is None
    assert desk.commit_now([a_top_up(ana, -16)]) == InsufficientFunds(16, 15)
    assert balance(desk, ana) == Balance(15, 0)


def test_a_server_and_a_command_line_write_at_the_same_time(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account
) -> None:
    def top_up_a_hundred_times() -> None:
        command_line = SqliteDesk(engine.path)
        for _ in range(100):
            assert command_line.commit_now([a_top_up(ana, 1)]) is None
        command_line.close()

    async def serve_meanwhile() -> list[object]:
        topping_up = asyncio.create_task(asyncio.to_thread(top_up_a_hundred_times))
        outcomes: list[object] = []
        while not topping_up.done():
            number = len(outcomes)
            outcomes.append(await desk.commit([a_charge(ana, f"r{number}")]))
        await topping_up
        return outcomes

    outcomes = engine.run(serve_meanwhile())
    paid = outcomes.count(None)
    assert paid + outcomes.count(InsufficientFunds(1, 0)) == len(outcomes)
    assert len(charged(desk, ana)) == paid
    assert balance(desk, ana) == Balance(110 - paid, 0)
    assert desk.check().complaints == []


# Rate limits are counted in memory.


def spend(engine: SqliteEngine, desk: Desk, name: str, now_ms: int) -> bool:
    caller = engine.run(desk.caller(a_hash(name), now_ms))
    assert caller is not None
    return all(verdict.allowed for verdict in engine.run(desk.spend(caller, [LIMIT], now_ms)))


def stored(engine: SqliteEngine) -> list[object]:
    return [row[0] for row in engine.sql("SELECT empty_at_ms FROM rate_limit")]


def test_limits_are_written_with_a_commit_once_a_second(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account
) -> None:
    spend(engine, desk, "ana", NOW)
    assert stored(engine) == []
    engine.commit(desk, a_charge(ana, "r1"))
    assert stored(engine) == [NOW + 30_000]

    spend(engine, desk, "ana", NOW + 999)
    engine.commit(desk, a_charge(ana, "r2"))
    assert stored(engine) == [NOW + 30_000], "not yet"
    spend(engine, desk, "ana", NOW + 30_000)
    engine.commit(desk, a_charge(ana, "r3"))
    assert stored(engine) == [NOW + 90_000]


def test_limits_are_still_written_after_the_clock_was_set_back(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account
) -> None:
    spend(engine, desk, "ana", NOW)
    engine.commit(desk, a_charge(ana, "r1"))
    spend(engine, desk, "ana", NOW - 3_600_000)
    engine.commit(desk, a_charge(ana, "r2"))
    spend(engine, desk, "ana", NOW - 3_600_000 + 30_000)
    engine.commit(desk, a_charge(ana, "r3"))
    assert stored(engine) != [NOW + 30_000]


def test_forgetting_empty_buckets_keeps_full_ones(
    engine: SqliteEngine, desk: SqliteDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "BUCKETS_MAX", 2)
    for name in ("ana", "bruno", "caio"):
        open_account(engine, desk, name, credits=5)
    ana = desk.accounts()[0]
    assert spend(engine, desk, "ana", NOW)
    assert spend(engine, desk, "bruno", NOW)

    # Both are empty again, and are removed before they were ever written.
    later = NOW + 60_000
    assert spend(engine, desk, "caio", later)
    assert spend(engine, desk, "caio", later)
    assert not spend(engine, desk, "caio", later), "what was counted while making room counts"
    assert engine.commit(desk, a_charge(ana, "r1")) is None


# Receipts known to be recorded.


def statements(desk: SqliteDesk) -> list[str]:
    """Record the statements of the writing connection from now on."""
    told: list[str] = []

    def note(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        told.append(sql)
        return True  # go on

    desk.engine._writer._connection.set_exec_trace(note)
    return told


def test_a_recorded_receipt_is_not_written_again(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account
) -> None:
    engine.commit(desk, a_charge(ana, "r1"), a_keep(ana, "number"))
    told = statements(desk)
    engine.commit(desk, a_charge(ana, "r2"), a_keep(ana, "number"))
    assert told
    assert not [sql for sql in told if "receipt" in sql]
    told.clear()
    engine.commit(desk, a_keep(ana, "number"))
    assert told == []

    engine.run(desk.purge_receipts(NOW + 1, 10, NOW))
    told.clear()
    engine.commit(desk, a_charge(ana, "r3"), a_keep(ana, "number"))
    assert [sql for sql in told if "INSERT INTO receipt" in sql]


def test_the_number_of_remembered_receipts_is_bounded(
    engine: SqliteEngine, desk: SqliteDesk, ana: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "RECORDED_RECEIPTS_MAX", 3)
    numbers = [f"n{turn}" for turn in range(8)]
    for number in numbers * 2:
        engine.commit(desk, a_keep(ana, number))
        assert len(desk._recorded) <= 3
    assert all(desk.receipt(number) for number in numbers)


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        (queries._OPERATIONS.format(ids="?"), "ledger_entry_of_request (request_id=?)"),
        (
            queries._REFERRED[0],
            "entry_of_reference (account_id=? AND reference=? AND request_id>? AND request_id<?)",
        ),
        (
            queries._REFERRED[1],
            "charged_lookup_of_reference"
            " (account_id=? AND reference=? AND request_id>? AND request_id<?)",
        ),
        (queries._UNDER_KEY[1], "trace_of_key (account_id=? AND key_digest=?)"),
        (queries._UNDER_KEY[2], "certificate_trace_of_key (account_id=? AND key_digest=?)"),
        (queries._BY_REFERENCE, "ledger_entry_of_account (account_id=? AND at_ms>? AND at_ms<?)"),
        (totals._HOURS, "ledger_entry_of_account (account_id=? AND at_ms>? AND at_ms<?)"),
        (totals._HOURS, "PRIMARY KEY (account_id=? AND request_id>? AND request_id<?)"),
        (totals._HOURS, "PRIMARY KEY (account_id=? AND request_id=?) LEFT-JOIN"),
        (totals._TOP_UPS, "ledger_entry_top_up (account_id=? AND at_ms>? AND at_ms<?)"),
        (totals._ADDED, "ledger_entry_top_up (account_id=? AND at_ms>? AND at_ms<?)"),
        (totals._SUM, "PRIMARY KEY (account_id=? AND part=? AND day>? AND day<?)"),
        (folding._WITH_DETAILS, "daily_total_detailed (day<?)"),
        (queries._ENTRIES, "ledger_entry_of_account (account_id=? AND at_ms>? AND at_ms<?)"),
        (receipts._PURGE, "receipt_by_age (created_ms<?)"),
        (QUERIES["named_digests"], "receipt_of_digest (digest=?)"),
        (people._PURGES[0], "web_session_by_use (seen_ms<?)"),
        (people._WITH_OLD_TRACES.format(table="trace"), "PRIMARY KEY (account_id=?)"),
        (people._OLD_TRACES.format(table="trace"), "PRIMARY KEY (account_id=?)"),
        (queries._RECEIPT, "certificate_trace_of_receipt (receipt_id=?)"),
        (people_queries._CERTIFICATE + " ORDER BY request_id DESC", "PRIMARY KEY (account_id=?)"),
        (people_queries._OWNER, "ledger_entry_of_request (request_id=?)"),
        (people_queries._OWNER, "PRIMARY KEY (account_id=? AND request_id=?)"),
        (people_queries._TRACE + " ORDER BY request_id DESC", "PRIMARY KEY (account_id=?)"),
        (
            people_queries._CHARGED_LOOKUP + " ORDER BY request_id DESC",
            "PRIMARY KEY (account_id=?)",
        ),
        (
            f"{people_queries._FEW_CHARGED_LOOKUPS} AND {people_queries._BROUGHT}"
            " ORDER BY request_id DESC",
            "charged_lookup_of_person_or_certificate (account_id=?)",
        ),
        (
            f"{people_queries._FEW_CHARGED_LOOKUPS} AND document_hash = ? AND request_id < ?"
            " ORDER BY request_id DESC",
            "charged_lookup_of_person_or_certificate (account_id=? AND request_id<?)",
        ),
        (
            data_subjects._REQUESTS,
            "SCAN charged_lookup USING INDEX charged_lookup_of_person_or_certificate",
        ),
        (
            f"SELECT 1 FROM trace WHERE {people_queries._named(1, ['A'])[0]}",
            "charged_lookup_of_person_or_certificate (account_id=?)",
        ),
        (queries._OPERATIONS.format(ids="?"), "PRIMARY KEY (account_id=? AND request_id=?)"),
        (queries._ENTRIES, "PRIMARY KEY (account_id=? AND request_id>? AND request_id<?)"),
        (queries._BY_REFERENCE, "PRIMARY KEY (account_id=? AND request_id>? AND request_id<?)"),
        (people._WITH_OLD_TRACES.format(table="charged_lookup"), "PRIMARY KEY (account_id=?)"),
        (people._OLD_TRACES.format(table="charged_lookup"), "PRIMARY KEY (account_id=?)"),
    ],
)
def test_queries_while_serving_use_an_index(
    engine: SqliteEngine, desk: SqliteDesk, sql: str, index: str
) -> None:
    nothing = [None] * sql.count("?")
    plan = engine.sql(f"EXPLAIN QUERY PLAN {sql}", *nothing)
    assert any(str(step[3]).endswith(index) for step in plan), plan
