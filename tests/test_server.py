"""Serving: TLS, limits of the system, the application's lifespan."""

import asyncio
import resource
import socket
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from balcao.examination.failures import BadSettings
from balcao.examination.serving import check_workers
from balcao.examination.workers import workers
from balcao.home import Home
from balcao.http.wire.limits import ConnectionLimits
from balcao.http.wire.server import Server
from balcao.service import server, supervisor
from balcao.settings import Settings
from balcao.storage.postgresql.place import PostgresPlace
from balcao.storage.sqlite.place import SqlitePlace
from tests.certificates import self_signed
from tests.http.wire import HELLO, application, refusal


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    certificate, key = self_signed(tmp_path_factory.mktemp("tls"), "localhost")
    return Settings(tls_certificate=certificate, tls_key=key)


def talk(settings: Settings, alpn: Sequence[str], text: bytes) -> tuple[str | None, bytes]:
    """Return the answers to one client by TLS, and the negotiated protocol."""

    async def scenario() -> tuple[str | None, bytes]:
        context = server.tls_context(settings)
        common = server.common_headers(settings)
        limits = ConnectionLimits()
        wire = Server(application, refusal, limits, tls=context, common_headers=common)
        port = wire.listen("127.0.0.1", 0)
        trusting = ssl.create_default_context(cafile=str(settings.tls_certificate))
        trusting.set_alpn_protocols(list(alpn))
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=trusting, server_hostname="localhost"
        )
        agreed = writer.get_extra_info("ssl_object").selected_alpn_protocol()
        writer.write(text)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        await wire.close(5)
        assert not wire.connections
        return agreed, answer

    return asyncio.run(scenario())


@pytest.mark.parametrize("alpn", [["http/1.1"], ["h2", "http/1.1"]])
def test_by_tls(tls: Settings, alpn: Sequence[str]) -> None:
    """HTTP/1.1, also for clients that prefer another protocol."""
    large = b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    agreed, answer = talk(tls, alpn, HELLO + large)
    assert agreed == "http/1.1"
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"x" * 1_000_000)
    assert answer.count(b"\r\nstrict-transport-security: max-age=31536000\r\n") == 2
    _, answer = talk(tls, alpn, b"GET /a b HTTP/1.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nstrict-transport-security: max-age=31536000\r\n" in answer


def test_old_versions_of_tls_are_refused(tls: Settings) -> None:
    context = server.tls_context(tls)
    assert context is not None
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_https_is_required_for_a_year_if_it_is_used(tls: Settings) -> None:
    """TLS may end here or at a proxy; a service with plain HTTP alone sends no HSTS."""
    assert not server.common_headers(Settings())
    behind_a_proxy = Settings(public_url="https://balcao.example")
    assert server.common_headers(behind_a_proxy) == server.common_headers(tls) != []


def test_a_silent_tls_client_is_counted_and_disconnected(tls: Settings) -> None:
    """Also before the handshake, where requests cannot be distinguished from others."""

    async def scenario() -> None:
        reasons: list[str] = []
        wire = Server(
            application,
            refusal,
            ConnectionLimits(per_address=2),
            observe=reasons.append,
            tls=server.tls_context(tls),
        )
        port = wire.listen("127.0.0.1", 0)
        clients = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        assert await clients[2][0].read() == b""
        assert len(wire.connections) == 2
        wire.sweep(wire.send_budget.now + 11)
        for reader, _ in clients[:2]:
            assert await reader.read() == b""
        assert not wire.connections
        assert reasons == ["address_full", "no_request", "no_request"]
        for _, writer in clients:
            writer.close()
        await wire.close(0)

    asyncio.run(scenario())


@pytest.mark.parametrize("last", [b"Connection: close\r\n", b""])
def test_a_slow_tls_reader_gets_everything(tls: Settings, last: bytes) -> None:
    """Part of an answer that was passed to asyncio may be unsent, which only asyncio knows.

    The end of the connection waits for it, and so does the stop of the service."""
    size = 131_072

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * size})

    def client(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        plain.settimeout(20)
        plain.connect(("127.0.0.1", port))
        talking = context.wrap_socket(plain, server_hostname="localhost")
        talking.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n" + last + b"\r\n")
        return talking

    def heard(talking: ssl.SSLSocket) -> int:
        found = 0
        with talking:
            while piece := talking.recv(65_536):
                found += piece.count(b"x")
        return found

    async def scenario() -> None:
        wire = Server(app, refusal, ConnectionLimits(), tls=server.tls_context(tls))
        port = wire.listen("127.0.0.1", 0)
        assert wire.ticking is not None
        wire.ticking.cancel()
        context = ssl.create_default_context(cafile=str(tls.tls_certificate))
        talking = await asyncio.to_thread(client, port, context)
        async with asyncio.timeout(20):
            while not any(each.sent_bytes >= size or each.paused for each in wire.connections):  # noqa: ASYNC110
                await asyncio.sleep(0.002)
        closing = asyncio.create_task(wire.close(20))
        reading = asyncio.create_task(asyncio.to_thread(heard, talking))
        for _ in range(3):
            wire.sweep(wire.send_budget.now + 4)
            await asyncio.sleep(0)
        assert await reading == size
        await closing

    asyncio.run(scenario())


def test_no_fast_path_with_spans() -> None:
    assert server.has_fast_path(Settings())
    assert not server.has_fast_path(Settings(otel=True))
    assert not server.has_fast_path(Settings(fast_path=False))


@pytest.mark.parametrize(
    ("files", "connections"),
    [(1_024, 512), (100, 64), (20_000, 16_384), (resource.RLIM_INFINITY, 16_384)],
)
def test_the_number_of_connections(
    files: int, connections: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system's limit allows it; the soft one is raised to the hard one before."""
    raised: list[Any] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, files))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: raised.append(limits))
    assert server.connections_max() == connections
    assert raised == [(files, files)]


def test_an_application_that_does_not_start_stops_the_server() -> None:
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        raise ZeroDivisionError

    async def scenario() -> None:
        async with server.lifespan(failing):
            raise AssertionError("it lives")

    with pytest.raises(ZeroDivisionError):
        asyncio.run(scenario())


def test_settings_reach_the_server(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path,
        header_bytes_max=2_048,
        connections_per_address_max=7,
        keep_alive_seconds=5,
        unread_bytes_max=2_000_000,
        large_answers_max=3,
    )
    limits = server.connection_limits(settings, 99)
    assert (limits.head_bytes, limits.per_address, limits.idle_seconds) == (2_048, 7, 5)
    assert (limits.unread_bytes, limits.large_at_once, limits.connections) == (2_000_000, 3, 99)


def test_several_workers_need_postgresql(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with pytest.raises(BadSettings, match="Com SQLite, só um processo pode atender"):
        check_workers(Settings(workers=2), SqlitePlace(home))
    check_workers(Settings(workers=1), SqlitePlace(home))
    postgresql = PostgresPlace("postgresql://a/b", home)
    check_workers(Settings(workers=2, port=65_533), postgresql)
    with pytest.raises(BadSettings, match="no máximo 65533"):
        check_workers(Settings(workers=2, port=65_534), postgresql)


def test_a_worker_is_stopped_once_by_its_supervisor() -> None:
    stops: list[int] = []

    async def scenario() -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            server.on_closed(theirs, lambda: stops.append(1))
            ours.shutdown(socket.SHUT_WR)
            for _ in range(10):
                await asyncio.sleep(0)

    asyncio.run(scenario())
    assert stops == [1]


def test_a_worker_that_cannot_start_is_a_failure_even_if_another_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Process:
        def __init__(self, code: int) -> None:
            self.code = code

        def wait(self, timeout: float | None = None) -> int:
            return self.code

    def begin(module: str, number: str, **_: Any) -> tuple[Process, socket.socket]:
        """Start worker 0, which ends at once, or worker 1, which is ready when it has to stop."""
        ours, theirs = socket.socketpair()
        if number == "0":
            theirs.close()
            return Process(1), ours

        def worker() -> None:
            with theirs:
                theirs.recv(1)
                theirs.send(b"!")

        threading.Thread(target=worker).start()
        return Process(0), ours

    monkeypatch.setattr("balcao.service.processes.begin", begin)
    settings = Settings(workers=2, database=SecretStr("postgresql://a/b"))
    assert asyncio.run(supervisor.Supervisor(settings).run()) is False


@pytest.mark.parametrize(("count", "status"), [(1, "ok"), (4, "ok"), (5, "warn")])
def test_the_doctor_counts_cores(
    count: int, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    settings = Settings(workers=count, database=SecretStr("postgresql://a/b"))
    (finding,) = workers(settings, Home(tmp_path))
    assert finding.status == status
