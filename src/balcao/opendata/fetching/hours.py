"""When the service looks for a month by itself. Decides, and looks at no clock (ADR 0047)."""

from dataclasses import dataclass
from datetime import timedelta

from balcao.core.calendar import HOUR_MS, civil_day, day_starts_ms

# In Brasília, when few others need the server; each installation at a minute of its own.
FROM_HOUR, TO_HOUR = 2, 6
MINUTES = (TO_HOUR - FROM_HOUR) * 60

# A month appears some 31 days after the one before, 40 at the latest.
ALARM_DAYS = 45


@dataclass(frozen=True, slots=True)
class LastLook:
    """How the last look ended. Instants in milliseconds since 1970."""

    at_ms: int
    again_ms: int | None = None  # from when on another one makes sense
    interrupted: bool = False  # it did not end: it died


def begins_at_ms(now_ms: int, minute: int, last: LastLook | None) -> int:
    """When to look: once a night at the `minute` (0 to 239) after 2:00; now, if that is past.

    What was interrupted goes on at once, what was incomplete is looked at again when it may be.
    """
    if last is not None and last.at_ms > now_ms:  # of a clock that was wrong
        last = None
    if last is not None and last.interrupted:
        return now_ms
    if last is not None and last.again_ms is not None:
        return max(now_ms, last.again_ms)
    today = civil_day(now_ms)
    opens = day_starts_ms(today) + FROM_HOUR * HOUR_MS
    closes = day_starts_ms(today) + TO_HOUR * HOUR_MS
    if now_ms >= closes or (last is not None and last.at_ms >= opens):
        opens = day_starts_ms(today + timedelta(days=1)) + FROM_HOUR * HOUR_MS
    return max(now_ms, opens + minute * 60_000)
