"""HTTP client for a share: limits concurrent requests, retries, and identifies itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx2

from balcao import __version__
from balcao.opendata.errors import ShareFailed, ShareGone
from balcao.opendata.fetching.retry import CONNECTIONS_MAX, RetryState, connections_after

# Seconds without a byte that count as a stall: the server stalls every few dozen megabytes.
STALL_SECONDS = 30.0

_TEMPORARY = {408, 425, 429, 500, 502, 503, 504}
_GONE = {401, 403, 404, 410}

Sleep = Callable[[float], Awaitable[None]]


def open_client(
    contact: str, transport: httpx2.AsyncBaseTransport | None = None
) -> httpx2.AsyncClient:
    """Return the HTTP client. `contact`, which may be empty, identifies the operator to the server.

    `transport` replaces the network in tests.
    """
    suffix = f" (+{contact})" if contact else ""
    return httpx2.AsyncClient(
        headers={
            "user-agent": f"Balcao/{__version__}{suffix}",
            # Zips cannot be compressed further, and ranges count uncompressed bytes.
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
    """A short reply. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ShareClient:
    """A client with a limited number of slots. Each attempt takes one, retries of a file included.

    Otherwise retries would add to the load that slows the server down.
    """

    def __init__(self, client: httpx2.AsyncClient, sleep: Sleep) -> None:
        """`sleep` waits for a number of seconds."""
        self._client = client
        self._sleep = sleep
        self._stalls = 0
        self._busy = 0
        self._slot_freed = asyncio.Condition()

    @property
    def connections(self) -> int:
        """Current limit of concurrent requests."""
        return connections_after(self._stalls)

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        """Make one attempt, in a slot; stalls are counted. Raises `httpx2.TransportError`."""
        async with self._slot_freed:
            await self._slot_freed.wait_for(lambda: self._busy < self.connections)
            self._busy += 1
        try:
            async with self._client.stream(method, url, headers=dict(headers)) as response:
                yield response
        except (httpx2.ReadTimeout, httpx2.ConnectTimeout):
            self._stalls += 1
            raise
        finally:
            self._busy -= 1
            async with self._slot_freed:
                self._slot_freed.notify_all()

    async def wait(self, retries: RetryState) -> None:
        """Wait before the next attempt, without occupying a slot."""
        if retries.wait_seconds:
            await self._sleep(retries.wait_seconds)

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        *,
        expected: Collection[int],
        bytes_max: int,
        truncate: bool = False,
    ) -> ShareReply:
        """Return a short reply with one of the `expected` statuses; retries temporary failures.

        `truncate`: read at most `bytes_max` of a longer body. Raises `ShareFailed`, `ShareGone`.
        """
        retries, host = RetryState(), httpx2.URL(url).host
        reason = ""
        while not retries.exhausted:
            await self.wait(retries)
            try:
                async with self.stream(method, url, headers) as response:
                    status = response.status_code
                    if status in expected:
                        body = await _read(response, host, bytes_max, truncate=truncate)
                        return ShareReply(status, response.headers, body)
            except httpx2.TransportError as error:
                reason = f"{host}: {describe_error(error)}"
            else:
                reason = f"{host} respondeu {status}"
                if status in _GONE:
                    raise ShareGone(reason)
                if status not in _TEMPORARY:
                    raise ShareFailed(reason)
            retries = retries.after(progress=False)
        raise ShareFailed(reason)


def describe_error(error: httpx2.TransportError) -> str:
    """Describe a transport error in Portuguese."""
    match error:
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            return "não há conexão"
        case httpx2.TimeoutException():
            return f"nada chegou por {STALL_SECONDS:.0f} s"
        case _:
            return "a conexão caiu"


async def _read(response: httpx2.Response, host: str, bytes_max: int, *, truncate: bool) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) >= bytes_max and truncate:
            break
        if len(body) > bytes_max:
            raise ShareFailed(f"a lista de {host} é grande demais")
    return bytes(body[:bytes_max])
