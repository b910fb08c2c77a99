"""What the tests of travelling together share: two providers that take several UFs at once."""

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
from balcao.sources.online import Capabilities
from balcao.sources.together import Together, TogetherAdapter
from tests.sources.adapters import NOW, Measured, an_upstream


def number_in(uf: str) -> str:
    """A registration's number as the state would give it out."""
    return completed(uf, "1" * length(uf))


FOREVER = 60.0  # of these tests: nothing waits for it


class Provider:
    """CNPJá's `/ccc`: what it was asked, and one registration in every UF that it is asked."""

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


class Odd:
    """An adapter whose answers are made up by the test."""

    conclusive_absence = True
    capabilities = Capabilities(frozenset({"state_registration"}))

    def __init__(self, says: Mapping[str, Registrations] | None) -> None:
        self.says = says

    def converse(self, inquiry: Inquiry) -> Conversation:
        yield HttpRequest("GET", "/one")
        assert self.says is not None
        return self.says[inquiry.uf or ""]

    def takes_together(self, inquiry: Inquiry) -> bool:
        return True

    def converse_about(self, inquiries: Sequence[Inquiry]) -> Exchange[Mapping[str, Registrations]]:
        yield HttpRequest("GET", "/several")
        return self.says

    def probe(self, inquiry: Inquiry) -> Exchange[str]:
        yield HttpRequest("GET", "/probe")
        return None


def together(
    provider: Provider,
    adapter: TogetherAdapter | None = None,
    *,
    measured: Measured | None = None,
    asked_for: list[Inquiry] | None = None,
    now: Callable[[], datetime] = lambda: NOW,
) -> Together:
    observe = (lambda call: None) if measured is None else measured.append
    upstream = an_upstream(provider, observe=observe)

    def upstream_for(inquiry: Inquiry) -> Any:
        if asked_for is not None:
            asked_for.append(inquiry)
        return upstream

    return Together("cnpja", adapter or CnpjaAdapter("the-key"), upstream_for, now=now)


def odd(says: Mapping[str, Registrations] | None) -> Together:
    upstream = an_upstream(lambda request: httpx2.Response(200))
    return Together("odd", Odd(says), lambda _: upstream, now=lambda: NOW)


async def ask(source: Together, *inquiries: Inquiry) -> list[Answer]:
    return await asyncio.gather(*(source.ask(inquiry) for inquiry in inquiries))


async def ask_and_fail(source: Together, *inquiries: Inquiry) -> list[SourceError]:
    outcomes = await asyncio.gather(
        *(source.ask(inquiry) for inquiry in inquiries), return_exceptions=True
    )
    assert all(isinstance(outcome, SourceError) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, SourceError)]


def run(story: Coroutine[Any, Any, None]) -> None:
    """Run it; nothing may be left behind that complains when it is collected."""
    complaints: list[str] = []

    async def watched() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: complaints.append(context["message"]))
        await story
        gc.collect()

    asyncio.run(asyncio.wait_for(watched(), FOREVER / 2))
    gc.collect()
    assert complaints == []


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)
