"""Helpers for tests of combined calls: two providers that answer several UFs in one call."""

import asyncio
import gc
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any

import httpx2

from balcao.core.errors import SourceError
from balcao.core.federation import UFS
from balcao.core.questions import Inquiry
from balcao.core.registration import Registrations
from balcao.core.state_registrations import completed, length
from balcao.providers.cnpja.adapter import CnpjaAdapter
from balcao.sources.contract import Answer, Conversation, Exchange, HttpRequest
from balcao.sources.multi_uf import MultiUfAdapter, MultiUfSource
from balcao.sources.online import Capabilities
from tests.sources.adapters import NOW, Measured, an_upstream


def number_in(uf: str) -> str:
    """Return a valid registration number of a state."""
    return completed(uf, "1" * length(uf))


FOREVER = 60.0  # never elapses in these tests


class Provider:
    """CNPJá's `/ccc`, which records requests and has one registration in every UF."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.status = 200
        self.gate: asyncio.Event | None = None

    async def __call__(self, request: httpx2.Request) -> httpx2.Response:
        document, states = request.url.params["taxId"], request.url.params["states"]
        self.asked.append((document, states))
        if self.gate is not None:
            await self.gate.wait()
        if self.status != 200:
            return httpx2.Response(self.status, json={"code": self.status, "message": "no"})
        ufs = UFS if states == "BR" else states.split(",")
        found = [{"number": number_in(uf), "state": uf, "enabled": True} for uf in ufs]
        return httpx2.Response(200, json={"taxId": document, "registrations": found})


class FixedAdapter:
    """An adapter with a fixed answer."""

    conclusive_absence = True
    capabilities = Capabilities(frozenset({"state_registration"}))

    def __init__(self, reply: Mapping[str, Registrations] | None) -> None:
        self.reply = reply

    def converse(self, inquiry: Inquiry) -> Conversation:
        yield HttpRequest("GET", "/one")
        assert self.reply is not None
        return self.reply[inquiry.uf or ""]

    def can_combine(self, inquiry: Inquiry) -> bool:
        return True

    def converse_combined(
        self, inquiries: Sequence[Inquiry]
    ) -> Exchange[Mapping[str, Registrations]]:
        yield HttpRequest("GET", "/several")
        return self.reply

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        yield HttpRequest("GET", "/probe")
        return None


def multi_uf_source(
    provider: Provider,
    adapter: MultiUfAdapter | None = None,
    *,
    measured: Measured | None = None,
    inquiries: list[Inquiry] | None = None,
    now: Callable[[], datetime] = lambda: NOW,
) -> MultiUfSource:
    observe = (lambda call: None) if measured is None else measured.append
    upstream = an_upstream(provider, observe=observe)

    def upstream_for(inquiry: Inquiry) -> Any:
        if inquiries is not None:
            inquiries.append(inquiry)
        return upstream

    return MultiUfSource("cnpja", adapter or CnpjaAdapter("the-key"), upstream_for, now=now)


def fixed_source(reply: Mapping[str, Registrations] | None) -> MultiUfSource:
    upstream = an_upstream(lambda request: httpx2.Response(200))
    return MultiUfSource("odd", FixedAdapter(reply), lambda _: upstream, now=lambda: NOW)


async def ask(source: MultiUfSource, *inquiries: Inquiry) -> list[Answer]:
    return await asyncio.gather(*(source.ask(inquiry) for inquiry in inquiries))


async def ask_and_fail(source: MultiUfSource, *inquiries: Inquiry) -> list[SourceError]:
    outcomes = await asyncio.gather(
        *(source.ask(inquiry) for inquiry in inquiries), return_exceptions=True
    )
    assert all(isinstance(outcome, SourceError) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, SourceError)]


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """Run a scenario, and check that no unretrieved exception is reported afterwards."""
    reported: list[str] = []

    async def watched() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: reported.append(context["message"]))
        await scenario
        gc.collect()

    asyncio.run(asyncio.wait_for(watched(), FOREVER / 2))
    gc.collect()
    assert reported == []


async def loop_turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
