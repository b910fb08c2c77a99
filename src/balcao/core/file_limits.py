"""Limits of the files that accounts upload, and the order of reading them (ADR 0078).

No account may use up the disk, memory or reading time of the others.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

MEGABYTE = 1_000_000

# A stored row without its cells: its columns and two index entries.
ROW_BYTES = 300
# A stored answer, compressed.
ANSWER_BYTES = 1_000

# Files read at once in one process (the last slot is for small files), and the memory of all
# processes that read spreadsheets.
READING_AT_ONCE = 6
SMALL_FILE_BYTES = 100_000
READERS_BYTES = 1_200_000_000
# Reading time decays by half in so many seconds. Each file counts at least a minimum.
_HALF_LIFE_SECONDS = 60.0
_FILE_SECONDS = 0.1

# The limit that an upload exceeds.
UploadLimit: TypeAlias = Literal["unread", "open", "kept", "all", "disk"]
UPLOAD_LIMITS: tuple[UploadLimit, ...] = ("unread", "open", "kept", "all", "disk")


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits of one account, by its plan."""

    file_bytes: int  # of one file
    kept_bytes: int  # of all files and rows
    open_batches: int
    unread_files: int
    cells: int  # of one file
    result_files: int  # being written or downloaded


@dataclass(frozen=True, slots=True)
class SharedLimits:
    """Limits of all accounts together."""

    kept_bytes: int
    disk_free_bytes: int  # with less, uploads are refused


@dataclass(frozen=True, slots=True)
class FilesKept:
    """Files and rows stored at this moment, including uploads under way."""

    own_bytes: int
    own_open: int
    own_unread: int
    all_bytes: int
    disk_free_bytes: int | None  # None: unknown


def exceeded_count_limit(limits: FileLimits, kept: FilesKept) -> UploadLimit | None:
    """Return the limit on numbers that one more file would exceed, or None."""
    if kept.own_unread >= limits.unread_files:
        return "unread"
    return "open" if kept.own_open >= limits.open_batches else None


def exceeded_byte_limit(
    limits: FileLimits, shared: SharedLimits, kept: FilesKept, more_bytes: int
) -> UploadLimit | None:
    """Return the limit on bytes that `more_bytes` would exceed, or None."""
    if kept.own_bytes + more_bytes > limits.kept_bytes:
        return "kept"
    if kept.all_bytes + more_bytes > shared.kept_bytes:
        return "all"
    free = kept.disk_free_bytes
    if free is not None and free - more_bytes < shared.disk_free_bytes:
        return "disk"
    return None


def is_disk_short(shared: SharedLimits, disk_free_bytes: int | None) -> bool:
    """Return whether unread files have to be dropped for lack of disk space.

    The limit is half of that for uploads, so that accepted files can be read.
    """
    return disk_free_bytes is not None and disk_free_bytes < shared.disk_free_bytes // 2


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file whose reading has not begun."""

    batch_id: str
    size_bytes: int
    pays: bool  # its account has a paid plan


def files_to_drop(files: Collection[UnreadFile], missing_bytes: int) -> Sequence[str]:
    """Choose files to drop to free `missing_bytes`: those of free plans, then the largest."""
    chosen: list[str] = []
    for each in sorted(files, key=lambda file: (file.pays, -file.size_bytes, file.batch_id)):
        if missing_bytes <= 0:
            break
        chosen.append(each.batch_id)
        missing_bytes -= each.size_bytes
    return chosen


@dataclass(frozen=True, slots=True)
class WaitingFile:
    """A file that waits to be read."""

    job_id: int
    account_id: int
    size_bytes: int
    due_ms: int


@dataclass(frozen=True, slots=True)
class ReadingFile:
    """A file being read by this process."""

    account_id: int
    size_bytes: int
    memory_bytes: int  # its reader's limit


def next_file(
    waiting: Collection[WaitingFile],
    reading: Collection[ReadingFile],
    used_seconds: Mapping[int, float],
    memory_of: Mapping[int, int],
    readers_bytes: int = READERS_BYTES,
) -> int | None:
    """Return the job of the file to read next, or None if none may start now.

    One file per account at a time; first of the account with the least recent reading time, then
    the smallest, then the oldest. `memory_of`: of each job's reader. `readers_bytes`: of all
    readers together; one file may always be read.
    """
    if len(reading) >= READING_AT_ONCE:
        return None
    busy = {each.account_id for each in reading}
    large_full = len(reading) >= READING_AT_ONCE - 1
    memory_left = readers_bytes - sum(each.memory_bytes for each in reading)
    able = [
        each
        for each in waiting
        if each.account_id not in busy
        and (each.size_bytes <= SMALL_FILE_BYTES or not large_full)
        and (memory_of[each.job_id] <= memory_left or not reading)
    ]
    if not able:
        return None

    def turn(each: WaitingFile) -> tuple[float, int, int, int]:
        return used_seconds.get(each.account_id, 0.0), each.size_bytes, each.due_ms, each.job_id

    return min(able, key=turn).job_id


def reading_time(used: float, since_seconds: float, more_seconds: float) -> float:
    """Return an account's reading time after one more file, `since_seconds` after the last one."""
    return decayed(used, since_seconds) + max(more_seconds, _FILE_SECONDS)


def decayed(used: float, since_seconds: float) -> float:
    """Return a reading time after exponential decay over some seconds."""
    return used * math.exp2(-max(0.0, since_seconds) / _HALF_LIFE_SECONDS)
