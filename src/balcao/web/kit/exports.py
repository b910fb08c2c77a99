"""Files of an account's data, written without delaying the lookups of the same process.

A thread writes a few rows at a time and yields the interpreter between them: 50,000 rows in one go
made every API caller wait ten times as long. The file is temporary and sent in pieces, so that
memory use does not grow with its size.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import IO, NamedTuple, TypeVar

from starlette.responses import Response, StreamingResponse

from balcao.batches.file_scheduling import FileSlots

T = TypeVar("T")


class FileKind(NamedTuple):
    """A kind of file: extension and media type."""

    extension: str
    media_type: str


CSV = FileKind("csv", "text/csv; charset=utf-8")
JSONL = FileKind("jsonl", "application/x-ndjson")
ZIP = FileKind("zip", "application/zip")
XLSX = FileKind("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")

_ROWS_AT_ONCE = 20
_PAUSE_SECONDS = 0.0005
_PIECE_BYTES = 65_536
_IN_MEMORY_BYTES_MAX = 1 << 20


class Exports:
    """Writes files of statements, one per account at a time, in slots shared with batch results."""

    def __init__(self, slots: FileSlots) -> None:
        self._slots = slots

    async def answer(
        self, account_id: int, write: Callable[[IO[bytes]], None], kind: FileKind, name: str
    ) -> Response:
        """Return a download of what `write` writes. Raises `FileRunning`, and what `write` raises.

        `name` must not identify the account.
        """
        async with self._slots.slot(account_id):
            with ExitStack() as stack:
                file = stack.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES_MAX))
                await asyncio.to_thread(write, file)
                size = file.tell()
                stack.pop_all()  # closed when it has been sent
        return download(_pieces(file, self._slots.track(account_id, file)), size, kind, name)


def download(
    pieces: AsyncIterator[bytes], size_bytes: int, kind: FileKind, name: str
) -> StreamingResponse:
    """Return a response that the browser saves under this name."""
    headers = {
        "content-disposition": f'attachment; filename="{name}.{kind.extension}"',
        "content-length": str(size_bytes),
    }
    return StreamingResponse(pieces, media_type=kind.media_type, headers=headers)


async def _pieces(file: IO[bytes], release: Callable[[], object]) -> AsyncIterator[bytes]:
    try:
        with file:
            file.seek(0)
            while piece := file.read(_PIECE_BYTES):
                yield piece
    finally:
        release()


async def in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces, each read in a thread."""
    while (piece := await asyncio.to_thread(next, pieces, b"")) != b"":
        yield piece


def paced(rows: Iterable[T]) -> Iterator[T]:
    """Yield the rows, pausing now and then so that other threads run."""
    for number, row in enumerate(rows):
        if number % _ROWS_AT_ONCE == 0:
            time.sleep(_PAUSE_SECONDS)
        yield row
