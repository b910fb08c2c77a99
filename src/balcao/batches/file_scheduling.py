"""Scheduling of files in one process: the order of reading, the limits of writing (ADR 0078).

An account's files are read one at a time, small ones first. Files for downloads, of the API and the
web application, are written one at a time. A file takes disk space until its download ends, so
their number is limited per account and in total.
"""

import asyncio
import weakref
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

from balcao.batches.tables.contract import BOUNDS
from balcao.core.errors import FileRunning
from balcao.core.file_limits import (
    READERS_BYTES,
    ReadingFile,
    WaitingFile,
    decayed,
    next_file,
    reading_time,
)
from balcao.storage.desk.jobs import DueJob

_EXPIRY_MS = 3_600_000


@dataclass(slots=True)
class _Usage:
    """Reading time of an account at the end of its last file."""

    seconds: float
    at_ms: int


@dataclass(slots=True)
class ReadingOrder:
    """Order in which one process reads files; a `jobs.durable.JobOrder`.

    `readers_bytes`: memory limit of all readers together.
    """

    now_ms: Callable[[], int]
    readers_bytes: int = READERS_BYTES
    _reading: dict[int, tuple[ReadingFile, int]] = field(default_factory=dict)  # by job; since when
    _usage: dict[int, _Usage] = field(default_factory=dict)

    def next(self, due: Sequence[DueJob]) -> DueJob | None:
        """Return the file to read next, None if none may start now."""
        now_ms = self.now_ms()
        waiting = [
            WaitingFile(one.job_id, one.account_id, one.size_bytes, one.due_ms) for one in due
        ]
        used = {
            account_id: decayed(one.seconds, (now_ms - one.at_ms) / 1000)
            for account_id, one in self._usage.items()
        }
        chosen = next_file(
            waiting,
            [file for file, _ in self._reading.values()],
            used,
            {one.job_id: BOUNDS.reader_bytes(one.size_bytes) for one in due},
            self.readers_bytes,
        )
        return next((one for one in due if one.job_id == chosen), None)

    def started(self, job: DueJob) -> None:
        """Record that reading a file started."""
        file = ReadingFile(job.account_id, job.size_bytes, BOUNDS.reader_bytes(job.size_bytes))
        self._reading[job.job_id] = file, self.now_ms()

    def finished(self, job: DueJob) -> None:
        """Record that reading a file ended, and its time."""
        file, since_ms = self._reading.pop(job.job_id)
        now_ms = self.now_ms()
        before = self._usage.get(file.account_id, _Usage(0.0, now_ms))
        seconds = reading_time(
            before.seconds, (now_ms - before.at_ms) / 1000, (now_ms - since_ms) / 1000
        )
        self._usage = {
            account_id: one
            for account_id, one in self._usage.items()
            if now_ms - one.at_ms < _EXPIRY_MS
        }
        self._usage[file.account_id] = _Usage(seconds, now_ms)


class FileSlots:
    """Slots of one process for files being written or downloaded.

    `account_max` returns the maximum for an account; `total_max` is the one for all together.
    """

    def __init__(
        self,
        account_max: Callable[[int], int],
        total_max: int,
        refused: Callable[[], None] = lambda: None,
    ) -> None:
        self._account_max, self._total_max, self._refused = account_max, total_max, refused
        self._writing: set[int] = set()
        self._writer = asyncio.Lock()
        self._open: Counter[int] = Counter()  # files of each account

    @asynccontextmanager
    async def slot(self, account_id: int) -> AsyncGenerator[None, None]:
        """Hold the writer for one of the account's files. Raises `FileRunning`."""
        crowded = self._open[account_id] >= self._account_max(account_id)
        if account_id in self._writing or crowded or self._open.total() >= self._total_max:
            self._refused()
            raise FileRunning
        self._writing.add(account_id)
        try:
            async with self._writer:
                yield
        finally:
            self._writing.discard(account_id)

    def track(self, account_id: int, file: object) -> Callable[[], object]:
        """Count a written file until the returned function is called or the file is freed."""
        self._open[account_id] += 1
        return weakref.finalize(file, partial(self._release, account_id))

    def _release(self, account_id: int) -> None:
        self._open[account_id] -= 1
        if not self._open[account_id]:
            del self._open[account_id]
