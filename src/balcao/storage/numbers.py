"""Numbers of requests say when they were made.

They are UUIDs of version 7: the text begins with that millisecond, in hexadecimal, and sorts by it.
"""

from balcao.core.calendar import HOUR_MS

# A number is made a moment before its request is opened; a clock may be set in between.
NUMBERED_BEFORE_MS_MAX = HOUR_MS


def least_number(at_ms: int) -> str:
    """What sorts before all numbers made at this instant or later, and after all others."""
    digits = f"{max(at_ms, 0):012x}"
    return f"{digits[:8]}-{digits[8:]}"
