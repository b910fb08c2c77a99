"""Sending deliveries: to checked addresses alone, over TLS, four at a time (contract 19.4)."""

import asyncio
import gc
import json
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from standardwebhooks import Webhook as Judge

from balcao.accounts.seal import Seal
from balcao.accounts.webhooks.desk import Shown, WebhookDesk
from balcao.core.errors import WebhookAddressRefused
from balcao.core.events import NewEvent
from balcao.core.people import Signature
from balcao.core.secrets import single
from balcao.core.webhooks import TOTAL_SECONDS, Attempt
from balcao.service.clock import system_now_ms
from balcao.service.webhooks.delivering import WebhookDelivery
from balcao.service.webhooks.sending import Sender, tls_context
from balcao.settings.values import _network
from balcao.storage.contract import NewAccount
from balcao.storage.sqlite.desk import SqliteDesk
from tests.certificates import self_signed

# Handshakes that the client ends leave sockets of the receiver to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def _collect() -> Iterator[None]:
    """Collect such sockets here, and not in a test that expects none."""
    yield
    gc.collect()


LOOPBACK = (_network("127.0.0.0/8"),)
BODY, HEADERS = b'{"type":"balcao.ping"}', {"webhook-id": "evt_1"}


def resolving(*answers: Sequence[str]) -> Callable[[str, int], Any]:
    """Return a resolver with these answers, one for each call; the last one repeats."""
    left = [*answers]

    async def resolve(host: str, port: int) -> Sequence[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    return resolve


class Receiver:
    """A receiver on the loopback: keeps the requests, and sends `reply`."""

    def __init__(self) -> None:
        self.reply = b"HTTP/1.1 204 OK\r\n\r\n"
        self.requests: list[bytes] = []
        self.port = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        self.requests.append(head + await reader.readexactly(length))
        writer.write(self.reply)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def receiving(tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.handle, "127.0.0.1", 0, ssl=tls)
    async with server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


def sender(resolve: Any, private: Any = LOOPBACK, ca: Path | None = None) -> Sender:
    return Sender(partial(tls_context, ca), private, lambda: 1_793_000_000_000, resolve)


def test_a_delivery_over_tls_to_the_address_that_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    chain, key = self_signed(tmp_path, "erp.test")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(chain, key)
    names: list[str | None] = []
    tls.sni_callback = lambda _, name, __: names.append(name)

    async def run() -> None:
        async with receiving(tls) as receiver:
            url = f"https://erp.test:{receiver.port}/a?b=c"
            there = resolving(["127.0.0.1"])
            sent = await sender(there, ca=chain).send(url, HEADERS, BODY)
            assert (sent.status, sent.succeeded) == (204, True)
            (request,) = receiver.requests
            assert request.startswith(b"POST /a?b=c HTTP/1.1\r\n")
            assert f"host: erp.test:{receiver.port}".encode() in request.lower()
            assert b"webhook-id: evt_1" in request
            assert request.endswith(BODY)
            assert names == ["erp.test"]
            untrusted = await sender(there).send(url, HEADERS, BODY)
            assert (untrusted.status, "certificado" in str(untrusted.text)) == (None, True)
            other = url.replace("erp", "outro")
            assert (await sender(there, ca=chain).send(other, HEADERS, BODY)).status is None
            assert len(receiver.requests) == 1

    asyncio.run(run())


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:127.0.0.1"], ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"], ["169.254.169.254"], ["10.0.0.1"], [],
    ],
)  # fmt: skip
def test_nothing_connects_to_an_address_that_is_not_allowed(answers: list[str]) -> None:
    connections = []

    def connect(tls: ssl.SSLContext, address: str) -> Any:
        connections.append(address)
        raise AssertionError("a connection")

    async def run() -> None:
        guarded = Sender(partial(tls_context, None), (), lambda: 0, resolving(answers), connect)
        sent = await guarded.send("https://erp.test/", HEADERS, BODY)
        assert (sent.status, str(sent.text)[:18]) == (None, "Nada foi enviado: ")
        assert connections == []

    asyncio.run(run())


def test_an_answer_that_changes_is_not_asked_for_again() -> None:
    """The second resolution would lead inside; there is none."""
    addresses = []

    class Nothing:
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            raise httpx2.ConnectError("no")

        async def aclose(self) -> None: ...

    def connect(tls: ssl.SSLContext, address: str) -> Any:
        addresses.append(address)
        return Nothing()

    async def run() -> None:
        answers = resolving(["8.8.8.8", "9.9.9.9"], ["127.0.0.1"])
        guarded = Sender(partial(tls_context, None), (), lambda: 0, answers, connect)
        assert not (await guarded.send("https://erp.test/", HEADERS, BODY)).succeeded
        assert addresses == ["8.8.8.8", "9.9.9.9"]
        await guarded.send("https://erp.test/", HEADERS, BODY)
        assert addresses == ["8.8.8.8", "9.9.9.9"]

    asyncio.run(run())


def test_replies() -> None:
    async def run() -> None:
        async with receiving() as receiver:
            url = f"http://erp.test:{receiver.port}/"
            here = sender(resolving(["127.0.0.1"]))
            away = f"HTTP/1.1 302 x\r\nlocation: {url}\r\ncontent-length: 0\r\n\r\n"
            receiver.reply = away.encode()
            assert (await here.send(url, HEADERS, BODY)).status == 302
            assert len(receiver.requests) == 1
            receiver.reply = b"HTTP/1.1 503 x\r\nretry-after: 90\r\n\r\n" + b"<" * 5_000
            busy = await here.send(url, HEADERS, BODY)
            assert (busy.status, busy.text, busy.retry_after_seconds) == (503, "<" * 200, 90)
            receiver.reply = b"SSH-2.0-x\r\n"
            assert (await here.send(url, HEADERS, BODY)).status is None
            assert not (await here.send("http://erp.test:1024/", HEADERS, BODY)).succeeded

    asyncio.run(run())


def test_a_receiver_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert TOTAL_SECONDS == 15
    monkeypatch.setattr("balcao.service.webhooks.sending.TOTAL_SECONDS", 0.05)

    async def run() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 2")
            await reader.read()  # until the sender gives up
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with server:
            url = f"http://erp.test:{server.sockets[0].getsockname()[1]}/"
            sent = await sender(resolving(["127.0.0.1"])).send(url, HEADERS, BODY)
            assert (sent.status, sent.succeeded) == (None, False)
        await asyncio.sleep(0)

    asyncio.run(run())


class Station:
    """A service's delivery with a sender that only notes what it is given."""

    def __init__(self, path: Path) -> None:
        self.desk = SqliteDesk(path / "desk.sqlite")
        self.account = self.desk.create_account(NewAccount("ana", "pre_pago", "live"), 1).account_id
        seal = Seal(single(b"s" * 32))
        self.webhooks = WebhookDesk(
            self.desk, seal, (), system_now_ms, lambda: "w1", resolving(["8.8.8.8"])
        )
        self.sent: list[tuple[str, dict[str, str], bytes]] = []
        self.status: Callable[[], int] = lambda: 200
        self.open = self.open_most = 0
        sending: Any = self
        self.delivery = WebhookDelivery(self.desk, seal, sending, system_now_ms, lambda: 0.5)

    async def send(self, url: str, headers: dict[str, str], body: bytes) -> Attempt:
        self.open += 1
        self.open_most = max(self.open_most, self.open)
        await asyncio.sleep(0)
        self.open -= 1
        self.sent.append((url, headers, body))
        return Attempt(system_now_ms(), 0, self.status(), None)

    async def create(self) -> Shown:
        return await self.webhooks.create(self.account, "https://erp.test/", Signature("api"))

    async def happen(self, count: int) -> None:
        event = NewEvent(self.account, "saldo.baixo", 1_793_000_000_000, '{"saldo":1}')
        await self.desk.commit([event] * count)
        await self.delivery.plan()


def test_events_are_sent_signed_and_at_most_four_at_a_time(tmp_path: Path) -> None:
    async def run() -> None:
        station = Station(tmp_path)
        shown = await station.create()
        await station.happen(9)
        assert await station.delivery.deliver("w1") is None
        assert station.open_most == 4
        assert len({headers["webhook-id"] for _, headers, _ in station.sent}) == 9
        rotated = await station.webhooks.rotate(station.account, "w1", 24, Signature("api"))
        await station.happen(1)
        await station.delivery.deliver("w1")
        _, headers, body = station.sent[-1]
        assert json.loads(body) == {
            "type": "saldo.baixo",
            "timestamp": "2026-10-26T04:33:20.000-03:00",
            "data": {"saldo": 1},
        }
        for secret in (shown.secret, rotated.secret):
            assert Judge(secret).verify(body, headers)["type"] == "saldo.baixo"
        station.status = lambda: 500
        await station.happen(2)
        again = await station.delivery.deliver("w1")
        assert again is not None
        assert 0 < again <= 5.5
        assert station.delivery.attempts == {"entregue": 10, "falhou": 2}
        await station.webhooks.remove(station.account, "w1", Signature("api"))
        assert await station.delivery.deliver("w1") is None
        station.desk.close()

    asyncio.run(run())


def test_a_long_repetition_continues_in_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("balcao.service.webhooks.delivering.STEP_DELIVERIES", 2)
    monkeypatch.setattr("balcao.storage.desk.webhook_deliveries.RESENT_AT_ONCE", 2)

    async def run() -> None:
        station = Station(tmp_path)
        await station.create()
        await station.happen(3)
        while await station.delivery.deliver("w1") is not None:
            pass
        webhook = await station.webhooks.one(station.account, "w1")
        assert await station.webhooks.resend(webhook, 0, None, failed_only=False) == 3
        again = await station.delivery.deliver("w1")
        assert (again is not None, len(station.sent)) == (True, 5)
        assert await station.delivery.deliver("w1") is None
        assert len(station.sent) == 6
        station.desk.close()

    asyncio.run(run())


def test_addresses_are_checked_when_an_endpoint_is_created_or_moved(tmp_path: Path) -> None:
    async def run() -> None:
        station = Station(tmp_path)
        await station.create()
        inside = WebhookDesk(
            station.desk, station.webhooks.seal, (), system_now_ms, lambda: "w2",
            resolving(["8.8.8.8", "10.0.0.1"]),
        )  # fmt: skip
        by = Signature("api")
        with pytest.raises(WebhookAddressRefused):
            await inside.create(station.account, "https://erp.test/", by)
        with pytest.raises(WebhookAddressRefused):
            await inside.change(station.account, "w1", by, url="https://outro.test/")
        await inside.change(station.account, "w1", by, description="ERP")
        station.desk.close()

    asyncio.run(run())
