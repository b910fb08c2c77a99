"""A disk that takes its time holds those whose charge waits for it, and nobody else."""

import asyncio
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from tests.http.house import opened
from tests.world import company

# None of these changes anything: no flush stands between the question and the answer. (`/readyz`,
# `/status` and the form for signing in find out by writing whether anything can be written.)
READS = ("/livez", "/conta/v1/saldo", "/conta/v1/consumo", "/openapi.json", "/docs", "/metrics")


@dataclass
class Disk:
    """While it stalls, who wants something flushed waits; the event loop is told on instead."""

    stalls: bool = False
    reached: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)
    held_the_loop: int = 0

    def flush(self) -> None:
        """What SQLite calls before a commit is durable."""
        if not self.stalls:
            return
        if threading.current_thread() is threading.main_thread():
            self.held_the_loop += 1  # to wait here would be the end of the test
            self.stalls = False
        self.reached.set()
        if self.stalls:
            assert self.goes_on.wait(30)


class Files(apsw.VFS):
    """SQLite's way to its files."""

    def __init__(self, below: str, disk: Disk) -> None:
        super().__init__("stalling", below, makedefault=True)
        self.below, self.disk = below, disk

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> "File":  # noqa: N802 - SQLite's name
        file = File(self.below, name, flags)
        file.disk = self.disk
        return file


class File(apsw.VFSFile):
    disk: Disk

    def __init__(self, below: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__(below, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        self.disk.flush()
        super().xSync(flags)


@contextmanager
def a_disk() -> Iterator[Disk]:
    """While this is open, every new SQLite connection writes to this disk."""
    before, disk = apsw.vfs_names()[0], Disk()
    files = Files(before, disk)
    try:
        yield disk
    finally:
        apsw.set_default_vfs(before)
        files.unregister()


def test_it_holds_no_other_connections_reads(tmp_path: Path) -> None:
    """Once commits go by way of the thread, as after one that was slow.

    Before that one commit holds the loop, which cannot know better (decision 0010).
    """
    with a_disk() as disk, opened(tmp_path) as house:
        other = house.account("outra")

        async def story() -> None:
            disk.stalls = True
            waits = asyncio.create_task(house.aget(company()))
            await house.until(disk.reached.is_set)
            assert not disk.held_the_loop
            for path in READS:
                assert (await house.aget(path, other)).status == 200, path
            assert not waits.done(), "answered before it was durable"
            disk.goes_on.set()
            assert (await waits).status == 200

        house.house.desk.engine._writer._in_place_from = math.inf  # type: ignore[attr-defined]
        try:
            house.run(story())
        finally:
            disk.goes_on.set()
            disk.stalls = False
        house.assert_books_agree()
        assert len(house.charges()) == 1
