"""OAuth 2 client credentials as a layer between a conversation and the network.

One token serves every conversation until shortly before it expires. Whoever finds none fetches
it, and all others wait for that one fetch; a token that is refused is renewed once.
"""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from balcao.core.errors import SourceFailed
from balcao.sources import replies
from balcao.sources.contract import HttpReply, HttpRequest
from balcao.sources.flight import SingleFlight
from balcao.sources.upstream import Send

# Renewed this long before its end, or a tenth of its life where that is less: a token must
# outlive the conversation that sets out with it.
RENEW_BEFORE_SECONDS = 60.0

# Clients in the wild give the whole call 30 to 60 s; a token comes at once or not at all.
TOKEN_SECONDS_MAX = 10.0


@dataclass(frozen=True, slots=True)
class Token:
    """A token and until when to use it, by the clock given to `ClientCredentials`."""

    value: str = field(repr=False)
    usable_until: float


class _TokenReply(msgspec.Struct):
    access_token: str
    expires_in: float = 3600.0


class ClientCredentials:
    """The `Layer` of one OAuth 2 client (see `upstream.py`)."""

    def __init__(
        self,
        name: str,
        *,
        key: str,
        secret: str,
        clock: Callable[[], float],
        path: str = "/token",
    ) -> None:
        self.name = name
        self._basic = base64.b64encode(f"{key}:{secret}".encode()).decode()
        self._path = path
        self._clock = clock
        self._token: Token | None = None
        self._fetching: SingleFlight[Token] = SingleFlight()

    async def __call__(self, request: HttpRequest, send: Send) -> HttpReply:
        """Send with the token; when it is refused, once more with a new one."""
        token = await self._usable(send)
        reply = await send(_bearing(token, request))
        if reply.status != 401:
            return reply
        if self._token == token:  # else somebody renewed it meanwhile
            self._token = None
        return await send(_bearing(await self._usable(send), request))

    async def _usable(self, send: Send) -> Token:
        token = self._token
        if token is not None and self._clock() < token.usable_until:
            return token
        return await self._fetching.do("token", lambda: self._fetch(send))

    async def _fetch(self, send: Send) -> Token:
        asked_at = self._clock()
        try:
            async with asyncio.timeout(TOKEN_SECONDS_MAX):
                reply = await send(self._request())
        except TimeoutError:
            raise SourceFailed(f"{self.name}: token: tempo esgotado") from None
        self._token = self._read(reply, asked_at)
        return self._token

    def _request(self) -> HttpRequest:
        return HttpRequest(
            "POST",
            self._path,
            headers={
                "authorization": f"Basic {self._basic}",
                "content-type": "application/x-www-form-urlencoded",
            },
            body=b"grant_type=client_credentials",
        )

    def _read(self, reply: HttpReply, asked_at: float) -> Token:
        match reply.status:
            case 200:
                said = replies.decode(self.name, _TokenReply, reply.body)
                life = max(0.0, said.expires_in)
                return Token(
                    said.access_token, asked_at + life - min(RENEW_BEFORE_SECONDS, life / 10)
                )
            case 400 | 401 | 403:
                what = f"credenciais recusadas, HTTP {reply.status}"
                raise replies.misconfigured(self.name, what)
            case _:
                raise replies.refusal(f"{self.name}: token", reply)


def _bearing(token: Token, request: HttpRequest) -> HttpRequest:
    headers = {**request.headers, "authorization": f"Bearer {token.value}"}
    return HttpRequest(request.method, request.path, request.query, headers, request.body)
