"""Progress of an import, for other processes: a small file in the store.

The import writes it, the server and `balcao opendata status` read it. It is a convenience: the
import ignores failures to write it, and readers treat a `running` import whose process is gone as
stopped.
"""

import errno
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import Annotated, Literal, Self, TypeAlias

import apsw
import msgspec

from balcao.core.calendar import from_ms
from balcao.opendata.errors import OpenDataError
from balcao.opendata.progress import unit_of
from balcao.opendata.store import is_building

PROGRESS = "progress.json"

# Before the first phase: files of other plans are removed, the processes are started.
PREPARING = "Preparando"

# Often enough for people who watch, and cheap.
WRITE_SECONDS = 0.5

_MESSAGE_CHARS_MAX = 500
_FULL = {errno.ENOSPC, errno.EDQUOT}
# A folder with a blank in its name would end at the blank: the store's is removed first.
_FOLDERS = re.compile(r"(?<![\w.])/(?:[^\s/'\";,]+/)*(?=\S)")

State: TypeAlias = Literal["running", "stopped", "done", "failed"]
_Instant: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]


class ImportProgress(msgspec.Struct, frozen=True):
    """Progress of the last import of a store, or its end.

    `stopped`: it was killed or interrupted, and the same command resumes it. Bytes and rows count
    the phase in this attempt: finished work of an earlier one is not repeated.
    """

    state: State
    extraction_date: date  # of the month that is imported
    phase: str
    bytes_done: int
    bytes_total: int  # of a resumed phase with nothing left to do: 0
    rows: int
    rows_per_second: int  # since the phase began
    started_at: _Instant
    updated_at: _Instant
    pid: int
    message: str = ""  # why it failed, for the operator: no folders, nothing personal

    @property
    def share(self) -> float | None:
        """Finished share of the phase, 0 to 1; None: there is nothing to count."""
        return min(self.bytes_done / self.bytes_total, 1.0) if self.bytes_total else None

    @property
    def unit(self) -> str:
        """Unit of the rows: `linhas`, or `CNPJs` during verification."""
        return unit_of(self.phase)


def read_progress(store: Path) -> ImportProgress | None:
    """Return the state of the last import; None: there was none, or its file cannot be read.

    An import is `running` only while the store's lock is held. Reads one small file.
    """
    progress = _read(store)
    if progress is None or progress.state != "running" or is_building(store):
        return progress
    # It may have ended properly between reading the file and checking the lock.
    again = _read(store)
    return msgspec.structs.replace(progress, state="stopped") if again == progress else again


def _read(store: Path) -> ImportProgress | None:
    try:
        return msgspec.json.decode((store / PROGRESS).read_bytes(), type=ImportProgress)
    except (OSError, msgspec.DecodeError):
        return None


def _system_now_ms() -> int:
    return time.time_ns() // 1_000_000


class FileProgress:
    """A `ProgressListener` and context manager that maintains the store's file, under the lock.

    The file is replaced, never rewritten, when a phase begins and otherwise twice a second at most.
    Errors of the disk are ignored: readers then see an earlier state, or `stopped`.
    """

    def __init__(
        self,
        store: Path,
        extraction: date,
        *,
        now_ms: Callable[[], int] = _system_now_ms,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock`: a monotonic clock, in seconds."""
        self._store = store
        self._extraction = extraction
        self._now_ms = now_ms
        self._clock = clock
        self._started_ms = now_ms()
        self._phase = PREPARING
        self._phase_began = clock()
        self._bytes_total = 0
        self._bytes_done = 0
        self._rows = 0
        self._next_write_at = float("-inf")

    def __enter__(self) -> Self:
        self._write("running")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._write("done")
        elif isinstance(error, Exception):
            self._write("failed", reason_of(error, self._store))
        else:  # interrupted: the same command resumes
            self._write("stopped")

    def begin(self, phase: str, bytes_total: int) -> None:
        self._phase = phase
        self._phase_began = self._clock()
        self._bytes_total = bytes_total
        self._bytes_done = 0
        self._rows = 0
        self._write("running")

    def advance(self, file: str, bytes_done: int, rows: int) -> None:
        """Count, and write if the last write is long enough ago."""
        self._bytes_done += bytes_done
        self._rows += rows
        if self._clock() >= self._next_write_at:
            self._write("running")

    def _write(self, state: State, message: str = "") -> None:
        now = self._clock()
        self._next_write_at = now + WRITE_SECONDS
        elapsed = now - self._phase_began
        progress = ImportProgress(
            state=state,
            extraction_date=self._extraction,
            phase=self._phase,
            bytes_done=self._bytes_done,
            bytes_total=self._bytes_total,
            rows=self._rows,
            rows_per_second=int(self._rows / elapsed) if elapsed > 0 else 0,
            started_at=from_ms(self._started_ms),
            updated_at=from_ms(self._now_ms()),
            pid=os.getpid(),
            message=message,
        )
        temporary = self._store / f"{PROGRESS}.new"
        with suppress(OSError):  # if the disk is full, the import itself will fail
            temporary.write_bytes(msgspec.json.encode(progress))
            temporary.replace(self._store / PROGRESS)


def reason_of(error: Exception, store: Path) -> str:
    """Return in Portuguese why an operation in a store failed, without texts of other libraries."""
    if isinstance(error, OpenDataError):
        return _without_folders(str(error), store)[:_MESSAGE_CHARS_MAX]
    if isinstance(error, apsw.FullError) or (isinstance(error, OSError) and error.errno in _FULL):
        return "o disco está cheio"
    if isinstance(error, OSError):
        code = errno.errorcode.get(error.errno or 0, type(error).__name__)
        return f"o sistema operacional recusou ({code})"
    return f"erro inesperado ({type(error).__name__})"


def _without_folders(text: str, store: Path) -> str:
    """Remove folders from a message, since they may be named for people; file names stay."""
    if store.name:
        text = text.replace(f"{store}/", "").replace(str(store), "a pasta dos dados abertos")
    # Names of files may be any bytes; JSON is UTF-8.
    return _FOLDERS.sub("", text).encode("utf-8", "replace").decode("utf-8")
