"""Keys that expire soon (contract 7.2)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from balcao.core.access import Key
from balcao.core.calendar import civil_day
from balcao.core.freshness import DAY_MS

WITHIN_DAYS = 14
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
