"""Keys that expire soon (contract 7.2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from balcao.core.access import Key
from balcao.core.calendar import civil_day
from balcao.core.freshness import DAY_MS

WITHIN_DAYS = 14
# Days before its end on which a key's event is written, the smallest first.
NOTICE_DAYS = (1, 3, WITHIN_DAYS)
# For people, wherever an expiring key is announced.
REPLACEMENT = "Crie uma chave nova, troque-a nos programas e depois revogue a antiga."


@dataclass(frozen=True, slots=True)
class ExpiringKey:
    """A key in force that expires within `WITHIN_DAYS`."""

    key: Key
    last_day: date  # on which it still works, in Brasília


def is_in_force(key: Key, now_ms: int) -> bool:
    """Return whether a key is neither revoked nor expired."""
    return key.revoked_ms is None and (key.expires_ms is None or key.expires_ms > now_ms)


def expiring(keys: Iterable[Key], now_ms: int) -> Sequence[ExpiringKey]:
    """Return the keys that expire soon, the next one first."""
    ending = sorted(
        (key.expires_ms, key.key_id, key)
        for key in keys
        if is_in_force(key, now_ms)
        and key.expires_ms is not None
        and key.expires_ms <= now_ms + WITHIN_DAYS * DAY_MS
    )
    return [ExpiringKey(key, civil_day(expires_ms - 1)) for expires_ms, _, key in ending]


def notice_due(key: Key, now_ms: int) -> int | None:
    """Return the threshold of a key's event, in days; None: none is due.

    Of several only the smallest. One that had passed when the key was created is not due.
    """
    if key.expires_ms is None or not is_in_force(key, now_ms):
        return None
    for days in NOTICE_DAYS:
        begins_ms = key.expires_ms - days * DAY_MS
        if begins_ms <= now_ms:
            return days if key.created_ms <= begins_ms else None
    return None
