"""Files of an account's data, made beside the lookups that share this process with them.

A file is made in a thread, a few rows at a time, and leaves the interpreter to others between
them: 50,000 rows at a stretch made every caller of the API wait ten times as long. It is written
to a temporary file and sent from there in pieces, so that its size is nobody's memory.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import IO, NamedTuple, TypeVar

from starlette.responses import Response, StreamingResponse

from balcao.batches.turns import FileTurns

T = TypeVar("T")


class FileKind(NamedTuple):
    """A kind of file: the ending of its name, and its media type."""

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
    """Files of statements, one of an account at a time, in turn with results of batches."""

    def __init__(self, turns: FileTurns) -> None:
        self._turns = turns

    async def answer(
        self, account_id: int, write: Callable[[IO[bytes]], None], kind: FileKind, name: str
    ) -> Response:
        """Return a download of what `write` writes. Raises `FileRunning`, and what `write` raises.

        `name` must not identify the account.
        """
        async with self._turns.turn(account_id):
            with ExitStack() as stack:
                file = stack.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES_MAX))
                await asyncio.to_thread(write, file)
                size = file.tell()
                stack.pop_all()  # it is closed when it has been sent
        return download(_pieces(file, self._turns.hold(account_id, file)), size, kind, name)


def download(
    pieces: AsyncIterator[bytes], size_bytes: int, kind: FileKind, name: str
) -> StreamingResponse:
    """A file that a browser keeps, under this name."""
    headers = {
        "content-disposition": f'attachment; filename="{name}.{kind.extension}"',
        "content-length": str(size_bytes),
    }
    return StreamingResponse(pieces, media_type=kind.media_type, headers=headers)


async def _pieces(file: IO[bytes], let_go: Callable[[], object]) -> AsyncIterator[bytes]:
    try:
        with file:
            file.seek(0)
            while piece := file.read(_PIECE_BYTES):
                yield piece
    finally:
        let_go()


async def in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces, each read in a thread."""
    while (piece := await asyncio.to_thread(next, pieces, b"")) != b"":
        yield piece


def leaving_room(rows: Iterable[T]) -> Iterator[T]:
    """Yield the rows, pausing now and then so that other threads run."""
    for number, row in enumerate(rows):
        if number % _ROWS_AT_ONCE == 0:
            time.sleep(_PAUSE_SECONDS)
        yield row
