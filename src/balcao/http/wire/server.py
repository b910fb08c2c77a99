"""HTTP/1.1 server: listens, limits connections, and finishes requests before it closes.

One sweep a second over all connections enforces their deadlines; no request has a timer.
"""

import asyncio
import socket
import ssl
from asyncio import sslproto
from collections.abc import Awaitable, Callable, Sequence
from email.utils import formatdate
from functools import partial
from typing import Any, Protocol, TypeAlias

import structlog

from balcao.core.addresses import peer_address, rate_limit_address
from balcao.http.wire.connection import Connection
from balcao.http.wire.head import header_lines
from balcao.http.wire.limits import TICK_SECONDS, ConnectionLimits
from balcao.http.wire.send_budget import SendBudget

log = structlog.get_logger()

ASGIApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

# Status, headers and body of an error at a path.
Refusal: TypeAlias = Callable[[Exception, str], tuple[int, list[tuple[bytes, bytes]], bytes]]

# Called with the reason for each connection that was aborted or rejected.
Observe: TypeAlias = Callable[[str], None]

_READ_BYTES_MAX = 65_536
_ACCEPT_AT_ONCE = 128
_BACKLOG = 4_096
# Unsent bytes of an answer that the kernel keeps; those in flight do not count.
_UNSENT_BYTES_MAX = 65_536

# Size of asyncio's TLS buffer, one per connection. The default of 256 KiB is a quarter of a
# gigabyte for a thousand silent connections. A TLS record has 16 KiB.
_TLS_BUFFER_BYTES = 32_768

# Pause of accepting when no file descriptor is left.
_NO_FILES_SECONDS = 0.1

_WARN_EVERY_SECONDS = 60.0


class FastPath(Protocol):
    """Answers some requests without the application."""

    def try_answer(self, connection: Connection, raw: bytes) -> bool:
        """Start answering a request; return False to leave it to the application.

        `raw`: a whole head. The answer is sent later by `Connection.finish`, or given up by
        `Connection.fall_back`. Raises what `read_head` raises.
        """

    def expire(self) -> None:
        """Forget what was not used lately; called once a second."""


class Server:
    """Serves `app` on one event loop."""

    def __init__(
        self,
        app: ASGIApp,
        refusal: Refusal,
        limits: ConnectionLimits,
        *,
        fast_path: FastPath | None = None,
        observe: Observe = lambda reason: None,
        tls: ssl.SSLContext | None = None,
        common_headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Create it on the event loop; `listen` accepts clients. `observe`: see `Observe`.

        `common_headers`: of every answer.
        """
        self.app = app
        self.fast_path = fast_path
        self.refusal = refusal
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self.send_budget = SendBudget(limits)
        self.scheme = "http" if tls is None else "https"
        self.local_address: tuple[str, int] = ("", 0)
        self.scratch = memoryview(bytearray(_READ_BYTES_MAX))
        self.closing = False
        self._fixed_lines = header_lines(common_headers)
        self.common_lines = b""  # the date, and headers of every answer
        self.idle_deadline = 0.0  # of a connection that was answered since the last sweep
        self.connections: set[Connection] = set()
        # Connections without a request under way, oldest first: those that have not sent a whole
        # request or are closing, and those that may send another one.
        self.new: dict[Connection, None] = {}
        self.resting: dict[Connection, None] = {}
        self._by_address: dict[str, int] = {}
        self._observe = observe
        self._tls = tls
        self._listeners: list[socket.socket] = []
        self.ticking: asyncio.TimerHandle | None = None
        self.draining: set[asyncio.Task[None]] = set()  # answers of the fast path to slow clients
        self._empty = asyncio.Event()
        self._warned_at = float("-inf")
        self.sweep(self.loop.time())

    # Listening

    def listen(self, host: str, port: int, *, shared: bool = False) -> int:
        """Listen at this address, one of several; return the port. Raises `OSError`.

        `shared`: with other processes; the kernel distributes connections among them.
        """
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # accepted sockets inherit it
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES_MAX)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
        listener.setblocking(False)
        if self._tls is not None:
            sslproto.SSLProtocol.max_size = min(sslproto.SSLProtocol.max_size, _TLS_BUFFER_BYTES)
        bound: tuple[str, int] = listener.getsockname()[:2]
        if not self._listeners:
            self.local_address = bound
            self.tick()
        self._listeners.append(listener)
        self.loop.add_reader(listener, self._accept, listener)
        return bound[1]

    def stop_listening(self) -> None:
        """Stop accepting clients."""
        for listener in self._listeners:
            self.loop.remove_reader(listener)
            listener.close()
        self._listeners.clear()

    async def close(self, patience_seconds: float) -> None:
        """Stop accepting clients, finish the answers under way, and close all connections."""
        self.closing = True
        self.stop_listening()
        for connection in list(self.connections):
            connection.retire()
        try:
            async with asyncio.timeout(patience_seconds):
                while self.connections:
                    self._empty.clear()
                    await self._empty.wait()
        except TimeoutError:
            for connection in list(self.connections):
                connection.abort("")
            await asyncio.sleep(0)
        if self.ticking is not None:
            self.ticking.cancel()

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPT_AT_ONCE):
            try:
                client, peer = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no file descriptor left
                self._evict_one()
                self._observe("full")
                self.loop.remove_reader(listener)
                self.loop.call_later(_NO_FILES_SECONDS, self._accept_again, listener)
                return
            self.accept(client, (peer[0], peer[1]))

    def accept(self, client: socket.socket, peer: tuple[str, int]) -> None:
        """Serve a new client, within the limits."""
        connection = self.admit(*peer)
        if connection is None:
            client.close()
            return
        client.setblocking(False)
        connection.handshake = self.loop.create_task(self._handshake(connection, client))
        connection.handshake.add_done_callback(partial(self._handshake_done, connection, client))

    def _accept_again(self, listener: socket.socket) -> None:
        if listener in self._listeners:
            self.loop.add_reader(listener, self._accept, listener)

    async def _handshake(self, connection: Connection, client: socket.socket) -> None:
        if self._tls is None:
            await self.loop.connect_accepted_socket(lambda: connection, client)
            return
        await self.loop.connect_accepted_socket(
            lambda: connection,
            client,
            ssl=self._tls,
            ssl_handshake_timeout=self.limits.head_seconds,
            # `Connection.time_out` is earlier where nothing is left to be sent.
            ssl_shutdown_timeout=TICK_SECONDS + self.limits.write_seconds,
        )

    def _handshake_done(
        self, connection: Connection, client: socket.socket, task: "asyncio.Task[None]"
    ) -> None:
        connection.handshake = None
        if task.cancelled() or task.exception() is not None:  # no TLS, or the client left
            client.close()
            self.forget(connection)

    # Connections

    def admit(self, host: str, port: int) -> Connection | None:
        """Return a connection for a client at this address, or None if there are too many."""
        address = self._count_in(host)
        if address is None:
            return None
        if len(self.connections) >= self.limits.connections and not self._evict_one():
            self._refused("full")
            self.count_out(address)
            return None
        connection = Connection(self, address, (host, port))
        self.connections.add(connection)
        self.new[connection] = None
        return connection

    def _count_in(self, host: str) -> str | None:
        """Count a client; return the key it is counted under, or None if there are too many."""
        address = rate_limit_address(host)
        count = self._by_address.get(address, 0)
        if count >= self.limits.per_address and not self._is_trusted(host):
            self._refused("address_full")
            return None
        self._by_address[address] = count + 1
        return address

    def count_out(self, address: str) -> None:
        """Stop counting a client."""
        left = self._by_address[address] - 1
        if left:
            self._by_address[address] = left
        else:
            del self._by_address[address]

    def receiving(self, connection: Connection) -> None:
        """Note that a connection has no whole request: its body is missing, or it is closing."""
        self.resting.pop(connection, None)
        if connection in self.connections:  # else it was given up already
            self.new.setdefault(connection)

    def busy(self, connection: Connection) -> None:
        """Note that a connection has sent a whole request."""
        self.resting.pop(connection, None)
        self.new.pop(connection, None)

    def idle(self, connection: Connection) -> None:
        """Note that a connection was answered, and may send another request."""
        self.resting[connection] = None

    def forget(self, connection: Connection) -> None:
        """Remove a connection that has ended."""
        if connection not in self.connections:
            return
        self.connections.discard(connection)
        self.busy(connection)
        self.count_out(connection.address)
        if connection.reason:
            self._observe(connection.reason)
        if not self.connections:
            self._empty.set()

    def _evict_one(self) -> bool:
        """Abort the connection idle for longest, preferably without a request; False: none."""
        for waiting in (self.new, self.resting):
            for connection in waiting:
                connection.abort("full")
                self.forget(connection)  # its place is needed now
                return True
        return False

    def _refused(self, reason: str) -> None:
        self._observe(reason)
        if self.send_budget.now - self._warned_at >= _WARN_EVERY_SECONDS:
            self._warned_at = self.send_budget.now
            log.warning("connections.refused", reason=reason, open=len(self.connections))

    def _is_trusted(self, host: str) -> bool:
        if not self.limits.trusted:
            return False
        peer = peer_address(host)
        return any(peer in network for network in self.limits.trusted)

    # Time

    def tick(self) -> None:
        """Sweep once a second from now on; `listen` starts it."""
        self.ticking = self.loop.call_later(TICK_SECONDS, self.tick)  # first: it must not stop
        self.sweep(self.loop.time())

    def sweep(self, now: float) -> None:
        """End connections whose deadline is over. `now`: seconds of a monotonic clock."""
        date = f"date: {formatdate(usegmt=True)}\r\n".encode()
        self.common_lines = date + self._fixed_lines
        self.send_budget.now = now
        self.idle_deadline = now + TICK_SECONDS + self.limits.idle_seconds
        for connection in [each for each in self.connections if each.deadline <= now]:
            try:
                connection.time_out()
            except Exception:  # the other deadlines still count
                log.exception("connection.bug")
                connection.abort("broken")
        self.send_budget.sweep(now)
        if self.fast_path is not None:
            self.fast_path.expire()
