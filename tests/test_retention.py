"""Expired data is counted by class and logged in one line without personal data."""

import asyncio
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from balcao.core.calendar import HOUR_MS
from balcao.core.freshness import DAY_MS, CacheEntry
from balcao.core.ledger import Change
from balcao.core.questions import Mode
from balcao.core.receipts import digest_of
from balcao.service import retention
from balcao.service.clock import system_now_ms
from balcao.service.retention import Retention
from balcao.settings import Settings
from balcao.storage.blobs import open_blobs
from balcao.storage.contract import NewAccount
from balcao.storage.numbers import least_number
from balcao.storage.postgresql.cache import PostgresCache
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.sqlite.cache import SqliteCache
from balcao.storage.sqlite.desk import SqliteDesk
from tests.service import open_service
from tests.storage import postgres
from tests.storage.people import ALWAYS, a_trace
from tests.storage.world import a_bind, a_keep
from tests.test_receipt_keeping import a_record

NOW = 2_000 * DAY_MS


def test_each_class_has_its_own_setting(tmp_path: Path) -> None:
    settings = Settings.model_construct(home=tmp_path, cache_days=100, cache_person_days=10)
    desk, cache = SqliteDesk(tmp_path / "balcao.db"), SqliteCache(tmp_path / "cache.db")
    counted: Counter[str] = Counter()

    def observe(kind: str, count: int) -> None:
        counted[kind] += count

    keeper = Retention(
        desk, {"live": cache}, open_blobs(tmp_path / "receipts"), settings, lambda: NOW, observe
    )

    def aged(days: int) -> CacheEntry:
        return CacheEntry(b"{}", NOW - days * DAY_MS, "cnpja")

    async def scenario() -> None:
        cache.keep(
            [
                ("company:11222333000181:", aged(101)),
                ("company:11222333000182:", aged(99)),
                ("rural_producer:90010000100:SP", aged(11)),
                ("rural_producer:90010000291:SP", aged(9)),
            ]
        )
        with capture_logs() as logged:
            assert await keeper.purge() is None
            await _swept_whole(keeper)
            assert await keeper.purge() is None  # nothing more went
        assert logged == [
            {"event": "retention.purged", "log_level": "info", "cache": 1, "cache_person": 1}
        ]

    asyncio.run(scenario())
    assert counted == {"cache": 1, "cache_person": 1}
    cache.close()
    desk.close()


def test_no_entry_outlives_the_receipt_that_it_names(tmp_path: Path) -> None:
    settings = Settings.model_construct(
        home=tmp_path, receipt_days=366, cache_days=1825, cache_person_days=1825
    )
    desk, cache = SqliteDesk(tmp_path / "balcao.db"), SqliteCache(tmp_path / "cache.db")
    blobs = open_blobs(tmp_path / "receipts")
    company, person = "federal_certificate:11222333000181:", "rural_producer:90010000100:SP"

    async def scenario() -> None:
        now = NOW
        keeper = Retention(desk, {"live": cache}, blobs, settings, lambda: now)
        cache.keep([(key, CacheEntry(b"{}", NOW, "infosimples")) for key in (company, person)])
        for days, kept in ((363, 2), (365, 0)):
            now = NOW + days * DAY_MS
            await _swept_whole(keeper)
            assert len(await cache.read([company, person])) == kept

    asyncio.run(scenario())
    cache.close()
    desk.close()


def test_lookups_continue_while_a_full_cache_is_swept(tmp_path: Path) -> None:
    with open_service(tmp_path) as house:
        mode: Mode = "test"
        cache = house.front.parts.environments[mode].cache
        keeper = house.front.parts  # the house's own clock

        async def scenario() -> None:
            old = CacheEntry(b"x" * 1_000, 1, "cnpja")
            cache.keep([(f"company:{number:014}:", old) for number in range(3_000)])
            sweeping = asyncio.create_task(_swept(cache_of=cache, before_ms=keeper.now_ms()))
            answered = 0
            while not sweeping.done():
                reply = await house.aget("/consultas/v2/produtor-rural/90010000100?uf=SP")
                assert reply.status == 200
                answered += 1
            assert await sweeping == 3_000
            assert answered > 1

        house.run(scenario())
        page = house.get("/metrics").body.decode()
        assert "# TYPE balcao_purged_total counter" in page


def test_records_with_shared_bytes_do_not_end_the_purge(tmp_path: Path) -> None:
    """Two accounts ask about the same companies, one a day after the other."""
    settings = Settings.model_construct(home=tmp_path)

    async def scenario(desk: SqliteDesk) -> None:
        for number in range(retention.RECEIPTS_AT_ONCE + 1):
            await desk.commit([a_record(f"old{number}", b"%PDF", 1)])
        await desk.commit([a_record("young", b"%PDF", NOW)])
        keeper = Retention(desk, {}, open_blobs(tmp_path / "receipts"), settings, lambda: NOW)
        assert await keeper.purge_some() == retention.RECEIPTS_AT_ONCE
        assert await keeper.purge_some() == 1
        assert await keeper.purge_some() == 0
        assert desk.receipt("young") is not None

    with closing(SqliteDesk(tmp_path / "balcao.db")) as desk:
        asyncio.run(scenario(desk))


def test_orphaned_bytes_are_removed_soon_after_a_start(tmp_path: Path) -> None:
    """However often the service is restarted."""
    settings = Settings.model_construct(home=tmp_path)
    blobs, content = open_blobs(tmp_path / "receipts"), b"%PDF of a crash"
    later = system_now_ms() + 2 * retention.ORPHAN_MS

    async def scenario(desk: SqliteDesk) -> None:
        await blobs.put(digest_of(content), content)
        works = Retention(desk, {}, blobs, settings, lambda: later).periodic_tasks()
        (orphans,) = [each for each in works if each.name == "receipt_orphans"]
        assert orphans.first_seconds < HOUR_MS / 1000
        assert await orphans.work() is None
        assert await blobs.get(digest_of(content)) is None

    with closing(SqliteDesk(tmp_path / "balcao.db")) as desk:
        asyncio.run(scenario(desk))


async def _swept_whole(keeper: Retention) -> None:
    for each in keeper.periodic_tasks():
        while each.name.startswith("cache_sweep:") and await each.work():
            pass


async def _swept(*, cache_of: object, before_ms: int) -> int:
    assert isinstance(cache_of, SqliteCache)
    removed = 0
    while True:
        # Of persons nothing is too old yet.
        swept = await cache_of.sweep(before_ms - DAY_MS, 0)
        removed += swept.entries
        await asyncio.sleep(0.005)
        if swept.over:
            return removed


def test_a_node_with_a_clock_years_ahead_deletes_nothing_of_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now = system_now_ms()
    wrong = now + 10_000 * DAY_MS
    address = postgres.new_address()
    desk, cache = PostgresDesk(address), PostgresCache(address, "live")
    keeper = Retention(
        desk,
        {"live": cache},
        open_blobs(tmp_path / "receipts"),
        Settings(home=tmp_path),
        lambda: wrong,
    )
    ana = desk.create_account(NewAccount("ana", "pos_pago", "live"), now)
    of_ana: list[Change] = [
        a_bind(ana, "key", "r1", at_ms=now),
        a_keep(ana, "n1", at_ms=now),
        a_trace(ana, f"{least_number(now)}-7abc-8def-000000000000", opened_ms=now),
    ]

    async def scenario() -> None:
        desk.recover(now)
        assert await desk.commit(of_ana) is None
        cache.keep([("rural_producer:90010000100:SP", CacheEntry(b"{}", now, "cnpja"))])
        assert await keeper.purge_some() == 0
        await _swept_whole(keeper)
        assert await desk.find_attempt(ana.account_id, "key", now) is not None
        assert len(await cache.read(["rural_producer:90010000100:SP"])) == 1
        assert await desk.safe_past(now - 5) == now - 5

    try:
        asyncio.run(scenario())
        assert len(desk.people.traces(ana.account_id, ALWAYS, 10)) == 1
    finally:
        cache.close()
        desk.close()
        postgres.server().drop_database(address)
    assert "clock is ahead" in caplog.text
