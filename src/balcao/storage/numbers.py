"""Numbers of requests say when they were made.

They are UUIDs of version 7: the text begins with that millisecond, in hexadecimal, and sorts by it.
"""

from functools import lru_cache

from balcao.core.calendar import HOUR_MS

# A number is made a moment before its request is opened; a clock may be set in between. The schema
# enforces that no charged lookup is further from its number than this.
NUMBERED_BEFORE_MS_MAX = HOUR_MS

_LAST_MS = (1 << 48) - 1  # as many bits are there for it


@lru_cache(maxsize=1024)
def least_number(at_ms: int) -> str:
    """What sorts before all numbers made at this instant or later, and after all others."""
    digits = f"{min(max(at_ms, 0), _LAST_MS):012x}"
    return f"{digits[:8]}-{digits[8:]}"


def made_ms(number: str) -> int:
    """When a number was made."""
    return int(number[:8] + number[9:13], 16)


@lru_cache(maxsize=64)
def numbers_of_hour(hour: int) -> tuple[str, str]:
    """From where on and before what the numbers lie that were made in an hour (since 1970).

    A charged lookup is of the hour of its number, so a day begins at the same charged lookup by
    instants and by numbers (ADR 0062).
    """
    if not 0 <= hour < _LAST_MS // HOUR_MS:
        return "", ""  # no number says so
    return least_number(hour * HOUR_MS), least_number((hour + 1) * HOUR_MS)
