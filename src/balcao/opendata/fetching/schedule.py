"""Schedule of the automatic search for a new month. Pure functions (ADR 0047)."""

from dataclasses import dataclass
from datetime import timedelta

from balcao.core.calendar import HOUR_MS, civil_day, day_starts_ms

# In Brasília, when the server has little load; each installation has its own minute.
FROM_HOUR, TO_HOUR = 2, 6
MINUTES = (TO_HOUR - FROM_HOUR) * 60

# A month appears some 31 days after the one before, 40 at the latest.
ALARM_DAYS = 45


@dataclass(frozen=True, slots=True)
class LastRun:
    """The end of the last search. Instants in milliseconds since 1970."""

    at_ms: int
    retry_at_ms: int | None = None  # earliest instant for the next one
    interrupted: bool = False  # its process died


def next_run_ms(now_ms: int, minute: int, last: LastRun | None) -> int:
    """Return when to search: once a night at the `minute` (0 to 239) after 2:00.

    Returns now if that is past. An interrupted search resumes at once; an incomplete month is
    checked at `retry_at_ms`.
    """
    if last is not None and last.at_ms > now_ms:  # from a wrong clock
        last = None
    if last is not None and last.interrupted:
        return now_ms
    if last is not None and last.retry_at_ms is not None:
        return max(now_ms, last.retry_at_ms)
    today = civil_day(now_ms)
    opens = day_starts_ms(today) + FROM_HOUR * HOUR_MS
    closes = day_starts_ms(today) + TO_HOUR * HOUR_MS
    if now_ms >= closes or (last is not None and last.at_ms >= opens):
        opens = day_starts_ms(today + timedelta(days=1)) + FROM_HOUR * HOUR_MS
    return max(now_ms, opens + minute * 60_000)
