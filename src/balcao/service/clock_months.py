"""Months of the sandbox, by the clock of a test portfolio (contract 20.8).

The sandbox has two. On the first days that a clock passes they follow each other in turn, for its
portfolio alone.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from balcao.core.month_comparison import Comparison, WatchedSubject
from balcao.core.portfolio_clock import PortfolioClock, day_after, month_after
from balcao.opendata.comparing import last_two, open_pair
from balcao.opendata.errors import OpenDataError
from balcao.opendata.snapshot import Snapshot, edition_of
from balcao.service.new_items import AT_ONCE
from balcao.storage.desk.wallet.clock_months import ClockMonths, MonthCounts, PassedMonth

_PAUSE_SECONDS = 0.005  # for lookups


@dataclass(slots=True)
class PassingMonths:
    """Compares a portfolio when its clock passes the first day of a month."""

    store: Path  # of the sandbox
    stored: ClockMonths
    steady: Callable[[], float] = time.monotonic

    async def compare(self, clock: PortfolioClock) -> None:
        """Compare all items, unless the clock is at no new month. Raises `StorageFailed`."""
        number = clock.new_month
        if number is None:
            return
        files = await asyncio.to_thread(last_two, self.store)
        if files is None:
            return  # there is no other month
        newest = files[-1]
        before, after = files if number % 2 == 0 else (newest, files[0])
        month = await asyncio.to_thread(_month, newest, after, number)
        if month is None:
            return
        began = self.steady()
        await self.stored.begin(clock, month)
        counts, position = MonthCounts(), ""
        while True:
            some = await self.stored.items(clock.account_id, position, AT_ONCE)
            outcomes = await asyncio.to_thread(_outcomes, before, after, some.subjects)
            await self.stored.write(clock, month, some.heads, outcomes)
            counts = counts.with_outcomes(outcomes)
            if some.until is None:
                break
            position = some.until
            await asyncio.sleep(_PAUSE_SECONDS)
        await self.stored.end(clock, month, counts, round((self.steady() - began) * 1000))


def _month(newest: Path, file: Path, number: int) -> PassedMonth | None:
    """Return the month so many after the newest one, with the data of a file."""
    edition = edition_of(newest.name)
    assert edition is not None, "the store names it"
    day = edition.extraction_date.isoformat()
    try:
        with closing(Snapshot.open(file)) as snapshot:
            rows = snapshot.info().rows
    except OpenDataError:
        return None
    return PassedMonth(
        month_after(day[:7], number), day_after(day, number), rows.get("Estabelecimentos", 0)
    )


def _outcomes(before: Path, after: Path, subjects: Sequence[WatchedSubject]) -> list[Comparison]:
    if not subjects:
        return []
    try:
        with open_pair(before, after) as pair:
            return list(pair.compare(subjects))
    except OpenDataError:
        return [Comparison(verified=False) for _ in subjects]
