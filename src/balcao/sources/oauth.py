"""OAuth 2 client credentials, as a layer between a conversation and the network.

All conversations share one token until shortly before it expires. Concurrent conversations
without a token share one fetch; a refused token is renewed once.
"""

import asyncio
import base64
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from balcao.core.errors import SourceFailed
from balcao.sources import replies
from balcao.sources.contract import HttpReply, HttpRequest
from balcao.sources.single_flight import SingleFlight
from balcao.sources.upstream import Send

# A token is renewed this long before it expires, or a tenth of its life if that is less: it must
# outlive the conversation that uses it.
RENEW_BEFORE_SECONDS = 60.0

# Other clients allow 30 to 60 s for the whole call; a token comes at once or not at all.
TOKEN_SECONDS_MAX = 10.0


@dataclass(frozen=True, slots=True)
class Token:
    """A token and the end of its use, by the clock of `ClientCredentials`."""

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
        """Send with the token; if it is refused, send again with a new one."""
        token = await self._current_token(send)
        reply = await send(_with_token(token, request))
        if reply.status != 401:
            return reply
        if self._token == token:  # else it was renewed concurrently
            self._token = None
        return await send(_with_token(await self._current_token(send), request))

    async def _current_token(self, send: Send) -> Token:
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
                decoded = replies.decode(self.name, _TokenReply, reply.body)
                life = max(0.0, decoded.expires_in)
                return Token(
                    decoded.access_token, asked_at + life - min(RENEW_BEFORE_SECONDS, life / 10)
                )
            case 400 | 401 | 403:
                what = f"credenciais recusadas, HTTP {reply.status}"
                raise replies.misconfigured(self.name, what)
            case _:
                raise replies.error_for_status(f"{self.name}: token", reply)


def _with_token(token: Token, request: HttpRequest) -> HttpRequest:
    headers = {**request.headers, "authorization": f"Bearer {token.value}"}
    return HttpRequest(request.method, request.path, request.query, headers, request.body)
