"""Two PostgreSQL servers: a primary and its synchronous standby."""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from tests.storage.postgres import Server

DURABLE = {
    "fsync": "on",
    "full_page_writes": "on",
    "wal_retrieve_retry_interval": "1s",
    "wal_keep_size": "256MB",
}
SECONDS_MAX = 90.0


def until(true: Callable[[], object], what: str, seconds: float = SECONDS_MAX) -> float:
    """Wait until a condition holds; return the seconds. Raises AssertionError."""
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds, f"not within {seconds} s: {what}"
        time.sleep(0.05)
    return time.monotonic() - began


class Link:
    """A proxy between a standby and its primary; when cut, it swallows all data."""

    def __init__(self, folder: Path, primary: Path) -> None:
        folder.mkdir()
        folder.chmod(0o755)
        self.folder = folder
        self._primary = primary
        self._cut = False
        self._listener = socket.socket(socket.AF_UNIX)
        path = folder / ".s.PGSQL.5432"
        self._listener.bind(str(path))
        path.chmod(0o777)
        self._listener.listen()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Stop forwarding without closing, like a network that loses packets."""
        self._cut = True

    def close(self) -> None:
        """Close every connection. Swallowed data are lost."""
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                standby, _ = self._listener.accept()
                self._open.append(standby)
                threading.Thread(target=self._carry, args=(standby,), daemon=True).start()

    def _carry(self, standby: socket.socket) -> None:
        with closing(standby), socket.socket(socket.AF_UNIX) as primary, suppress(OSError):
            primary.connect(str(self._primary / ".s.PGSQL.5432"))
            self._open.append(primary)
            while True:
                for end in select.select([standby, primary], [], [])[0]:
                    data = end.recv(65_536)
                    if not data:
                        return
                    if not self._cut:
                        (primary if end is standby else standby).sendall(data)


class Pair:
    """The servers, at two places with fixed names: nodes have both of them in their address."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)  # another user runs the servers
        self._folder = folder
        self._links = 0
        self.primary = Server(DURABLE)
        self.standby: Server | None = None
        self.link: Link | None = None
        self.database = self.primary.new_database().partition("@/")[2].partition("?")[0]
        self._places: dict[str, Server] = {}
        self._put("a", self.primary)
        self.follow()

    def address(self, *places: str) -> str:
        """Return the address of the database at these places, in this order."""
        hosts = ",".join(str(self._folder / place) for place in places)
        return f"postgresql://postgres@/{self.database}?host={hosts}"

    def address_of(self, server: Server) -> str:
        """Return the address of the database on one server."""
        return server.address(self.database)

    def follow(self) -> None:
        """Give the primary a new synchronous standby."""
        self._links += 1
        self.link = Link(self._folder / f"link{self._links}", self.primary.folder)
        through = f"postgresql://postgres@/postgres?host={self.link.folder}"
        self.standby = Server(DURABLE, standby_of=through)
        self._put("a" if self._places.get("a") is not self.primary else "b", self.standby)
        self.primary.set("synchronous_standby_names", "*")
        until(self.is_replicated, "the standby is synchronous")

    def is_replicated(self) -> bool:
        """Return whether the standby confirms commits."""
        sql = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"
        return bool(self.primary.admin(sql))

    def promote(self) -> Server:
        """Promote the standby, as a cluster manager does; return the old primary."""
        old, new = self.primary, self.standby
        assert new is not None
        new.set("synchronous_standby_names", "")
        if self.link is not None:
            self.link.close()
        assert new.admin("SELECT pg_promote(true, 60)") == [(True,)]
        self.primary, self.standby, self.link = new, None, None
        return old

    @property
    def first(self) -> Server:
        """Return the server that is first in an address of both."""
        return self._places["a"]

    def swap_places(self) -> None:
        """Swap the servers' names, so that the first in an address becomes the second."""
        first, second = self._places["a"], self._places["b"]
        self._put("a", second)
        self._put("b", first)

    def name(self, name: str, server: Server) -> None:
        """Let a name lead to this server, as DNS or a virtual address does."""
        self._put(name, server)

    def be_read_only(self, server: Server) -> None:
        """Start a stopped server as a standby without a primary."""
        (server.data / "standby.signal").touch()
        if os.getuid() == 0:
            owner = server.data.stat()
            os.chown(server.data / "standby.signal", owner.st_uid, owner.st_gid)
        server.start()

    def disconnect_nodes(self) -> None:
        """End every connection of the nodes to the primary."""
        self.primary.admin(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            self.database,
        )

    def waiting(self) -> int:
        """Return the number of commits that wait for the standby."""
        rows = self.primary.admin(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        )
        return int(rows[0][0])

    def remove(self) -> None:
        """Stop both servers."""
        if self.link is not None:
            self.link.close()
        for server in (self.standby, self.primary):
            if server is not None:
                with suppress(ProcessLookupError):
                    os.kill(server.process.pid, signal.SIGCONT)
                server.remove()

    def _put(self, place: str, server: Server) -> None:
        made = self._folder / f"{place}.new"
        made.symlink_to(server.folder)
        made.replace(self._folder / place)
        if place in ("a", "b"):
            self._places[place] = server
