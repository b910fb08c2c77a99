"""Simulated providers of live accounts: their addresses, and the network to them."""

import asyncio
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import httpx2
from pydantic import SecretStr

from balcao.providers.serpro.settings import SerproSettings
from balcao.providers.simulation.app import create_app

# The address of live accounts' providers, which `Wire` serves.
PROVIDERS = "http://provedores.invalid"

# SERPRO at that address, with its certificates.
SERPRO = SerproSettings(
    url=f"{PROVIDERS}/serpro",
    consumer_key=SecretStr("chave"),
    consumer_secret=SecretStr("segredo"),
    cnd=True,
)


@dataclass(frozen=True)
class Sent:
    """One request to a provider, with the UF in the provider's notation."""

    provider: str
    uf: str


@dataclass
class Wire(httpx2.AsyncBaseTransport):
    """The network between the service and the simulated providers of live accounts.

    `black_holes` accept requests and never answer: a UF's treasury, or a whole provider (`cnpja`).
    `hold` blocks every request until `release`. `sent` lists the requests that were sent.
    """

    black_holes: Collection[str] = ()
    sent: list[Sent] = field(default_factory=list)
    ended: list[Sent] = field(default_factory=list)  # in the order of their ends
    _simulator: httpx2.AsyncBaseTransport = field(
        default_factory=lambda: httpx2.ASGITransport(app=create_app())
    )
    _open: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._open.set()

    def hold(self) -> None:
        """Block all requests."""
        self._open.clear()

    def release(self) -> None:
        """Unblock waiting and later requests."""
        self._open.set()

    def count(self, provider: str, uf: str | None = None) -> int:
        """Return the number of requests to a provider, about one UF or all."""
        return sum(s.provider == provider and uf in (None, s.uf) for s in self.sent)

    def forget(self) -> None:
        """Clear the lists of requests."""
        self.sent.clear()
        self.ended.clear()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = await request.aread()
        provider = request.url.path.split("/")[1]
        named = re.search(rb"<UF>(..)</UF>", body)
        uf = named[1].decode() if named else request.url.params.get("states", "")
        sent = Sent(provider, uf)
        self.sent.append(sent)
        try:
            await self._open.wait()
            if provider in self.black_holes or (provider == "sefaz" and uf in self.black_holes):
                await asyncio.Event().wait()
            if provider == "sefaz" and uf == "MA":
                return await self._maranhao(request, body)
            return await self._simulator.handle_async_request(request)
        finally:
            self.ended.append(sent)

    async def _maranhao(self, request: httpx2.Request, body: bytes) -> httpx2.Response:
        """Answer for MA, which has no such service, with the replies of its neighbour."""
        asked = httpx2.Request(
            "POST",
            f"{PROVIDERS}/sefaz/ws/cadconsultacadastro/cadconsultacadastro4.asmx",
            headers={"content-type": request.headers["content-type"]},
            content=body.replace(b"<UF>MA</UF>", b"<UF>PI</UF>"),
        )
        reply = await self._simulator.handle_async_request(asked)
        content = (await reply.aread()).replace(b"<UF>PI</UF>", b"<UF>MA</UF>")
        kind = reply.headers["content-type"]
        return httpx2.Response(reply.status_code, headers={"content-type": kind}, content=content)


# The address that makes MA a treasury like the others; `Sefaz.url` moves it to `PROVIDERS`.
MARANHAO: Mapping[str, str] = {"MA": "https://maranhao.invalid/ws/CadConsultaCadastro4"}
