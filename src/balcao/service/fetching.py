"""Fetching months by itself: what a run is given, and when the service has one done."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import structlog

from balcao.core.calendar import HOUR_MS, civil_day, to_ms
from balcao.home import Home
from balcao.opendata.current import CurrentSnapshot
from balcao.opendata.errors import FetchRunning
from balcao.opendata.fetching.hours import MINUTES, begins_at_ms
from balcao.opendata.fetching.line import open_client
from balcao.opendata.fetching.state import read_state
from balcao.opendata.fetching.story import FetchSite
from balcao.service.apart import run_apart
from balcao.service.jobs.periodic import Periodic
from balcao.settings import Settings
from balcao.storage.places import place_of

log = structlog.get_logger()

FIRST_SECONDS = 90.0
LOOK_SECONDS_MAX = 600.0

# After a run that ended without saying how: it was killed, or another node was at work.
AGAIN_MS = HOUR_MS


def fetch_site(settings: Settings, now_ms: Callable[[], int]) -> FetchSite:
    """Where months are fetched from and to, by the settings."""
    return FetchSite(
        Home(settings.home).opendata("live"),
        [settings.opendata_url] if settings.opendata_url else settings.opendata_shares,
        partial(open_client, settings.opendata_contact),
        now_ms,
        keep_zips=settings.opendata_keep_zips,
    )


@contextmanager
def alone_among_nodes(settings: Settings) -> Iterator[None]:
    """Be the only node that downloads. Raises `FetchRunning`, `StorageFailed`."""
    fetcher = place_of(settings).fetcher()
    if not fetcher.is_ours():
        raise FetchRunning("outro nó está baixando o mês")
    try:
        yield
    finally:
        fetcher.close()


@dataclass(slots=True)
class MonthFetching:
    """Has `balcao opendata fetch` done when it is time to (`begins_at_ms`)."""

    store: Path
    now_ms: Callable[[], int]
    chance: Callable[[int], int]  # a number below this one
    _minute: int | None = field(default=None)  # of the night that comes
    _not_before_ms: int = 0

    def work(self) -> Periodic:
        """For the runner."""
        return Periodic("fetch", self.look, LOOK_SECONDS_MAX, FIRST_SECONDS)

    async def look(self) -> float:
        """Have a month looked for if it is time to. In how many seconds to come back."""
        state = await asyncio.to_thread(read_state, self.store)
        if state is not None and state.running:  # by hand
            return LOOK_SECONDS_MAX
        if self._minute is None:
            self._minute = self.chance(MINUTES)
        now = self.now_ms()
        last = None if state is None else state.last_look
        begins_ms = max(begins_at_ms(now, self._minute, last), self._not_before_ms)
        if begins_ms <= now:
            self._minute = None
            await self._run(now)
            return LOOK_SECONDS_MAX
        return min((begins_ms - now) / 1000, LOOK_SECONDS_MAX)

    async def _run(self, began_ms: int) -> None:
        code, detail = await run_apart("opendata", "fetch", "--background")
        state = await asyncio.to_thread(read_state, self.store)
        ended = state is not None and not state.interrupted and to_ms(state.updated_at) >= began_ms
        if not ended:
            self._not_before_ms = self.now_ms() + AGAIN_MS
        if code != 0:
            log.warning("fetch.failed", detail=detail)
        elif state is not None:
            log.info("fetch.looked", state=state.standing, month=state.month)


@dataclass(frozen=True, slots=True)
class MonthMeasured:
    """The month in use and what comes, for the measurements."""

    snapshot: CurrentSnapshot
    store: Path
    now_ms: Callable[[], int]

    def __call__(self) -> tuple[int | None, tuple[str, int, int] | None]:
        """The age in days (None: nothing is in use), and how far fetching is (None: never begun):
        its state, bytes done and bytes in all. Reads one small file.
        """
        state = read_state(self.store)
        told = None if state is None else (state.standing, state.bytes_done, state.bytes_total)
        extraction = self.snapshot.extraction_date
        days = None if extraction is None else (civil_day(self.now_ms()) - extraction).days
        return days, told
