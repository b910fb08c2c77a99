"""One attempt of a delivery over HTTP, to an address that was checked (contract 19.4).

The name is resolved here, all its addresses are checked, and the connection is made to one of them;
TLS is verified for the name. Redirects are not followed, and no proxy of the environment is used.
"""

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import httpx2

from balcao import __version__
from balcao.accounts.webhooks.resolving import Resolve, checked, resolve
from balcao.core.errors import WebhookAddressRefused
from balcao.core.webhook_addresses import Endpoint, Network
from balcao.core.webhooks import (
    CONNECT_SECONDS,
    RESPONSE_BYTES_MAX,
    TOTAL_SECONDS,
    Attempt,
    retry_after_seconds,
    shown_response,
)
from balcao.sources.direct import DirectTransport

_HEADERS = {
    "content-type": "application/json",
    "accept-encoding": "identity",
    "connection": "close",
    "user-agent": f"Balcao/{__version__} (+webhooks)",
}
ADDRESSES_MAX = 4  # tried in one attempt

_NO_TIME = f"Sem resposta em {TOTAL_SECONDS:.0f} segundos."
_NO_CONNECTION = "Não foi possível conectar."
_UNTRUSTED = "O certificado TLS do servidor não é válido para este endereço."
_BROKEN = "A resposta não é HTTP, ou a conexão caiu."


class Connection(Protocol):
    """Sends a request to one address, like an httpx2 transport."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response: ...

    async def aclose(self) -> None: ...


@cache
def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """Return the verification of receivers: the system's authorities and those of a file.

    The first call reads all authorities, for some 70 ms.
    """
    context = ssl.create_default_context()
    if ca_file is not None:
        context.load_verify_locations(cafile=ca_file)
    return context


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends deliveries. `connect` replaces the network in tests."""

    tls: Callable[[], ssl.SSLContext]  # called in a thread, with the first delivery
    private: Sequence[Network]
    now_ms: Callable[[], int]
    resolve: Resolve = resolve
    connect: Callable[[ssl.SSLContext, str], Connection] | None = None
    monotonic: Callable[[], float] = time.monotonic

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Attempt:
        """Make one attempt, which never raises for what the receiver does."""
        at_ms, began = self.now_ms(), self.monotonic()
        status: int | None = None
        text: str | None = None
        retry_after: int | None = None
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                endpoint, addresses = await checked(url, self.private, self.resolve)
                response, content = await self._post(endpoint, addresses, url, headers, body)
            status, text = response.status_code, shown_response(content)
            retry_after = retry_after_seconds(response.headers.get("retry-after", ""), at_ms)
        except TimeoutError:
            text = _NO_TIME
        except WebhookAddressRefused as error:
            text = f"Nada foi enviado: {error.message}"
        except httpx2.ConnectError as error:
            text = _UNTRUSTED if _is_untrusted(error) else _NO_CONNECTION
        except httpx2.ConnectTimeout:
            text = _NO_CONNECTION
        except (httpx2.TransportError, httpx2.InvalidURL):
            text = _BROKEN
        duration_ms = round(1_000 * (self.monotonic() - began))
        return Attempt(at_ms, duration_ms, status, text, retry_after)

    async def _post(
        self,
        endpoint: Endpoint,
        addresses: Sequence[str],
        url: str,
        headers: Mapping[str, str],
        body: bytes,
    ) -> tuple[httpx2.Response, bytes]:
        """Send the body to the first address that accepts a connection."""
        tls = await asyncio.to_thread(self.tls)
        some = addresses[:ADDRESSES_MAX]
        ends = self.monotonic() + CONNECT_SECONDS
        for number, address in enumerate(some):
            seconds = max(0.1, (ends - self.monotonic()) / (len(some) - number))
            timeout = httpx2.Timeout(None, connect=seconds, pool=seconds).as_dict()
            request = httpx2.Request(
                "POST",
                url,
                headers=_HEADERS | dict(headers),
                content=body,
                extensions={"timeout": timeout},
            )
            transport = self._transport(tls, address)
            try:
                response = await transport.handle_async_request(request)
                return response, await _beginning(response)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                if number + 1 == len(some):
                    raise
            finally:
                await transport.aclose()
        raise AssertionError(f"{endpoint.host} has no address")

    def _transport(self, tls: ssl.SSLContext, address: str) -> Connection:
        if self.connect is not None:
            return self.connect(tls, address)
        return DirectTransport(tls, connections_max=1, keepalive_seconds=0, address=address)


async def _beginning(response: httpx2.Response) -> bytes:
    """Return the beginning of a response; the rest is not read."""
    content = b""
    try:
        async for chunk in response.aiter_raw():
            content += chunk
            if len(content) >= RESPONSE_BYTES_MAX:
                break
    finally:
        await response.aclose()
    return content[:RESPONSE_BYTES_MAX]


def _is_untrusted(error: httpx2.ConnectError) -> bool:
    return isinstance(error.__cause__, ssl.SSLCertVerificationError)
