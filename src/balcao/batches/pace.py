"""How much of the event loop a batch takes: all of it while nobody else wants any (decision 0044).

Whoever asks one by one waits for what is being done at this moment. So while somebody does, rows go
in small groups, and between two of them the loop is others' for twice as long as the last one took.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

GROUP = 32  # rows at a time: enough to share a commit
GROUP_BESIDE_OTHERS = 2
REST = 2.0  # times what a group took
BESIDE_SECONDS = 1.0  # who came a moment ago will come again


@dataclass(slots=True)
class Pace:
    """Of one process. `arrivals`: how many requests it has answered in all."""

    arrivals: Callable[[], int] = lambda: 0
    _seen: int = field(default=0)
    _until: float = field(default=0.0)
    _began: float = field(default=0.0)

    def group(self) -> int:
        """How many rows may be begun now."""
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        if (arrived := self.arrivals()) != self._seen:
            self._seen, self._until = arrived, self._began + BESIDE_SECONDS
        return GROUP_BESIDE_OTHERS if self._began < self._until else GROUP

    async def rest(self) -> None:
        """Let others have the loop."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0)  # the rows that were begun do their work here
        now = loop.time()
        if now < self._until:
            await asyncio.sleep(REST * (now - self._began))
