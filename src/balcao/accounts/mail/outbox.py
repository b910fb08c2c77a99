"""Messages for the queue: content is sealed, since it contains addresses and links."""

import hmac
import re
import secrets
from dataclasses import dataclass

import msgspec

from balcao.accounts.seal import MAIL_CONTENT, Seal
from balcao.core.addresses import one_time_link
from balcao.core.calendar import HOUR_MS
from balcao.core.mail import (
    MailContent,
    MailKind,
    MailText,
    Message,
    PasswordReset,
    invitation,
    recovery_code_used,
)
from balcao.core.people import User
from balcao.storage.desk.mail import NewMail

RESET_MINUTES = 60
_NOTICE_HOURS = 72
_ID_BYTES = 16

# The page that stops the notices of a portfolio, followed by a token.
UNSUBSCRIBE = "/app/avisos"
_MAIL_ID, _UNSUBSCRIBE = b"mail id", b"unsubscribe"
_TOKEN_DIGITS = 40
_TOKEN = re.compile(rf"([0-9]{{1,15}})-([0-9]{{1,15}})-[0-9a-f]{{{_TOKEN_DIGITS}}}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Outbox:
    """Makes messages to be stored in the commit of their cause. `address`: of the service."""

    seal: Seal
    address: str

    def message(
        self,
        kind: MailKind,
        to: str,
        text: MailText,
        now_ms: int,
        *,
        hours: int = _NOTICE_HOURS,
        mail_id: str | None = None,
    ) -> NewMail:
        """Return a message, which is not sent after so many hours. `mail_id`: None for a new."""
        return self._new(kind, Message(to, text), now_ms, now_ms + hours * HOUR_MS, mail_id)

    def stable_id(self, cause: str) -> str:
        """Return the identifier of the message with this cause, the same each time."""
        return self.seal.digest(_MAIL_ID, cause.encode()).hex()[: 2 * _ID_BYTES]

    def unsubscribe_address(self, account_id: int, user_id: int) -> str:
        """Return the address where a person stops the notices of an account's portfolio."""
        return f"{self.address}{UNSUBSCRIBE}/{unsubscribe_token(self.seal, account_id, user_id)}"

    def invitation(
        self, user: User, now_ms: int, hours: int, token: str, *, is_new: bool
    ) -> NewMail:
        """Return the message with the link for choosing a password."""
        text = invitation(user.name, one_time_link(self.address, token), hours, is_new=is_new)
        return self.message("invitation", user.email, text, now_ms, hours=hours)

    def recovery_code(self, user: User, now_ms: int, left: int) -> NewMail:
        """Return the notice that a recovery code was used."""
        text = recovery_code_used(user.name, left, self.address)
        return self.message("recovery_code", user.email, text, now_ms)

    def password_reset(self, email: str, now_ms: int) -> NewMail:
        """Return the request of somebody who typed this address, whether or not it is known."""
        until_ms = now_ms + RESET_MINUTES * HOUR_MS // 60
        return self._new("password_reset", PasswordReset(email), now_ms, until_ms)

    def open(self, sealed: bytes) -> MailContent | None:
        """Return the content. None: it was sealed with another installation's secret."""
        opened = self.seal.open(MAIL_CONTENT, sealed)
        return None if opened is None else msgspec.json.decode(opened, type=MailContent)

    def _new(
        self,
        kind: MailKind,
        content: MailContent,
        now_ms: int,
        expires_ms: int,
        mail_id: str | None = None,
    ) -> NewMail:
        sealed = self.seal.close(MAIL_CONTENT, msgspec.json.encode(content))
        number = mail_id or secrets.token_hex(_ID_BYTES)
        return NewMail(number, kind, sealed, now_ms, expires_ms)


def unsubscribe_token(seal: Seal, account_id: int, user_id: int) -> str:
    """Return the token by which a person stops an account's notices, without signing in."""
    cause = f"{account_id}-{user_id}"
    return f"{cause}-{seal.digest(_UNSUBSCRIBE, cause.encode()).hex()[:_TOKEN_DIGITS]}"


def unsubscribing(seal: Seal, token: str) -> tuple[int, int] | None:
    """Return the account and the person of a token; None: it is not one of ours."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        return None
    account_id, user_id = int(match[1]), int(match[2])
    ours = unsubscribe_token(seal, account_id, user_id)
    return (account_id, user_id) if hmac.compare_digest(ours, token) else None
