"""Notices of portfolios by e-mail: daily digests, and messages at once (contract 20.9)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from balcao.accounts.mail.outbox import Outbox
from balcao.core.digest_texts import portfolio_mail
from balcao.core.digests import DueMail
from balcao.service.jobs.periodic import Periodic, warn_on_storage_failure
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.event_readers import Recipient
from balcao.storage.desk.mail import NewMail

log = structlog.get_logger()

EVERY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Digests:
    """Queues the notices of portfolios. Without a mail server it is not run: pages show them."""

    desk: Desk
    outbox: Outbox
    now_ms: Callable[[], int]

    def periodic(self) -> Periodic:
        """Return the check for messages that are due."""
        failed = warn_on_storage_failure("digests.failed")
        return Periodic("digests", self.run, EVERY_SECONDS, on_failure=failed)

    async def run(self) -> None:
        """Queue what is due now. Raises `StorageFailed`."""
        now, readers = self.now_ms(), self.desk.event_readers
        await readers.stop_others()

        def compose(recipient: Recipient, due: DueMail) -> NewMail:
            return self._message(recipient, due, now)

        counts = {"digest": 0, "urgent": 0}
        for account_id, user_id, notices in await asyncio.to_thread(readers.due, now):
            kind = await readers.send(account_id, user_id, notices, compose, now)
            if kind is not None:
                counts[kind] += 1
        if any(counts.values()):
            log.info("digests.queued", **counts)

    def _message(self, to: Recipient, due: DueMail, now_ms: int) -> NewMail:
        outbox = self.outbox
        unsubscribe = outbox.unsubscribe_address(to.account_id, to.user_id)
        text = portfolio_mail(to.account, due, outbox.address, unsubscribe)
        # Queued again, for example after a restore, it is the same message.
        last = due.position.digest_day if due.kind == "digest" else str(due.position.urgent)
        number = outbox.stable_id(f"{due.kind} {to.account_id} {to.user_id} {last}")
        return outbox.message(due.kind, to.email, text, now_ms, mail_id=number)
