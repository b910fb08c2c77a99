"""One client connection: requests are read and answered one after the other."""

import asyncio
from typing import TYPE_CHECKING, cast

from balcao.core.errors import BalcaoError, InvalidRequest, RequestTooLarge
from balcao.http.wire.cycle import RequestCycle, status_line
from balcao.http.wire.head import END, Head, is_malformed, path_of, read_head
from balcao.http.wire.limits import TICK_SECONDS

if TYPE_CHECKING:
    from balcao.http.wire.server import Server

# Bytes read and dropped of a client that keeps sending after an error: the largest upload, so
# that clients which send all of it before they read get their answer. Further bytes stay unread
# until the time is over.
_LINGER_BYTES_MAX = 110_000_000

_NEVER = float("inf")


class Connection(asyncio.BufferedProtocol):
    """Reads a request, gets it answered, reads the next one. Created by a `Server`.

    While a request is being answered, at most one further read is buffered; then reading is
    paused until the client has the answer.
    """

    __slots__ = (
        "_buffer",
        "_cycle",
        "_drained",
        "_head",
        "_in_fast_path",
        "_lingering",
        "_pace_left",
        "_reading_paused",
        "_transport",
        "_until",
        "_wire",
        "address",
        "app",
        "client",
        "deadline",
        "ending",
        "gone",
        "handshake",
        "local_address",
        "paused",
        "reason",
        "scheme",
        "send_budget",
        "sent_bytes",
        "server",
    )

    def __init__(self, server: "Server", address: str, client: tuple[str, int]) -> None:
        """`address`: the key by which clients are counted; `client`: host and port."""
        self.server = server
        self.app = server.app
        self.send_budget = server.send_budget
        self.address = address
        self.client = client
        self.scheme = server.scheme
        self.local_address = server.local_address
        self.handshake: asyncio.Task[None] | None = None  # TLS
        self.gone = False
        self.ending = False  # no request after the current one
        self.paused = False  # the client does not read what is sent
        self.reason = ""  # why we ended it; empty: the client did, or it ended regularly
        self.sent_bytes = 0
        self.deadline = server.send_budget.now + TICK_SECONDS + server.limits.head_seconds
        self._transport: asyncio.Transport | None = None
        self._wire: asyncio.WriteTransport | None = None  # see `_socket_transport`
        self._until = _NEVER  # when a closing connection has to have sent its last answer
        self._buffer = b""
        self._reading_paused = False
        self._cycle: RequestCycle | None = None
        self._head: Head | None = None  # of a request that the fast path has parsed
        self._in_fast_path = False  # a request is being answered by the fast path
        self._lingering = 0  # bytes that were dropped, plus one
        self._pace_left = 0  # bytes of a long body due in the current interval; 0: no pace
        self._drained: asyncio.Future[None] | None = None

    # asyncio.BufferedProtocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        # Writing is paused by every byte that the client does not read immediately.
        self._transport.set_write_buffer_limits(high=1, low=0)
        self._wire = _socket_transport(self._transport)
        if self._wire is not self._transport:
            self._wire.set_write_buffer_limits(high=1, low=0)
        if self.server.closing:
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.server.scratch  # shared by all connections

    def buffer_updated(self, nbytes: int) -> None:
        self.received(bytes(self.server.scratch[:nbytes]))

    def eof_received(self) -> bool:
        self.ending = True
        if self.server.scheme == "https":
            return False
        if self._cycle is not None or self._in_fast_path:
            return True
        if self._buffer and not self._lingering:
            self.refuse(InvalidRequest(), path_of(self._buffer))
            return True
        return False

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = self.ending = True
        self.paused = False
        self.deadline = _NEVER
        self.send_budget.release(self)
        self._wake()
        if self._cycle is not None:
            self._cycle.wake()
        self.server.forget(self)

    def _wake(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # Requests

    def received(self, data: bytes) -> None:
        """Process bytes of the client."""
        cycle = self._cycle
        if cycle is None and not self._in_fast_path and not self._lingering:  # most often
            self._read(data)
            return
        if self._lingering:
            self._lingering += len(data)
            if self._lingering > _LINGER_BYTES_MAX:
                self._pause_reading()  # closing now could reset before the client has the answer
            return
        if cycle is None:
            self._buffer += data
            self._pause_reading()
            return
        if not cycle.complete:
            came = len(data)
            try:
                data = cycle.feed(data)
            except InvalidRequest as error:
                self._abandon_body(cycle, error)
                return
            if cycle.complete:
                self.deadline, self._pace_left = _NEVER, 0
                self.server.busy(self)
            elif self._pace_left:
                self._pace_left -= came
                if self._pace_left <= 0:
                    self._begin_pace()
        if data:
            self._buffer += data
        if data or cycle.full:
            self._pause_reading()

    def _read(self, data: bytes) -> None:
        """Read a head, or a part of one."""
        server, fresh = self.server, not self._buffer
        buffer = data if fresh else self._buffer + data
        while buffer[:1] == b"\r" and buffer[1:2] == b"\n":  # after a body (RFC 9112, 2.2)
            buffer = buffer[2:]
        end = buffer.find(END, 0 if fresh else max(0, len(buffer) - len(data) - len(END)))
        try:
            if end < 0:
                self._wait_for_more(buffer, fresh=fresh)
                return
            raw, self._buffer = buffer, b""
            if end + 4 < len(buffer):
                raw, self._buffer = buffer[: end + 4], buffer[end + 4 :]
            if len(raw) > server.limits.head_bytes:
                raise RequestTooLarge(headers=True)
            if server.fast_path is not None:
                self._in_fast_path = True
                if server.fast_path.try_answer(self, raw):
                    self._head = None
                    self.sent_bytes = 0
                    self.deadline = _NEVER
                    server.busy(self)
                    if self._buffer:
                        self._pause_reading()
                    return
                self._in_fast_path = False
            head = self._head or read_head(raw)
        except BalcaoError as error:
            self._in_fast_path = False
            self.refuse(error, path_of(buffer))
            return
        self._start_cycle(head, raw)

    def parse_head(self, raw: bytes) -> Head:
        """Parse a head for the fast path; it is not parsed again if that declines.

        Raises what `read_head` raises.
        """
        self._head = read_head(raw)
        return self._head

    def _wait_for_more(self, buffer: bytes, *, fresh: bool) -> None:
        """Keep an incomplete head. Raises where it is invalid already."""
        self._buffer = buffer
        if len(buffer) > self.server.limits.head_bytes:
            raise RequestTooLarge(headers=True)
        if is_malformed(buffer):
            raise InvalidRequest
        if fresh and buffer:
            within = self.server.limits.head_seconds
            self.deadline = min(self.deadline, self.send_budget.now + TICK_SECONDS + within)
        self.resume_reading()

    def _start_cycle(self, head: Head, raw: bytes) -> None:
        """Pass a request to the application."""
        self.sent_bytes = 0
        self._head = None
        self._cycle = cycle = RequestCycle(self, head, raw)
        self.deadline = _NEVER
        if cycle.complete:
            self.server.busy(self)
            if self._buffer:
                self._pause_reading()
        else:
            self.server.receiving(self)
            if self.server.limits.has_pace(head.length):
                self._begin_pace()
            else:
                self.deadline = (
                    self.send_budget.now + TICK_SECONDS + self.server.limits.body_seconds
                )
            rest, self._buffer = self._buffer, b""
            self.resume_reading()
            if rest:
                self.received(rest)
                if self._cycle is not cycle:
                    return
        cycle.task = self.server.loop.create_task(cycle.run())

    def cycle_done(self, cycle: RequestCycle) -> None:
        """Continue after an answer that was handed to the transport completely."""
        if self._cycle is not cycle:  # it was abandoned meanwhile
            return
        self._cycle, self._pace_left = None, 0
        keep_alive = cycle.keep_alive and not self.ending
        self._next_request(keep_alive=keep_alive, tidy=cycle.complete and not self._buffer)

    def _next_request(self, *, keep_alive: bool, tidy: bool) -> None:
        """Continue with the next request, or close.

        `tidy`: the client has sent nothing else.
        """
        self.send_budget.release(self)
        if self.gone:
            return
        if not keep_alive:
            self._end(tidy=tidy)
            return
        self.deadline = self.server.idle_deadline
        self.server.idle(self)
        if self._buffer:
            rest, self._buffer = self._buffer, b""
            self._read(rest)
        elif self._reading_paused:
            self.resume_reading()

    # For the fast path

    def finish(self, answer: bytes, *, keep_alive: bool) -> None:
        """Send the whole answer of a request that the fast path accepted."""
        if self._transport is not None and not self.gone:
            self.sent_bytes = len(answer)
            self._transport.write(answer)
        if self.paused and not self.gone:  # rarely: the client has not read the previous answer
            task = self.server.loop.create_task(self._drained_in_fast_path(len(answer), keep_alive))
            self.server.draining.add(task)
            task.add_done_callback(self.server.draining.discard)
            return
        self._in_fast_path = False
        # Where bytes were received meanwhile, reading is paused.
        if not keep_alive or self.ending or self._reading_paused or self.gone:
            self._next_request(keep_alive=keep_alive and not self.ending, tidy=not self._buffer)
            return
        self.deadline = self.server.idle_deadline
        self.server.idle(self)

    async def _drained_in_fast_path(self, held_bytes: int, keep_alive: bool) -> None:
        await self.drained(held_bytes)
        self._in_fast_path = False
        self._next_request(keep_alive=keep_alive and not self.ending, tidy=not self._buffer)

    def fall_back(self, raw: bytes) -> None:
        """Pass a request to the application that the fast path accepted and then declined."""
        self._in_fast_path = False
        self._start_cycle(read_head(raw), raw)

    def refuse(self, error: Exception, path: str) -> None:
        """Answer with an error in the API's form, and close: what follows is not a request."""
        if self.gone:
            return
        status, headers, body = self.server.refusal(error, path)
        lines = [b"%b: %b\r\n" % pair for pair in headers]
        lines.append(b"content-length: %d\r\nconnection: close\r\n" % len(body))
        self.write(
            b"".join([status_line(status, "1.1"), *lines, self.server.common_lines, b"\r\n", body])
        )
        self._cycle = None
        self._buffer = b""
        self._end(tidy=False)

    def _abandon_body(self, cycle: RequestCycle, error: BalcaoError) -> None:
        """Give up on the rest of a request's body.

        The application receives a disconnect if it waits for the body; otherwise it continues.
        """
        began, cycle.ended = cycle.began, True
        cycle.wake()
        if began:
            self.abort("slow_body")
        else:
            self.refuse(error, cycle.head.path)

    def _end(self, *, tidy: bool) -> None:
        """Close when everything is sent.

        Not `tidy`: the client may still be sending, and a reset must not reach it before it has
        read the answer.
        """
        assert self._transport is not None
        self.ending, self._pace_left = True, 0
        self.server.receiving(self)
        self.send_budget.release(self)
        self._lingering = 1
        self._linger()
        self._until = self.send_budget.now + TICK_SECONDS + self.server.limits.write_seconds
        if tidy or not self._transport.can_write_eof():
            self._transport.close()
            return
        try:
            self._transport.write_eof()
        except OSError:  # the client has reset the connection already
            self.abort("")
            return
        self.resume_reading()

    def _linger(self) -> None:
        self.deadline = self.send_budget.now + TICK_SECONDS + self.server.limits.linger_seconds

    def _has_unsent(self) -> bool:
        """Return whether bytes wait for the kernel; over TLS up to one record is not counted."""
        return self._wire is not None and self._wire.get_write_buffer_size() > 0

    # For the request cycle

    def write(self, data: "bytes | memoryview") -> None:
        """Send to the client, unless it is gone."""
        if self._transport is not None and not self.gone:
            self.sent_bytes += len(data)
            self._transport.write(data)

    async def drained(self, held_bytes: int) -> None:
        """Wait until the client has read everything, or is gone."""
        if self.gone:
            return
        self._drained = asyncio.get_running_loop().create_future()
        self.send_budget.stall(self, held_bytes)
        await self._drained
        self._drained = None
        self.send_budget.resume(self)

    def resume_reading(self) -> None:
        """Resume reading from the client."""
        if self._reading_paused and self._pace_left:
            self._begin_pace()
        self._reading_paused = False
        if self._transport is not None and not self.gone:
            self._transport.resume_reading()

    def _begin_pace(self) -> None:
        """Start the next interval of a body's minimum pace."""
        self._pace_left = self.server.limits.pace_bytes
        self.deadline = self.send_budget.now + TICK_SECONDS + self.server.limits.pace_seconds

    def _pause_reading(self) -> None:
        self._reading_paused = True
        if self._pace_left:  # it may not send now
            self.deadline = _NEVER
        if self._transport is not None:
            self._transport.pause_reading()

    # For the server

    def time_out(self) -> None:
        """End the connection, whose deadline is over."""
        if self._cycle is not None:
            self.reason = "slow_body"
            self._abandon_body(self._cycle, InvalidRequest(408))
        elif self._lingering:
            if self._has_unsent() and self.send_budget.now < self._until:
                self._linger()
            else:
                self.abort("")
        elif self._buffer:
            self.reason = "no_request"
            self.refuse(InvalidRequest(408), path_of(self._buffer))
        else:
            self.abort("no_request" if self.is_new else "idle")

    @property
    def is_new(self) -> bool:
        """Whether the client has not sent a whole request yet."""
        return self in self.server.new

    def retire(self) -> None:
        """Accept no further requests, since the service is stopping."""
        self.ending = True
        if self._cycle is not None or self._in_fast_path or self._lingering:
            return
        if self._has_unsent():  # of the answer before
            self._end(tidy=True)
        else:
            self.abort("")

    def abort(self, reason: str) -> None:
        """Close at once, without sending what is left."""
        self.reason = self.reason or reason
        if self.handshake is not None:
            self.handshake.cancel()
        if self._transport is not None:
            self.gone = True  # asyncio calls `connection_lost` a little later
            self._transport.abort()


def _socket_transport(transport: asyncio.Transport) -> asyncio.WriteTransport:
    """Return the transport that has the socket.

    Over TLS, asyncio's transport wraps another one, and does not count what that has not sent.
    """
    tls = getattr(transport, "_ssl_protocol", None)
    return transport if tls is None else cast(asyncio.WriteTransport, tls._transport)
