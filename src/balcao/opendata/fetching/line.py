"""Requests to a share, few at a time: who waits, who tries again, and who we say that we are."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from balcao import __version__
from balcao.opendata.errors import ShareFailed, ShareGone
from balcao.opendata.fetching.pace import CONNECTIONS_MAX, Patience, connections_after

# Nothing for so long is a stall: the server has them every few dozen megabytes.
STALL_SECONDS = 30.0

_NOT_WELL = {408, 425, 429, 500, 502, 503, 504}
_GONE = {401, 403, 404, 410}

Sleep = Callable[[float], Awaitable[None]]


def open_client(
    contact: str, transport: httpx2.AsyncBaseTransport | None = None
) -> httpx2.AsyncClient:
    """Who downloads. `contact`: how whoever runs the share reaches the operator; it may be empty.

    `transport` stands in for the network in tests.
    """
    whose = f" (+{contact})" if contact else ""
    return httpx2.AsyncClient(
        headers={
            "user-agent": f"Balcao/{__version__}{whose}",
            # Zips do not get smaller, and a range is one of the bytes as they lie there.
            "accept-encoding": "identity",
        },
        timeout=httpx2.Timeout(STALL_SECONDS, pool=None),
        limits=httpx2.Limits(
            max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX
        ),
        transport=transport,
    )


@dataclass(frozen=True, slots=True)
class ShareReply:
    """A short answer. Names of headers in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ShareLine:
    """A client and its places. Each attempt takes one, also the second one of the same file.

    Otherwise those who try again would be the storm that the server is suffering from.
    """

    def __init__(self, client: httpx2.AsyncClient, sleep: Sleep) -> None:
        """`sleep` waits for so many seconds."""
        self._client = client
        self._sleep = sleep
        self._stalls = 0
        self._busy = 0
        self._changed = asyncio.Condition()

    @property
    def connections(self) -> int:
        """How many attempts there may be at a time."""
        return connections_after(self._stalls)

    @asynccontextmanager
    async def request(
        self, method: str, url: str, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        """One attempt, in its own place; stalls are counted. Raises `httpx2.TransportError`."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._busy < self.connections)
            self._busy += 1
        try:
            async with self._client.stream(method, url, headers=dict(headers)) as response:
                yield response
        except (httpx2.ReadTimeout, httpx2.ConnectTimeout):
            self._stalls += 1
            raise
        finally:
            self._busy -= 1
            async with self._changed:
                self._changed.notify_all()

    async def wait(self, patience: Patience) -> None:
        """Before the next attempt; in nobody's place."""
        if patience.wait_seconds:
            await self._sleep(patience.wait_seconds)

    async def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        wanted: Collection[int],
        bytes_max: int,
        beginning: bool = False,
    ) -> ShareReply:
        """A short answer with one of the `wanted` statuses; tried again while nobody is well.

        `beginning`: no more than `bytes_max` is read of what may be longer. Raises `ShareFailed`,
        `ShareGone`.
        """
        patience, host = Patience(), httpx2.URL(url).host
        why = ""
        while not patience.is_over:
            await self.wait(patience)
            try:
                async with self.request(method, url, headers) as response:
                    status = response.status_code
                    if status in wanted:
                        body = await _read(response, host, bytes_max, beginning=beginning)
                        return ShareReply(status, response.headers, body)
            except httpx2.TransportError as error:
                why = f"{host}: {in_words(error)}"
            else:
                why = f"{host} respondeu {status}"
                if status in _GONE:
                    raise ShareGone(why)
                if status not in _NOT_WELL:
                    raise ShareFailed(why)
            patience = patience.after(progress=False)
        raise ShareFailed(why)


def in_words(error: httpx2.TransportError) -> str:
    """What kept bytes from coming, in Portuguese."""
    match error:
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            return "não há conexão"
        case httpx2.TimeoutException():
            return f"nada chegou por {STALL_SECONDS:.0f} s"
        case _:
            return "a conexão caiu"


async def _read(response: httpx2.Response, host: str, bytes_max: int, *, beginning: bool) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) >= bytes_max and beginning:
            break
        if len(body) > bytes_max:
            raise ShareFailed(f"a lista de {host} é grande demais")
    return bytes(body[:bytes_max])
