"""Metric of account events by kind, read from the database periodically.

Any node writes them, in the commits of their causes; every node counts those of all.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from balcao.service.jobs.periodic import Periodic
from balcao.storage.desk.events import Events

POLL_SECONDS = 15.0


@dataclass(slots=True)
class EventCounter:
    """Counts the events since the process started. `count` is called with a kind and an increment.

    Each poll reads again from the poll before the last: nodes that commit concurrently may commit
    lower numbers later.
    """

    events: Events
    count: Callable[[str, int], None]
    _after: int | None = field(default=None)  # None before the first poll
    _last: int = field(default=0)
    _counted: set[int] = field(default_factory=set)  # numbers after `_after`

    async def poll(self) -> None:
        """Count the events since the last poll. Raises `StorageFailed`."""
        if self._after is None:
            self._after = self._last = await self.events.last()
            return
        events = await self.events.kinds_after(self._after)
        fresh = Counter(kind for number, kind in events if number not in self._counted)
        for kind, count in fresh.items():
            self.count(kind, count)
        self._after, self._last = self._last, events[-1][0] if events else self._last
        self._counted = {number for number, _ in events if number > self._after}

    def periodic(self) -> Periodic:
        return Periodic("events", self.poll, POLL_SECONDS)
