"""HTTP/1.1: time limits of clients, and their share of our resources (contract 9.9).

The server's clock stands still until a test moves it.
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
from balcao.http.wire.limits import LARGE_BYTES, TICK_SECONDS
from balcao.http.wire.server import Server
from tests.http.wire import HELLO, LARGE, Served, answers_in, assert_refusal, heard, served

HEAD, IDLE, WRITE, BODY, PACE = 10, 75, 30, 30, 10  # seconds
FORM = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"


@pytest.fixture
def running() -> Iterator[Served]:
    with served() as here:
        yield here


def silent(running: Served, count: int = 1, source: str = "127.0.0.1") -> list[socket.socket]:
    """Connect clients that send nothing."""
    before = len(running.server.connections)
    clients = [running.connect(source) for _ in range(count)]
    running.until(lambda: len(running.server.connections) == before + count)
    return clients


def is_over(client: socket.socket) -> bool:
    """Return whether the server has closed the connection."""
    try:
        return client.recv(1000) == b""
    except ConnectionResetError:
        return True


def take(running: Served, client: socket.socket, text: bytes) -> None:
    """Send bytes, and wait until the server has read them."""
    (connection,) = running.server.connections
    before = len(connection._buffer)
    client.sendall(text)
    running.until(lambda: len(connection._buffer) == before + len(text))


# Seconds


def test_a_silent_client_is_disconnected(running: Served) -> None:
    (client,) = silent(running)
    running.later(HEAD)
    assert len(running.server.connections) == 1
    running.later(TICK_SECONDS)
    assert is_over(client)
    running.until(lambda: not running.server.connections)
    assert running.reasons == ["no_request"]


def test_a_trickle_does_not_extend_the_time(running: Served) -> None:
    (client,) = silent(running)
    for byte in (b"G", b"E", b"T"):
        running.later(3)
        take(running, client, byte)
    running.later(2)
    assert_refusal(heard(client), 408, "REQUISICAO_INVALIDA")
    assert running.reasons == []
    client.close()
    running.until(lambda: not running.server.connections)
    assert running.reasons == ["no_request"]


def test_an_answered_client_may_be_idle_longer(running: Served) -> None:
    (client,) = silent(running)
    client.sendall(HELLO)
    assert client.recv(10_000)
    running.until(lambda: len(running.server.resting) == 1)
    running.later(IDLE)
    take(running, client, b"GET")  # the next head has as long as the first one
    running.later(TICK_SECONDS + HEAD - 1)
    assert len(running.server.connections) == 1
    running.later(1)
    assert_refusal(heard(client), 408, "REQUISICAO_INVALIDA")


def test_but_not_forever(running: Served) -> None:
    (client,) = silent(running)
    client.sendall(HELLO)
    assert client.recv(10_000)
    running.until(lambda: len(running.server.resting) == 1)
    running.later(IDLE + TICK_SECONDS)
    assert is_over(client)
    running.until(lambda: not running.server.connections)
    assert running.reasons == ["idle"]


def test_a_body_has_to_arrive_in_time(running: Served) -> None:
    (client,) = silent(running)
    (connection,) = running.server.connections
    client.sendall(FORM + b"abc")
    running.until(lambda: connection._cycle is not None)
    running.later(BODY + TICK_SECONDS)
    assert_refusal(heard(client), 408, "REQUISICAO_INVALIDA")


def upload(running: Served, head: bytes, sent: int) -> socket.socket:
    """Connect a client that has sent so much of a long body."""
    (client,) = silent(running)
    (connection,) = running.server.connections
    client.sendall(head)
    running.until(lambda: connection._cycle is not None)
    go_on_sending(running, client, sent)
    return client


def go_on_sending(running: Served, client: socket.socket, count: int) -> None:
    """Send more of the body, and wait until the server has read it."""
    (connection,) = running.server.connections
    cycle = connection._cycle
    assert cycle is not None
    left = cycle.remaining - count
    client.sendall(b"x" * count)
    if cycle.head.length > 0:
        running.until(lambda: cycle.remaining == left)


LONG = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 90000000\r\n\r\n"
CHUNKED = b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize("head", [LONG, CHUNKED])
def test_a_stalled_long_body_is_aborted(head: bytes, running: Served) -> None:
    client = upload(running, head, 0)
    running.later(PACE - 1)
    assert running.reasons == []
    running.later(2 + TICK_SECONDS)
    assert_refusal(heard(client), 408, "REQUISICAO_INVALIDA")
    client.close()
    running.until(lambda: not running.server.connections)
    assert running.reasons == ["slow_body"]


def test_a_client_that_has_closed_is_aborted_without_an_error(
    running: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The peer's reset may be there before our end of the stream: ENOTCONN."""
    client = upload(running, LONG, 0)
    (connection,) = running.server.connections

    def not_connected() -> None:
        raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    assert connection._transport is not None
    monkeypatch.setattr(connection._transport, "write_eof", not_connected, raising=False)
    running.later(PACE + 1 + TICK_SECONDS)
    running.until(lambda: not running.server.connections)
    assert running.reasons == ["slow_body"]
    client.close()


def test_an_error_of_one_connection_keeps_the_deadlines_of_others(
    running: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = silent(running, 2)
    first = min(running.server.connections, key=lambda each: each.client[1])

    def broken(self: Connection) -> None:
        if self is first:
            raise ZeroDivisionError
        time_out(self)

    time_out = Connection.time_out
    monkeypatch.setattr(Connection, "time_out", broken)
    running.later(running.server.limits.head_seconds + 2 * TICK_SECONDS)
    running.until(lambda: not running.server.connections)
    assert sorted(running.reasons) == ["broken", "no_request"]
    for client in clients:
        client.close()


def test_a_trickling_long_body_is_aborted(running: Served) -> None:
    client = upload(running, LONG, 1)
    for _ in range(PACE):
        running.later(1)
        go_on_sending(running, client, 1)
    running.later(1 + TICK_SECONDS)
    assert_refusal(heard(client), 408, "REQUISICAO_INVALIDA")


def test_a_long_body_may_take_long_at_the_minimum_pace(running: Served) -> None:
    """A file of 2 MB over a link of 3 kB a second takes eleven minutes."""
    client = upload(running, LONG.replace(b"90000000", b"2000000"), 0)
    for _ in range(80):
        running.later(PACE - 2)
        go_on_sending(running, client, 25_000)
    assert client.recv(100).startswith(b"HTTP/1.1 200 ")
    assert running.reasons == []


def test_our_own_pauses_do_not_count_against_the_clients_pace() -> None:
    go_on = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await go_on.wait()
        while (await receive())["more_body"]:
            pass
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    with served(slow) as running:
        client = upload(running, LONG.replace(b"90000000", b"200000"), 0)
        client.sendall(b"x" * 150_000)
        (connection,) = running.server.connections
        running.until(lambda: connection._reading_paused)
        running.later(10 * PACE)
        running.call(go_on.set)
        client.sendall(b"x" * 50_000)
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        assert running.reasons == []


def test_a_client_that_keeps_sending_after_a_refusal_is_disconnected(running: Served) -> None:
    (client,) = silent(running)
    client.sendall(b"x\n")
    assert client.recv(10_000).startswith(b"HTTP/1.1 400 ")
    running.later(3)
    running.until(lambda: not running.server.connections)


def slow_reader(
    running: Served, path: bytes = b"/large", receive_bytes: int = 2_048
) -> socket.socket:
    """Connect a client that requests much, and reads nothing."""
    before = len(running.server.send_budget.stalled)
    client = running.connect(receive_bytes=receive_bytes)
    client.sendall(b"GET %b HTTP/1.1\r\nHost: a\r\n\r\n" % path)
    running.until(lambda: len(running.server.send_budget.stalled) == before + 1)
    return client


@pytest.mark.parametrize("path", [b"/large", b"/stream"])
def test_a_client_that_does_not_read_is_disconnected(path: bytes, running: Served) -> None:
    client = slow_reader(running, path)
    running.later(WRITE - 1)
    assert len(running.server.connections) == 1
    running.later(1)
    running.until(lambda: not running.server.connections)
    assert len(heard(client)) < LARGE
    assert running.reasons == ["slow_reader"]
    assert running.server.send_budget.bytes == 0


def test_a_slow_reader_gets_everything(running: Served) -> None:
    client = slow_reader(running, receive_bytes=65_536)
    (connection,) = running.server.connections
    found = b""
    while not whole(found):
        sent = connection.sent_bytes
        while connection.sent_bytes == sent and not whole(found):
            found += more(client, 10_000)
        running.later(WRITE - 1)  # after it took a piece
    assert answers_in(found, ["GET"])[0][2] == b"x" * LARGE
    assert running.reasons == []


# Connections


def test_connections_per_address_are_limited() -> None:
    with served(per_address=3, trusted=(ip_network("127.0.0.9"),)) as running:
        clients = silent(running, 3)
        with running.connect() as one_more:
            assert is_over(one_more)
        others = silent(running, 2, "127.0.0.2")
        proxys = silent(running, 5, "127.0.0.9")
        clients.pop().close()
        running.until(lambda: len(running.server.connections) == 9)
        clients += silent(running, 1)
        assert running.reasons == ["address_full"]
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
def test_the_unit_of_counting_addresses(one: str, other: str, same: bool) -> None:
    """An IPv6 address counts with its whole /64."""
    with served(per_address=1) as running:

        def both() -> bool:
            made = [running.server.admit(host, 1) for host in (one, other)]
            for connection in made:
                if connection is not None:
                    running.server.forget(connection)
            return made[1] is None

        assert running.call(both) is same


def test_idle_connections_are_evicted_for_new_ones() -> None:
    """First those that never sent a request, then those idle for longest."""
    with served(connections=4) as running:
        resting = silent(running, 2)
        for client in resting:
            client.sendall(HELLO)
            assert client.recv(10_000)
        running.until(lambda: len(running.server.resting) == 2)
        quiet = silent(running, 2)
        for _ in range(3):
            client = running.connect()
            client.sendall(HELLO)
            assert client.recv(10_000).startswith(b"HTTP/1.1 200 ")
        for client in (*quiet, resting[0]):
            assert is_over(client)
        assert running.reasons == ["full"] * 3
        resting[1].sendall(HELLO)
        assert resting[1].recv(10_000).startswith(b"HTTP/1.1 200 ")
        assert len(running.server.connections) == 4


def test_incomplete_and_refused_requests_are_evicted() -> None:
    """They wait for nothing of ours: a body that never arrives must not keep others out."""
    with served(connections=2) as running:
        (begun,) = silent(running)
        begun.sendall(FORM)
        running.until(lambda: any(each._cycle for each in running.server.connections))
        refused = running.connect()
        refused.sendall(b"\n")
        assert refused.recv(10_000).startswith(b"HTTP/1.1 400 ")
        clients = []
        for _ in range(2):
            client = running.connect()
            client.sendall(HELLO)
            assert client.recv(10_000).startswith(b"HTTP/1.1 200 ")
            clients.append(client)
        assert running.reasons == ["full"] * 2
        assert is_over(begun)


def test_a_request_with_its_whole_body_is_not_evicted() -> None:
    with served(connections=1) as running:
        (client,) = silent(running)
        client.sendall(FORM)
        running.until(lambda: any(each._cycle for each in running.server.connections))
        client.sendall(b"0123456789")
        assert client.recv(10_000).endswith(b"0123456789")
        assert running.call(lambda: (len(running.server.new), len(running.server.resting))) == (
            0,
            1,
        )


def test_when_all_are_busy_new_connections_are_refused() -> None:
    with served(connections=1) as running:
        busy = slow_reader(running)
        with running.connect() as client:
            assert is_over(client)
        assert running.reasons == ["full"]
        assert len(running.server.connections) == 1
        busy.close()


# Memory


def test_connections_that_hold_the_most_bytes_for_longest_are_aborted() -> None:
    with served(unread_bytes=2 * LARGE + 1) as running:
        first = slow_reader(running)
        running.later(5)
        second = slow_reader(running)
        running.later(5)
        third = slow_reader_beyond(running)
        assert running.reasons == ["no_room"]
        assert len(heard(first)) < LARGE
        assert running.server.send_budget.bytes <= 2 * LARGE
        for client in (second, third):
            assert answers_in(read_exactly(client), ["GET"])[0][2] == b"x" * LARGE


def slow_reader_beyond(running: Served) -> socket.socket:
    """Connect one more slow reader than the budget allows."""
    client = running.connect(receive_bytes=2_048)
    client.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
    running.until(lambda: bool(running.reasons))
    return client


def read_exactly(client: socket.socket) -> bytes:
    """Read one large answer of a connection that stays open."""
    found = b""
    while not whole(found):
        found += more(client, 65_536)
    return found


def more(client: socket.socket, size: int) -> bytes:
    """Read the next bytes; there must be some."""
    piece = client.recv(size)
    assert piece
    return piece


def whole(found: bytes) -> bool:
    """Return whether it is a complete large answer."""
    return len(found) > LARGE and len(found.partition(b"\r\n\r\n")[2]) == LARGE


def test_large_answers_take_turns() -> None:
    """A slot is passed on when an answer is complete, or when its reader is too slow."""
    assert LARGE > LARGE_BYTES
    with served(large_at_once=1) as running:
        slow = slow_reader(running)
        with running.connect() as waiting, running.connect() as small:
            waiting.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            small.sendall(HELLO)
            assert small.recv(10_000).endswith(b"GET /hello")
            running.until(lambda: len(running.server.send_budget.queue) == 1)
            running.later(2)
            assert not running.reasons
            running.later(1)
            assert answers_in(heard(waiting), ["GET"])[0][2] == b"x" * LARGE
        assert running.reasons == ["no_room"]
        assert len(heard(slow)) < LARGE


def test_a_slot_goes_to_another_address_first() -> None:
    """A thousand requests of one address for the largest file do not block others."""
    large = b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    with served(large_at_once=2) as running:
        many = [running.connect("127.0.0.2", receive_bytes=2_048) for _ in range(4)]
        for count, client in enumerate(many):
            client.sendall(large)
            running.until(lambda n=count: len(running.server.send_budget.stalled) >= min(n + 1, 2))  # type: ignore[misc]
        running.until(lambda: len(running.server.send_budget.queue) == 2)
        with running.connect() as other:
            other.sendall(large)
            running.until(lambda: len(running.server.send_budget.queue) == 3)
            assert len(heard(many[0])) > LARGE
            assert answers_in(heard(other), ["GET"])[0][2] == b"x" * LARGE
        assert not running.reasons


def test_a_client_that_disconnects_while_waiting_takes_no_slot() -> None:
    with served(large_at_once=1) as running:
        slow = slow_reader(running)
        for _ in range(3):
            waiting = running.connect()
            waiting.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            running.until(lambda: len(running.server.send_budget.queue) == 1)
            # Reset: after a mere half-close the client would wait for its answer.
            waiting.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            waiting.close()
            running.until(lambda: not running.server.send_budget.queue)
        read_exactly(slow)
        answer = running.say(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert answers_in(answer, ["GET"])[0][2] == b"x" * LARGE


# The end


def test_a_stop_finishes_running_requests(running: Served) -> None:
    """Running answers are completed and are the last ones; idle connections are closed."""
    (resting,) = silent(running)
    busy = running.connect()
    busy.sendall(FORM)
    running.until(lambda: any(each._cycle for each in running.server.connections))
    ended = running.loop.create_task  # on the running's thread
    closing = running.call(lambda: ended(running.server.close(20)))
    assert is_over(resting)
    with pytest.raises(ConnectionRefusedError):
        running.connect()
    busy.sendall(b"0123456789")
    ((_, headers, body),) = answers_in(heard(busy), ["POST"])
    assert (headers["connection"], body) == ("close", b"0123456789")
    running.until(closing.done)


def test_the_application_is_notified_of_disconnects() -> None:
    body: list[str] = []

    async def waits(scope: object, receive: object, send: object) -> None:
        message = await receive()  # type: ignore[operator]
        message = await receive()  # type: ignore[operator]
        body.append(json.dumps(message))

    with served(waits) as running:
        client = running.connect()
        client.sendall(HELLO)
        running.until(lambda: len(running.server.connections) == 1 and not running.server.new)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        client.close()
        running.until(lambda: body == ['{"type": "http.disconnect"}'])


def test_a_server_reads_into_one_shared_buffer() -> None:
    """Silent connections have no buffers of their own."""
    with served() as running:
        made = [running.call(lambda: running.server.admit("127.0.0.1", 1)) for _ in range(2)]
        places = [each.get_buffer(1).obj for each in made if each is not None]
        assert places[0] is places[1]
        assert isinstance(running.server, Server)
        for each in made:
            assert each is not None
            running.call(lambda each=each: running.server.forget(each))  # type: ignore[misc]
