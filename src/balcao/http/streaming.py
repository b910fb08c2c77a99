"""Answers of any length, sent while a thread is still writing them.

The thread must not wait for slow clients, since it reads one snapshot of the database. So it writes
to a temporary file, from which the answer is sent; memory use does not grow with its length.
"""

import asyncio
import os
import tempfile
import time
import zlib
from collections.abc import AsyncGenerator, Generator
from contextlib import closing
from io import FileIO
from pathlib import Path
from typing import TypeAlias

from balcao.core.errors import StorageFailed
from balcao.http.write import GZIP, Headers, Pieces, compressor

_Content: TypeAlias = Generator[bytes, None, None]

# Longer answers are sent in pieces, without their length.
WHOLE_BYTES_MAX = 65_536

_PIECE_BYTES = 65_536
_PAUSE_SECONDS = 0.0005  # after each piece, so that other threads run


async def streamed(
    content: _Content, folder: Path, *, gzipped: bool
) -> tuple[Headers, bytes | Pieces]:
    """Return an answer's content, with the headers about its encoding.

    Long content waits for the client in a temporary file below `folder`. Raises errors of its
    beginning. A later error cuts the answer off, which the client detects.
    """
    start = await asyncio.to_thread(_start_of, content)
    if len(start) <= WHOLE_BYTES_MAX:
        return [], start
    content = _continued(start, content)
    if gzipped:
        return [GZIP], Pieces(None, _written_ahead(_compressed(content), folder))
    return [], Pieces(None, _written_ahead(content, folder))


def _start_of(content: _Content) -> bytes:
    """Return the whole content, or more than `WHOLE_BYTES_MAX` bytes of it."""
    start = bytearray()
    for piece in content:
        start += piece
        if len(start) > WHOLE_BYTES_MAX:
            break
    return bytes(start)


def _continued(start: bytes, content: _Content) -> _Content:
    yield start
    yield from content


def _compressed(content: _Content) -> _Content:
    packer = compressor()
    with closing(content):
        for piece in content:
            yield packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
    yield packer.flush()


def _temporary_file(folder: Path) -> FileIO:
    """Open a file without a name. Unbuffered: else a full disk would be noticed when it closes."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return tempfile.TemporaryFile(buffering=0, dir=folder)
    except OSError as error:
        raise StorageFailed from error


async def _written_ahead(content: _Content, folder: Path) -> AsyncGenerator[bytes, None]:
    """Yield the content from a temporary file, while a thread writes it at its own pace."""
    loop, grown, left = asyncio.get_running_loop(), asyncio.Event(), False

    with _temporary_file(folder) as file:

        def write() -> None:
            with closing(content):
                for piece in content:
                    if left:
                        return
                    unwritten = memoryview(piece)
                    try:
                        while unwritten:
                            unwritten = unwritten[file.write(unwritten) :]
                    except OSError as error:
                        raise StorageFailed from error
                    loop.call_soon_threadsafe(grown.set)
                    time.sleep(_PAUSE_SECONDS)

        writing = loop.run_in_executor(None, write)
        writing.add_done_callback(lambda _: grown.set())
        at = 0
        try:
            while True:
                grown.clear()
                complete = writing.done()
                while piece := os.pread(file.fileno(), _PIECE_BYTES, at):
                    at += len(piece)
                    yield piece
                if complete:
                    break
                await grown.wait()
            await writing
        finally:
            left = True
            await asyncio.wait([writing])
