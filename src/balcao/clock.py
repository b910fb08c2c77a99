"""The one place that asks what time it is. Everybody else is told."""

import time


def system_now_ms() -> int:
    """The system's clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000
