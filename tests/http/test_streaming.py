"""Answers that are sent while they are written: length, order, errors, clients that leave."""

import asyncio
import errno
import gzip
import io
import tempfile
from collections.abc import Generator
from contextlib import aclosing
from pathlib import Path

import pytest

from balcao.core.errors import StorageFailed
from balcao.http.streaming import WHOLE_BYTES_MAX, streamed
from balcao.http.write import Headers, Pieces

PIECE = b"a line of forty bytes, for the most part\n" * 1_000
COUNT = 20


class Content:
    """Pieces of content, and whether they were all read, or closed before."""

    def __init__(self, count: int, error: Exception | None = None) -> None:
        self.read, self.closed = 0, False
        self._count, self._error = count, error

    def pieces(self) -> Generator[bytes, None, None]:
        try:
            for _ in range(self._count):
                self.read += 1
                yield PIECE
            if self._error is not None:
                raise self._error
        finally:
            self.closed = True


def received(
    content: Content, folder: Path, *, gzipped: bool = False
) -> tuple[Headers, bytes, bool]:
    """Return headers and content, and whether it was streamed."""

    async def read() -> tuple[Headers, bytes, bool]:
        headers, answer = await streamed(content.pieces(), folder, gzipped=gzipped)
        if isinstance(answer, bytes):
            return headers, answer, False
        assert answer.size_bytes is None
        async with aclosing(answer.pieces) as pieces:
            return headers, b"".join([piece async for piece in pieces]), True

    return asyncio.run(read())


@pytest.mark.parametrize("gzipped", [False, True])
def test_short_content_is_returned_whole(gzipped: bool, tmp_path: Path) -> None:
    content = Content(1)
    assert len(PIECE) < WHOLE_BYTES_MAX
    assert received(content, tmp_path, gzipped=gzipped) == ([], PIECE, False)
    assert content.closed


@pytest.mark.parametrize("gzipped", [False, True])
def test_long_content_is_streamed(gzipped: bool, tmp_path: Path) -> None:
    content = Content(COUNT)
    headers, body, in_pieces = received(content, tmp_path, gzipped=gzipped)
    assert in_pieces
    assert headers == ([(b"content-encoding", b"gzip")] if gzipped else [])
    assert (gzip.decompress(body) if gzipped else body) == PIECE * COUNT
    assert content.closed


def test_an_error_at_the_beginning_is_raised_before_the_answer(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at the beginning"):
        received(Content(1, ValueError("at the beginning")), tmp_path)


def test_a_later_error_is_raised_after_the_pieces_before_it(tmp_path: Path) -> None:
    sent = []

    async def read() -> None:
        _, answer = await streamed(
            Content(COUNT, ValueError("later")).pieces(), tmp_path, gzipped=False
        )
        assert isinstance(answer, Pieces)
        async for piece in answer.pieces:
            sent.append(piece)

    with pytest.raises(ValueError, match="later"):
        asyncio.run(read())
    assert b"".join(sent) == PIECE * COUNT


def test_a_client_that_leaves_ends_the_writing(tmp_path: Path) -> None:
    content = Content(1_000_000)

    async def read() -> None:
        _, answer = await streamed(content.pieces(), tmp_path, gzipped=False)
        assert isinstance(answer, Pieces)
        async with aclosing(answer.pieces) as pieces:
            async for _ in pieces:
                break

    asyncio.run(read())
    assert content.closed
    assert content.read < 1_000_000


class FullDisk(io.FileIO):
    """A file on a disk without space."""

    def write(self, piece: object) -> int:
        raise OSError(errno.ENOSPC, "no space")


def test_a_full_disk_cuts_the_answer_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk raises `StorageFailed`; an `OSError` would count as a client that left."""

    def temporary(*, buffering: int = -1, dir: Path | None = None) -> object:
        raw = FullDisk(tmp_path / "file", "w+")
        return raw if buffering == 0 else io.BufferedRandom(raw)

    monkeypatch.setattr(tempfile, "TemporaryFile", temporary)
    content = Content(COUNT)
    with pytest.raises(StorageFailed):
        received(content, tmp_path / "exports")
    assert content.closed
