"""A slow disk delays only answers whose charge waits for it."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import apsw

from balcao.http.fast_path import LookupFastPath
from balcao.http.wire.connection import Connection
from balcao.http.wire.limits import ConnectionLimits
from balcao.http.wire.server import Server
from tests.http.test_wire_fuzz import FakeTransport
from tests.records import OTHER_CNPJ, company, suframa
from tests.service import Service, open_service

# None of these changes anything: no flush stands between the question and the answer. (`/readyz`,
# `/status` and the form for signing in find out by writing whether anything can be written.)
READS = ("/livez", "/conta/v1/saldo", "/conta/v1/consumo", "/openapi.json", "/docs", "/metrics")


@dataclass
class Disk:
    """While it stalls, flushes wait, except on the event loop, which is reported instead."""

    stalls: bool = False
    reached: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)
    held_the_loop: int = 0

    def flush(self) -> None:
        """Called by SQLite before a commit is durable."""
        if not self.stalls:
            return
        if threading.current_thread() is threading.main_thread():
            self.held_the_loop += 1  # to wait here would be the end of the test
            self.stalls = False
        self.reached.set()
        if self.stalls:
            assert self.goes_on.wait(30)


class Files(apsw.VFS):
    """SQLite's file system."""

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


def test_it_does_not_delay_reads_of_other_connections(tmp_path: Path) -> None:
    """From the very first commit on, since stalls cannot be predicted."""
    with a_disk() as disk, open_service(tmp_path) as house:
        other = house.account("outra")

        async def scenario() -> None:
            disk.stalls = True
            waits = asyncio.create_task(house.aget(company()))
            await house.until(disk.reached.is_set)
            assert not disk.held_the_loop
            for path in READS:
                assert (await house.aget(path, other)).status == 200, path
            assert not waits.done(), "answered before it was durable"
            disk.goes_on.set()
            assert (await waits).status == 200

        went_on(house, disk, scenario())
        assert len(house.charges()) == 1


def test_nor_on_the_fast_path(tmp_path: Path) -> None:
    with a_disk() as disk, open_service(tmp_path) as house:
        known = suframa(OTHER_CNPJ, "cache=7")
        for _ in range(2):  # then it is in the cache, and the use of the key is noted
            assert house.get(known).status == 200
        request = f"GET {known} HTTP/1.1\r\nHost: a\r\nx-api-key: {house.client.key}\r\n\r\n"

        async def scenario() -> None:
            front = house.front
            server = Server(
                front, front.refuse, ConnectionLimits(), fast_path=LookupFastPath(front)
            )
            (asking, one), (reading, other) = (connected(server) for _ in range(2))
            disk.stalls = True
            asking.received(request.encode())
            assert asking._in_fast_path
            await house.until(disk.reached.is_set)
            assert not disk.held_the_loop
            reading.received(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")
            await house.until(lambda: other.said.startswith(b"HTTP/1.1 200"))
            assert not one.said, "answered before it was durable"
            disk.goes_on.set()
            await house.until(lambda: one.said.startswith(b"HTTP/1.1 200"))

        went_on(house, disk, scenario())
        assert len(house.charges()) == 3


def connected(server: Server) -> tuple[Connection, FakeTransport]:
    """Connect a client that has not sent anything yet."""
    connection, transport = server.admit("127.0.0.1", 1), FakeTransport()
    assert connection is not None
    transport.connection = connection
    connection.connection_made(cast(asyncio.Transport, transport))
    return connection, transport


def went_on(house: Service, disk: Disk, scenario: Coroutine[Any, Any, None]) -> None:
    """Run the coroutine, and check the ledger once nothing waits for the disk."""
    try:
        house.run(scenario)
    finally:
        disk.goes_on.set()
        disk.stalls = False
    house.assert_books_agree()
