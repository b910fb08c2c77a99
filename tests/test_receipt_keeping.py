"""Keeping receipts: what is stored, and every way in which there is none to be had."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import structlog

from balcao.core.certificates import MediaType, StoredReceipt
from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable, StorageFailed
from balcao.core.ledger import KeepReceipt
from balcao.core.receipts import RECEIPT_BYTES_MAX, digest_of
from balcao.core.store_mark import MarkVersion, StoreMark
from balcao.service.clock import system_now_ms
from balcao.service.jobs.durable import JobWorker
from balcao.service.receipt_deletion import receipt_deletion_jobs
from balcao.sources.contract import ReceiptStorage
from balcao.storage.blobs import StoredBlobs, open_blobs
from balcao.storage.contract import Blobs
from balcao.storage.desk.desk import Desk
from balcao.storage.receipts.keeping import ReceiptKeeping, orphans
from balcao.storage.sqlite.desk import SqliteDesk

PDF = b"%PDF-1.7 certidao de 11222333000181"
ADDRESS = "https://arquivos.example/11222333000181/comprovante.pdf?segredo=1"
NOW = 1_785_000_000_000


@pytest.fixture
def blobs(tmp_path: Path) -> StoredBlobs:
    return open_blobs(tmp_path / "receipts")


class Fails:
    """A store whose disk is full, or whatever it is told."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def put(self, digest: str, content: bytes) -> None:
        raise self.error

    async def get(self, digest: str) -> bytes | None:
        raise self.error

    async def pieces(self, digest: str, size_bytes: int) -> AsyncIterator[bytes]:
        raise self.error
        yield b""

    async def delete(self, name: str) -> None:
        raise self.error

    async def names(self, before_ms: int) -> AsyncIterator[Sequence[str]]:
        raise self.error
        yield ()

    async def read_mark(self) -> tuple[StoreMark | None, MarkVersion | None]:
        return None, None

    async def write_mark(self, mark: StoreMark, version: MarkVersion | None) -> bool:
        raise self.error

    async def mark_age_seconds(self) -> float | None:
        raise self.error


def a_pdf(content: bytes) -> MediaType:
    return "application/pdf"


def fetches(content: bytes) -> Callable[[str, float], Awaitable[bytes]]:
    async def fetch(address: str, until: float) -> bytes:
        assert address == ADDRESS
        return content

    return fetch


async def must_not_be_fetched(address: str, until: float) -> bytes:
    raise AssertionError("the bytes were there already")


def raises(error: Exception) -> Callable[..., Any]:
    def work(*given: object) -> Any:
        raise error

    return work


def keep(
    blobs: Blobs,
    receipt: bytes | str,
    *,
    fetch: Callable[[str, float], Awaitable[bytes]] = must_not_be_fetched,
    inspect: Callable[[bytes], MediaType] = a_pdf,
) -> tuple[StoredReceipt | None, list[Any]]:
    """What is kept, and what is logged about it."""
    keeper: ReceiptStorage = ReceiptKeeping(blobs, fetch=fetch, inspect=inspect)

    async def work() -> StoredReceipt | None:
        return await keeper.keep("infosimples", receipt)

    with structlog.testing.capture_logs() as logged:
        return asyncio.run(work()), logged


def stored(blobs: StoredBlobs, digest: str) -> bytes | None:
    async def work() -> bytes | None:
        return await blobs.get(digest)

    return asyncio.run(work())


def test_bytes_are_checked_and_stored_under_their_digest(blobs: StoredBlobs) -> None:
    kept, logged = keep(blobs, PDF)
    assert kept == StoredReceipt(digest_of(PDF), "application/pdf", len(PDF))
    assert stored(blobs, digest_of(PDF)) == PDF
    assert logged == []


def test_an_address_is_fetched_first(blobs: StoredBlobs) -> None:
    kept, logged = keep(blobs, ADDRESS, fetch=fetches(b"<html>"), inspect=lambda _: "text/html")
    assert kept == StoredReceipt(digest_of(b"<html>"), "text/html", 6)
    assert stored(blobs, digest_of(b"<html>")) == b"<html>"
    assert logged == []


def test_the_largest_receipt_is_kept(blobs: StoredBlobs) -> None:
    kept, _ = keep(blobs, b"x" * RECEIPT_BYTES_MAX)
    assert kept is not None
    assert kept.size_bytes == RECEIPT_BYTES_MAX


UNUSABLE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cannot be fetched": ("fetch", "host", {"fetch": raises(SourceUnavailable("host"))}),
    "fails without a word": ("fetch", "SourceFailed", {"fetch": raises(SourceFailed())}),
    "a bug of the fetcher": ("fetch", "ValueError", {"fetch": raises(ValueError(ADDRESS))}),
    "empty": ("size", "0 bytes", {"fetch": fetches(b"")}),
    "too large": ("size", "10000001 bytes", {"fetch": fetches(b"x" * (RECEIPT_BYTES_MAX + 1))}),
    "no receipt": ("check", "cifrado", {"inspect": raises(SourceError("cifrado"))}),
    "a bug of the checker": ("check", "TypeError", {"inspect": raises(TypeError(str(PDF)))}),
}


@pytest.mark.parametrize("why", UNUSABLE)
def test_a_receipt_that_is_not_to_be_had_is_none_and_told_to_the_operator(
    blobs: StoredBlobs, tmp_path: Path, why: str
) -> None:
    reason, detail, how = UNUSABLE[why]
    kept, logged = keep(blobs, ADDRESS, **({"fetch": fetches(PDF)} | how))
    assert kept is None
    assert logged == [
        {
            "event": "receipt.unusable",
            "log_level": "warning",
            "source": "infosimples",
            "reason": reason,
            "detail": detail,
        }
    ]
    assert "11222333000181" not in str(logged)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("error", "detail"), [(StorageFailed("OSError"), "OSError"), (KeyError(ADDRESS), "KeyError")]
)
def test_a_store_that_cannot_store_costs_only_the_receipt(error: Exception, detail: str) -> None:
    kept, logged = keep(Fails(error), PDF)
    assert kept is None
    assert [(line["reason"], line["detail"]) for line in logged] == [("store", detail)]


def test_a_caller_who_goes_away_is_not_an_unusable_receipt(blobs: StoredBlobs) -> None:
    async def for_ever(address: str, until: float) -> bytes:
        await asyncio.Event().wait()
        return b""

    async def work() -> None:
        keeper = ReceiptKeeping(blobs, fetch=for_ever, inspect=a_pdf)
        task = asyncio.create_task(keeper.keep("infosimples", ADDRESS))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with structlog.testing.capture_logs() as logged, pytest.raises(asyncio.CancelledError):
        asyncio.run(work())
    assert logged == []


def test_the_check_does_not_keep_the_loop(blobs: StoredBlobs) -> None:
    """It waits here for something that only the loop can do."""

    async def work() -> StoredReceipt | None:
        loop = asyncio.get_running_loop()

        def patient(content: bytes) -> MediaType:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(10)
            return "application/pdf"

        return await ReceiptKeeping(blobs, fetch=must_not_be_fetched, inspect=patient).keep(
            "x", PDF
        )

    assert asyncio.run(work()) is not None


# Leaving again.


def a_record(number: str, content: bytes, at_ms: int = NOW) -> KeepReceipt:
    return KeepReceipt(
        number, None, "certidao", digest_of(content), "application/pdf", len(content), at_ms
    )


async def purge(desk: Desk, blobs: Blobs, before_ms: int, limit: int = 100) -> int:
    """What retention does, and then the jobs that it leaves: how many records went."""
    count = await desk.purge_receipts(before_ms, limit, system_now_ms())
    kind = receipt_deletion_jobs(desk, blobs)
    worker = JobWorker(desk.jobs, [kind], system_now_ms)
    while left := await desk.jobs.counts():  # whoever serves may be quicker
        if any(each.error for each in left):
            raise StorageFailed("some bytes are still there")
        await worker.poll(kind)
    return count


async def all_orphans(desk: SqliteDesk, blobs: StoredBlobs, before_ms: int) -> list[str]:
    return [name async for names in orphans(desk, blobs, before_ms) for name in names]


def test_bytes_go_with_the_last_record_that_names_them(tmp_path: Path, blobs: StoredBlobs) -> None:
    async def story(desk: SqliteDesk) -> None:
        shared, alone = b"%PDF shared", b"%PDF alone"
        for content in (shared, alone):
            await blobs.put(digest_of(content), content)
        await desk.commit([a_record("old", shared), a_record("alone", alone)])
        await desk.commit([a_record("young", shared, NOW + 1)])

        assert await purge(desk, blobs, NOW + 1, 10) == 2
        assert await blobs.get(digest_of(alone)) is None
        assert await blobs.get(digest_of(shared)) == shared
        assert await purge(desk, blobs, NOW + 2, 10) == 1
        assert await blobs.get(digest_of(shared)) is None
        assert await purge(desk, blobs, NOW + 2, 10) == 0

    with closing(SqliteDesk(tmp_path / "balcao.db")) as desk:
        asyncio.run(story(desk))


def test_bytes_that_nobody_names_are_found(tmp_path: Path, blobs: StoredBlobs) -> None:
    """A process died after it had stored them, or their deletion was given up."""

    async def story(desk: SqliteDesk) -> None:
        kept, lost, forgotten = b"%PDF kept", b"%PDF lost", b"%PDF forgotten"
        for content in (kept, lost, forgotten):
            await blobs.put(digest_of(content), content)
        await desk.commit([a_record("kept", kept, NOW + 1), a_record("forgotten", forgotten)])
        with pytest.raises(StorageFailed):
            await purge(desk, Fails(StorageFailed()), NOW + 1, 10)

        found = await all_orphans(desk, blobs, 1 << 42)
        assert sorted(found) == sorted([digest_of(lost), digest_of(forgotten)])
        assert await all_orphans(desk, blobs, NOW - 400 * 86_400_000) == [], "too young to tell"
        for name in found:
            await blobs.delete(name)
        assert await all_orphans(desk, blobs, 1 << 42) == []
        assert await blobs.get(digest_of(kept)) == kept

    with closing(SqliteDesk(tmp_path / "balcao.db")) as desk:
        asyncio.run(story(desk))
