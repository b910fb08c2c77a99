"""Registry data of items that are added to portfolios, and their changes since the month before."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from balcao.core.month_comparison import Comparison, MonthsRead, WatchedSubject
from balcao.core.questions import Mode
from balcao.opendata.comparing import read_new
from balcao.opendata.errors import OpenDataError

# More would keep the interpreter busy for too long: some hundred microseconds each.
AT_ONCE = 200
_PAUSE_SECONDS = 0.005  # for lookups


class NewItems:
    """Reads the months in use, of live and of test accounts."""

    def __init__(self, stores: Mapping[Mode, Path]) -> None:
        self._stores = stores

    async def read(
        self, mode: Mode, subjects: Sequence[WatchedSubject], *, retroactive: bool = False
    ) -> MonthsRead | None:
        """Return the outcome for each subject, whose `registry` is that of `wallet_item`.

        `retroactive`: with its changes since the month before. None: there is no month, or it is
        damaged.
        """
        read: MonthsRead | None = None
        outcomes: list[Comparison] = []
        for at in range(0, max(1, len(subjects)), AT_ONCE):
            if at:
                await asyncio.sleep(_PAUSE_SECONDS)
            some = subjects[at : at + AT_ONCE]
            work = partial(read_new, self._stores[mode], some, retroactive=retroactive)
            try:
                read = await asyncio.to_thread(work)
            except OpenDataError:
                return None
            if read is None:
                return None
            outcomes += read.outcomes
        return read and MonthsRead(read.month, read.base_date, outcomes)
