"""Turns of files in one process: which is read next, and how many are written (ADR 0078).

An account's files are read one at a time, small ones first. Of the files that are written for
downloads, by the API and the application alike, one of an account is written at a time, and one of
all; a file that is being downloaded still takes its room, so an account may have only so many.
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
    faded,
    next_file,
    reading_time,
)
from balcao.storage.desk.jobs import DueJob

_FORGOTTEN_MS = 3_600_000


@dataclass(slots=True)
class _Used:
    """Reading time of an account, as of the end of its last file."""

    seconds: float
    at_ms: int


@dataclass(slots=True)
class ReadingTurns:
    """The turns of one process; a `jobs.durable.JobOrder`.

    `readers_bytes`: memory of all readers of this process.
    """

    now_ms: Callable[[], int]
    readers_bytes: int = READERS_BYTES
    _reading: dict[int, tuple[ReadingFile, int]] = field(default_factory=dict)  # by job; since when
    _used: dict[int, _Used] = field(default_factory=dict)

    def next(self, due: Sequence[DueJob]) -> DueJob | None:
        """Choose the next one. None: none may begin now."""
        now_ms = self.now_ms()
        waiting = [
            WaitingFile(one.job_id, one.account_id, one.size_bytes, one.due_ms) for one in due
        ]
        used = {
            account_id: faded(one.seconds, (now_ms - one.at_ms) / 1000)
            for account_id, one in self._used.items()
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
        """Note that a file is being read."""
        file = ReadingFile(job.account_id, job.size_bytes, BOUNDS.reader_bytes(job.size_bytes))
        self._reading[job.job_id] = file, self.now_ms()

    def finished(self, job: DueJob) -> None:
        """Note that it is not any more, and how long it took."""
        file, since_ms = self._reading.pop(job.job_id)
        now_ms = self.now_ms()
        before = self._used.get(file.account_id, _Used(0.0, now_ms))
        seconds = reading_time(
            before.seconds, (now_ms - before.at_ms) / 1000, (now_ms - since_ms) / 1000
        )
        self._used = {
            account_id: one
            for account_id, one in self._used.items()
            if now_ms - one.at_ms < _FORGOTTEN_MS
        }
        self._used[file.account_id] = _Used(seconds, now_ms)


class FileTurns:
    """The turns of one process.

    `most_of`: how many files an account may have at once; `most`: how many there may be of all.
    """

    def __init__(
        self,
        most_of: Callable[[int], int],
        most: int,
        refused: Callable[[], None] = lambda: None,
    ) -> None:
        self._most_of, self._most, self._refused = most_of, most, refused
        self._writing: set[int] = set()
        self._writer = asyncio.Lock()
        self._open: Counter[int] = Counter()  # files of each account

    @asynccontextmanager
    async def turn(self, account_id: int) -> AsyncGenerator[None, None]:
        """Hold while one of the account's files is being written. Raises `FileRunning`."""
        crowded = self._open[account_id] >= self._most_of(account_id)
        if account_id in self._writing or crowded or self._open.total() >= self._most:
            self._refused()
            raise FileRunning
        self._writing.add(account_id)
        try:
            async with self._writer:
                yield
        finally:
            self._writing.discard(account_id)

    def hold(self, account_id: int, file: object) -> Callable[[], object]:
        """Count a file that was written, until what this returns is called or the file is gone."""
        self._open[account_id] += 1
        return weakref.finalize(file, partial(self._let_go, account_id))

    def _let_go(self, account_id: int) -> None:
        self._open[account_id] -= 1
        if not self._open[account_id]:
            del self._open[account_id]
