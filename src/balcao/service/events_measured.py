"""How many things accounts were told of, by kind: read from the books now and then.

They are written in the commits of their causes, by whichever node: so every node counts all.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from balcao.service.jobs.periodic import Periodic
from balcao.storage.desk.budgets import Budgets

LOOK_SECONDS = 15.0


@dataclass(slots=True)
class EventsMeasured:
    """Of one process, from its start on. `count`: by kind, how many more.

    Each look goes back to where the one before the last had come: of nodes that commit at once,
    one may be behind with a lesser number.
    """

    budgets: Budgets
    count: Callable[[str, int], None]
    _after: int | None = field(default=None)  # None: what was told before is another process's
    _last: int = field(default=0)
    _counted: set[int] = field(default_factory=set)  # of those behind `_after`

    async def look(self) -> None:
        """Count those that came since the last look. Raises `StorageFailed`."""
        if self._after is None:
            self._after = self._last = await self.budgets.last_event()
            return
        told = await self.budgets.told_after(self._after)
        fresh = Counter(kind for number, kind in told if number not in self._counted)
        for kind, count in fresh.items():
            self.count(kind, count)
        self._after, self._last = self._last, told[-1][0] if told else self._last
        self._counted = {number for number, _ in told if number > self._after}

    def periodic(self) -> Periodic:
        """To be done beside the requests."""
        return Periodic("events", self.look, LOOK_SECONDS)
