"""The job that writes the files of long lists, without delaying requests (contract 15.6)."""

import asyncio
import secrets
import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from balcao.accounts.statement import Period
from balcao.core.calendar import civil_day
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.exports import StoredExport, packed
from balcao.storage.people import TraceFilter
from balcao.web.kit.exports import paced
from balcao.web.pages.history.files import WRITERS, FileContext, all_of
from balcao.web.pages.history.requests import Names, names_in

T = TypeVar("T")

REPORT_SECONDS = 2.0
PIECE_BYTES = 262_144


class _Abandoned(Exception):
    """The file is not needed any more, or the service is stopping."""


class _RowCounter:
    """Counts the rows written to a file, and aborts the writing once `is_over` is set."""

    def __init__(self) -> None:
        self.rows = 0
        self.is_over = threading.Event()

    def of(self, rows: Iterable[T]) -> Iterator[T]:
        """Yield the rows and count them. Raises `_Abandoned`."""
        for row in rows:
            if self.is_over.is_set():
                raise _Abandoned
            self.rows += 1
            yield row


def _piece(file: IO[bytes]) -> bytes:
    content = file.read(PIECE_BYTES)
    return packed(content) if content else b""


@dataclass(frozen=True, slots=True)
class FileWriting:
    """Writes a requested file and stores it. `folder` holds the temporary file."""

    desk: Desk
    folder: Path

    async def write(self, export_id: str) -> None:
        """Write one file: the work of a job. Raises `StorageFailed`."""
        stored = self.desk.exports
        asked = await stored.find(export_id)
        if asked is None or asked.size_bytes is not None:
            return
        counted, attempt = _RowCounter(), secrets.token_hex(8)
        names = names_in(self.desk, asked.account_id)  # here, on the connection's thread
        await asyncio.to_thread(self.folder.mkdir, parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            writing = asyncio.create_task(
                asyncio.to_thread(self._write, asked, names, counted, file)
            )
            try:
                while not (await asyncio.wait({writing}, timeout=REPORT_SECONDS))[0]:
                    await stored.report_progress(export_id, counted.rows)
                    if await stored.find(export_id) is None:
                        return
                await writing
            finally:
                # Wait for the thread before the file is closed.
                counted.is_over.set()
                await asyncio.wait({writing})
                writing.exception()  # raised above, or not needed any more
            await self._keep(asked, attempt, counted.rows, file)

    def _write(
        self, asked: StoredExport, names: Names, counted: _RowCounter, file: IO[bytes]
    ) -> None:
        wanted = msgspec.json.decode(asked.wanted, type=TraceFilter)
        traces = paced(all_of(self.desk, asked.account_id, wanted))
        period = Period(civil_day(wanted.from_ms), civil_day(wanted.to_ms - 1))
        about = FileContext(civil_day(asked.created_ms), period)
        WRITERS[asked.form](map(names.row, counted.of(traces)), about, file)

    async def _keep(self, asked: StoredExport, attempt: str, rows: int, file: IO[bytes]) -> None:
        size = file.seek(0, 2)
        file.seek(0)
        number = 0
        while piece := await asyncio.to_thread(_piece, file):
            await self.desk.exports.keep(asked.export_id, attempt, number, piece)
            number += 1
        await self.desk.exports.finish(asked.export_id, attempt, rows, size)
