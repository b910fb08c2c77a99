"""The two SQLite files of a month, its rows and its answers: creating, reopening, making durable.

A file under construction survives `kill -9` (by SQLite's rollback journal) but not a power cut:
nothing is synced to the disk before the end. A finished file never changes.
"""

import ctypes
import mmap
import os
from pathlib import Path
from typing import Any

import apsw

from balcao.opendata.errors import OpenDataError

# Blocks of rows have 1 to 2 kB. A smaller page would waste a third of itself, a larger one makes
# every lookup copy more.
_PAGE_BYTES = 8192
# Enough for the inner pages of the full month's trees; leaves come from the system's cache.
_PAGE_CACHE_KIB = 16 * 1024
_MAPPED_BYTES = 1 << 40  # all of a file: SQLite maps no more than there is

_MAPS, _STATM = Path("/proc/self/maps"), Path("/proc/self/statm")

_META = "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"


def begin(path: Path, schema: str) -> apsw.Connection:
    """Open a file for writing, new or interrupted. `schema` is created in addition to `meta`."""
    connection = apsw.Connection(str(path))
    connection.pragma("page_size", _PAGE_BYTES)
    connection.pragma("journal_mode", "truncate")
    connection.pragma("synchronous", 0)
    connection.pragma("locking_mode", "exclusive")
    with connection:
        connection.execute(f"{_META}; {schema}")
    return connection


def open_finished(path: Path, *, mapped: bool = False) -> apsw.Connection:
    """Open a finished, immutable file for reading. Raises `apsw.Error`.

    `mapped`: map it into memory, so that scattered rows are read in an eighth of the time. Pages
    that were read count as the process's memory until the system needs it elsewhere.
    """
    connection = apsw.Connection(
        f"{path.absolute().as_uri()}?immutable=1",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
    )
    connection.pragma("cache_size", -_PAGE_CACHE_KIB)
    if mapped:
        connection.pragma("mmap_size", _MAPPED_BYTES)
    return connection


class MappedFiles:
    """Mapped files that are read at random, and released before their pages fill the memory.

    Has no effect where the system does not support the advice.
    """

    def __init__(self, *paths: Path) -> None:
        """Advise the system about the parts that are mapped now.

        Otherwise it reads ahead around each missing page (up to 8 MB, depending on the disk): rows
        that no lookup asked for, while lookups wait for the disk.
        """
        self._advise = getattr(ctypes.CDLL(None), "madvise", None)
        self._spans: list[tuple[int, int]] = []
        if self._advise is None or not _MAPS.exists():
            return
        for line in _MAPS.read_text("utf-8").splitlines():
            if any(line.endswith(f" {path.resolve()}") for path in paths):
                begin, end = (int(each, 16) for each in line.split()[0].split("-"))
                self._spans.append((begin, end - begin))
        self._advise_all(mmap.MADV_RANDOM)

    def release_above(self, most_bytes: int) -> None:
        """Unmap the pages that were read, if the process has more bytes of files in memory.

        They stay in the system's cache, and are mapped again when they are read.
        """
        if self._spans:
            resident = int(_STATM.read_text("ascii").split()[2]) * mmap.PAGESIZE
            if resident > most_bytes:
                self._advise_all(mmap.MADV_DONTNEED)

    def _advise_all(self, advice: int) -> None:
        for begin, size in self._spans:
            assert self._advise is not None
            self._advise(ctypes.c_void_p(begin), ctypes.c_size_t(size), advice)


def load(connection: apsw.Connection, name: str) -> Any:
    """Return the file's metadata value of this name; None: there is none."""
    return connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get


def meta(connection: apsw.Connection, name: str) -> Any:
    """Return a finished file's metadata value. Raises `OpenDataError` where it is missing."""
    value = load(connection, name)
    if value is None:
        raise OpenDataError(f"falta {name}: uma importação inacabada?")
    return value


def save(connection: apsw.Connection, name: str, value: bytes | int) -> None:
    """Set a metadata value of the file."""
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))


def make_durable(path: Path) -> None:
    """Sync a file's content, or a folder's entries, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
