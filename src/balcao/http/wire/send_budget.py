"""Memory bound for response bytes that clients have not read yet.

A client that sends requests and does not read leaves its answers in our memory. Their sum is
bounded: when it is exceeded, the connection that holds the most bytes for the longest time is
aborted. Large answers are also limited in number.
"""

import asyncio
from collections import Counter, deque
from dataclasses import dataclass
from typing import Protocol

from balcao.http.wire.limits import ConnectionLimits

# While others wait to send a large answer, a connection that is sending one must make progress
# within the first time, and keep the pace after the second.
_PATIENT_SECONDS = 3.0
_FAIR_SECONDS = 10.0
_FAIR_BYTES_PER_SECOND = 65_536.0


class Holder(Protocol):
    """A connection, as seen by the budget."""

    address: str  # the key under which the client is counted
    gone: bool
    sent_bytes: int  # of the current answer, handed to the transport

    def abort(self, reason: str) -> None: ...


@dataclass(slots=True)
class _Held:
    size: int
    since: float


class SendBudget:
    """Unread bytes and large answers of one server.

    `now`: the server's clock in seconds, set by its sweep.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self.stalled: dict[Holder, _Held] = {}
        self._large: dict[Holder, float] = {}  # since when
        self.queue: deque[tuple[Holder, asyncio.Future[None]]] = deque()
        self.now = 0.0
        self.bytes = 0  # held by stalled connections

    def stall(self, holder: Holder, size: int) -> None:
        """Count `size` bytes that the client does not read for now.

        May abort other connections, or this one.
        """
        self.stalled[holder] = _Held(size, self.now)
        self.bytes += size
        while self.bytes > self._limits.unread_bytes:
            worst = max(self.stalled, key=self._weight)
            self.resume(worst)
            worst.abort("no_room")

    def resume(self, holder: Holder) -> None:
        """Stop counting the client's bytes: it has read them, or is gone."""
        held = self.stalled.pop(holder, None)
        if held is not None:
            self.bytes -= held.size

    async def acquire_large(self, holder: Holder) -> None:
        """Wait until another large answer may be sent. `release` ends it."""
        while len(self._large) >= self._limits.large_at_once and not holder.gone:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.queue.append((holder, turn))
            await turn
        if holder.gone:
            self._wake_next()
        else:
            self._large[holder] = self.now

    def release(self, holder: Holder) -> None:
        """Release an answer's bytes and slot, at its end or that of its connection."""
        if not (self.stalled or self._large or self.queue):  # nearly always
            return
        self.resume(holder)
        for waiting in [each for each in self.queue if each[0] is holder]:
            self.queue.remove(waiting)
            _release(waiting[1])
        if self._large.pop(holder, None) is not None:
            self._wake_next()

    def sweep(self, now: float) -> None:
        """Abort clients that read nothing for too long, and slow ones that keep others waiting."""
        self.now = now
        last = now - self._limits.write_seconds
        for holder in [each for each, held in self.stalled.items() if held.since <= last]:
            holder.abort("slow_reader")
        if self.queue:
            slow = [each for each in self._large if self._is_too_slow(each)]
            for holder in slow[: len(self.queue)]:
                holder.abort("no_room")

    def _wake_next(self) -> None:
        """Let the next large answer begin.

        The oldest waiting one of the address that is sending the fewest: one address must not
        fill the queue before others.
        """
        if not self.queue:
            return
        counts = Counter(holder.address for holder in self._large)
        chosen = min(self.queue, key=lambda waiting: counts[waiting[0].address])
        self.queue.remove(chosen)
        _release(chosen[1])

    def _weight(self, holder: Holder) -> float:
        held = self.stalled[holder]
        return held.size * (self.now - held.since + 1)

    def _is_too_slow(self, holder: Holder) -> bool:
        held = self.stalled.get(holder)
        if held is not None and self.now - held.since >= _PATIENT_SECONDS:
            return True
        seconds = self.now - self._large[holder]
        return seconds >= _FAIR_SECONDS and holder.sent_bytes < _FAIR_BYTES_PER_SECOND * seconds


def _release(turn: asyncio.Future[None]) -> None:
    if not turn.done():  # its task may have been cancelled
        turn.set_result(None)
