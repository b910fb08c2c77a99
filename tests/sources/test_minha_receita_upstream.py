"""Minha Receita over HTTP: what a 404 is worth, and how often the day of its data is asked for."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from balcao.core.company import DatedCompany
from balcao.core.errors import SourceError, SourceUnavailable
from balcao.providers.minha_receita.adapter import UPDATED, MinhaReceitaAdapter, day_of_data
from balcao.sources.contract import Absent, Answer, Found
from balcao.sources.online import Online
from balcao.sources.remembering import KEEP_SECONDS, RETRY_SECONDS, Remembering
from tests.sources.adapters import CNPJ, NOW, Clock, an_inquiry, an_upstream
from tests.sources.test_minha_receita import SAVED

KNOWN = "/33683111000280"


class Provider:
    """Somebody who speaks that form; what each path says can be changed as the story goes on."""

    def __init__(self, *, timeout_seconds: float = 60) -> None:
        self.asked: Counter[str] = Counter()
        self.says: dict[str, Callable[[], Any]] = {
            f"/{CNPJ}": lambda: httpx2.Response(200, json=json.loads(SAVED)),
            KNOWN: lambda: httpx2.Response(200, json=json.loads(SAVED) | {"cnpj": KNOWN[1:]}),
            UPDATED: lambda: httpx2.Response(200, json={"message": "2026-08-08"}),
        }
        self.clock = Clock()
        self._upstream = an_upstream(
            self._answer, base_url="http://mr.test", timeout_seconds=timeout_seconds
        )
        self._layer = Remembering(
            UPDATED, usable=lambda reply: day_of_data(reply) is not None, clock=self.clock
        )

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        self.asked[path] += 1
        said = self.says.get(path, lambda: httpx2.Response(404, json={"message": "x"}))()
        if said is None:
            await asyncio.Event().wait()
        if isinstance(said, Exception):
            raise said
        assert isinstance(said, httpx2.Response)
        return said

    async def ask(self) -> Answer:
        source = Online(
            "minha_receita",
            MinhaReceitaAdapter(),
            lambda _: self._upstream,
            now=lambda: NOW,
            through=self._layer,
        )
        return await source.ask(an_inquiry())

    async def day(self) -> str | None:
        answer = await self.ask()
        assert isinstance(answer, Found)
        assert isinstance(answer.record, DatedCompany)
        assert answer.as_of == NOW  # of the cache: when the source was asked
        return answer.record.data_base


def not_found() -> httpx2.Response:
    return httpx2.Response(404, json={"message": "CNPJ não encontrado."})


def test_a_company_that_is_not_there_is_told_from_a_database_that_is_down() -> None:
    provider = Provider()
    provider.says[f"/{CNPJ}"] = not_found
    answer = asyncio.run(provider.ask())
    assert answer == Absent("minha_receita", conclusive=True, so_far=True)
    assert provider.asked == {UPDATED: 1, f"/{CNPJ}": 1, KNOWN: 1}


@pytest.mark.parametrize(
    "known",
    [
        not_found,
        lambda: httpx2.Response(500),
        lambda: httpx2.Response(502),
        lambda: httpx2.ReadError("cut"),
        lambda: httpx2.ConnectError("gone"),
        lambda: None,  # never answers
    ],
)
def test_a_404_of_who_does_not_find_a_known_company_is_unavailable(
    known: Callable[[], Any],
) -> None:
    provider = Provider(timeout_seconds=0.5)
    provider.says = {KNOWN: known}
    with pytest.raises(SourceError) as caught:
        asyncio.run(provider.ask())
    assert type(caught.value) is SourceUnavailable
    assert "inexistência não confirmada" in caught.value.detail
    assert CNPJ not in caught.value.detail


def test_the_day_of_the_data_is_asked_for_once_in_a_while() -> None:
    provider = Provider()

    async def story() -> None:
        assert await asyncio.gather(*(provider.day() for _ in range(20))) == ["2026-08-08"] * 20
        assert provider.asked == {UPDATED: 1, f"/{CNPJ}": 20}

        provider.says[UPDATED] = lambda: httpx2.Response(200, json={"message": "2026-09-12"})
        provider.clock.now += KEEP_SECONDS - 1
        assert await provider.day() == "2026-08-08"
        provider.clock.now += 1
        assert await provider.day() == "2026-09-12"
        assert provider.asked[UPDATED] == 2

    asyncio.run(story())


def test_while_the_day_cannot_be_asked_for_the_last_one_is_said() -> None:
    provider = Provider()

    async def story() -> None:
        assert await provider.day() == "2026-08-08"
        provider.says[UPDATED] = lambda: httpx2.Response(500)
        provider.clock.now += KEEP_SECONDS
        for _ in range(3):
            assert await provider.day() == "2026-08-08"
        assert provider.asked[UPDATED] == 2

    asyncio.run(story())


@pytest.mark.parametrize(
    "fails",
    [
        lambda: httpx2.Response(404),
        lambda: httpx2.Response(200, text="<html>"),
        lambda: httpx2.ReadError("cut"),
        lambda: httpx2.PoolTimeout("all busy"),
    ],
)
def test_a_day_that_was_never_told_is_tried_again_once_in_a_minute(
    fails: Callable[[], Any],
) -> None:
    provider = Provider()
    good = provider.says[UPDATED]
    provider.says[UPDATED] = fails

    async def story() -> None:
        for _ in range(3):
            assert await provider.day() is None
        assert provider.asked[UPDATED] == 1
        provider.says[UPDATED] = good
        provider.clock.now += RETRY_SECONDS
        assert await provider.day() == "2026-08-08"

    asyncio.run(story())


def test_a_day_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("balcao.sources.remembering.PATIENCE_SECONDS", 0.01)
    provider = Provider(timeout_seconds=0.5)
    provider.says[UPDATED] = lambda: None
    assert asyncio.run(provider.day()) is None
