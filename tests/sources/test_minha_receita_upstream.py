"""Minha Receita over HTTP: confirmation of a 404, and caching of the date of the data."""

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
from balcao.sources.online import AdapterSource
from balcao.sources.reply_cache import KEEP_SECONDS, RETRY_SECONDS, ReplyCache
from tests.sources.adapters import CNPJ, NOW, Clock, an_inquiry, an_upstream
from tests.sources.test_minha_receita import SAVED

KNOWN = "/33683111000280"


class Provider:
    """A service in that format; tests change its replies by path."""

    def __init__(self, *, timeout_seconds: float = 60) -> None:
        self.asked: Counter[str] = Counter()
        self.replies: dict[str, Callable[[], Any]] = {
            f"/{CNPJ}": lambda: httpx2.Response(200, json=json.loads(SAVED)),
            KNOWN: lambda: httpx2.Response(200, json=json.loads(SAVED) | {"cnpj": KNOWN[1:]}),
            UPDATED: lambda: httpx2.Response(200, json={"message": "2026-08-08"}),
        }
        self.clock = Clock()
        self._upstream = an_upstream(
            self._answer, base_url="http://mr.test", timeout_seconds=timeout_seconds
        )
        self._layer = ReplyCache(
            UPDATED,
            is_usable=lambda reply: day_of_data(reply) is not None,
            clock=self.clock,
        )

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        self.asked[path] += 1
        result = self.replies.get(path, lambda: httpx2.Response(404, json={"message": "x"}))()
        if result is None:
            await asyncio.Event().wait()
        if isinstance(result, Exception):
            raise result
        assert isinstance(result, httpx2.Response)
        return result

    async def ask(self) -> Answer:
        source = AdapterSource(
            "minha_receita",
            MinhaReceitaAdapter(),
            lambda _: self._upstream,
            now=lambda: NOW,
            layer=self._layer,
        )
        return await source.ask(an_inquiry())

    async def day(self) -> str | None:
        answer = await self.ask()
        assert isinstance(answer, Found)
        assert isinstance(answer.record, DatedCompany)
        assert answer.as_of == NOW  # when the source was asked
        return answer.record.data_base


def not_found() -> httpx2.Response:
    return httpx2.Response(404, json={"message": "CNPJ não encontrado."})


def test_absent_company_differs_from_a_database_failure() -> None:
    provider = Provider()
    provider.replies[f"/{CNPJ}"] = not_found
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
def test_unconfirmed_404_is_unavailable(
    known: Callable[[], Any],
) -> None:
    provider = Provider(timeout_seconds=0.5)
    provider.replies = {KNOWN: known}
    with pytest.raises(SourceError) as caught:
        asyncio.run(provider.ask())
    assert type(caught.value) is SourceUnavailable
    assert "inexistência não confirmada" in caught.value.detail
    assert CNPJ not in caught.value.detail


def test_day_of_the_data_is_cached() -> None:
    provider = Provider()

    async def scenario() -> None:
        assert await asyncio.gather(*(provider.day() for _ in range(20))) == ["2026-08-08"] * 20
        assert provider.asked == {UPDATED: 1, f"/{CNPJ}": 20}

        provider.replies[UPDATED] = lambda: httpx2.Response(200, json={"message": "2026-09-12"})
        provider.clock.now += KEEP_SECONDS - 1
        assert await provider.day() == "2026-08-08"
        provider.clock.now += 1
        assert await provider.day() == "2026-09-12"
        assert provider.asked[UPDATED] == 2

    asyncio.run(scenario())


def test_last_day_is_used_while_fetches_fail() -> None:
    provider = Provider()

    async def scenario() -> None:
        assert await provider.day() == "2026-08-08"
        provider.replies[UPDATED] = lambda: httpx2.Response(500)
        provider.clock.now += KEEP_SECONDS
        for _ in range(3):
            assert await provider.day() == "2026-08-08"
        assert provider.asked[UPDATED] == 2

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "fails",
    [
        lambda: httpx2.Response(404),
        lambda: httpx2.Response(200, text="<html>"),
        lambda: httpx2.ReadError("cut"),
        lambda: httpx2.PoolTimeout("all busy"),
    ],
)
def test_missing_day_is_fetched_again_after_a_minute(
    fails: Callable[[], Any],
) -> None:
    provider = Provider()
    good = provider.replies[UPDATED]
    provider.replies[UPDATED] = fails

    async def scenario() -> None:
        for _ in range(3):
            assert await provider.day() is None
        assert provider.asked[UPDATED] == 1
        provider.replies[UPDATED] = good
        provider.clock.now += RETRY_SECONDS
        assert await provider.day() == "2026-08-08"

    asyncio.run(scenario())


def test_fetch_of_the_day_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("balcao.sources.reply_cache.FETCH_SECONDS_MAX", 0.01)
    provider = Provider(timeout_seconds=0.5)
    provider.replies[UPDATED] = lambda: None
    assert asyncio.run(provider.day()) is None
