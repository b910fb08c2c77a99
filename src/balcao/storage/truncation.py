"""Detection of truncated SQLite files: those of an installation, and of imported months."""

from contextlib import closing, suppress
from pathlib import Path

import apsw

# A file's first bytes; its page size stands at 16, the count of its pages at 28
# (https://www.sqlite.org/fileformat.html, "The Database Header").
_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def is_truncated(path: Path) -> bool:
    """Return whether a file is shorter than in its SQLite header, or has no such header.

    False if there is no file.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER_BYTES)
        size = path.stat().st_size
    except OSError:
        return False
    if not head:  # created, but not written yet
        return False
    if len(head) < _HEADER_BYTES or not head.startswith(_MAGIC):
        return True
    page_bytes = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big") * (65_536 if page_bytes == 1 else page_bytes)
    # During a checkpoint it may be short for a moment: SQLite's own check decides.
    return size < pages and not _is_sound(path)


def _is_sound(path: Path) -> bool:
    with (
        suppress(apsw.Error),
        closing(apsw.Connection(f"{path.as_uri()}?mode=ro", flags=_READ_ONLY)) as connection,
    ):
        return bool(connection.execute("PRAGMA quick_check(1)").get == "ok")
    return False
