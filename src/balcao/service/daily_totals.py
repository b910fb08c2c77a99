"""Background updates of the daily totals (ADR 0050)."""

from collections.abc import Callable
from dataclasses import dataclass

from balcao.service.jobs.periodic import Periodic, warn_on_storage_failure
from balcao.storage.desk.desk import Desk

FOLD_EVERY_SECONDS = 30.0
# Between two time slices, for lookups.
PAUSE_SECONDS = 0.05
# Newer charges are added up by readers. A charge that is later than this resets its day's totals:
# a lookup lasts a minute or two, and clocks differ by less than one.
LAG_MS = 300_000


@dataclass(frozen=True, slots=True)
class TotalsUpdater:
    """Adds charges to the daily totals, in time slices."""

    desk: Desk
    now_ms: Callable[[], int]

    def periodic(self) -> Periodic:
        return Periodic(
            "totals",
            self.fold,
            FOLD_EVERY_SECONDS,
            on_failure=warn_on_storage_failure("totals.failed"),
        )

    async def fold(self) -> float | None:
        """Do a time slice; return a short pause if there is more. Raises `StorageFailed`."""
        until_ms = await self.desk.safe_past(self.now_ms()) - LAG_MS
        return PAUSE_SECONDS if await self.desk.totals.fold(until_ms) else None
