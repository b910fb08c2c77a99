"""Tokens that are as good as a password, for sessions and one-time links: kept as digests only."""

import asyncio
import base64
import hashlib
import secrets

from balcao.core.calendar import HOUR_MS
from balcao.core.people import LinkPurpose, Signature
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.people import People

LINK_HOURS = 72
FIRST_OPERATOR_HOURS = 24  # it opens everything, to whoever has it
TOKEN_BYTES = 32


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
