"""The sandbox by the clocks of test portfolios: sources of their own, without a cache.

So what a portfolio asks there is never the answer of another instant, and changes nothing for other
lookups.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from balcao.core.data_subject import DataSubject
from balcao.core.freshness import CacheEntry
from balcao.core.portfolio_clock import PortfolioClock
from balcao.lookup.context import Environment, PortfolioTime
from balcao.service.provider_factory import ProviderFactory, SandboxClock, sandboxed
from balcao.storage.contract import Cache, PersonEntry, SweepResult
from balcao.storage.desk.wallet.clock import PortfolioClocks

KEPT_MAX = 8  # portfolios


class NoCache(Cache):
    """A cache that keeps nothing."""

    async def read(self, keys: Sequence[str]) -> Mapping[str, CacheEntry]:
        return {}

    def read_nowait(self, keys: Sequence[str]) -> Mapping[str, CacheEntry] | None:
        return {}

    def keep(self, entries: Sequence[tuple[str, CacheEntry]]) -> None:
        pass

    async def sweep(self, before_ms: int, people_before_ms: int) -> SweepResult:
        return SweepResult(0, 0, over=True)

    async def entries_about(self, person: DataSubject) -> Sequence[PersonEntry]:
        return ()

    async def erase(self, person: DataSubject) -> int:
        return 0

    def forget(self) -> None:
        pass

    def close(self) -> None:
        pass


class PortfolioSandboxes:
    """The environments of portfolios with a clock, made when they are first needed."""

    def __init__(self, factory: ProviderFactory, clocks: PortfolioClocks) -> None:
        self._factory = factory
        self._clocks = clocks
        self._settings = sandboxed(factory.settings)
        self._kept: OrderedDict[tuple[int, int], tuple[SandboxClock, Environment]] = OrderedDict()

    def time_of(self, clock: PortfolioClock) -> PortfolioTime:
        """Return the instant of a clock, for the lookups of its portfolio."""
        key = clock.account_id, clock.run
        if key not in self._kept:
            self._kept[key] = self._opened(clock)
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        shown, environment = self._kept[key]
        shown.at_ms = clock.now_ms
        return PortfolioTime(clock.now_ms, clock.run, environment)

    async def clock_of(self, account_id: int) -> PortfolioTime | None:
        """Return the instant of an account's clock; None: the real time. Raises `StorageFailed`."""
        clock = await self._clocks.find(account_id)
        return None if clock is None else self.time_of(clock)

    def _opened(self, clock: PortfolioClock) -> tuple[SandboxClock, Environment]:
        shown, cache = SandboxClock(clock.first_day, clock.now_ms), NoCache()
        sources = self._factory.sources("test", self._settings, cache, shown)
        return shown, Environment(cache, sources, self._factory.snapshots["test"])
