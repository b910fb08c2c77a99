"""The two SQLite files of a month, its rows and its answers: begun, written on, opened, durable.

One that is being built survives `kill -9` (SQLite's rollback journal does), not a power cut:
nothing is forced to the disk before the end. A finished one is never changed.
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
    """A file to be written, new or interrupted; `schema` comes besides what `meta` is kept in."""
    connection = apsw.Connection(str(path))
    connection.pragma("page_size", _PAGE_BYTES)
    connection.pragma("journal_mode", "truncate")
    connection.pragma("synchronous", 0)
    connection.pragma("locking_mode", "exclusive")
    with connection:
        connection.execute(f"{_META}; {schema}")
    return connection


def open_finished(path: Path, *, mapped: bool = False) -> apsw.Connection:
    """A file that nobody will change, for reading. Raises `apsw.Error`.

    `mapped` into memory, rows all over it are read in an eighth of the time; what was read counts
    as the process's until the system wants it for something else.
    """
    connection = apsw.Connection(
        f"{path.absolute().as_uri()}?immutable=1",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
    )
    connection.pragma("cache_size", -_PAGE_CACHE_KIB)
    if mapped:
        connection.pragma("mmap_size", _MAPPED_BYTES)
    return connection


def read_no_more_than_asked(path: Path) -> None:
    """Tell the system that what is mapped of a file by now is read all over.

    Otherwise it reads far around each page that is not in memory yet (up to 8 MB, as disks are
    set up): rows that nobody asked for, while lookups wait for the disk. Where it cannot be told,
    all still works.
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
    """What the file says of itself under this name; None: nothing."""
    return connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get


def meta(connection: apsw.Connection, name: str) -> Any:
    """The same of what a finished file has. Raises `OpenDataError` where it is missing."""
    value = load(connection, name)
    if value is None:
        raise OpenDataError(f"falta {name}: uma importação inacabada?")
    return value


def save(connection: apsw.Connection, name: str, value: bytes | int) -> None:
    """Have the file say so of itself."""
    connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (name, value))


def make_durable(path: Path) -> None:
    """A file's content, or the names in a folder, survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
