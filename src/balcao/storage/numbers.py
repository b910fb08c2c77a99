"""Numbers of requests say when they were made.

They are UUIDs of version 7: the text begins with that millisecond, in hexadecimal, and sorts by it.
"""

from functools import lru_cache

from balcao.core.calendar import HOUR_MS

# A number is made a moment before its request is opened; a clock may be set in between.
NUMBERED_BEFORE_MS_MAX = HOUR_MS


_LAST_MS = (1 << 48) - 1  # as many bits are there for it


def least_number(at_ms: int) -> str:
    """What sorts before all numbers made at this instant or later, and after all others."""
    digits = f"{min(max(at_ms, 0), _LAST_MS):012x}"
    return f"{digits[:8]}-{digits[8:]}"


@lru_cache(maxsize=1024)
def numbers_near(at_ms: int) -> tuple[str, str]:
    """From where on and before what the numbers of requests lie that say about this instant.

    The schema holds visits to the same.
    """
    if not NUMBERED_BEFORE_MS_MAX <= at_ms <= _LAST_MS - NUMBERED_BEFORE_MS_MAX:
        return "", ""  # no number says so
    return (
        least_number(at_ms - NUMBERED_BEFORE_MS_MAX),
        least_number(at_ms + NUMBERED_BEFORE_MS_MAX),
    )
