"""Daily totals, kept up to date beside the requests (ADR 0050)."""

from collections.abc import Callable
from dataclasses import dataclass

from balcao.service.jobs.periodic import Periodic, warning
from balcao.storage.desk.desk import Desk

FOLD_EVERY_SECONDS = 30.0
# Between two strokes of what there is to fold: lookups slip in.
PAUSE_SECONDS = 0.05
# What is younger is added up by who reads. A charge that comes later than this for its instant
# takes its day's totals back: a lookup lasts a minute or two, and clocks differ by less than one.
LAG_MS = 300_000


@dataclass(frozen=True, slots=True)
class Folding:
    """Folds what was charged into the daily totals, some at a time."""

    desk: Desk
    now_ms: Callable[[], int]

    def work(self) -> Periodic:
        """What is done now and then."""
        return Periodic("totals", self.fold, FOLD_EVERY_SECONDS, complain=warning("totals.failed"))

    async def fold(self) -> float | None:
        """A stroke of each account; the next one soon if there is more. Raises `StorageFailed`."""
        until_ms = await self.desk.surely_past(self.now_ms()) - LAG_MS
        return PAUSE_SECONDS if await self.desk.totals.fold(until_ms) else None
