"""Request numbers and the time they contain.

They are UUIDs of version 7: the text begins with the millisecond of creation in hexadecimal, and
so sorts by time.
"""

from functools import lru_cache

from balcao.core.calendar import HOUR_MS

# A number is made shortly before its request is opened, and the clock may be set in between. The
# schema enforces that no charged lookup is further from its number than this.
NUMBERED_BEFORE_MS_MAX = HOUR_MS

_LAST_MS = (1 << 48) - 1  # a UUID has 48 bits for it


@lru_cache(maxsize=1024)
def least_number(at_ms: int) -> str:
    """Return the text that sorts just before all numbers made at this instant or later."""
    digits = f"{min(max(at_ms, 0), _LAST_MS):012x}"
    return f"{digits[:8]}-{digits[8:]}"


def made_ms(number: str) -> int:
    """Return the instant at which a number was made."""
    return int(number[:8] + number[9:13], 16)


@lru_cache(maxsize=64)
def numbers_of_hour(hour: int) -> tuple[str, str]:
    """Return the range [first, end) of the numbers that were made in an hour (since 1970).

    A charged lookup belongs to the hour of its number, so a day has the same charged lookups by
    instants and by numbers (ADR 0062).
    """
    if not 0 <= hour < _LAST_MS // HOUR_MS:
        return "", ""  # no number can be of this hour
    return least_number(hour * HOUR_MS), least_number((hour + 1) * HOUR_MS)
