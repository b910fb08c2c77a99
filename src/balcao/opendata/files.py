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


def advise_random_access(path: Path) -> None:
    """Advise the system that the mapped parts of a file are read at random.

    Otherwise it reads ahead around each missing page (up to 8 MB, depending on the disk): rows that
    no lookup asked for, while lookups wait for the disk. Has no effect where the advice is not
    supported.
    """
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    maps = Path("/proc/self/maps")
    if advise is None or not maps.exists():
        return
    for line in maps.read_text("utf-8").splitlines():
        if line.endswith(f" {path.resolve()}"):
            begin, end = (int(each, 16) for each in line.split()[0].split("-"))
            advise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_RANDOM)


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
