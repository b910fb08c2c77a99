"""Purchases that portfolios make by themselves: instants, repetitions and stops (contract 20.4)."""

import zlib
from datetime import date
from typing import Final, Literal, TypeAlias

from balcao.core.calendar import HOUR_MS, day_starts_ms

StopReason: TypeAlias = Literal["teto", "saldo", "chave", "fonte"]

MINUTE_MS: Final = 60_000
_RETRIES_MS: Final = (20 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS)
_DAILY_MS = 24 * HOUR_MS

# Stored in place of an instant until it is computed.
UNPLANNED_MS: Final = 0


def retry_ms(attempts: int, now_ms: int) -> int:
    """Return when a lookup that has failed so many times is tried again."""
    return now_ms + (_RETRIES_MS[attempts - 1] if attempts <= len(_RETRIES_MS) else _DAILY_MS)


def slot_ms(owner: str, day: date, begins_ms: int, ends_ms: int) -> int:
    """Return an owner's own instant of a day in Brasília; the owners' are spread over the hours.

    `begins_ms`, `ends_ms`: these hours, from the day's first instant.
    """
    share = zlib.crc32(owner.encode()) * (ends_ms - begins_ms) >> 32
    return day_starts_ms(day) + begins_ms + share


def purchase_key(*parts: str | int) -> str:
    """Return the idempotency key of a purchase. No client can send it: it begins with a blank."""
    return f" carteira/{'/'.join(map(str, parts))}"
