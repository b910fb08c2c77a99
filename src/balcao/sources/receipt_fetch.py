"""Fetching a receipt from where a provider keeps it for a short time.

The address is a stranger's word: it is fetched only from the places that the operator named, and
what comes back is nothing but bytes. No error repeats an address, which is a key to the receipt.
"""

import asyncio
from collections.abc import Iterable
from typing import TypeAlias

import httpx2

from balcao.errors import SourceFailed
from balcao.sources import body
from balcao.sources.call import HEADERS, must_end_at

_PORTS = {"https": 443, "http": 80}
_ACCEPT = {"accept": "application/pdf, text/html", "accept-encoding": "identity"}

_Origin: TypeAlias = tuple[str, str, int]  # scheme, host, port


class ReceiptFetch:
    """Fetches from the given origins, such as `https://storage.example.com`, and from no other."""

    def __init__(
        self,
        client: httpx2.AsyncClient,
        allowed_origins: frozenset[str],
        timeout_seconds: float,
        bytes_max: int,
    ) -> None:
        """`client` is one of `call.new_client`. Raises `ValueError` for what is no origin.

        Unencrypted ones are fetched from where they are listed as `http://`.
        """
        self._client = client
        self._allowed = frozenset(_allowed(allowed_origins))
        self._timeout_seconds = timeout_seconds
        self._bytes_max = bytes_max

    async def get(self, url: str) -> bytes:
        """The receipt. Raises `SourceFailed`, and nothing else.

        Whoever asked for the certificate may leave less time: it must not be lost over this.
        """
        ends_at = asyncio.get_running_loop().time() + self._timeout_seconds
        if (limit := must_end_at.get()) is not None:
            ends_at = min(ends_at, limit)
        address = self._checked(url)
        try:
            async with asyncio.timeout_at(ends_at):
                return await self._fetch(address)
        except SourceFailed:
            raise
        except TimeoutError:
            raise SourceFailed("comprovante: tempo esgotado") from None
        except Exception as error:
            detail = f"comprovante: conversa interrompida ({type(error).__name__})"
            raise SourceFailed(detail) from None

    def _checked(self, url: str) -> httpx2.URL:
        """The address as it will be used, parsed by who uses it."""
        try:
            address = httpx2.URL(url)
            origin = _origin(address)
        except Exception:
            raise SourceFailed("comprovante: endereço inválido") from None
        if address.userinfo or origin not in self._allowed:
            raise SourceFailed("comprovante: endereço fora dos permitidos")
        return address

    async def _fetch(self, address: httpx2.URL) -> bytes:
        request = self._client.build_request(
            "GET", address, headers=HEADERS | _ACCEPT, timeout=httpx2.Timeout(None)
        )
        request.headers.pop("cookie", None)
        reply = await self._client.send(request, stream=True, auth=None, follow_redirects=False)
        try:
            if reply.status_code != 200:
                raise SourceFailed(f"comprovante: HTTP {reply.status_code}")
            content = await body.whole("comprovante", reply, self._bytes_max)
        finally:
            await reply.aclose()
        if not content:
            raise SourceFailed("comprovante: vazio")
        return content


def _allowed(origins: Iterable[str]) -> Iterable[_Origin]:
    for origin in origins:
        address = httpx2.URL(origin)
        if address.userinfo or address.raw_path not in (b"", b"/") or address.fragment:
            raise ValueError("an origin is a scheme, a host and at most a port")
        yield _origin(address)


def _origin(address: httpx2.URL) -> _Origin:
    if address.scheme not in _PORTS or not address.host:
        raise ValueError("neither http nor https")
    return address.scheme, address.raw_host.decode(), address.port or _PORTS[address.scheme]
