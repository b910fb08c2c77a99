"""A front: a process that answers what is at hand, and asks the house for all it does not know.

It has a door without a listener, the lane, the files of finished answers, and nothing that is
written: callers, entries of the cache, limits and charges are the house's, told by words. What the
lane declines goes to the house as it is, connection and all.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import structlog

from balcao import __version__
from balcao.core.freshness import Kept
from balcao.core.ledger import Change, Refusal
from balcao.core.questions import Mode
from balcao.core.rate_limit import Limit, Verdict
from balcao.errors import StorageFailed
from balcao.http.fronts.channel import Channel
from balcao.http.fronts.words import (
    CallerTold,
    Counted,
    Failure,
    Farewell,
    Forget,
    Gone,
    Had,
    LaneChange,
    LookedUp,
    Noted,
    Over,
    Paid,
    Payment,
    Ready,
    Said,
    Take,
    Time,
    Whose,
    Written,
)
from balcao.http.lane import AnyLane, House, KnownHead, LaneVisit
from balcao.http.wire.door import Door
from balcao.http.wire.limits import ConnectionLimits
from balcao.lookup.at_hand import all_at_hand, wanted_of

if TYPE_CHECKING:
    import socket

    from balcao.http.wire.connection import Connection

log = structlog.get_logger()

# Callers are asked for anew when there are so many; whether they are right is looked at each time.
_CALLERS_MAX = 10_000

# Of the log, in one word.
_LINES_BYTES = 32_768

# Measurements are told this often.
_COUNT_SECONDS = 0.25

_Visit: TypeAlias = "_FrontVisit"


def nobody(*_: object) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """What a door is given whose connections have nobody behind them but the house."""
    raise AssertionError("a front says nothing by itself")


class HouseAbove:
    """The house, as a front's connections, lane and bookings see it."""

    def __init__(self, end: "socket.socket", time_told: Callable[[int], None]) -> None:
        """`time_told`: hears what the time is against the steady clock."""
        self.is_over = asyncio.Event()
        self.channel: Channel[Said] = Channel(end, Said, self._heard, self.is_over.set)
        self._time_told = time_told
        self._callers: dict[bytes, CallerTold] = {}
        self._asking: dict[bytes, list[_Visit]] = {}
        self._waiting: dict[int, _Visit] = {}
        self._number = 0
        self.take_client: Callable[[Take], None] = lambda word: None
        self.farewell: Callable[[float], None] = lambda seconds: None
        self.forget: Callable[[], None] = lambda: None

    # For the lane

    def known(self, key: bytes) -> CallerTold | None:
        """Whose key this was a moment ago, as far as we were told. The house looks again."""
        return self._callers.get(key)

    def whose(self, key: bytes, visit: "_FrontVisit") -> None:
        """Ask whose key it is."""
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = []
            self.channel.say(Whose(key))
        asking.append(visit)

    def look(self, mode: Mode, keys: Sequence[str], visit: "_FrontVisit") -> None:
        """Ask what the cache has."""
        answer = visit.context.answer_about
        self.channel.say(LookedUp(self._waits(visit), mode, keys, answer))

    def pay(self, key: bytes, changes: Sequence[LaneChange], visit: "_FrontVisit") -> None:
        """Have the limits of a key counted and these changes made durable, in this order."""
        self.channel.say(Payment(self._waits(visit), key, changes))

    def _waits(self, visit: "_FrontVisit") -> int:
        self._number = number = self._number + 1
        self._waiting[number] = visit
        return number

    # For bookings: see `Desk`

    async def commit(self, changes: Sequence[Change]) -> Refusal | None:
        """What nobody waits for."""
        self.channel.say(Noted(changes))  # type: ignore[arg-type]  # traces
        return None

    def has_recorded(self, receipt_id: str) -> bool:
        """See `Desk`. The house knows, and takes out what is."""
        return False

    # For connections: see `Elsewhere`

    def want(self, raw: bytes) -> bool:
        """Whatever the lane declines."""
        return True

    def take(self, connection: "Connection", client: int, read: bytes, *, overdue: bool) -> None:
        """See `Elsewhere`."""
        host, port = connection.client
        word = Over(connection.address, host, port, read, overdue, connection.ending)
        self.channel.give(word, client)

    def over(self, address: str) -> None:
        """See `Elsewhere`."""
        self.channel.say(Gone(address))

    def deal(self, client: "socket.socket", address: str, peer: tuple[str, int]) -> bool:
        """See `Elsewhere`. Nobody comes in here but by the house."""
        return False

    # What is heard

    def _heard(self, words: list[Said]) -> None:
        for word in words:
            if type(word) is Paid:  # nearly all of them
                visit = self._waiting.pop(word.number)
                try:
                    visit.told(word)
                except Exception:  # others' words come behind it
                    log.exception("front.bug")
                    visit.cut()
            else:
                self._hear(word)

    def _hear(self, word: Said) -> None:
        match word:
            case Had():
                self._waiting.pop(word.number).had(word.entries)
            case CallerTold():
                if len(self._callers) >= _CALLERS_MAX:
                    self._callers.clear()
                if word.caller is None:
                    self._callers.pop(word.key, None)
                else:
                    self._callers[word.key] = word
                for visit in self._asking.pop(word.key, ()):
                    visit.known(word)
            case Take():
                self.take_client(word)
            case Time():
                self._time_told(word.offset_ms)
            case Farewell():
                self.farewell(word.patience_seconds)
            case Forget():
                self.forget()
            case _:
                raise AssertionError(word)


class FrontLane(AnyLane):
    """The lane of a front: callers, limits and the desk are the house's."""

    def __init__(self, parts: House, above: HouseAbove) -> None:
        super().__init__(parts)
        self.above = above

    def take(self, connection: "Connection", raw: bytes, line: bytes, head: KnownHead) -> bool:
        """See `AnyLane`."""
        started = time.perf_counter()
        asked = self._asked(line)
        if asked is None:
            return False
        visit = _FrontVisit(self, connection, raw, head, asked, started, above=self.above)
        known = self.above.known(head.key)
        if known is None:
            self.above.whose(head.key, visit)
            return True
        return visit.begin(known)


class _FrontVisit(LaneVisit, gc=False, eq=False):
    """One request: told whose it is, what the cache has, and that it is paid."""

    above: "HouseAbove" = None  # type: ignore[assignment]  # of the lane
    limits: Sequence[Limit] = ()
    counted: bool = False  # the limits were

    def known(self, known: CallerTold) -> None:
        """It was not known whose it is, and is now."""
        if not self.begin(known):
            self._decline()

    def begin(self, known: CallerTold) -> bool:
        """Of who is known. False: for the house."""
        if known.caller is None:
            return False
        self.limits = known.limits
        lane, asked = self.lane, self.asked
        try:
            now_ms = lane.house.parts.now_ms()
            context = lane.context(asked, self.head, known.caller, now_ms)
            if context is None or asked.question.home_unknown:
                return False
            self.context = context
            keys = wanted_of(context)
            if keys:
                self.above.look(known.caller.mode, keys, self)
                return True
            return self._pay({})
        except Exception:  # a refusal or a bug: the house says so, since nothing was done
            return False

    def had(self, entries: Mapping[str, Kept] | None) -> None:
        """What the cache has is known."""
        try:
            going = entries is not None and self._pay(entries)
        except Exception:  # likewise
            going = False
        if not going:
            self._decline()

    def _pay(self, entries: Mapping[str, Kept]) -> bool:
        def read(keys: Sequence[str]) -> Mapping[str, Kept]:
            return {key: entries[key] for key in keys if key in entries}

        at_hand = all_at_hand(self.context, read)
        if at_hand is None:
            return False
        self.at_hand = at_hand
        self.above.pay(self.head.key, self.price(), self)  # type: ignore[arg-type]
        return True

    def told(self, word: Paid) -> None:
        """The limits were counted and the charge is on disk; or one of these could not be."""
        left, outcome = word.left, _told(word.outcome)
        if left is None:
            self._decline()
        elif self.counted:
            self._booked(outcome)
        else:
            self.counted = True
            # None of them, where they were counted in vain.
            counted = zip(self.limits, left, strict=False)
            self.paid([Verdict(limit, True, 0.0, *of, 0.0) for limit, of in counted], outcome)

    def _commit(self, changes: Sequence[Change]) -> None:
        self.above.pay(b"", changes, self)  # type: ignore[arg-type]

    def cut(self) -> None:
        """End its connection: nobody knows what to say any more."""
        self.connection.cut("")


def _told(outcome: Refusal | Failure | None) -> Refusal | Exception | None:
    if not isinstance(outcome, Failure):
        return outcome
    if outcome.bug:
        return RuntimeError(outcome.detail)
    return StorageFailed(outcome.detail, perhaps_kept=outcome.perhaps_kept)


class FrontProcess:
    """All of a front, on a running event loop."""

    def __init__(self, parts: House, above: HouseAbove, limits: ConnectionLimits) -> None:
        """`parts`: whose bookings are of `above`."""
        self._parts = parts
        self._above = above
        self.door = Door(
            nobody,  # type: ignore[arg-type]
            nobody,
            limits,
            lane=FrontLane(parts, above),
            observe=parts.metrics.connection_closed,
            house=above,
        )
        above.take_client = self._take
        above.farewell = self._farewell
        above.forget = parts.parts.forget
        parts.request_log.write = self._write
        self._loop = asyncio.get_running_loop()
        self._ending: asyncio.Task[None] | None = None
        self._tell_counts()
        self.door.tick()

    def ready(self) -> None:
        """Have the house know that clients may come."""
        self._above.channel.say(Ready(__version__))

    def _take(self, word: Take) -> None:
        client = self._above.channel.taken()
        self.door.adopt(client, word.address, (word.host, word.port), word.read)

    def _write(self, lines: bytes) -> None:
        """Of the log: whole lines."""
        while lines:
            at = lines.find(b"\n", _LINES_BYTES) + 1 or len(lines)
            self._above.channel.say(Written(lines[:at]))
            lines = lines[at:]

    def _tell_counts(self) -> None:
        measured = self._parts.metrics.take()
        if measured.any:
            self._above.channel.say(Counted(measured))
        self._counting = self._loop.call_later(_COUNT_SECONDS, self._tell_counts)

    def _farewell(self, patience_seconds: float) -> None:
        self._ending = self._loop.create_task(self._end(patience_seconds))

    async def _end(self, patience_seconds: float) -> None:
        await self.door.close(patience_seconds)
        self._counting.cancel()
        self._parts.request_log.flush()
        self._tell_counts()
        self._counting.cancel()
        self._above.channel.flush()
        await self._above.channel.sent()
        self._above.channel.close()
        self._above.is_over.set()
