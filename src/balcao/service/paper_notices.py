"""Notices of certificates that expire, and of those that have expired (contract 20.6)."""

from collections.abc import Callable
from dataclasses import dataclass

from balcao.service.jobs.periodic import Periodic, warn_on_storage_failure
from balcao.storage.desk.desk import Desk

# Often enough that a day's notices are written before the first digest and the first purchase.
POLL_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class ExpiringPapers:
    """Writes each notice once; several nodes may do so."""

    desk: Desk
    now_ms: Callable[[], int]

    def periodic(self) -> Periodic:
        """Return the periodic work that writes notices."""
        failed = warn_on_storage_failure("paper_notices.failed")
        return Periodic("paper_notices", self.run, POLL_SECONDS, on_failure=failed)

    async def run(self) -> None:
        """Write what is due, of all accounts in real time. Raises `StorageFailed`."""
        now_ms = self.now_ms()
        for account_id in await self.desk.paper_notices.accounts(now_ms):
            await self.run_account(account_id, now_ms)

    async def run_account(self, account_id: int, now_ms: int) -> None:
        """Write what is due of an account, by its portfolio's clock. Raises `StorageFailed`."""
        while await self.desk.paper_notices.write(account_id, now_ms):
            pass
