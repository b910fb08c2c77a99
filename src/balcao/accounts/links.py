"""Tokens that are as good as a password, for sessions and one-time links: kept as digests only.

But of the link by which an operator at the machine signs in nothing is kept until it is used: it is
sealed, says itself whose it is and how long it is good, and its number is that of the deed (a form
is carried out once).
"""

import asyncio
import base64
import hashlib
import secrets

import msgspec

from balcao.accounts.seal import Seal
from balcao.core.calendar import HOUR_MS
from balcao.core.people import LinkPurpose, Signature
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.people import People

LINK_HOURS = 72
FIRST_OPERATOR_HOURS = 24  # it opens everything, to whoever has it
TOKEN_BYTES = 32
SIGN_IN_MINUTES = 5  # it needs no password
_MINUTE_MS = 60_000
_SIGN_IN = b"sign in from the terminal"
_PADDING = 4  # base64 comes in groups of so many


class SignInTicket(msgspec.Struct, frozen=True):
    """What a link says by which an operator signs in: once, as `number` is that of one deed."""

    user_id: int
    number: str
    expires_ms: int


def new_token() -> str:
    """A fresh token: 256 bits of chance, in characters that an address can hold."""
    return base64.urlsafe_b64encode(secrets.token_bytes(TOKEN_BYTES)).rstrip(b"=").decode()


def token_digest(token: str) -> bytes:
    """What is stored of a token. It needs no key: nobody guesses 256 bits."""
    return hashlib.blake2b(token.encode(), digest_size=32, person=b"balcao-token").digest()


async def make_link(
    people: People, purpose: LinkPurpose, user_id: int | None, signed: Signature, now_ms: int
) -> str:
    """Make a one-time link good for some hours: its token, which nobody keeps.

    Raises `FormDone`, `LookupError` for an unknown user, `StorageFailed`.
    """
    token = new_token()
    hours = FIRST_OPERATOR_HOURS if purpose == "first_operator" else LINK_HOURS
    await people.make_link(
        token_digest(token),
        purpose,
        user_id,
        signed=signed,
        now_ms=now_ms,
        expires_ms=now_ms + hours * HOUR_MS,
    )
    return token


def first_operator_link(desk: Desk, now_ms: int) -> str | None:
    """The token by which the first operator comes in; None: there is one already.

    For the start of a process: it runs an event loop of its own. Raises `StorageFailed`.
    """
    if desk.people.has_operator():
        return None
    signed = Signature("start")
    return asyncio.run(make_link(desk.people, "first_operator", None, signed, now_ms))


async def make_sign_in(
    seal: Seal, people: People, user_id: int, signed: Signature, now_ms: int
) -> str:
    """The token of a link by which this operator signs in without a password, within minutes.

    That it was made is in the log. Raises `LookupError` for an unknown user, `StorageFailed`.
    """
    ticket = SignInTicket(user_id, new_token(), now_ms + SIGN_IN_MINUTES * _MINUTE_MS)
    await people.note_sign_in_link(user_id, signed, now_ms)
    return seal.close(_SIGN_IN, msgspec.json.encode(ticket)).rstrip(b"=").decode()


def ticket_of(seal: Seal, token: str, now_ms: int) -> SignInTicket | None:
    """What is in such a link. None: it is none, or too old; whether it was used, the log knows."""
    opened = seal.open(_SIGN_IN, (token + "=" * (-len(token) % _PADDING)).encode())
    if opened is None:
        return None
    ticket = msgspec.json.decode(opened, type=SignInTicket)
    return ticket if now_ms < ticket.expires_ms else None
