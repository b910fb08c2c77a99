"""One request and its answer, as an ASGI application sees them."""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import structlog

from balcao.http.wire.head import CHUNKED, Chunks, Head, header_lines
from balcao.http.wire.limits import LARGE_BYTES, PIECE_BYTES

if TYPE_CHECKING:
    from balcao.http.wire.connection import Connection

log = structlog.get_logger()

# Request bytes held before the application receives them.
BODY_BYTES_HELD_MAX = 65_536

CLOSE = b"connection: close\r\n"
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STARTS = {
    (each.value, version): f"HTTP/{version} {each.value} {each.phrase}\r\n".encode()
    for each in HTTPStatus
    for version in ("1.0", "1.1")
}


class ClientGone(OSError):
    """The client left before the answer was complete."""


class RequestCycle:
    """A request, from its head to the last byte of the answer. `run` is a task of its own."""

    __slots__ = (
        "_body",
        "_body_delivered",
        "_changed",
        "_chunked",
        "_chunks",
        "_connection",
        "_headers",
        "_left",
        "_status",
        "began",
        "bodiless",
        "complete",
        "ended",
        "head",
        "keep_alive",
        "remaining",
        "task",
    )

    def __init__(self, connection: "Connection", head: Head, raw: bytes) -> None:
        self._connection = connection
        self.head = head
        self._body = bytearray()  # of the request; not received by the application yet
        self.remaining = head.length
        self._chunks = Chunks(raw, self._body.extend) if head.length == CHUNKED else None
        self.complete = head.length == 0  # the request's body
        self._body_delivered = False
        self._changed: asyncio.Future[None] | None = None
        self._status = 0
        self._headers: Sequence[tuple[bytes, bytes]] = ()
        self._chunked = False  # the answer
        self._left: int | None = None  # of the announced length
        self.began = False
        self.ended = False
        self.bodiless = head.method == "HEAD"
        # What follows a body in chunks is not read.
        self.keep_alive = head.keep_alive and head.length != CHUNKED
        self.task: asyncio.Task[None] | None = None

    # The request's body

    def feed(self, data: bytes) -> bytes:
        """Add bytes of the body; return those that follow it.

        Raises `InvalidRequest`.
        """
        rest = b""
        if self._chunks is not None:
            self._chunks.feed(data)
            self.complete = self._chunks.complete
        else:
            data, rest = data[: self.remaining], data[self.remaining :]
            self._body += data
            self.remaining -= len(data)
            self.complete = self.remaining == 0
        self.wake()
        return rest

    @property
    def full(self) -> bool:
        """Whether the application must receive some of the body before more is read."""
        return len(self._body) > BODY_BYTES_HELD_MAX

    def wake(self) -> None:
        """Wake `receive`, after a change."""
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)

    async def receive(self) -> dict[str, Any]:
        """ASGI `receive`: pieces of the body, then `http.disconnect` when the client is gone."""
        connection = self._connection
        while True:
            if connection.gone or self.ended:
                return {"type": "http.disconnect"}
            if self._body or (self.complete and not self._body_delivered):
                body = bytes(self._body)
                self._body.clear()
                self._body_delivered = self.complete
                if not self.complete:
                    connection.resume_reading()
                return {"type": "http.request", "body": body, "more_body": not self.complete}
            if not self.complete and self.head.expects_continue and not self.began:
                self.head.expects_continue = False
                connection.write(_CONTINUE)
            self._changed = asyncio.get_running_loop().create_future()
            await self._changed

    # The answer

    async def send(self, message: dict[str, Any]) -> None:
        """ASGI `send`. Waits while the client does not read.

        Raises `ClientGone` if the client leaves before the answer is complete.
        """
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], message["headers"]
            return
        if message["type"] != "http.response.body" or self.ended:
            return
        body: bytes = message.get("body", b"")
        more: bool = message.get("more_body", False)
        connection = self._connection
        start = b""
        if not self.began:
            start = self._start(body, more=more)
            if max(self._left or 0, len(body)) > LARGE_BYTES and not self.bodiless:
                await connection.send_budget.acquire_large(connection)
                if self.ended:  # it was abandoned meanwhile
                    return
        if self.bodiless:
            body = b""
        elif self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("an answer of another length than it announced")
        elif self._chunked:
            piece = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            body = piece if more else piece + b"0\r\n\r\n"
        self.began = True
        self.ended = not more
        if len(start) + len(body) <= PIECE_BYTES:
            connection.write(start + body)
            if connection.paused:
                await connection.drained(len(body))
        else:
            await self._send_in_pieces(start, body)
        if more and connection.gone:
            raise ClientGone

    async def _send_in_pieces(self, start: bytes, body: bytes) -> None:
        connection = self._connection
        view = memoryview(body)
        at = PIECE_BYTES - len(start)
        connection.write(start + view[: max(0, at)])
        for begin in range(max(0, at), len(body), PIECE_BYTES):
            if connection.paused:
                await connection.drained(len(body))
            if connection.gone:
                return
            connection.write(view[begin : begin + PIECE_BYTES])
        if connection.paused:
            await connection.drained(len(body))

    def _start(self, body: bytes, *, more: bool) -> bytes:
        """Return status line and headers."""
        connection = self._connection
        status, named = self._status, {name for name, _ in self._headers}
        if status in (204, 304):
            self.bodiless = True
        lines: list[bytes] = []  # those that are added here
        if b"content-length" in named:
            (length,) = (value for name, value in self._headers if name == b"content-length")
            self._left = int(length)
        elif status not in (204, 304):
            if not more:
                self._left = len(body)
                lines.append(b"content-length: %d\r\n" % len(body))
            elif self.head.version == "1.1":
                self._chunked = True
                lines.append(b"transfer-encoding: chunked\r\n")
            else:
                self.keep_alive = False
        if not self.complete or connection.ending:
            self.keep_alive = False
        if not self.keep_alive:
            lines.append(CLOSE)
        elif self.head.version == "1.0":
            lines.append(b"connection: keep-alive\r\n")
        text = header_lines(self._headers) + b"".join(lines)
        # A header may contain input (a Location); a line end in it would split the answer.
        ends = len(self._headers) + len(lines)
        if text.count(b"\n") != ends or text.count(b"\r") != ends:
            raise RuntimeError("a line's end in a header")
        return b"%b%b%b\r\n" % (
            status_line(status, self.head.version),
            text,
            connection.server.common_lines,
        )

    async def run(self) -> None:
        """Run the application to its end, whether the client stays or not (contract 5.5)."""
        connection, head = self._connection, self.head
        try:
            await connection.app(self._scope(), self.receive, self.send)
        except ClientGone:
            pass
        except Exception:
            log.exception("wire.bug")
        if self.ended:
            connection.cycle_done(self)
        elif self.began or connection.gone:  # an aborted answer must not look complete
            connection.abort("broken")
        else:
            self.ended = True
            connection.refuse(RuntimeError(), head.path)

    def _scope(self) -> dict[str, Any]:
        head, connection = self.head, self._connection
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": head.version,
            "method": head.method,
            "scheme": connection.scheme,
            "path": head.path,
            "raw_path": head.raw_path,
            "query_string": head.query,
            "root_path": "",
            "headers": head.headers,
            "client": connection.client,
            "server": connection.local_address,
            "extensions": {},
        }


def status_line(status: int, version: str) -> bytes:
    """Return the status line, with its end.

    In the request's version: RFC 9110 (6.2) requires ours, but servers have long answered 1.0 with
    1.0, and some clients depend on it.
    """
    return _STARTS.get((status, version)) or f"HTTP/{version} {status} \r\n".encode()
