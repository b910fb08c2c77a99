"""Every store of receipts' bytes (`storage.contract.Blobs`), and the one in a folder."""

import asyncio
import logging
import os
import stat
from collections.abc import Awaitable
from pathlib import Path

import pytest

from balcao.core.errors import StorageFailed
from balcao.core.receipts import RECEIPT_BYTES_MAX, digest_of
from balcao.storage import blobs as blobs_module
from balcao.storage.blobs import StoredBlobs, open_blobs
from balcao.storage.contract import Blobs
from tests.storage import bucket
from tests.storage.engines import file_size_limit

CONTENT = b"%PDF-1.7 um recibo"
DIGEST = digest_of(CONTENT)
FOR_EVER_MS = 1 << 42


@pytest.fixture(params=["folder", "file address", "memory", "bucket"])
def blobs(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> StoredBlobs:
    folder = tmp_path / "receipts"
    if request.param == "bucket":
        bucket.name_in_environment(monkeypatch, bucket.server())
        return open_blobs(f"s3://{bucket.NAME}/{tmp_path.name}-{os.urandom(4).hex()}")
    addresses: dict[str, Path | str] = {
        "folder": folder,
        "file address": folder.as_uri(),
        "memory": "memory:///",
    }
    return open_blobs(addresses[request.param])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "receipts"


async def all_names(blobs: Blobs, before_ms: int = FOR_EVER_MS) -> list[str]:
    return sorted([name async for page in blobs.names(before_ms) for name in page])


def put(blobs: Blobs, *contents: bytes) -> list[str]:
    async def work() -> None:
        await asyncio.gather(*(blobs.put(digest_of(content), content) for content in contents))

    asyncio.run(work())
    return [digest_of(content) for content in contents]


def get(blobs: Blobs, digest: str) -> bytes | None:
    async def work() -> bytes | None:
        return await blobs.get(digest)

    return asyncio.run(work())


# Every store.


@pytest.mark.parametrize("content", [b"x", CONTENT, os.urandom(RECEIPT_BYTES_MAX)])
def test_stored_bytes_can_be_read(blobs: Blobs, content: bytes) -> None:
    assert get(blobs, digest_of(content)) is None
    put(blobs, content)
    assert get(blobs, digest_of(content)) == content
    assert get(blobs, DIGEST) == (CONTENT if content == CONTENT else None)


def test_bytes_can_be_stored_again(blobs: Blobs) -> None:
    put(blobs, CONTENT)
    put(blobs, CONTENT)
    assert get(blobs, DIGEST) == CONTENT
    assert asyncio.run(all_names(blobs)) == [DIGEST]


def test_concurrent_writes_and_reads_of_the_same_bytes(blobs: Blobs) -> None:
    content = os.urandom(300_000)
    digest = digest_of(content)

    async def work() -> list[object]:
        await blobs.put(digest, content)
        steps: list[Awaitable[object]] = []
        for _ in range(20):
            steps += [blobs.put(digest, content), blobs.get(digest)]
        return await asyncio.gather(*steps)

    outcomes = asyncio.run(work())
    assert outcomes[0::2] == [None] * 20
    assert outcomes[1::2] == [content] * 20, "all of it, at any moment"
    assert asyncio.run(all_names(blobs)) == [digest]


def test_deleted_bytes_are_gone(blobs: Blobs) -> None:
    other = put(blobs, CONTENT, b"outro")[1]
    asyncio.run(blobs.delete(DIGEST))
    asyncio.run(blobs.delete(DIGEST))
    assert get(blobs, DIGEST) is None
    assert get(blobs, other) == b"outro"
    put(blobs, CONTENT)
    assert get(blobs, DIGEST) == CONTENT


def test_names_lists_old_bytes_only(blobs: Blobs) -> None:
    assert asyncio.run(all_names(blobs)) == []
    digests = put(blobs, *(str(number).encode() for number in range(60)))
    assert asyncio.run(all_names(blobs)) == sorted(digests)
    assert asyncio.run(all_names(blobs, 1_000)) == []


@pytest.mark.parametrize("stored", [b"outro recibo", CONTENT[:-1], b"", CONTENT + b"\n"])
def test_damaged_bytes_are_not_returned(
    blobs: Blobs, caplog: pytest.LogCaptureFixture, stored: bytes
) -> None:
    asyncio.run(blobs.put(DIGEST, stored))
    assert get(blobs, DIGEST) is None
    (record,) = caplog.records
    assert (record.levelno, DIGEST in record.getMessage()) == (logging.ERROR, True)

    put(blobs, CONTENT)
    assert get(blobs, DIGEST) == CONTENT, "putting them again mends it"


def test_too_many_bytes_are_not_read(
    blobs: Blobs, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(blobs, CONTENT)
    monkeypatch.setattr(blobs_module, "RECEIPT_BYTES_MAX", len(CONTENT) - 1)
    assert get(blobs, DIGEST) is None
    assert "damaged" in caplog.text


# A folder of our own.


@pytest.mark.parametrize("as_address", [False, True])
def test_the_folder_is_created_and_private(tmp_path: Path, as_address: bool) -> None:
    folder = tmp_path / "dados do balcão" / "receipts"
    blobs = open_blobs(folder.as_uri() if as_address else folder)
    put(blobs, CONTENT)
    assert [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*"))] == [
        DIGEST[:2],
        f"{DIGEST[:2]}/{DIGEST}",
    ]
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / DIGEST[:2])]
    assert modes == [0o700, 0o700]
    assert stat.S_IMODE((folder / DIGEST[:2] / DIGEST).stat().st_mode) == 0o600
    assert get(open_blobs(str(folder)), DIGEST) == CONTENT


def test_a_folder_does_not_depend_on_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blobs = open_blobs("receipts")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    put(blobs, CONTENT)
    assert get(blobs, DIGEST) == CONTENT
    assert (tmp_path / "receipts" / DIGEST[:2] / DIGEST).is_file()


def test_bytes_are_durable_before_the_rename_and_the_rename_before_the_return(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record that names them is committed next; power may fail at any time."""
    blobs = open_blobs(folder)
    steps: list[str] = []
    fsync = os.fsync
    replace = Path.replace

    def noting_fsync(descriptor: int) -> None:
        number = os.fstat(descriptor).st_ino
        (target,) = [path for path in [folder, *folder.rglob("*")] if path.stat().st_ino == number]
        name = target.relative_to(folder).as_posix()
        steps.append(f"sync {name.partition('.')[0]}" + ("/" if target.is_dir() else ""))
        if target.is_file():
            assert target.read_bytes() == CONTENT
        fsync(descriptor)

    def noting_replace(self: Path, target: Path) -> Path:
        steps.append(f"name {target.relative_to(folder).as_posix()}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(Path, "replace", noting_replace)
    put(blobs, CONTENT)

    inside = DIGEST[:2]
    assert steps == [
        f"sync {inside}/{DIGEST}",
        f"name {inside}/{DIGEST}",
        f"sync {inside}/",
        "sync /",
    ]


def test_a_full_disk_refuses_and_leaves_nothing(folder: Path) -> None:
    blobs = open_blobs(folder)
    put(blobs, CONTENT)
    large = b"x" * 100_000
    with file_size_limit(50_000), pytest.raises(StorageFailed):
        put(blobs, large)

    assert get(blobs, digest_of(large)) is None
    assert asyncio.run(all_names(blobs)) == [DIGEST]
    with file_size_limit(5), pytest.raises(StorageFailed):
        put(blobs, CONTENT)
    assert get(blobs, DIGEST) == CONTENT, "what was there is there"
    put(blobs, large)
    assert get(blobs, digest_of(large)) == large


def test_a_failing_fsync_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs = open_blobs(folder)

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StorageFailed):
        put(blobs, CONTENT)


def test_a_path_that_cannot_be_a_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageFailed):
        open_blobs(tmp_path / "file" / "receipts")
    with pytest.raises(StorageFailed):
        open_blobs(tmp_path / "file")
    with pytest.raises(StorageFailed):
        open_blobs("gopher://example/receipts")


def test_an_obstacle_is_reported(folder: Path) -> None:
    blobs = open_blobs(folder)
    (folder / DIGEST[:2]).write_text("a file where a folder should be")
    for work in (blobs.get(DIGEST), blobs.put(DIGEST, CONTENT), blobs.delete(DIGEST)):

        async def waited_for(work: Awaitable[object] = work) -> None:
            await work

        with pytest.raises(StorageFailed):
            asyncio.run(waited_for())


def test_leftovers_of_a_crash_are_listed_and_deleted(folder: Path) -> None:
    blobs = open_blobs(folder)
    put(blobs, CONTENT)
    half = folder / DIGEST[:2] / f"{DIGEST}.x7a2b"
    half.write_bytes(CONTENT[:5])
    (folder / "lost+found").mkdir()
    (folder / "lost+found" / "something").write_text("not ours")

    names = asyncio.run(all_names(blobs))
    assert names == [DIGEST, half.name]
    asyncio.run(blobs.delete(half.name))
    assert asyncio.run(all_names(blobs)) == [DIGEST]
    assert (folder / "lost+found" / "something").exists()


# In pieces


def pieces_of(blobs: Blobs, digest: str, size_bytes: int) -> list[bytes]:
    async def work() -> list[bytes]:
        return [piece async for piece in blobs.pieces(digest, size_bytes)]

    return asyncio.run(work())


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 100])
def test_pieces_are_the_stored_bytes(
    blobs: Blobs, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs_module, "PIECE_BYTES", 8)
    content = os.urandom(size)
    put(blobs, content)
    found = pieces_of(blobs, digest_of(content), size)
    assert b"".join(found) == content
    assert {len(piece) for piece in found[:-1]} <= {8}


def test_missing_bytes_or_those_of_another_size_have_no_pieces(
    blobs: Blobs, caplog: pytest.LogCaptureFixture
) -> None:
    assert pieces_of(blobs, DIGEST, len(CONTENT)) == []
    assert not caplog.records
    put(blobs, CONTENT)
    assert pieces_of(blobs, DIGEST, len(CONTENT) - 1) == []
    assert "receipt damaged" in caplog.text


def test_the_last_piece_of_damaged_bytes_is_never_yielded(
    blobs: Blobs, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blobs_module, "PIECE_BYTES", 8)
    asyncio.run(blobs.put(DIGEST, CONTENT[::-1]))
    found: list[bytes] = []

    async def work() -> None:
        async for piece in blobs.pieces(DIGEST, len(CONTENT)):
            found.append(piece)

    with pytest.raises(StorageFailed):
        asyncio.run(work())
    assert b"".join(found) == CONTENT[::-1][:16]
    assert "receipt damaged" in caplog.text
