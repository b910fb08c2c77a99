"""The wire: how long a client may take, and how much of us it may have (decisions 9.9).

The door's clock stands still until a test moves it.
"""

import asyncio
import errno
import json
import socket
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest

from balcao.http.wire.connection import Connection
from balcao.http.wire.door import Door
from balcao.http.wire.limits import LARGE_BYTES, TICK_SECONDS
from tests.http.wire import HELLO, LARGE, Served, answers_in, assert_refusal, heard, served

HEAD, IDLE, WRITE, BODY, PACE = 10, 75, 30, 30, 10  # seconds
FORM = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"


@pytest.fixture
def door() -> Iterator[Served]:
    with served() as here:
        yield here


def silent(door: Served, count: int = 1, source: str = "127.0.0.1") -> list[socket.socket]:
    """Connections that the door has let in."""
    before = len(door.door.connections)
    clients = [door.connect(source) for _ in range(count)]
    door.until(lambda: len(door.door.connections) == before + count)
    return clients


def is_over(client: socket.socket) -> bool:
    """Whether the other side has ended it."""
    try:
        return client.recv(1000) == b""
    except ConnectionResetError:
        return True


def take(door: Served, client: socket.socket, text: bytes) -> None:
    """Send something, and wait until the door has read it."""
    (connection,) = door.door.connections
    before = len(connection._buffer)
    client.sendall(text)
    door.until(lambda: len(connection._buffer) == before + len(text))


# Seconds


def test_who_says_nothing_is_shown_out(door: Served) -> None:
    (client,) = silent(door)
    door.later(HEAD)
    assert len(door.door.connections) == 1
    door.later(TICK_SECONDS)
    assert is_over(client)
    door.until(lambda: not door.door.connections)
    assert door.reasons == ["no_request"]


def test_a_trickle_wins_no_time(door: Served) -> None:
    (client,) = silent(door)
    for byte in (b"G", b"E", b"T"):
        door.later(3)
        take(door, client, byte)
    door.later(2)
    assert_refusal(heard(client), 408, "REQUISICAO_INVALIDA")
    assert door.reasons == []
    client.close()
    door.until(lambda: not door.door.connections)
    assert door.reasons == ["no_request"]


def test_who_was_answered_may_rest_longer(door: Served) -> None:
    (client,) = silent(door)
    client.sendall(HELLO)
    assert client.recv(10_000)
    door.until(lambda: len(door.door.resting) == 1)
    door.later(IDLE)
    take(door, client, b"GET")  # the next head has as long as the first one
    door.later(TICK_SECONDS + HEAD - 1)
    assert len(door.door.connections) == 1
    door.later(1)
    assert_refusal(heard(client), 408, "REQUISICAO_INVALIDA")


def test_but_not_for_ever(door: Served) -> None:
    (client,) = silent(door)
    client.sendall(HELLO)
    assert client.recv(10_000)
    door.until(lambda: len(door.door.resting) == 1)
    door.later(IDLE + TICK_SECONDS)
    assert is_over(client)
    door.until(lambda: not door.door.connections)
    assert door.reasons == ["idle"]


def test_a_body_comes_in_time(door: Served) -> None:
    (client,) = silent(door)
    (connection,) = door.door.connections
    client.sendall(FORM + b"abc")
    door.until(lambda: connection._exchange is not None)
    door.later(BODY + TICK_SECONDS)
    assert_refusal(heard(client), 408, "REQUISICAO_INVALIDA")


def upload(door: Served, head: bytes, sent: int) -> socket.socket:
    """A client that has sent so much of a long body, which nobody has to wait for."""
    (client,) = silent(door)
    (connection,) = door.door.connections
    client.sendall(head)
    door.until(lambda: connection._exchange is not None)
    go_on_sending(door, client, sent)
    return client


def go_on_sending(door: Served, client: socket.socket, count: int) -> None:
    """Send more of the body, and wait until the door has read it."""
    (connection,) = door.door.connections
    exchange = connection._exchange
    assert exchange is not None
    left = exchange.remaining - count
    client.sendall(b"x" * count)
    if exchange.head.length > 0:
        door.until(lambda: exchange.remaining == left)


LONG = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 90000000\r\n\r\n"
CHUNKED = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("head", [LONG, CHUNKED])
def test_a_long_body_that_stands_still_is_broken_off(head: bytes, door: Served) -> None:
    client = upload(door, head, 0)
    door.later(PACE - 1)
    assert door.reasons == []
    door.later(2 + TICK_SECONDS)
    assert_refusal(heard(client), 408, "REQUISICAO_INVALIDA")
    client.close()
    door.until(lambda: not door.door.connections)
    assert door.reasons == ["slow_body"]


def test_a_client_that_has_closed_is_broken_off_without_an_error(
    door: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peer's reset may be there before our end of the stream: ENOTCONN."""
    client = upload(door, LONG, 0)
    (connection,) = door.door.connections

    def not_connected() -> None:
        raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    assert connection._transport is not None
    monkeypatch.setattr(connection._transport, "write_eof", not_connected, raising=False)
    door.later(PACE + 1 + TICK_SECONDS)
    door.until(lambda: not door.door.connections)
    assert door.reasons == ["slow_body"]
    client.close()


def test_a_fault_with_one_connection_leaves_the_times_of_the_others(
    door: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = silent(door, 2)
    first = min(door.door.connections, key=lambda each: each.client[1])

    def broken(self: Connection) -> None:
        if self is first:
            raise ZeroDivisionError
        overdue(self)

    overdue = Connection.overdue
    monkeypatch.setattr(Connection, "overdue", broken)
    door.later(door.door.limits.head_seconds + 2 * TICK_SECONDS)
    door.until(lambda: not door.door.connections)
    assert sorted(door.reasons) == ["broken", "no_request"]
    for client in clients:
        client.close()


def test_a_long_body_that_trickles_is_broken_off(door: Served) -> None:
    client = upload(door, LONG, 1)
    for _ in range(PACE):
        door.later(1)
        go_on_sending(door, client, 1)
    door.later(1 + TICK_SECONDS)
    assert_refusal(heard(client), 408, "REQUISICAO_INVALIDA")


def test_a_long_body_may_take_its_time_as_long_as_it_comes(door: Served) -> None:
    """A file of 2 MB over a link of 3 kB a second takes eleven minutes."""
    client = upload(door, LONG.replace(b"90000000", b"2000000"), 0)
    for _ in range(80):
        door.later(PACE - 2)
        go_on_sending(door, client, 25_000)
    assert client.recv(100).startswith(b"HTTP/1.1 200 ")
    assert door.reasons == []


def test_what_we_do_not_read_is_not_the_clients_pace() -> None:
    go_on = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await go_on.wait()
        while (await receive())["more_body"]:
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    with served(slow) as door:
        client = upload(door, LONG.replace(b"90000000", b"200000"), 0)
        client.sendall(b"x" * 150_000)
        (connection,) = door.door.connections
        door.until(lambda: connection._reading_paused)
        door.later(10 * PACE)
        door.call(go_on.set)
        client.sendall(b"x" * 50_000)
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        assert door.reasons == []


def test_who_goes_on_sending_after_a_refusal_is_cut_off(door: Served) -> None:
    (client,) = silent(door)
    client.sendall(b"x\n")
    assert client.recv(10_000).startswith(b"HTTP/1.1 400 ")
    door.later(3)
    door.until(lambda: not door.door.connections)


def slow_reader(door: Served, path: bytes = b"/large", receive_bytes: int = 2_048) -> socket.socket:
    """A client that asks for much, and reads nothing."""
    before = len(door.door.room.stalled)
    client = door.connect(receive_bytes=receive_bytes)
    client.sendall(b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % path)
    door.until(lambda: len(door.door.room.stalled) == before + 1)
    return client


@pytest.mark.parametrize("path", [b"/large", b"/stream"])
def test_who_does_not_read_is_cut_off(path: bytes, door: Served) -> None:
    client = slow_reader(door, path)
    door.later(WRITE - 1)
    assert len(door.door.connections) == 1
    door.later(1)
    door.until(lambda: not door.door.connections)
    assert len(heard(client)) < LARGE
    assert door.reasons == ["slow_reader"]
    assert door.door.room.bytes == 0


def test_who_reads_slowly_but_reads_gets_everything(door: Served) -> None:
    client = slow_reader(door, receive_bytes=65_536)
    (connection,) = door.door.connections
    found = b""
    while not whole(found):
        sent = connection.sent_bytes
        while connection.sent_bytes == sent and not whole(found):
            found += more(client, 10_000)
        door.later(WRITE - 1)  # after it took a piece
    assert answers_in(found, ["GET"])[0][2] == b"x" * LARGE
    assert door.reasons == []


# Connections


def test_one_address_has_only_so_many() -> None:
    with served(per_address=3, trusted=(ip_network("127.0.0.9"),)) as door:
        clients = silent(door, 3)
        with door.connect() as one_more:
            assert is_over(one_more)
        others = silent(door, 2, "127.0.0.2")
        proxys = silent(door, 5, "127.0.0.9")
        clients.pop().close()
        door.until(lambda: len(door.door.connections) == 9)
        clients += silent(door, 1)
        assert door.reasons == ["address_full"]
        for client in (*clients, *others, *proxys):
            client.close()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.2", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
    ],
)
def test_what_one_address_is(one: str, other: str, same: bool) -> None:
    """Who has one address of IPv6 has the 2^64 beside it."""
    with served(per_address=1) as door:

        def both() -> bool:
            made = [door.door.admit(host, 1) for host in (one, other)]
            for connection in made:
                if connection is not None:
                    door.door.forget(connection)
            return made[1] is None

        assert door.call(both) is same


def test_the_silent_make_room_for_those_who_ask() -> None:
    """When the house is full, who never asked leaves first, then who has rested the longest."""
    with served(connections=4) as door:
        resting = silent(door, 2)
        for client in resting:
            client.sendall(HELLO)
            assert client.recv(10_000)
        door.until(lambda: len(door.door.resting) == 2)
        quiet = silent(door, 2)
        for _ in range(3):
            client = door.connect()
            client.sendall(HELLO)
            assert client.recv(10_000).startswith(b"HTTP/1.1 200 ")
        for client in (*quiet, resting[0]):
            assert is_over(client)
        assert door.reasons == ["full"] * 3
        resting[1].sendall(HELLO)
        assert resting[1].recv(10_000).startswith(b"HTTP/1.1 200 ")
        assert len(door.door.connections) == 4


def test_who_only_begins_and_who_was_refused_make_room() -> None:
    """They wait for nothing of ours: a form that never comes must not keep others out."""
    with served(connections=2) as door:
        (begun,) = silent(door)
        begun.sendall(FORM)
        door.until(lambda: any(each._exchange for each in door.door.connections))
        refused = door.connect()
        refused.sendall(b"\n")
        assert refused.recv(10_000).startswith(b"HTTP/1.1 400 ")
        clients = []
        for _ in range(2):
            client = door.connect()
            client.sendall(HELLO)
            assert client.recv(10_000).startswith(b"HTTP/1.1 200 ")
            clients.append(client)
        assert door.reasons == ["full"] * 2
        assert is_over(begun)


def test_a_form_that_is_there_is_under_way() -> None:
    """And is not given up for others."""
    with served(connections=1) as door:
        (client,) = silent(door)
        client.sendall(FORM)
        door.until(lambda: any(each._exchange for each in door.door.connections))
        client.sendall(b"0123456789")
        assert client.recv(10_000).endswith(b"0123456789")
        assert door.call(lambda: (len(door.door.new), len(door.door.resting))) == (0, 1)


def test_when_all_are_busy_nobody_is_let_in() -> None:
    with served(connections=1) as door:
        busy = slow_reader(door)
        with door.connect() as client:
            assert is_over(client)
        assert door.reasons == ["full"]
        assert len(door.door.connections) == 1
        busy.close()


# Memory


def test_those_who_hold_the_most_for_the_longest_make_room() -> None:
    with served(unread_bytes=2 * LARGE + 1) as door:
        first = slow_reader(door)
        door.later(5)
        second = slow_reader(door)
        door.later(5)
        third = slow_reader_beyond(door)
        assert door.reasons == ["no_room"]
        assert len(heard(first)) < LARGE
        assert door.door.room.bytes <= 2 * LARGE
        for client in (second, third):
            assert answers_in(read_exactly(client), ["GET"])[0][2] == b"x" * LARGE


def slow_reader_beyond(door: Served) -> socket.socket:
    """One more than there is room for."""
    client = door.connect(receive_bytes=2_048)
    client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
    door.until(lambda: bool(door.reasons))
    return client


def read_exactly(client: socket.socket) -> bytes:
    """One large answer, of a connection that stays."""
    found = b""
    while not whole(found):
        found += more(client, 65_536)
    return found


def more(client: socket.socket, size: int) -> bytes:
    """What comes next; there must be something."""
    piece = client.recv(size)
    assert piece
    return piece


def whole(found: bytes) -> bool:
    """Whether it is all of a large answer."""
    return len(found) > LARGE and len(found.partition(b"\r\n\r\n")[2]) == LARGE


def test_large_answers_take_turns() -> None:
    """The place is given on when an answer is over, or to who waits if its reader is too slow."""
    assert LARGE > LARGE_BYTES
    with served(large_at_once=1) as door:
        slow = slow_reader(door)
        with door.connect() as waiting, door.connect() as small:
            waiting.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            small.sendall(HELLO)
            assert small.recv(10_000).endswith(b"GET /hello")
            door.until(lambda: len(door.door.room.queue) == 1)
            door.later(2)
            assert not door.reasons
            door.later(1)
            assert answers_in(heard(waiting), ["GET"])[0][2] == b"x" * LARGE
        assert door.reasons == ["no_room"]
        assert len(heard(slow)) < LARGE


def test_a_place_goes_to_another_address_first() -> None:
    """Whoever asks for the largest file a thousand times keeps others waiting for one of them."""
    large = b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with served(large_at_once=2) as door:
        many = [door.connect("127.0.0.2", receive_bytes=2_048) for _ in range(4)]
        for count, client in enumerate(many):
            client.sendall(large)
            door.until(lambda n=count: len(door.door.room.stalled) >= min(n + 1, 2))  # type: ignore[misc]
        door.until(lambda: len(door.door.room.queue) == 2)
        with door.connect() as other:
            other.sendall(large)
            door.until(lambda: len(door.door.room.queue) == 3)
            assert len(heard(many[0])) > LARGE
            assert answers_in(heard(other), ["GET"])[0][2] == b"x" * LARGE
        assert not door.reasons


def test_who_leaves_while_waiting_takes_no_place() -> None:
    with served(large_at_once=1) as door:
        slow = slow_reader(door)
        for _ in range(3):
            waiting = door.connect()
            waiting.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            door.until(lambda: len(door.door.room.queue) == 1)
            # Reset: who only says that it has no more to say would wait for its answer.
            waiting.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            waiting.close()
            door.until(lambda: not door.door.room.queue)
        read_exactly(slow)
        said = door.say(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert answers_in(said, ["GET"])[0][2] == b"x" * LARGE


# The end


def test_an_end_finishes_what_began(door: Served) -> None:
    """Answers under way are finished and say that they are the last; who rests is let go."""
    (resting,) = silent(door)
    busy = door.connect()
    busy.sendall(FORM)
    door.until(lambda: any(each._exchange for each in door.door.connections))
    ended = door.loop.create_task  # on the door's thread
    closing = door.call(lambda: ended(door.door.close(20)))
    assert is_over(resting)
    with pytest.raises(ConnectionRefusedError):
        door.connect()
    busy.sendall(b"0123456789")
    ((_, headers, body),) = answers_in(heard(busy), ["POST"])
    assert (headers["connection"], body) == ("close", b"0123456789")
    door.until(closing.done)


def test_the_application_is_told_of_who_leaves() -> None:
    told: list[str] = []

    async def waits(scope: object, receive: object, send: object) -> None:
        message = await receive()  # type: ignore[operator]
        message = await receive()  # type: ignore[operator]
        told.append(json.dumps(message))

    with served(waits) as door:
        client = door.connect()
        client.sendall(HELLO)
        door.until(lambda: len(door.door.connections) == 1 and not door.door.new)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        client.close()
        door.until(lambda: told == ['{"type": "http.disconnect"}'])


def test_a_door_reads_into_one_place() -> None:
    """What silent connections cost: no buffer of their own."""
    with served() as door:
        made = [door.call(lambda: door.door.admit("127.0.0.1", 1)) for _ in range(2)]
        places = [each.get_buffer(1).obj for each in made if each is not None]
        assert places[0] is places[1]
        assert isinstance(door.door, Door)
        for each in made:
            assert each is not None
            door.call(lambda each=each: door.door.forget(each))  # type: ignore[misc]
