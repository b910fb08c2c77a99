"""A token is shared, fetched once, and renewed when refused."""

import asyncio
import base64
from collections.abc import Callable

import pytest

from balcao.core.errors import SourceError, SourceFailed, SourceUnavailable
from balcao.sources.contract import HttpReply, HttpRequest
from balcao.sources.oauth import ClientCredentials
from tests.sources.adapters import Clock, a_reply

REQUEST = HttpRequest("GET", "/record", {"a": "b"}, {"x": "y"})


class Provider:
    """Issues tokens t1, t2, ... and accepts those it has not forgotten."""

    def __init__(self, *, expires_in: int = 3600) -> None:
        self.expires_in = expires_in
        self.issued = 0
        self.refused: set[str] = set()
        self.seen: list[str] = []
        self.token_reply: Callable[[], HttpReply] = self.a_token

    def a_token(self) -> HttpReply:
        self.issued += 1
        token = {"access_token": f"t{self.issued}", "expires_in": self.expires_in}
        return a_reply(200, {"scope": "default", "token_type": "Bearer"} | token)

    async def send(self, request: HttpRequest) -> HttpReply:
        await asyncio.sleep(0)
        if request.path == "/token":
            assert request.method == "POST"
            assert request.body == b"grant_type=client_credentials"
            assert request.headers["content-type"] == "application/x-www-form-urlencoded"
            basic = base64.b64encode(b"client:secret").decode()
            assert request.headers["authorization"] == f"Basic {basic}"
            return self.token_reply()
        assert request.query == {"a": "b"}
        assert request.headers["x"] == "y"
        token = request.headers["authorization"].removeprefix("Bearer ")
        self.seen.append(token)
        return a_reply(401 if token in self.refused else 200)


def a_client(clock: Clock | None = None) -> ClientCredentials:
    return ClientCredentials("acme", key="client", secret="secret", clock=clock or Clock())


def test_a_token_is_reused_until_shortly_before_its_end() -> None:
    async def scenario() -> None:
        clock, provider = Clock(), Provider(expires_in=3600)
        client = a_client(clock)
        for now, token in [(0, "t1"), (3539, "t1"), (3541, "t2"), (3600, "t2")]:
            clock.now = 1000.0 + now
            assert (await client(REQUEST, provider.send)).status == 200
            assert provider.seen[-1] == token

    asyncio.run(scenario())


def test_a_short_lived_token_is_used_for_most_of_its_life() -> None:
    async def scenario() -> None:
        clock, provider = Clock(), Provider(expires_in=10)
        client = a_client(clock)
        for now in (0, 8.9, 9.1):
            clock.now = 1000.0 + now
            await client(REQUEST, provider.send)
        assert provider.seen == ["t1", "t1", "t2"]

    asyncio.run(scenario())


def test_a_refused_token_is_renewed_once() -> None:
    async def scenario() -> None:
        provider = Provider()
        client = a_client()
        await client(REQUEST, provider.send)
        provider.refused = {"t1"}
        assert (await client(REQUEST, provider.send)).status == 200
        assert provider.seen == ["t1", "t1", "t2"]

        provider.refused = {"t2", "t3"}
        assert (await client(REQUEST, provider.send)).status == 401, "the caller sees the second"
        assert provider.seen[3:] == ["t2", "t3"]

    asyncio.run(scenario())


def test_hundred_concurrent_requests_share_a_token_fetch() -> None:
    async def scenario() -> None:
        provider = Provider()
        client = a_client()
        await asyncio.gather(*(client(REQUEST, provider.send) for _ in range(100)))
        assert provider.issued == 1

        provider.refused = {"t1"}
        replies = await asyncio.gather(*(client(REQUEST, provider.send) for _ in range(100)))
        assert {reply.status for reply in replies} == {200}
        assert provider.issued == 2

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (a_reply(401, {"error": "invalid_client"}), SourceUnavailable),
        (a_reply(400), SourceUnavailable),
        (a_reply(403), SourceUnavailable),
        (a_reply(415), SourceFailed),
        (a_reply(500), SourceFailed),
        (a_reply(503), SourceUnavailable),
        (a_reply(200, b"<html></html>"), SourceFailed),
        (a_reply(200, {"token_type": "Bearer"}), SourceFailed),
    ],
)
def test_no_token(reply: HttpReply, kind: type[SourceError]) -> None:
    async def scenario() -> None:
        provider = Provider()
        client = a_client()
        provider.token_reply = lambda: reply
        asks = (client(REQUEST, provider.send) for _ in range(3))
        for outcome in await asyncio.gather(*asks, return_exceptions=True):
            assert type(outcome) is kind
            assert "secret" not in str(outcome)
        assert provider.seen == []

        provider.token_reply = provider.a_token
        assert (await client(REQUEST, provider.send)).status == 200, "it is tried again"

    asyncio.run(scenario())


def test_cancelled_waiter_does_not_cancel_the_fetch() -> None:
    async def scenario() -> None:
        provider = Provider()
        client = a_client()
        first = asyncio.create_task(client(REQUEST, provider.send))
        await asyncio.sleep(0)
        second = asyncio.create_task(client(REQUEST, provider.send))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).status == 200
        assert first.cancelled()
        assert provider.issued == 1

    asyncio.run(scenario())


def test_nothing_secret_is_printed() -> None:
    async def scenario() -> None:
        client = a_client()
        await client(REQUEST, Provider().send)
        assert "t1" not in repr(client._token)

    asyncio.run(scenario())
