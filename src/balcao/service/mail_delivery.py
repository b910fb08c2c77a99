"""Background work of e-mail: the jobs that send messages, and the check of low balances."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from email.errors import MessageError
from email.message import EmailMessage

import structlog

from balcao.accounts.links import make_link
from balcao.accounts.mail.outbox import RESET_MINUTES, Outbox
from balcao.accounts.mail.rendering import mime_message
from balcao.accounts.mail.sending import MailDelayed, MailRefused, send
from balcao.core.addresses import one_time_link
from balcao.core.mail import (
    MailContent,
    MailServer,
    Message,
    PasswordReset,
    low_balance,
    password_reset,
    retry_seconds,
)
from balcao.core.people import Signature, normal_email
from balcao.service.digests import Digests
from balcao.service.jobs.durable import JobKind
from balcao.service.jobs.periodic import Periodic, warn_on_storage_failure
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.mail import SEND_MAIL, LowBalance, NewMail

log = structlog.get_logger()

AT_ONCE = 4
LOW_BALANCE_SECONDS = 60.0
# "Mailbox name not allowed": forms accept addresses such as `a..b@c.de`, which no message can have.
_NO_MAILBOX = 553

Send = Callable[[MailServer, EmailMessage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class MailDelivery:
    """Sends queued messages. `server` is None while none is configured: then messages expire."""

    desk: Desk
    outbox: Outbox
    server: MailServer | None
    now_ms: Callable[[], int]
    send: Send = send

    def jobs(self) -> JobKind:
        """Return the kind of jobs that send one message each."""
        return JobKind(SEND_MAIL, self.deliver, at_once=AT_ONCE)

    def periodic_tasks(self) -> list[Periodic]:
        """Return the checks of balances and of digests; these only if there is a server."""
        failed = warn_on_storage_failure("low_balance.failed")
        work = Periodic("low_balance", self.notify, LOW_BALANCE_SECONDS, on_failure=failed)
        digests = Digests(self.desk, self.outbox, self.now_ms).periodic()
        return [work] if self.server is None else [work, digests]

    async def deliver(self, mail_id: str) -> float | None:
        """Send a message, drop it, or return the seconds until the next attempt.

        If this process dies after the server has accepted it, it is sent again with the same
        Message-ID.
        """
        queue = self.desk.mail
        queued = await queue.find(mail_id)
        if queued is None or queued.content is None:
            return None
        if self.now_ms() >= queued.expires_ms:
            log.warning("mail.expired", kind=queued.kind)
            await queue.remove(mail_id)
            return None
        try:
            if self.server is None:  # before the link of a reset is made
                raise MailDelayed("no server")
            content = self.outbox.open(queued.content)
            message = None if content is None else await self._message(content)
            if message is None:
                await queue.remove(mail_id)
                return None
            sender, to = self.server.sender, message.to
            try:
                mime = mime_message(mail_id, sender, to, message.text, queued.queued_ms)
            except (ValueError, MessageError):
                raise MailRefused(_NO_MAILBOX) from None
            await self.send(self.server, mime)
        except MailRefused as error:
            log.warning("mail.refused", kind=queued.kind, code=error.code)
            await queue.refuse(mail_id, error.code)
        except MailDelayed as error:
            attempts = await queue.count_attempt(mail_id)
            log.warning("mail.delayed", kind=queued.kind, reason=error.reason, attempts=attempts)
            return retry_seconds(attempts)
        else:
            log.info("mail.sent", kind=queued.kind)
            await queue.remove(mail_id)
        return None

    async def _message(self, content: MailContent) -> Message | None:
        """Return the message to send. None: nobody has the address of a password reset."""
        if isinstance(content, Message):
            return content
        return await self._password_reset(content)

    async def _password_reset(self, request: PasswordReset) -> Message | None:
        """Make the link of a reset: only here, so that a request takes as long for any address."""
        people = self.desk.people
        known = people.credentials(normal_email(request.email))
        if known is None:
            return None
        user = known.user
        token = await make_link(
            people, "reset_password", user.user_id, Signature("web"), self.now_ms()
        )
        link = one_time_link(self.outbox.address, token)
        return Message(user.email, password_reset(user.name, link, RESET_MINUTES))

    async def notify(self) -> None:
        """Notify the accounts whose balance has become low. Raises `StorageFailed`.

        Without a server only their events are written.
        """
        now = self.now_ms()

        def compose(low: LowBalance) -> Iterator[NewMail]:
            for email in low.emails if self.server is not None else ():
                text = low_balance(low.account, low.available, low.threshold, self.outbox.address)
                yield self.outbox.message("low_balance", email, text, now)

        count = await self.desk.mail.notify_low_balances(compose, now)
        if count:
            log.info("low_balance.noticed", accounts=count)
