"""Where connections come in: who is let in, who is given up, and an end that finishes what began.

One look over all connections a second keeps their times; no request has a timer of its own.
"""

import asyncio
import socket
import ssl
from asyncio import sslproto
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import partial
from typing import Any, TypeAlias

import structlog

from balcao.core.addresses import counted_as, of_peer
from balcao.http.lane import Lane
from balcao.http.wire.connection import Connection
from balcao.http.wire.limits import TICK_SECONDS, ConnectionLimits
from balcao.http.wire.room import Room

log = structlog.get_logger()

ASGIApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

# How an error looks at a path: status, headers, body.
Refusal: TypeAlias = Callable[[Exception, str], tuple[int, list[tuple[bytes, bytes]], bytes]]

# Told of each connection that we ended or did not take, and why.
Observe: TypeAlias = Callable[[str], None]

_READ_BYTES_MAX = 65_536
_ACCEPT_AT_ONCE = 128
_BACKLOG = 4_096
# Unsent bytes that the kernel keeps of an answer; what is on its way does not count.
_UNSENT_BYTES_MAX = 65_536

# Of asyncio's TLS: a buffer of this size is made for each connection, and was 256 KiB, which a
# thousand silent ones made a quarter of a gigabyte. A record of TLS has 16 KiB.
_TLS_BUFFER_BYTES = 32_768

# Without a file to spare there is nobody to let in: wait until somebody has left.
_NO_FILES_SECONDS = 0.1

_COMPLAIN_EVERY_SECONDS = 60.0


class Door:
    """Serves `app`. Everything on one event loop's thread."""

    def __init__(
        self,
        app: ASGIApp,
        refusal: Refusal,
        limits: ConnectionLimits,
        *,
        lane: Lane | None = None,
        observe: Observe = lambda reason: None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """To be made on the event loop; `open` lets clients in. `lane`: for what is at hand."""
        self.app = app
        self.lane = lane
        self.refusal = refusal
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self.room = Room(limits)
        self.scheme = "http" if tls is None else "https"
        self.server: tuple[str, int] = ("", 0)
        self.scratch = memoryview(bytearray(_READ_BYTES_MAX))
        self.closing = False
        self.date = b""  # the header
        self.rested = 0.0  # until then may rest who was answered a moment ago
        self.connections: set[Connection] = set()
        # Who has nothing under way, the longest first: those of whom there is no whole request yet,
        # or none any more, and those who may have another one.
        self.new: dict[Connection, None] = {}
        self.resting: dict[Connection, None] = {}
        self._by_address: dict[str, int] = {}
        self._observe = observe
        self._tls = tls
        self._listeners: list[socket.socket] = []
        self.ticking: asyncio.TimerHandle | None = None
        self.draining: set[asyncio.Task[None]] = set()  # answers of the lane, to slow clients
        self._empty = asyncio.Event()
        self._complained = float("-inf")
        self.sweep(self.loop.time())

    # Listening

    def open(self, host: str, port: int, *, shared: bool = False) -> int:
        """Listen at this address, also beside others; return the port. Raises `OSError`.

        `shared`: other processes listen there, too; the kernel spreads connections over them.
        """
        family, kind, protocol, _, place = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # accepted sockets inherit it
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES_MAX)
            listener.bind(place)
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
        listener.setblocking(False)
        if self._tls is not None:
            sslproto.SSLProtocol.max_size = min(sslproto.SSLProtocol.max_size, _TLS_BUFFER_BYTES)
        address: tuple[str, int] = listener.getsockname()[:2]
        if not self._listeners:
            self.server = address
            self.tick()
        self._listeners.append(listener)
        self.loop.add_reader(listener, self._accept, listener)
        return address[1]

    def shut(self) -> None:
        """Take nobody any more."""
        for listener in self._listeners:
            self.loop.remove_reader(listener)
            listener.close()
        self._listeners.clear()

    async def close(self, patience_seconds: float) -> None:
        """Take nobody any more, finish the answers under way, and end."""
        self.closing = True
        self.shut()
        for connection in list(self.connections):
            connection.retire()
        try:
            async with asyncio.timeout(patience_seconds):
                while self.connections:
                    self._empty.clear()
                    await self._empty.wait()
        except TimeoutError:
            for connection in list(self.connections):
                connection.cut("")
            await asyncio.sleep(0)
        if self.ticking is not None:
            self.ticking.cancel()

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPT_AT_ONCE):
            try:
                client, peer = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no file to spare
                self._give_one_up()
                self._observe("full")
                self.loop.remove_reader(listener)
                self.loop.call_later(_NO_FILES_SECONDS, self._accept_again, listener)
                return
            self.let_in(client, (peer[0], peer[1]))

    def let_in(self, client: socket.socket, peer: tuple[str, int]) -> None:
        """Serve a new client, if it may come in."""
        connection = self.admit(*peer)
        if connection is None:
            client.close()
        else:
            self._begin(connection, client)

    def _begin(self, connection: Connection, client: socket.socket) -> None:
        client.setblocking(False)
        connection.shaking = self.loop.create_task(self._shake(connection, client))
        connection.shaking.add_done_callback(partial(self._shaken, connection, client))

    def _accept_again(self, listener: socket.socket) -> None:
        if listener in self._listeners:
            self.loop.add_reader(listener, self._accept, listener)

    async def _shake(self, connection: Connection, client: socket.socket) -> None:
        if self._tls is None:
            await self.loop.connect_accepted_socket(lambda: connection, client)
            return
        await self.loop.connect_accepted_socket(
            lambda: connection,
            client,
            ssl=self._tls,
            ssl_handshake_timeout=self.limits.head_seconds,
            # Ours are shorter where nothing is left to be sent (`Connection.overdue`).
            ssl_shutdown_timeout=TICK_SECONDS + self.limits.write_seconds,
        )

    def _shaken(
        self, connection: Connection, client: socket.socket, task: "asyncio.Task[None]"
    ) -> None:
        connection.shaking = None
        if task.cancelled() or task.exception() is not None:  # no TLS, or a client that left
            client.close()
            self.forget(connection)

    # Who is in

    def admit(self, host: str, port: int) -> Connection | None:
        """A connection for a client at this address. None: there are too many already."""
        address = self._counted_in(host)
        if address is None:
            return None
        if len(self.connections) >= self.limits.connections and not self._give_one_up():
            self._refused("full")
            self.count_out(address)
            return None
        return self._enter(address, (host, port))

    def _enter(self, address: str, peer: tuple[str, int]) -> Connection:
        connection = Connection(self, address, peer)
        self.connections.add(connection)
        self.new[connection] = None
        return connection

    def _counted_in(self, host: str) -> str | None:
        """As which a client is counted from now on. None: there are too many of them already."""
        address = counted_as(host)
        count = self._by_address.get(address, 0)
        if count >= self.limits.per_address and not self._is_trusted(host):
            self._refused("address_full")
            return None
        self._by_address[address] = count + 1
        return address

    def count_out(self, address: str) -> None:
        """A client is gone."""
        left = self._by_address[address] - 1
        if left:
            self._by_address[address] = left
        else:
            del self._by_address[address]

    def hearing(self, connection: Connection) -> None:
        """Its body is yet to come, or what it says is not listened to any more."""
        self.resting.pop(connection, None)
        if connection in self.connections:  # else it was given up already
            self.new.setdefault(connection)

    def busy(self, connection: Connection) -> None:
        """It has asked for something, wholly."""
        self.resting.pop(connection, None)
        self.new.pop(connection, None)

    def idle(self, connection: Connection) -> None:
        """It was answered, and may ask again."""
        self.resting[connection] = None

    def forget(self, connection: Connection) -> None:
        """It is over."""
        if connection not in self.connections:
            return
        self.connections.discard(connection)
        self.busy(connection)
        self.count_out(connection.address)
        if connection.reason:
            self._observe(connection.reason)
        if not self.connections:
            self._empty.set()

    def _give_one_up(self) -> bool:
        """End the one that has been idle the longest; before others, one that asks for nothing."""
        for waiting in (self.new, self.resting):
            for connection in waiting:
                connection.cut("full")
                self.forget(connection)  # its place is needed now
                return True
        return False

    def _refused(self, reason: str) -> None:
        self._observe(reason)
        if self.room.now - self._complained >= _COMPLAIN_EVERY_SECONDS:
            self._complained = self.room.now
            log.warning("connections.refused", reason=reason, open=len(self.connections))

    def _is_trusted(self, host: str) -> bool:
        if not self.limits.trusted:
            return False
        peer = of_peer(host)
        return any(peer in network for network in self.limits.trusted)

    # Time

    def tick(self) -> None:
        """Begin to look at everybody's time once a second; `open` does."""
        self.ticking = self.loop.call_later(TICK_SECONDS, self.tick)  # first: it must not stop
        self.sweep(self.loop.time())

    def sweep(self, now: float) -> None:
        """See whose time is over. `now`: seconds of any clock that does not go back."""
        self.date = f"date: {formatdate(usegmt=True)}\r\n".encode()
        self.room.now = now
        self.rested = now + TICK_SECONDS + self.limits.idle_seconds
        for connection in [each for each in self.connections if each.deadline <= now]:
            try:
                connection.overdue()
            except Exception:  # the others' times go on
                log.exception("connection.bug")
                connection.cut("broken")
        self.room.sweep(now)
        if self.lane is not None:
            self.lane.forget()
