"""Order in which this process reads files: accounts take turns, small files first (0078)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from balcao.batches.tables.contract import BOUNDS
from balcao.core.file_limits import (
    READERS_BYTES,
    ReadingFile,
    WaitingFile,
    faded,
    next_file,
    reading_time,
)
from balcao.storage.desk.jobs import DueJob


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

    def begun(self, job: DueJob) -> None:
        """Note that a file is being read."""
        file = ReadingFile(job.account_id, job.size_bytes, BOUNDS.reader_bytes(job.size_bytes))
        self._reading[job.job_id] = file, self.now_ms()

    def ended(self, job: DueJob) -> None:
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


_FORGOTTEN_MS = 3_600_000
