"""Civil time in Brasília, by zone data instead of a fixed offset (contract 4.8)."""

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

BRASILIA = ZoneInfo("America/Sao_Paulo")
HOUR_MS = 3_600_000


def from_ms(at_ms: int) -> datetime:
    """Return an instant as a date-time in Brasília, with its offset."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(BRASILIA)


def to_ms(at: datetime) -> int:
    """Return the milliseconds since 1970 of an aware date-time."""
    assert at.tzinfo is not None, "an instant without its zone is not an instant"
    return round(at.timestamp() * 1000)


def civil_day(at_ms: int) -> date:
    """Return the date in Brasília."""
    return from_ms(at_ms).date()


def civil_day_text(at_ms: int) -> str:
    """Return the date in Brasília as `YYYY-MM-DD`."""
    return _day_of_hour(at_ms // HOUR_MS)


def civil_month(at_ms: int) -> str:
    """Return the month in Brasília as `YYYY-MM`."""
    return _day_of_hour(at_ms // HOUR_MS)[:7]


# Since 1914 Brasília is whole hours from UTC, so no civil day begins within an hour of UTC. A
# service deals with instants of a few thousand hours.
@lru_cache(maxsize=8192)
def _day_of_hour(hour: int) -> str:
    return civil_day(hour * HOUR_MS).isoformat()


def next_month_ms(at_ms: int) -> int:
    """Return when the civil month after this instant's begins."""
    day = civil_day(at_ms)
    return day_starts_ms(date(day.year + day.month // 12, day.month % 12 + 1, 1))


def day_starts_ms(day: date) -> int:
    """Return the first instant of a civil day."""
    return to_ms(datetime(day.year, day.month, day.day, tzinfo=BRASILIA))


def details_since(now_ms: int, trace_days: int) -> date:
    """Return the first civil day whose requests all have their details, which expire by age."""
    return civil_day(now_ms - trace_days * 24 * HOUR_MS) + timedelta(days=1)


def day_text(at: datetime) -> str:
    """Return the date in Brasília as `DD/MM/YYYY`."""
    return at.astimezone(BRASILIA).strftime("%d/%m/%Y")
