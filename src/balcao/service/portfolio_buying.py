"""All purchases that portfolios make by themselves: the background work of a process."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from balcao.core.access import Caller
from balcao.core.questions import Question
from balcao.lookup.wallet import SealedPerson
from balcao.observability.metrics import Metrics
from balcao.service.jobs.durable import JobKind
from balcao.service.jobs.periodic import Periodic
from balcao.service.purchasing import Purchasing
from balcao.service.rechecking import Rechecking
from balcao.service.renewing import Renewing


@dataclass(frozen=True, slots=True)
class PortfolioBuying:
    """Scheduled lookups and renewals, and the stops that they share."""

    purchasing: Purchasing
    rechecking: Rechecking
    renewing: Renewing

    @classmethod
    def of(
        cls,
        purchasing: Purchasing,
        unavailable: Callable[[Caller, Question], bool],
        open_person: Callable[[bytes], SealedPerson | None],
        metrics: Metrics,
    ) -> Self:
        """Return the purchases of a process."""
        return cls(
            purchasing,
            Rechecking(purchasing, unavailable, open_person, metrics.recheck),
            Renewing(purchasing, unavailable, open_person, metrics.renewal),
        )

    async def plan_one(self, account_id: int, now_ms: int) -> None:
        """Plan what a portfolio buys, by its own clock. Raises `StorageFailed`."""
        desk = self.purchasing.parts.desk
        await self.renewing.prepare(now_ms)
        await desk.rechecks.plan(now_ms, account_id)
        await desk.renewals.plan(now_ms, self.renewing.reissues, account_id)

    def jobs(self) -> Sequence[JobKind]:
        """Return the kinds of its jobs."""
        return (self.rechecking.jobs(), self.renewing.jobs())

    def periodic_tasks(self) -> Sequence[Periodic]:
        """Return the periodic work."""
        return (
            self.purchasing.periodic(),
            self.rechecking.periodic(),
            self.renewing.periodic(),
        )
