"""How many things accounts were told of, by kind: read from the books now and then.

They are written in the commits of their causes, by whichever node: so every node counts all.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from balcao.jobs.periodic import Periodic
from balcao.storage.desk.budgets import Budgets

LOOK_SECONDS = 15.0


@dataclass(slots=True)
class EventsMeasured:
    """Of one process, from its start on. `count`: by kind, how many more."""

    budgets: Budgets
    count: Callable[[str, int], None]
    _after: int | None = field(default=None)

    async def look(self) -> None:
        """Count those that came since the last look. Raises `StorageFailed`."""
        told = await self.budgets.told_after(self._after)
        for kind, count, last in told if self._after is not None else ():
            self.count(kind, count)
            self._after = max(self._after or 0, last)
        if self._after is None:  # what was told before this process is another's
            self._after = max((last for _, _, last in told), default=0)

    def periodic(self) -> Periodic:
        """To be done beside the requests."""
        return Periodic("events", self.look, LOOK_SECONDS)
