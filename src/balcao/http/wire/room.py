"""Room for answers that clients have not taken yet.

A client that asks and does not read leaves its answer in our memory. The sum of all that is
bounded; who needs more room than there is takes it from the client that has held the most, and
has taken nothing for the longest. Of large answers, only some are under way at once.
"""

import asyncio
from collections import Counter, deque
from dataclasses import dataclass
from typing import Protocol

from balcao.http.wire.limits import ConnectionLimits

# While others wait for a large answer's place, who has it takes something this often, and after
# the longer time has had a pace.
_PATIENT_SECONDS = 3.0
_FAIR_SECONDS = 10.0
_FAIR_BYTES_PER_SECOND = 65_536.0


class Holder(Protocol):
    """A connection, as far as it matters here."""

    address: str  # as which it is counted
    gone: bool
    sent_bytes: int  # of its present answer, handed to the transport

    def cut(self, reason: str) -> None:
        """End it at once."""
        ...


@dataclass(slots=True)
class _Held:
    size: int
    since: float


class Room:
    """Of one door. `now` is the door's clock in seconds, moved on by its sweep."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self.stalled: dict[Holder, _Held] = {}
        self._large: dict[Holder, float] = {}  # since when
        self.queue: deque[tuple[Holder, asyncio.Future[None]]] = deque()
        self.now = 0.0
        self.bytes = 0  # held by those that are stalled

    def stall(self, holder: Holder, size: int) -> None:
        """The client takes nothing for now, and this many bytes wait for it.

        May end other connections, or this one.
        """
        self.stalled[holder] = _Held(size, self.now)
        self.bytes += size
        while self.bytes > self._limits.unread_bytes:
            worst = max(self.stalled, key=self._weight)
            self.go_on(worst)
            worst.cut("no_room")

    def go_on(self, holder: Holder) -> None:
        """The client has taken what waited, or is gone."""
        held = self.stalled.pop(holder, None)
        if held is not None:
            self.bytes -= held.size

    async def place(self, holder: Holder) -> None:
        """Wait for a place for a large answer. `leave` gives it back."""
        while len(self._large) >= self._limits.large_at_once and not holder.gone:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.queue.append((holder, turn))
            await turn
        if holder.gone:
            self._call_next()
        else:
            self._large[holder] = self.now

    def leave(self, holder: Holder) -> None:
        """The answer is over, or its connection."""
        if not (self.stalled or self._large or self.queue):  # nearly always
            return
        self.go_on(holder)
        for waiting in [each for each in self.queue if each[0] is holder]:
            self.queue.remove(waiting)
            _release(waiting[1])
        if self._large.pop(holder, None) is not None:
            self._call_next()

    def sweep(self, now: float) -> None:
        """End those that have taken nothing for too long, and those that keep others waiting."""
        self.now = now
        last = now - self._limits.write_seconds
        for holder in [each for each, held in self.stalled.items() if held.since <= last]:
            holder.cut("slow_reader")
        if self.queue:
            slow = [each for each in self._large if self._is_in_the_way(each)]
            for holder in slow[: len(self.queue)]:
                holder.cut("no_room")

    def _call_next(self) -> None:
        """Who has waited the longest, of those whose address has the fewest places.

        The largest file is there for everybody: one address must not fill the queue before others.
        """
        if not self.queue:
            return
        places = Counter(holder.address for holder in self._large)
        called = min(self.queue, key=lambda waiting: places[waiting[0].address])
        self.queue.remove(called)
        _release(called[1])

    def _weight(self, holder: Holder) -> float:
        held = self.stalled[holder]
        return held.size * (self.now - held.since + 1)

    def _is_in_the_way(self, holder: Holder) -> bool:
        held = self.stalled.get(holder)
        if held is not None and self.now - held.since >= _PATIENT_SECONDS:
            return True
        seconds = self.now - self._large[holder]
        return seconds >= _FAIR_SECONDS and holder.sent_bytes < _FAIR_BYTES_PER_SECOND * seconds


def _release(turn: asyncio.Future[None]) -> None:
    if not turn.done():  # its task may have been cancelled
        turn.set_result(None)
