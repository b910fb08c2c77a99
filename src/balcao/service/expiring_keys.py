"""Events of keys that expire soon (contract 18.5)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec

from balcao.core.budgets import iso_instant
from balcao.core.events import NewEvent
from balcao.core.key_expiry import notice_due
from balcao.service.jobs.periodic import Periodic, warn_on_storage_failure
from balcao.storage.connection import SqlConnection
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.events import write_events
from balcao.storage.desk.queries import keys_with_expiry

EXPIRING = "chave.vence"
POLL_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class ExpiringKeys:
    """Writes the event of each key and threshold, once; several nodes may do so."""

    desk: Desk
    now_ms: Callable[[], int]

    async def poll(self) -> None:
        """Write the events that are due. Raises `StorageFailed`."""
        now_ms = self.now_ms()

        def work(connection: SqlConnection) -> None:
            with connection.transaction():
                write_events(connection, [*_due(connection, now_ms)])

        await self.desk.engine.run_in_writer(work)

    def periodic(self) -> Periodic:
        failed = warn_on_storage_failure("expiring_keys.failed")
        return Periodic("expiring_keys", self.poll, POLL_SECONDS, on_failure=failed)


def _due(connection: SqlConnection, now_ms: int) -> Iterator[NewEvent]:
    keys, _ = keys_with_expiry(connection)
    for key in keys:
        days = notice_due(key, now_ms)
        if days is None:
            continue
        cause = f"chave/{key.key_id}/{days}"
        known = "SELECT 1 FROM event WHERE account_id = ? AND cause = ?"
        if connection.execute(known, (key.account_id, cause)).fetchone() is None:
            data = {"chave": key.name, "vence_em": iso_instant(key.expires_ms), "dias": days}
            body = msgspec.json.encode(data).decode()
            yield NewEvent(key.account_id, EXPIRING, now_ms, body, cause)
