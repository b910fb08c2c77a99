"""One connection: heads in, one request after the other, and a word to what is no request."""

import asyncio
from typing import TYPE_CHECKING, cast

from balcao.core.errors import BalcaoError, InvalidRequest, RequestTooLarge
from balcao.http.lane import LOOKUPS
from balcao.http.wire.exchange import Exchange, start_of
from balcao.http.wire.head import END, Head, cannot_be, path_asked, read_head
from balcao.http.wire.limits import TICK_SECONDS

if TYPE_CHECKING:
    from balcao.http.wire.door import Door

# Bytes read and dropped of a client that goes on sending after it was refused: the largest upload,
# so that clients which send all of it before they read get their answer. What comes beyond them
# stays unread until the time is over.
_LINGER_BYTES_MAX = 110_000_000

_NEVER = float("inf")


class Connection(asyncio.BufferedProtocol):
    """Reads a head, has it answered, reads the next one. Made by a `Door`.

    Of what comes while a request is being answered, at most one reading is kept, and no more is
    read until the answer is with the client.
    """

    __slots__ = (
        "_buffer",
        "_drained",
        "_exchange",
        "_in_lane",
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
        "door",
        "ending",
        "gone",
        "paused",
        "reason",
        "room",
        "scheme",
        "sent_bytes",
        "server",
        "shaking",
    )

    def __init__(self, door: "Door", address: str, client: tuple[str, int]) -> None:
        """`address`: as which it is counted; `client`: as the application is told."""
        self.door = door
        self.app = door.app
        self.room = door.room
        self.address = address
        self.client = client
        self.scheme = door.scheme
        self.server = door.server
        self.shaking: asyncio.Task[None] | None = None  # hands, by TLS
        self.gone = False
        self.ending = False  # no request after the present one
        self.paused = False  # the client does not take what is sent
        self.reason = ""  # why we ended it; empty: the client did, or nobody is to blame
        self.sent_bytes = 0
        self.deadline = door.room.now + TICK_SECONDS + door.limits.head_seconds
        self._transport: asyncio.Transport | None = None
        self._wire: asyncio.WriteTransport | None = None  # who has the socket; see `_wire_of`
        self._until = _NEVER  # of who ends: so long it may take what was said last
        self._buffer = b""
        self._reading_paused = False
        self._exchange: Exchange | None = None
        self._in_lane = False  # a request is being answered, and by the lane
        self._lingering = 0  # bytes that were thrown away, and one
        self._pace_left = 0  # bytes of a long body that are still to come in time; 0: no pace
        self._drained: asyncio.Future[None] | None = None

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """asyncio's."""
        self._transport = cast(asyncio.Transport, transport)
        # So that we are told of every byte that the client does not take at once.
        self._transport.set_write_buffer_limits(high=1, low=0)
        self._wire = _wire_of(self._transport)
        if self._wire is not self._transport:
            self._wire.set_write_buffer_limits(high=1, low=0)
        if self.door.closing:
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        """asyncio's: all connections read into one place, and keep only what they need."""
        return self.door.scratch

    def buffer_updated(self, nbytes: int) -> None:
        """asyncio's."""
        self.received(bytes(self.door.scratch[:nbytes]))

    def eof_received(self) -> bool:
        """asyncio's: a client may say that it has no more to say, and wait for the answer."""
        self.ending = True
        if self.door.scheme == "https":
            return False
        if self._exchange is not None or self._in_lane:
            return True
        if self._buffer and not self._lingering:
            self.refuse(InvalidRequest(), path_asked(self._buffer))
            return True
        return False

    def pause_writing(self) -> None:
        """asyncio's."""
        self.paused = True

    def resume_writing(self) -> None:
        """asyncio's."""
        self.paused = False
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """asyncio's: it is over, whoever ended it."""
        self.gone = self.ending = True
        self.paused = False
        self.deadline = _NEVER
        self.room.leave(self)
        self._wake()
        if self._exchange is not None:
            self._exchange.wake()
        self.door.forget(self)

    def _wake(self) -> None:
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # Requests

    def received(self, data: bytes) -> None:
        """Bytes of the client."""
        exchange = self._exchange
        if exchange is None and not self._in_lane and not self._lingering:  # most often
            self._read(data)
            return
        if self._lingering:
            self._lingering += len(data)
            if self._lingering > _LINGER_BYTES_MAX:
                self._pause_reading()  # a reset could overtake the answer
            return
        if exchange is None:
            self._buffer += data
            self._pause_reading()
            return
        if not exchange.complete:
            came = len(data)
            try:
                data = exchange.take(data)
            except InvalidRequest as error:
                self._break_off(exchange, error)
                return
            if exchange.complete:
                self.deadline, self._pace_left = _NEVER, 0
                self.door.busy(self)
            elif self._pace_left:
                self._pace_left -= came
                if self._pace_left <= 0:
                    self._begin_pace()
        if data:
            self._buffer += data
        if data or exchange.full:
            self._pause_reading()

    def _read(self, data: bytes) -> None:
        """Towards a head, or all of one."""
        door, fresh = self.door, not self._buffer
        buffer = data if fresh else self._buffer + data
        while buffer[:1] == b"\r" and buffer[1:2] == b"\n":  # some end a body so (RFC 9112, 2.2)
            buffer = buffer[2:]
        end = buffer.find(END, 0 if fresh else max(0, len(buffer) - len(data) - len(END)))
        try:
            if end < 0:
                self._wait_for_more(buffer, fresh=fresh)
                return
            raw, self._buffer = buffer, b""
            if end + 4 < len(buffer):
                raw, self._buffer = buffer[: end + 4], buffer[end + 4 :]
            if len(raw) > door.limits.head_bytes:
                raise RequestTooLarge(headers=True)
            lane, head = door.lane, None
            if lane is not None and raw.startswith(LOOKUPS):
                line, _, rest = raw.partition(b"\r\n")
                known = lane.heads.fresh.get(rest) or lane.heads.get(rest)
                if known is None:
                    head = read_head(raw)
                    known = lane.learn(rest, head)
                if known is not None:
                    self._in_lane = True
                    if lane.take(self, raw, line, known):
                        self.sent_bytes = 0
                        self.deadline = _NEVER
                        door.busy(self)
                        if self._buffer:
                            self._pause_reading()
                        return
                    self._in_lane = False
            if head is None:
                head = read_head(raw)
        except BalcaoError as error:
            self.refuse(error, path_asked(buffer))
            return
        self._hand_on(head, raw)

    def _wait_for_more(self, buffer: bytes, *, fresh: bool) -> None:
        """This is not yet a head. Raises where it can be none."""
        self._buffer = buffer
        if len(buffer) > self.door.limits.head_bytes:
            raise RequestTooLarge(headers=True)
        if cannot_be(buffer):
            raise InvalidRequest
        if fresh and buffer:
            within = self.door.limits.head_seconds
            self.deadline = min(self.deadline, self.room.now + TICK_SECONDS + within)
        self.read_on()

    def _hand_on(self, head: Head, raw: bytes) -> None:
        """Have the application answer it."""
        self.sent_bytes = 0
        self._exchange = exchange = Exchange(self, head, raw)
        self.deadline = _NEVER
        if exchange.complete:
            self.door.busy(self)
            if self._buffer:
                self._pause_reading()
        else:
            self.door.hearing(self)
            if self.door.limits.has_pace(head.length):
                self._begin_pace()
            else:
                self.deadline = self.room.now + TICK_SECONDS + self.door.limits.body_seconds
            rest, self._buffer = self._buffer, b""
            self.read_on()
            if rest:
                self.received(rest)
                if self._exchange is not exchange:
                    return
        exchange.task = self.door.loop.create_task(exchange.run())

    def answered(self, exchange: Exchange) -> None:
        """The answer is with the transport, as a whole."""
        if self._exchange is not exchange:  # it was broken off meanwhile
            return
        self._exchange, self._pace_left = None, 0
        keep_alive = exchange.keep_alive and not self.ending
        self._go_on(keep_alive=keep_alive, tidy=exchange.complete and not self._buffer)

    def _go_on(self, *, keep_alive: bool, tidy: bool) -> None:
        """To the next request, if there may be one. `tidy`: the client has nothing to say."""
        self.room.leave(self)
        if self.gone:
            return
        if not keep_alive:
            self._end(tidy=tidy)
            return
        self.deadline = self.door.rested
        self.door.idle(self)
        if self._buffer:
            rest, self._buffer = self._buffer, b""
            self._read(rest)
        elif self._reading_paused:
            self.read_on()

    # For the lane

    def finish(self, answer: bytes, *, keep_alive: bool) -> None:
        """The whole answer of a request that the lane took, in one piece."""
        if self._transport is not None and not self.gone:
            self.sent_bytes = len(answer)
            self._transport.write(answer)
        if self.paused and not self.gone:  # seldom: it did not take the answer before, either
            task = self.door.loop.create_task(self._drained_in_lane(len(answer), keep_alive))
            self.door.draining.add(task)
            task.add_done_callback(self.door.draining.discard)
            return
        self._in_lane = False
        # Where something came meanwhile, reading is paused.
        if not keep_alive or self.ending or self._reading_paused or self.gone:
            self._go_on(keep_alive=keep_alive and not self.ending, tidy=not self._buffer)
            return
        self.deadline = self.door.rested
        self.door.idle(self)

    async def _drained_in_lane(self, held_bytes: int, keep_alive: bool) -> None:
        await self.drained(held_bytes)
        self._in_lane = False
        self._go_on(keep_alive=keep_alive and not self.ending, tidy=not self._buffer)

    def give_back(self, raw: bytes) -> None:
        """A request that the lane took and nothing was done of: the application's, after all."""
        self._in_lane = False
        self._hand_on(read_head(raw), raw)

    def refuse(self, error: Exception, path: str) -> None:
        """Say no in the API's own form, and end the connection: nobody knows what comes next."""
        if self.gone:
            return
        status, headers, body = self.door.refusal(error, path)
        lines = [b"%b: %b\r\n" % pair for pair in headers]
        lines.append(b"content-length: %d\r\nconnection: close\r\n" % len(body))
        self.write(b"".join([start_of(status, "1.1"), *lines, self.door.date, b"\r\n", body]))
        self._exchange = None
        self._buffer = b""
        self._end(tidy=False)

    def _break_off(self, exchange: Exchange, error: BalcaoError) -> None:
        """The rest of a request's body will not come. Who waits for it is told that nobody is
        there; what goes on without it goes on.
        """
        began, exchange.ended = exchange.began, True
        exchange.wake()
        if began:
            self.cut("slow_body")
        else:
            self.refuse(error, exchange.head.path)

    def _end(self, *, tidy: bool) -> None:
        """Close, when all is sent. Untidily: the client may still be sending, and must not be
        told of that before it has read what we said."""
        assert self._transport is not None
        self.ending, self._pace_left = True, 0
        self.door.hearing(self)
        self.room.leave(self)
        self._lingering = 1
        self._linger()
        self._until = self.room.now + TICK_SECONDS + self.door.limits.write_seconds
        if tidy or not self._transport.can_write_eof():
            self._transport.close()
            return
        try:
            self._transport.write_eof()
        except OSError:  # the client has reset the connection already
            self.cut("")
            return
        self.read_on()

    def _linger(self) -> None:
        self.deadline = self.room.now + TICK_SECONDS + self.door.limits.linger_seconds

    def _has_unsent(self) -> bool:
        """Whether something is left that the kernel has not taken: by TLS, up to a piece."""
        return self._wire is not None and self._wire.get_write_buffer_size() > 0

    # For the exchange

    def write(self, data: "bytes | memoryview") -> None:
        """To the client, if it is there."""
        if self._transport is not None and not self.gone:
            self.sent_bytes += len(data)
            self._transport.write(data)

    async def drained(self, held_bytes: int) -> None:
        """Wait until the client has taken everything, or is gone."""
        if self.gone:
            return
        self._drained = asyncio.get_running_loop().create_future()
        self.room.stall(self, held_bytes)
        await self._drained
        self._drained = None
        self.room.go_on(self)

    def read_on(self) -> None:
        """Let the client say more."""
        if self._reading_paused and self._pace_left:
            self._begin_pace()
        self._reading_paused = False
        if self._transport is not None and not self.gone:
            self._transport.resume_reading()

    def _begin_pace(self) -> None:
        """Give the client its time for the next bytes of a body."""
        self._pace_left = self.door.limits.pace_bytes
        self.deadline = self.room.now + TICK_SECONDS + self.door.limits.pace_seconds

    def _pause_reading(self) -> None:
        self._reading_paused = True
        if self._pace_left:  # it may not send now
            self.deadline = _NEVER
        if self._transport is not None:
            self._transport.pause_reading()

    # For the door

    def overdue(self) -> None:
        """Its time is over."""
        if self._exchange is not None:
            self.reason = "slow_body"
            self._break_off(self._exchange, InvalidRequest(408))
        elif self._lingering:
            if self._has_unsent() and self.room.now < self._until:
                self._linger()
            else:
                self.cut("")
        elif self._buffer:
            self.reason = "no_request"
            self.refuse(InvalidRequest(408), path_asked(self._buffer))
        else:
            self.cut("no_request" if self.is_new else "idle")

    @property
    def is_new(self) -> bool:
        """Whether it has not asked for anything yet."""
        return self in self.door.new

    def retire(self) -> None:
        """No further request: the service ends."""
        self.ending = True
        if self._exchange is not None or self._in_lane or self._lingering:
            return
        if self._has_unsent():  # of the answer before
            self._end(tidy=True)
        else:
            self.cut("")

    def cut(self, reason: str) -> None:
        """End it at once, whatever has not been said."""
        self.reason = self.reason or reason
        if self.shaking is not None:
            self.shaking.cancel()
        if self._transport is not None:
            self.gone = True  # asyncio tells us a little later
            self._transport.abort()


def _wire_of(transport: asyncio.Transport) -> asyncio.WriteTransport:
    """The transport that has the socket.

    By TLS, asyncio's own stands before another one, which it does not tell of: what that one
    keeps back was not sent, and is counted nowhere.
    """
    tls = getattr(transport, "_ssl_protocol", None)
    return transport if tls is None else cast(asyncio.WriteTransport, tls._transport)
