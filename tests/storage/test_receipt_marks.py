"""A desk that was restored to an older point than its store of receipts (ADR 0074)."""

import asyncio
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import msgspec
import obstore
import psycopg
import pytest
from obstore.exceptions import GenericError, PreconditionError
from obstore.store import MemoryStore
from structlog.testing import capture_logs

from balcao.backup import confirming
from balcao.backup.confirming import NotConfirmed
from balcao.core.calendar import HOUR_MS
from balcao.core.receipts import digest_of
from balcao.core.store_mark import NUMBERS_SKIPPED, MarkVersion, StoreMark
from balcao.service import retention
from balcao.service.clock import system_now_ms
from balcao.service.receipt_deletion import UNCONFIRMED_SECONDS, receipt_deletion_jobs
from balcao.service.retention import Retention
from balcao.settings import Settings
from balcao.storage import blob_mark
from balcao.storage.blobs import StoredBlobs, open_blobs
from balcao.storage.contract import NewAccount, NewKey
from balcao.storage.desk.desk import Desk
from balcao.storage.postgresql.desk import PostgresDesk
from balcao.storage.receipt_standing import renew, standing
from balcao.storage.sqlite.desk import SqliteDesk
from tests.storage import bucket, postgres
from tests.storage.engines import ENGINES, Engine, PostgresEngine, SqliteEngine
from tests.storage.world import NOW, a_hash

LATE = b"%PDF of a charge that the restored desk does not know"


class Installation:
    """A desk on an engine, and its store of receipts."""

    def __init__(self, engine: Engine, where: str, folder: Path) -> None:
        self.engine = engine
        self.where = where
        self.folder = folder
        self.settings = Settings.model_construct(home=folder, receipts=where)

    @property
    def blobs(self) -> StoredBlobs:
        return open_blobs(self.where)

    def copy(self) -> Callable[[], Desk]:
        """A physical copy of the database as it is now. Returns what opens it."""
        if isinstance(self.engine, SqliteEngine):
            path = self.folder / f"copy-{os.urandom(4).hex()}.db"
            self.engine.sql("VACUUM INTO ?", str(path))
            return lambda: SqliteDesk(path)
        assert isinstance(self.engine, PostgresEngine)
        name = str(psycopg.conninfo.conninfo_to_dict(self.engine.address)["dbname"])
        address = postgres.server().new_database(name)
        return lambda: PostgresDesk(address)

    def keeper(self, desk: Desk) -> Retention:
        """Return the periodic clean-up of receipts."""
        return Retention(desk, {}, self.blobs, self.settings, system_now_ms)

    async def put(self, content: bytes) -> None:
        await self.blobs.put(digest_of(content), content)

    async def has(self, content: bytes) -> bool:
        return await self.blobs.get(digest_of(content)) is not None


@pytest.fixture(autouse=True)
def _all_bytes_are_old_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "ORPHAN_MS", -HOUR_MS)


@pytest.fixture(params=["folder", "bucket"])
def where(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "folder":
        return str(tmp_path / "receipts")
    bucket.name_in_environment(monkeypatch, bucket.server())
    return f"s3://{bucket.NAME}/{tmp_path.name}-{os.urandom(4).hex()}"


@pytest.fixture
def here(engine: Engine, where: str, tmp_path: Path) -> Installation:
    return Installation(engine, where, tmp_path)


def open_account(desk: Desk, name: str) -> tuple[int, int]:
    """The numbers of a new account and of its key."""
    account = desk.create_account(NewAccount(name, "pre_pago", "live"), NOW)
    desk.create_key(NewKey(account.account_id, "k", "balcao", a_hash(name)), NOW)
    (key,) = desk.keys(account.account_id)
    return account.account_id, key.key_id


async def renewed(here: Installation, desk: Desk, now_ms: int) -> str:
    return (await renew(desk, here.blobs, now_ms)).standing


def test_desk_and_store_stay_in_step(here: Installation) -> None:
    """Also where the store could not be written for a while, and a clock was set back."""
    with closing(here.engine.open()) as desk:

        async def story() -> None:
            assert await standing(desk, here.blobs) == "new"
            for now_ms in (NOW, NOW + 60_000, NOW + 30_000, NOW + 120_000):
                assert await renewed(here, desk, now_ms) == "current"
                assert await standing(desk, here.blobs) == "current"
            in_store, _ = await here.blobs.read_mark()
            for _ in range(3):  # committed, and not written into the store
                assert await desk.receipt_marks.next(in_store, os.urandom(8).hex(), NOW)
            assert len(await desk.receipt_marks.all()) == 5
            assert await renewed(here, desk, NOW) == "current"
            assert await standing(desk, here.blobs) == "current"

        here.engine.run(story())


def test_a_node_that_reads_the_store_late_is_not_taken_for_a_restored_one(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other nodes give the store two marks between its reads of the store and of the desk."""
    with closing(here.engine.open()) as desk:

        async def story() -> None:
            assert await renewed(here, desk, NOW) == "current"
            read = await here.blobs.read_mark()
            for minute in (1, 2):
                assert await renewed(here, desk, NOW + minute * 60_000) == "current"
            in_store = await here.blobs.read_mark()
            with monkeypatch.context() as patch:
                patch.setattr(StoredBlobs, "read_mark", AsyncMock(return_value=read))
                assert await standing(desk, here.blobs) == "current"
                assert await renewed(here, desk, NOW + 120_001) == "current"
            assert await here.blobs.read_mark() == in_store, "it does not overwrite a later one"
            for minute in range(60, 64):
                assert await renewed(here, desk, NOW + minute * 60_000) == "current"
            marks = [each.at_ms for each in await desk.receipt_marks.all()]
            assert marks == [NOW + minute * 60_000 for minute in (60, 61, 62, 63)]

        here.engine.run(story())


def test_the_second_of_two_writers_is_refused(here: Installation) -> None:
    with closing(here.engine.open()) as desk:

        async def story() -> None:
            assert await renewed(here, desk, NOW) == "current"
            in_store, version = await here.blobs.read_mark()
            assert in_store is not None
            other = msgspec.structs.replace(in_store, mark="another")
            assert await here.blobs.write_mark(other, version)
            assert not await here.blobs.write_mark(in_store, version)
            assert (await here.blobs.read_mark())[0] == other
            assert not await here.blobs.write_mark(in_store, None)
            assert await here.blobs.mark_age_seconds() is not None

        here.engine.run(story())


def test_a_desk_that_is_behind_deletes_nothing_until_it_is_confirmed(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After that it issues no lost number again."""
    with closing(here.engine.open()) as desk:
        open_account(desk, "ana")
        here.engine.run(renewed(here, desk, NOW))
    restored = here.copy()
    with closing(here.engine.open()) as desk:
        lost = open_account(desk, "bruno")
        here.engine.run(renewed(here, desk, NOW + 60_000))
        here.engine.run(here.put(LATE))

    with closing(restored()) as desk:
        keeper = here.keeper(desk)

        async def nothing_goes() -> None:
            with capture_logs() as logged:
                await keeper.renew_mark()
                await keeper.remove_orphans()
            assert await here.has(LATE)
            told = [(each["event"], each["standing"]) for each in logged]
            assert told == [
                ("receipts.restore_unconfirmed", "behind"),
                ("receipts.orphans_kept", "behind"),
            ]
            delete = receipt_deletion_jobs(desk, here.blobs).work
            assert await delete(digest_of(LATE)) == UNCONFIRMED_SECONDS
            assert await here.has(LATE)

        here.engine.run(nothing_goes())

        async def confirm() -> None:
            found = await confirming.check(desk, here.settings)
            assert (found.standing, found.is_in_use) == ("behind", True)
            # The mark was written a moment ago: another service uses this store.
            assert not await confirming.confirm(desk, here.settings, found.code, NOW)
            monkeypatch.setattr(confirming, "IN_USE_SECONDS", -1.0)
            assert not await confirming.confirm(desk, here.settings, "00000000", NOW)
            assert await standing(desk, here.blobs) == "behind"
            assert await confirming.confirm(desk, here.settings, found.code, NOW)
            assert await standing(desk, here.blobs) == "current"
            await keeper.renew_mark()
            with capture_logs() as logged:
                await keeper.remove_orphans()
            assert {"event": "receipts.orphans", "log_level": "info", "deleting": 1} in logged
            assert not await here.has(LATE)

        here.engine.run(confirm())
        anew = open_account(desk, "carla")
        assert all(new > old + NUMBERS_SKIPPED for new, old in zip(anew, lost, strict=True))
        after = open_account(desk, "davi")
        assert [new + 1 for new in anew] == list(after)


def test_a_desk_that_lost_its_store_to_another_deletes_nothing(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Production, after a rehearsal on a copy of it took over its store."""
    monkeypatch.setattr(confirming, "IN_USE_SECONDS", -1.0)
    with closing(here.engine.open()) as desk:
        here.engine.run(renewed(here, desk, NOW))
    rehearsal = here.copy()
    with closing(here.engine.open()) as desk:
        here.engine.run(renewed(here, desk, NOW + 60_000))

        async def take() -> None:
            with closing(rehearsal()) as other:
                found = await confirming.check(other, here.settings)
                assert await confirming.confirm(other, here.settings, found.code, NOW)

        here.engine.run(take())
        here.engine.run(here.put(LATE))
        assert here.engine.run(renewed(here, desk, NOW + 120_000)) == "behind"
        here.engine.run(here.keeper(desk).remove_orphans())
        assert here.engine.run(here.has(LATE))


def test_a_store_of_another_installation_is_left_alone(here: Installation) -> None:
    with closing(here.engine.open()) as desk:
        here.engine.run(renewed(here, desk, NOW))
    here.engine.run(here.put(LATE))
    other = ENGINES["sqlite"](here.folder / "other")
    (here.folder / "other").mkdir()
    with closing(other.open()) as desk:
        assert other.run(renewed(here, desk, NOW)) == "foreign"
        other.run(here.keeper(desk).remove_orphans())
        assert other.run(here.has(LATE))
    other.close()


def test_a_store_that_lost_its_mark_is_left_alone(here: Installation) -> None:
    """An empty store is another bucket, or was restored without its mark."""
    with closing(here.engine.open()) as desk:
        here.engine.run(renewed(here, desk, NOW))
        elsewhere = Installation(here.engine, f"{here.where}-2", here.folder)
        here.engine.run(elsewhere.put(LATE))
        assert here.engine.run(renewed(elsewhere, desk, NOW)) == "unmarked"
        here.engine.run(elsewhere.keeper(desk).remove_orphans())
        assert here.engine.run(elsewhere.has(LATE))


def test_a_mark_that_changes_while_it_is_confirmed(
    here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confirming, "IN_USE_SECONDS", -1.0)
    with closing(here.engine.open()) as desk:
        here.engine.run(renewed(here, desk, NOW))
    restored = here.copy()
    with closing(here.engine.open()) as desk, closing(restored()) as old:

        async def story() -> None:
            await renewed(here, desk, NOW + 60_000)
            found = await confirming.check(old, here.settings)
            take_over = old.receipt_marks.take_over

            async def overtaken(*given: object) -> object:
                await renewed(here, desk, NOW + 120_000)
                return await take_over(*given)  # type: ignore[arg-type]

            monkeypatch.setattr(old.receipt_marks, "take_over", overtaken)
            with pytest.raises(NotConfirmed):
                await confirming.confirm(old, here.settings, found.code, NOW)
            assert await standing(desk, here.blobs) == "current"
            assert await standing(old, here.blobs) == "behind"

        here.engine.run(story())


def test_an_unreadable_mark_is_not_this_desks(tmp_path: Path) -> None:
    engine = ENGINES["sqlite"](tmp_path)
    here = Installation(engine, str(tmp_path / "receipts"), tmp_path)
    with closing(engine.open()) as desk:
        engine.run(renewed(here, desk, NOW))
        (tmp_path / "receipts" / blob_mark.NAME).write_bytes(b"{")
        assert engine.run(renewed(here, desk, NOW)) == "foreign"
    engine.close()


def test_a_store_that_refuses_each_new_mark_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another node that was faster is no such store."""
    engine = ENGINES["sqlite"](tmp_path)
    here = Installation(engine, str(tmp_path / "receipts"), tmp_path)
    write = blob_mark.write

    async def refuse(*_: object) -> bool:
        return False

    async def overtaken(*given: Any) -> bool:
        _, _, mark, version = given
        assert await write(given[0], given[1], msgspec.structs.replace(mark, at_ms=1), version)
        return await write(*given)

    with closing(engine.open()) as desk:
        keeper = here.keeper(desk)

        async def story(times: int) -> list[tuple[str, object]]:
            with capture_logs() as logged:
                for _ in range(times):
                    await keeper.renew_mark()
            return [(each["event"], each.get("refusals")) for each in logged]

        assert engine.run(story(1)) == []
        with monkeypatch.context() as patch:
            patch.setattr(blob_mark, "write", overtaken)
            assert engine.run(story(retention.MARK_REFUSALS_LOGGED)) == []
        with monkeypatch.context() as patch:
            patch.setattr(blob_mark, "write", refuse)
            few = retention.MARK_REFUSALS_LOGGED
            assert engine.run(story(few - 1)) == []
            assert engine.run(story(1)) == [("receipts.mark_refused", few)]
            hourly = retention.MARK_REFUSALS_EACH_LOGGED
            assert engine.run(story(hourly)) == [("receipts.mark_refused", few + hourly)]
        assert engine.run(story(2)) == [("receipts.mark_accepted", None)]
    engine.close()


def test_a_store_that_compares_versions_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Google's: a conditional write without one is an error there."""

    class Google:
        content, generation = b"", 0

        async def get(self, store: object, path: str) -> Any:
            if not self.generation:
                raise FileNotFoundError
            meta = {"e_tag": f'"{self.generation}"', "version": str(self.generation)}
            return SimpleNamespace(meta=meta, bytes_async=AsyncMock(return_value=self.content))

        async def put(self, store: object, path: str, content: bytes, *, mode: Any) -> None:
            expected = "0" if mode == "create" else mode.get("version")
            if expected is None:
                raise GenericError("MissingVersion")
            if int(expected) != self.generation:
                raise PreconditionError("generation")
            self.content, self.generation = content, self.generation + 1

    google, store = Google(), MemoryStore()
    monkeypatch.setattr(obstore, "get_async", google.get)
    monkeypatch.setattr(obstore, "put_async", google.put)

    async def story() -> None:
        before: MarkVersion | None = None
        for name in ("first", "second", "third"):
            mark = StoreMark("here", name, NOW, {})
            _, version = await blob_mark.read(store)
            assert await blob_mark.write(store, None, mark, version)
            assert not await blob_mark.write(store, None, mark, before)
            assert (await blob_mark.read(store))[0] == mark
            before = version

    asyncio.run(story())
