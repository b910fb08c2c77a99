"""Fuzzing of HTTP/1.1: it never raises or hangs, and all its answers are valid."""

import asyncio
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from balcao.http.wire.connection import Connection
from balcao.http.wire.limits import ConnectionLimits
from balcao.http.wire.server import Server
from tests.http.wire import application, refusal

FOR_EVER = 1e9

PIECES = [
    *(b"GET ", b"POST ", b"HEAD ", b"OPTIONS ", b"PRI ", b"/", b"/echo", b"/stream", b"/bug", b"*"),
    *(b"/hello", b"?x=%ff", b" ", b" HTTP/1.1", b" HTTP/1.0", b" HTTP/2.0", b"\r\n", b"\r", b"\n"),
    *(b"Host: a\r\n", b"Host: ", b"Content-Length: 5\r\n", b"Content-Length: ", b"5", b"-1", b"0"),
    *(b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"Connection: keep-alive\r\n"),
    *(b"Expect: 100-continue\r\n", b"Upgrade: h2c\r\n", b"x: y\r\n", b" folded\r\n", b"\r\n\r\n"),
    *(b"5\r\nabcde\r\n", b"0\r\n\r\n", b"abcde", b"\x00", b"\xff", b"\t", b":", b"a" * 3000),
]
HELLO = b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"
FORM = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde"
CHUNKS = (
    b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
)

streams = st.lists(
    st.sampled_from([*PIECES, HELLO, FORM, CHUNKS]) | st.binary(max_size=20), max_size=25
).map(b"".join)


class FakeTransport:
    """asyncio's socket transport without a socket, whose client reads everything."""

    def get_write_buffer_size(self) -> int:
        """Everything is sent at once."""
        return 0

    def __init__(self) -> None:
        self.said = bytearray()
        self.ended = False  # nothing more can be said
        self.closed = False
        self.reading = True
        self.connection: Connection | None = None

    def set_write_buffer_limits(self, high: int, low: int) -> None:
        pass

    def can_write_eof(self) -> bool:
        return True

    def write(self, data: bytes | memoryview) -> None:
        assert not self.ended, "it went on talking after its last word"
        self.said += data

    def write_eof(self) -> None:
        self.ended = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def close(self) -> None:
        self.abort()

    def abort(self) -> None:
        if not self.closed:
            self.closed = self.ended = True
            assert self.connection is not None
            asyncio.get_running_loop().call_soon(self.connection.connection_lost, None)


async def exchange(pieces: list[bytes], *, end: bool) -> tuple[bytes, list[Any]]:
    """Send bytes to a connection; return its answers, and errors reported to asyncio."""
    complaints: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    server = Server(application, refusal, ConnectionLimits())
    connection = server.admit("127.0.0.1", 1)
    assert connection is not None
    transport = FakeTransport()
    transport.connection = connection
    connection.connection_made(cast(asyncio.Transport, transport))
    for piece in pieces:
        while not transport.reading and not transport.closed:  # noqa: ASYNC110 - turns
            await asyncio.sleep(0)
        if transport.closed:
            break
        connection.received(piece)
    if end and not transport.closed and not connection.eof_received():
        transport.close()
    for _ in range(20):
        await asyncio.sleep(0)
    for _ in range(4):  # remaining requests have exceeded their time
        server.sweep(server.send_budget.now + 1_000)
        for _ in range(20):
            await asyncio.sleep(0)
    assert not server.connections, "it stayed for ever"
    assert not server.send_budget.stalled
    return bytes(transport.said), complaints


def read_all(text: bytes) -> list[tuple[int, bytes]]:
    """Parse a series of answers into status and content, by their heads alone."""
    found = []
    while text:
        head, ending, text = text.partition(b"\r\n\r\n")
        assert ending, "a head without an end"
        start, *lines = head.split(b"\r\n")
        version, status, _ = start.split(b" ", 2)
        assert version in (b"HTTP/1.1", b"HTTP/1.0")
        fields = dict(line.split(b": ", 1) for line in lines)
        assert len(fields) == len(lines)
        if status == b"100":
            continue
        if b"transfer-encoding" in fields:
            body = b""
            while True:
                size, _, text = text.partition(b"\r\n")
                piece, text = text[: int(size, 16)], text[int(size, 16) :]
                assert text.startswith(b"\r\n")
                text, body = text[2:], body + piece
                if not piece:
                    break
        elif b"content-length" in fields:
            size_announced = int(fields[b"content-length"])
            body, text = text[:size_announced], text[size_announced:]
            # Nothing is missing; to HEAD there is nothing, and what follows is a head again.
            if len(body) < size_announced or body.startswith(b"HTTP/1."):
                body, text = b"", body + text
        else:
            body, text = text, b""
        found.append((int(status), body))
    return found


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=streams, cuts=st.lists(st.integers(1, 200), max_size=10), end=st.booleans())
def test_anything(text: bytes, cuts: list[int], end: bool) -> None:
    pieces, at = [], 0
    for cut in cuts:
        pieces.append(text[at : at + cut])
        at += cut
    pieces.append(text[at:])
    answer, complaints = asyncio.run(exchange([piece for piece in pieces if piece], end=end))
    assert not complaints
    for status, body in read_all(answer):
        assert status in (200, 400, 405, 408, 431, 500, 501, 505)
        assert status == 200 or b'"error":true' in body


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    requests=st.lists(st.sampled_from([HELLO, FORM]), min_size=1, max_size=6),
    cuts=st.lists(st.integers(1, 60), max_size=20),
)
def test_the_packets_of_a_stream_make_no_difference(requests: list[bytes], cuts: list[int]) -> None:
    text, pieces = b"".join(requests), []
    for cut in cuts:
        pieces.append(text[:cut])
        text = text[cut:]
    pieces.append(text)
    body, _ = asyncio.run(exchange([piece for piece in pieces if piece], end=False))
    wanted = {HELLO: b"GET /hello", FORM: b"abcde"}
    assert read_all(body) == [(200, wanted[each]) for each in requests]


@pytest.mark.parametrize("size", range(1, 16))
def test_short_bodies_in_chunks_byte_by_byte(size: int) -> None:
    pieces = [CHUNKS[at : at + size] for at in range(0, len(CHUNKS), size)]
    body, complaints = asyncio.run(exchange(pieces, end=False))
    assert not complaints
    assert read_all(body) == [(200, b"abcde")]
