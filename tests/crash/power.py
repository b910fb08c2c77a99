"""A disk whose power can be cut: what was not synced is lost, or half there, or there.

A SIGKILL leaves the system's cache in place; a power cut does not. This is a layer under SQLite
that remembers, beside the real files, what a real disk would surely hold: everything up to the
last sync of each file. Of later writes a cut leaves any part, in any order.
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
class Platter:
    """One file: what is surely on it, and the writes since."""

    synced: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.pending:
            put(self.synced, offset, data)
        self.pending.clear()

    def after_a_cut(self, dice: random.Random) -> bytes:
        """Some of the pending writes, whole or torn between sectors."""
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
    """SQLite's way to files, watched. `at_any_instant` is called around every write and sync."""

    def __init__(self, below: str) -> None:
        super().__init__("watched", below, makedefault=True)
        self.below = below
        self.platters: dict[str, Platter] = {}
        self.lock = threading.RLock()
        self.at_any_instant: Callable[[], None] = lambda: None

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "WatchedFile":  # noqa: N802 - SQLite's name
        file = WatchedFile(self.below, name, flags)
        file.disk = self
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        file.platter = self.platters.setdefault(path, Platter())
        return file

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        super().xDelete(filename, syncdir)
        with self.lock:
            self.platters.pop(filename, None)

    def cut(self, folder: Path, dice: random.Random) -> None:
        """What is left of the files, written into another folder."""
        with self.lock:
            for path, platter in self.platters.items():
                (folder / Path(path).name).write_bytes(platter.after_a_cut(dice))


class WatchedFile(apsw.VFSFile):
    disk: Disk
    platter: Platter

    def __init__(self, below: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__(below, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        with self.disk.lock:
            self.disk.at_any_instant()
            super().xWrite(data, offset)
            self.platter.pending.append((offset, bytes(data)))

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        with self.disk.lock:
            self.disk.at_any_instant()
            super().xSync(flags)
            self.platter.sync()
            self.disk.at_any_instant()

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        with self.disk.lock:
            super().xTruncate(newsize)
            self.platter.sync()
            del self.platter.synced[newsize:]


@contextmanager
def watched_disk() -> Iterator[Disk]:
    """While this is open, every new SQLite connection writes to this disk."""
    before = apsw.vfs_names()[0]
    disk = Disk(before)
    try:
        yield disk
    finally:
        apsw.set_default_vfs(before)
        disk.unregister()
