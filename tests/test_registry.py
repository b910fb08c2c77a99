"""Uncharged use of the company registry ends with the lookup that needs it."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from balcao.core.documents import Cnpj
from balcao.core.freshness import CacheEntry
from balcao.lookup.registry import CompanyRegistry
from balcao.sources.router import SourceRouter
from tests.sources.adapters import CNPJ, FakeOnline

FOREVER = 60.0  # of these tests: nothing waits for it


class EmptyCache:
    async def read(self, keys: Sequence[str]) -> Mapping[str, CacheEntry]:
        return {}


@pytest.mark.parametrize("asking", ["find_home_uf", "find_denial"])
def test_a_hanging_registry_is_abandoned_with_the_lookup(asking: str) -> None:
    async def scenario() -> None:
        hangs = FakeOnline(delay_seconds=FOREVER)
        registry = CompanyRegistry(EmptyCache(), SourceRouter({"company": [hangs]}), None)  # type: ignore[arg-type]
        until = asyncio.get_running_loop().time() + 0.05
        if asking == "find_home_uf":
            assert await registry.find_home_uf(Cnpj(CNPJ), ["SP"], until) is None
        else:
            assert await registry.find_denial(Cnpj(CNPJ), until) is None
        assert (hangs.asked, hangs.finished) == (1, 0)

    asyncio.run(asyncio.wait_for(scenario(), FOREVER / 2))
