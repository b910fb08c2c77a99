"""Automatic fetching of months: the context of a run, and its schedule in the service."""

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
from balcao.opendata.fetching.schedule import MINUTES, next_run_ms
from balcao.opendata.fetching.share_client import open_client
from balcao.opendata.fetching.state import read_state
from balcao.opendata.fetching.story import FetchContext
from balcao.service.command_process import run_command
from balcao.service.jobs.periodic import Periodic
from balcao.settings import Settings
from balcao.storage.places import place_of

log = structlog.get_logger()

FIRST_SECONDS = 90.0
POLL_SECONDS_MAX = 600.0

# Delay after a run without a result: it was killed, or another node was fetching.
RETRY_MS = HOUR_MS


def fetch_context(settings: Settings, now_ms: Callable[[], int]) -> FetchContext:
    """Return the addresses and folders of a run, by the settings."""
    return FetchContext(
        Home(settings.home).opendata("live"),
        [settings.opendata_url] if settings.opendata_url else settings.opendata_shares,
        partial(open_client, settings.opendata_contact),
        now_ms,
        keep_zips=settings.opendata_keep_zips,
    )


@contextmanager
def alone_among_nodes(settings: Settings) -> Iterator[None]:
    """Hold the lock of the only node that downloads. Raises `FetchRunning`, `StorageFailed`."""
    lock = place_of(settings).fetch_lock()
    if not lock.try_acquire():
        raise FetchRunning("outro nó está baixando o mês")
    try:
        yield
    finally:
        lock.close()


@dataclass(slots=True)
class MonthFetching:
    """Runs `balcao opendata fetch` when it is due (`next_run_ms`)."""

    store: Path
    now_ms: Callable[[], int]
    random_below: Callable[[int], int]
    _minute: int | None = field(default=None)  # of the coming night
    _not_before_ms: int = 0

    def periodic(self) -> Periodic:
        return Periodic("fetch", self.poll, POLL_SECONDS_MAX, FIRST_SECONDS)

    async def poll(self) -> float:
        """Run the command if it is due. Return the seconds until the next check."""
        state = await asyncio.to_thread(read_state, self.store)
        if state is not None and state.running:  # started by a person
            return POLL_SECONDS_MAX
        if self._minute is None:
            self._minute = self.random_below(MINUTES)
        now = self.now_ms()
        last = None if state is None else state.last_run
        begins_ms = max(next_run_ms(now, self._minute, last), self._not_before_ms)
        if begins_ms <= now:
            self._minute = None
            await self._run(now)
            return POLL_SECONDS_MAX
        return min((begins_ms - now) / 1000, POLL_SECONDS_MAX)

    async def _run(self, began_ms: int) -> None:
        code, detail = await run_command("opendata", "fetch", "--background")
        state = await asyncio.to_thread(read_state, self.store)
        ended = state is not None and not state.interrupted and to_ms(state.updated_at) >= began_ms
        if not ended:
            self._not_before_ms = self.now_ms() + RETRY_MS
        if code != 0:
            log.warning("fetch.failed", detail=detail)
        elif state is not None:
            log.info("fetch.looked", state=state.standing, month=state.month)


@dataclass(frozen=True, slots=True)
class MonthMeasured:
    """Measurements of the month in use and of the fetching of the next."""

    snapshot: CurrentSnapshot
    store: Path
    now_ms: Callable[[], int]

    def __call__(self) -> tuple[int | None, tuple[str, int, int] | None]:
        """Return the month's age in days (None: none is in use) and the fetching's state, bytes
        done and bytes in all (None: never begun). Reads one small file.
        """
        state = read_state(self.store)
        progress = None if state is None else (state.standing, state.bytes_done, state.bytes_total)
        extraction = self.snapshot.extraction_date
        days = None if extraction is None else (civil_day(self.now_ms()) - extraction).days
        return days, progress
