"""Limits of the files that accounts send and keep: every decision about them (ADR 0078).

One account must not take the disk, the memory or the reading time of the others.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

MEGABYTE = 1_000_000

# A row takes so much beside its cells: its columns, its place in two indexes.
ROW_BYTES = 300
# An answer takes so much, compressed.
ANSWER_BYTES = 1_000

# Reading: so many files at once in one process, of which the last is for small files alone, and so
# much memory for the processes that read spreadsheets, all together.
READING_AT_ONCE = 6
SMALL_FILE_BYTES = 100_000
READERS_BYTES = 1_200_000_000
# Reading time is forgotten by half in so many seconds. Each file counts as a moment of it at least.
_HALF_LIFE_SECONDS = 60.0
_FILE_SECONDS = 0.1

# Which limit an upload is over.
UploadLimit: TypeAlias = Literal["unread", "open", "kept", "all", "disk"]
UPLOAD_LIMITS: tuple[UploadLimit, ...] = ("unread", "open", "kept", "all", "disk")


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Limits of one account, by its plan."""

    file_bytes: int  # of one file
    kept_bytes: int  # of all its files and rows
    open_batches: int  # that are not over
    unread_files: int
    cells: int  # of one file
    result_files: int  # being written or downloaded


@dataclass(frozen=True, slots=True)
class SharedLimits:
    """Limits of all accounts together."""

    kept_bytes: int
    disk_free_bytes: int  # no file is taken below this


@dataclass(frozen=True, slots=True)
class FilesKept:
    """Files and rows kept at this moment, uploads under way included."""

    own_bytes: int
    own_open: int
    own_unread: int
    all_bytes: int
    disk_free_bytes: int | None  # None: unknown


def limit_of_count(limits: FileLimits, kept: FilesKept) -> UploadLimit | None:
    """Return the limit on numbers that one more file would be over. None: it may come."""
    if kept.own_unread >= limits.unread_files:
        return "unread"
    return "open" if kept.own_open >= limits.open_batches else None


def limit_of_bytes(
    limits: FileLimits, shared: SharedLimits, kept: FilesKept, more_bytes: int
) -> UploadLimit | None:
    """Return the limit on bytes that so many more would be over. None: they may come."""
    if kept.own_bytes + more_bytes > limits.kept_bytes:
        return "kept"
    if kept.all_bytes + more_bytes > shared.kept_bytes:
        return "all"
    free = kept.disk_free_bytes
    if free is not None and free - more_bytes < shared.disk_free_bytes:
        return "disk"
    return None


def is_disk_short(shared: SharedLimits, disk_free_bytes: int | None) -> bool:
    """Return whether there is so little room that unread files have to go.

    Half of what uploads are refused for: files that were taken can be read.
    """
    return disk_free_bytes is not None and disk_free_bytes < shared.disk_free_bytes // 2


@dataclass(frozen=True, slots=True)
class UnreadFile:
    """A file that nobody has begun to read."""

    batch_id: str
    size_bytes: int
    pays: bool  # its account has a plan that pays


def given_back(files: Collection[UnreadFile], missing_bytes: int) -> Sequence[str]:
    """Choose the files to refuse so that as much room is free again.

    Those of plans that pay nothing first, then the largest.
    """
    chosen: list[str] = []
    for each in sorted(files, key=lambda file: (file.pays, -file.size_bytes, file.batch_id)):
        if missing_bytes <= 0:
            break
        chosen.append(each.batch_id)
        missing_bytes -= each.size_bytes
    return chosen


@dataclass(frozen=True, slots=True)
class WaitingFile:
    """A file whose turn to be read may be next."""

    job_id: int
    account_id: int
    size_bytes: int
    due_ms: int


@dataclass(frozen=True, slots=True)
class ReadingFile:
    """A file that is being read by this process."""

    account_id: int
    size_bytes: int
    memory_bytes: int  # of its reader, at most


def next_file(
    waiting: Collection[WaitingFile],
    reading: Collection[ReadingFile],
    used_seconds: Mapping[int, float],
    memory_of: Mapping[int, int],
    readers_bytes: int = READERS_BYTES,
) -> int | None:
    """Choose the file to read next, by its job. None: none may begin now.

    Accounts take turns: one file of each at a time, first of the one that used the least reading
    time of late; then the smallest file, then the oldest. `memory_of`: each job's reader.
    `readers_bytes`: of all readers of this process; one file is read in any case.
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
    """Return an account's reading time after one more file. `since`: since its last one ended."""
    return faded(used, since_seconds) + max(more_seconds, _FILE_SECONDS)


def faded(used: float, since_seconds: float) -> float:
    """Return what is left of a reading time after so many seconds."""
    return used * math.exp2(-max(0.0, since_seconds) / _HALF_LIFE_SECONDS)
