"""Tokens for sessions and one-time links, as good as a password: only their digests are stored.

Exception: nothing is stored of the link by which an operator at the machine signs in, until it is
used. It is a sealed ticket with user, expiry and a number; the number identifies the sign-in form,
which can be submitted only once.
"""

import asyncio
import base64
import hashlib
import secrets
from collections.abc import Callable, Mapping

import msgspec

from balcao.accounts.seal import Seal
from balcao.core.calendar import HOUR_MS
from balcao.core.people import LinkPurpose, Signature
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.mail import NewMail
from balcao.storage.desk.people import People

LINK_HOURS = 72
FIRST_OPERATOR_HOURS = 24  # it grants everything to its bearer
_HOURS: Mapping[LinkPurpose, int] = {
    "set_password": LINK_HOURS,
    "reset_password": 1,  # anybody can request it
    "first_operator": FIRST_OPERATOR_HOURS,
}
TOKEN_BYTES = 32
SIGN_IN_MINUTES = 5  # it needs no password
_MINUTE_MS = 60_000
_SIGN_IN = b"sign in from the terminal"
_PADDING = 4  # base64 comes in groups of four characters


class SignInTicket(msgspec.Struct, frozen=True):
    """The content of an operator's sign-in link. `number` makes it usable only once."""

    user_id: int
    number: str
    expires_ms: int


def new_token() -> str:
    """Generate a token: 256 random bits, in characters that fit into an address."""
    return base64.urlsafe_b64encode(secrets.token_bytes(TOKEN_BYTES)).rstrip(b"=").decode()


def token_digest(token: str) -> bytes:
    """Return the stored digest of a token. It needs no key: 256 bits cannot be guessed."""
    return hashlib.blake2b(token.encode(), digest_size=32, person=b"balcao-token").digest()


async def make_link(
    people: People,
    purpose: LinkPurpose,
    user_id: int | None,
    signed: Signature,
    now_ms: int,
    *,
    compose: Callable[[str], NewMail] | None = None,
) -> str:
    """Make a one-time link valid for some hours. Returns its token, which is not stored.

    `compose` returns a message with this token, queued in the same commit. Raises `FormDone`,
    `LookupError` for an unknown user, `StorageFailed`.
    """
    token = new_token()
    await people.make_link(
        token_digest(token),
        purpose,
        user_id,
        signed=signed,
        now_ms=now_ms,
        expires_ms=now_ms + _HOURS[purpose] * HOUR_MS,
        message=None if compose is None else compose(token),
    )
    return token


def first_operator_link(desk: Desk, now_ms: int) -> str | None:
    """Return the token by which the first operator signs up; None: there is an operator already.

    For the start of a process: runs its own event loop. Raises `StorageFailed`.
    """
    if desk.people.has_operator():
        return None
    signed = Signature("start")
    return asyncio.run(make_link(desk.people, "first_operator", None, signed, now_ms))


async def make_sign_in(
    seal: Seal, people: People, user_id: int, signed: Signature, now_ms: int
) -> str:
    """Return the token of a link by which an operator signs in without a password, within minutes.

    It is recorded in the audit log. Raises `LookupError` for an unknown user, `StorageFailed`.
    """
    ticket = SignInTicket(user_id, new_token(), now_ms + SIGN_IN_MINUTES * _MINUTE_MS)
    await people.note_sign_in_link(user_id, signed, now_ms)
    return seal.close(_SIGN_IN, msgspec.json.encode(ticket)).rstrip(b"=").decode()


def open_ticket(seal: Seal, token: str, now_ms: int) -> SignInTicket | None:
    """Open a sign-in token. None: invalid or too old. Does not check whether it was used."""
    opened = seal.open(_SIGN_IN, (token + "=" * (-len(token) % _PADDING)).encode())
    if opened is None:
        return None
    ticket = msgspec.json.decode(opened, type=SignInTicket)
    return ticket if now_ms < ticket.expires_ms else None
