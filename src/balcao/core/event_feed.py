"""The feed of an account's events: cursors and filters (contract 19.2).

A cursor is the number of the last event that was read, with the instant of the next one, or a
recent one if there is none. Once that is older than what is kept, events after the cursor may be
gone, whether or not they were deleted yet.
"""

import re
from collections.abc import Collection, Sequence

import msgspec

from balcao.core.calendar import HOUR_MS
from balcao.core.errors import CursorExpired, InvalidCursor
from balcao.core.events import KEPT_DAYS, StoredEvent
from balcao.core.freshness import DAY_MS

_CURSOR = re.compile(r"(\d{1,18})-(\d{1,15})", re.ASCII)


class FeedCursor(msgspec.Struct, frozen=True, gc=False):
    """A position in an account's feed."""

    number: int
    as_of_ms: int

    @property
    def text(self) -> str:
        """The public form."""
        return f"{self.number}-{self.as_of_ms}"


class FeedFilter(msgspec.Struct, frozen=True, gc=False):
    """The events of a feed; None: any."""

    kinds: Collection[str] | None = None
    client: str | None = None
    item_id: str | None = None
    items_only: bool = False  # events about watched subjects alone
    month: str | None = None  # `competencia`


class StoredPage(msgspec.Struct, frozen=True, gc=False):
    """Some events of the account, and the number of its last event at that moment."""

    events: Sequence[StoredEvent]
    last: int


class FeedPage(msgspec.Struct, frozen=True, gc=False):
    """A page of the feed, and the cursor to continue with."""

    events: Sequence[StoredEvent]
    cursor: FeedCursor


def read_cursor(text: str) -> FeedCursor:
    """Return the position of a cursor's text. Raises `InvalidCursor`."""
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise InvalidCursor
    return FeedCursor(int(match[1]), int(match[2]))


def kept_since(now_ms: int) -> int:
    """Return the instant before which events are not shown."""
    return now_ms - KEPT_DAYS * DAY_MS


def is_expired(cursor: FeedCursor, now_ms: int) -> bool:
    """Return whether events after the cursor may be older than what is kept."""
    return cursor.as_of_ms < kept_since(now_ms)


def page_after(cursor: FeedCursor | None, stored: StoredPage, limit: int, now_ms: int) -> FeedPage:
    """Return the page of events that were read after a cursor; None: from the oldest.

    `stored`: up to `limit` + 1 events. The cursor expires with the first event after it.
    """
    events = stored.events[:limit]
    if len(stored.events) > limit:
        return FeedPage(events, FeedCursor(events[-1].number, stored.events[limit].at_ms))
    last = stored.last if cursor is None else max(stored.last, cursor.number)
    return FeedPage(events, current_cursor(last, now_ms))


def current_cursor(last: int, now_ms: int) -> FeedCursor:
    """Return the cursor after the last event.

    It stays the same for an hour, so that repeated answers are equal. The hour before the present
    one, because an event that is committed later may be a little older.
    """
    return FeedCursor(last, (now_ms // HOUR_MS - 1) * HOUR_MS)


def expired(oldest: StoredEvent | None, last: int, now_ms: int) -> CursorExpired:
    """Return the refusal of an expired cursor. `oldest`: of the events that are kept."""
    if oldest is None:
        return CursorExpired(current_cursor(last, now_ms).text)
    return CursorExpired(FeedCursor(oldest.number - 1, oldest.at_ms).text)
