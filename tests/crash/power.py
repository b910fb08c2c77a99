"""A simulated disk with power cuts, which lose any part of the writes since the last sync.

A SIGKILL leaves the system's page cache intact, a power cut does not. This SQLite VFS
records, in addition to the real files, what a real disk would certainly contain: everything up to
each file's last sync. Of later writes a cut keeps any part, in any order.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

SECTOR_BYTES = 512


@dataclass
class DiskFile:
    """A file: its synced content, and the writes since the last sync."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.pending:
            put(self.synced, offset, data)
        self.pending.clear()

    def after_a_cut(self, dice: random.Random) -> bytes:
        """Return the content with some of the pending writes, whole or torn between sectors."""
        left = bytearray(self.synced)
        chance = dice.choice([0.0, 0.5, 0.9, 1.0])
        for offset, data in self.pending:
            if dice.random() < chance:
                sectors = len(data) // SECTOR_BYTES
                torn = dice.random() < 0.3 and sectors > 1
                put(left, offset, data[: dice.randrange(sectors) * SECTOR_BYTES] if torn else data)
        return bytes(left)


def put(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(b"\0" * (offset - len(content)))
    content[offset : offset + len(data)] = data


class Disk(apsw.VFS):
    """A VFS that records writes and syncs, and calls `at_any_instant` around each of them."""

    def __init__(self, below: str) -> None:
        super().__init__("watched", below, makedefault=True)
        self.below = below
        self.disk_files: dict[str, DiskFile] = {}
        self.lock = threading.RLock()
        self.at_any_instant: Callable[[], None] = lambda: None

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "WatchedFile":  # noqa: N802 - SQLite's name
        file = WatchedFile(self.below, name, flags)
        file.disk = self
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        file.disk_file = self.disk_files.setdefault(path, DiskFile())
        return file

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        super().xDelete(filename, syncdir)
        with self.lock:
            self.disk_files.pop(filename, None)

    def cut(self, folder: Path, dice: random.Random) -> None:
        """Write the files as a power cut leaves them into another folder."""
        with self.lock:
            for path, disk_file in self.disk_files.items():
                (folder / Path(path).name).write_bytes(disk_file.after_a_cut(dice))


class WatchedFile(apsw.VFSFile):
    disk: Disk
    disk_file: DiskFile

    def __init__(self, below: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__(below, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        with self.disk.lock:
            self.disk.at_any_instant()
            super().xWrite(data, offset)
            self.disk_file.pending.append((offset, bytes(data)))

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        with self.disk.lock:
            self.disk.at_any_instant()
            super().xSync(flags)
            self.disk_file.sync()
            self.disk.at_any_instant()

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        with self.disk.lock:
            super().xTruncate(newsize)
            self.disk_file.sync()
            del self.disk_file.synced[newsize:]


@contextmanager
def watched_disk() -> Iterator[Disk]:
    """Yield a disk that every new SQLite connection uses in this context."""
    before = apsw.vfs_names()[0]
    disk = Disk(before)
    try:
        yield disk
    finally:
        apsw.set_default_vfs(before)
        disk.unregister()
