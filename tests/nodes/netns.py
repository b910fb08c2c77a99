"""Two network namespaces with a link between them that can be cut. Linux, as root.

The database runs in one, a node in the other. Nothing outside reaches either by TCP: tests reach
the node through a `Proxy`, and the database through its Unix socket.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from ctypes import CDLL, get_errno
from pathlib import Path

import pytest

DATABASE, NODE = "10.77.0.1", "10.77.0.2"

# No such MAC address: packets are lost silently, as behind a dead switch.
_DEAD_MAC = "02:00:00:00:00:99"

_CLONE_NEWNET = 0x4000_0000


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Namespaces:
    """The namespaces, named after this process so that several may run."""

    def __init__(self) -> None:
        pid = os.getpid()
        self._database, self._node = f"balcao-{pid}-db", f"balcao-{pid}-node"
        for name in (self._database, self._node):
            _ip("netns", "add", name)
            _ip("-n", name, "link", "set", "lo", "up")
        link = ("link", "add", "cable", "type", "veth", "peer", "cable", "netns", self._node)
        _ip("-n", self._database, *link)
        for name, address in ((self._database, DATABASE), (self._node, NODE)):
            _ip("-n", name, "address", "add", f"{address}/24", "dev", "cable")
            _ip("-n", name, "link", "set", "cable", "up")
        self._inside = ThreadPoolExecutor(1, initializer=_enter, initargs=(self._node,))

    @property
    def with_database(self) -> Sequence[str]:
        """Return a command prefix that runs a program in the database's namespace."""
        return ("ip", "netns", "exec", self._database)

    @property
    def with_node(self) -> Sequence[str]:
        return ("ip", "netns", "exec", self._node)

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Drop all packets in both directions, silently, in this context."""
        ends = ((self._database, NODE), (self._node, DATABASE))
        for name, other in ends:
            nowhere = ("lladdr", _DEAD_MAC, "dev", "cable", "nud", "permanent")
            _ip("-n", name, "neighbour", "replace", other, *nowhere)
        try:
            yield
        finally:
            for name, other in ends:
                _ip("-n", name, "neighbour", "del", other, "dev", "cable")

    def socket(self) -> socket.socket:
        """Return a socket that belongs to the node's namespace."""
        return self._inside.submit(socket.socket).result(10)

    def remove(self) -> None:
        self._inside.shutdown()
        for name in (self._node, self._database):
            with suppress(OSError):
                _ip("netns", "del", name)


def _enter(name: str) -> None:
    with Path("/run/netns", name).open() as file:
        if CDLL(None, use_errno=True).setns(file.fileno(), _CLONE_NEWNET):
            raise OSError(get_errno(), "setns")


def namespaces() -> Namespaces:
    """Create the namespaces, or skip the test if that is impossible."""
    if shutil.which("ip") is None:
        pytest.skip("no iproute2 here: install it with tools/system-packages iproute2")
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    made = f"balcao-{os.getpid()}"
    try:
        return Namespaces()
    except OSError as error:
        for end in ("db", "node"):
            with suppress(OSError):
                _ip("netns", "del", f"{made}-{end}")
        pytest.skip(f"no network namespaces here: {error}")


class Proxy:
    """Forwards a loopback port to one inside the node's namespace."""

    def __init__(self, inside: Namespaces, port: int) -> None:
        self._inside, self._port = inside, port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)
        self._thread.start()
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{listening.getsockname()[1]}"
        asyncio.run_coroutine_threadsafe(self._open(listening), self._loop).result(10)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self, listening: socket.socket) -> None:
        self._server = await asyncio.start_server(self._forward, sock=listening, backlog=512)

    async def _end(self) -> None:
        self._server.close()
        talks = asyncio.all_tasks() - {asyncio.current_task()}
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = self._inside.socket()
        there.setblocking(False)
        try:
            await self._loop.sock_connect(there, ("127.0.0.1", self._port))
            answers, requests = await asyncio.open_connection(sock=there)
        except OSError:  # the node is not listening
            there.close()
            writer.close()
            return
        await asyncio.gather(_pump(reader, requests), _pump(answers, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()
