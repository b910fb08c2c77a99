"""The house of several fronts: clients in, clients back, and the desk by words (decision 0046).

Callers, limits, the cache and the ledger are here alone, in the memory and the commits of this
process, whoever asks: a front's requests are counted and charged as our own are.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import structlog

from balcao import __version__
from balcao.core.access import Caller
from balcao.core.ledger import Refusal
from balcao.core.rate_limit import Verdict, all_allow
from balcao.errors import BalcaoError, StorageFailed
from balcao.http.front import Front
from balcao.http.fronts.channel import Channel
from balcao.http.fronts.words import (
    Asked,
    CallerTold,
    Counted,
    Failure,
    Farewell,
    Forget,
    Gone,
    Had,
    LookedUp,
    Noted,
    Over,
    Paid,
    Payment,
    Ready,
    Take,
    Time,
    Whose,
    Written,
)
from balcao.http.lane import LOOKUPS, AnyLane
from balcao.http.wire.head import read_head
from balcao.lookup.at_hand import AT_ONCE_BYTES_MAX

if TYPE_CHECKING:
    from balcao.http.wire.connection import Connection
    from balcao.http.wire.door import Door

log = structlog.get_logger()

_CALLERS_MAX = 20_000  # told to a front; more than it remembers


class FrontBelow:
    """One front, as the house sees it."""

    def __init__(
        self, end: socket.socket, front: Front, door: "Door", news: Callable[["FrontBelow"], None]
    ) -> None:
        """`news`: hears that it can take clients, and that it has ended."""
        self._front = front
        self._door = door
        self._told: dict[bytes, Caller] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.dealt: Counter[str] = Counter()  # its clients, by address
        self.count = 0
        self._news = news
        self.is_ready = False
        self.ended = asyncio.Event()
        self._offset_ms: int | None = None
        self.channel: Channel[Asked] = Channel(end, Asked, self._heard, self._over)

    # Clients

    def deal(self, client: int, word: Take) -> None:
        """Hand a client over, which is counted already."""
        self.dealt[word.address] += 1
        self.count += 1
        self.channel.give(word, client)

    def _left(self, address: str) -> None:
        self.count -= 1
        self.dealt[address] -= 1
        if not self.dealt[address]:
            del self.dealt[address]

    def end(self) -> None:
        """Hang up, which ends it."""
        self.channel.close()
        self._over()

    def _over(self) -> None:
        if self.ended.is_set():
            return
        for address in self.dealt.elements():
            self._door.count_out(address)
        self.dealt.clear()
        self.count = 0
        self.is_ready = False
        self.ended.set()
        self._news(self)

    # What is heard

    def _heard(self, words: list[Asked]) -> None:
        now_ms = self._front.parts.now_ms()
        for word in words:
            if type(word) is Payment:  # nearly all of them
                try:
                    self._pay(word, now_ms)
                except Exception:  # others' words come behind it
                    log.exception("front.bug")
                    self.channel.say(Paid(word.number, None))
            else:
                self._hear(word)

    def _hear(self, word: Asked) -> None:
        match word:
            case Gone():
                self._left(word.address)
                self._door.count_out(word.address)
            case Over():
                self._left(word.address)
                self._door.adopt(
                    self.channel.taken(),
                    word.address,
                    (word.host, word.port),
                    word.read,
                    overdue=word.overdue,
                    ending=word.ending,
                )
            case Written():
                self._front.request_log.write(word.lines)
            case Counted():
                self._front.metrics.add(word.measured)
            case LookedUp():
                self._look(word)
            case Whose():
                self._soon(self._recognise(word.key))
            case Noted():
                self._soon(self._note(word))
            case Ready():
                self.is_ready = word.version == __version__
                if self.is_ready:
                    self._news(self)
                else:
                    log.error("front.other_version", version=word.version)
            case _:
                raise AssertionError(word)

    def _soon(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _look(self, word: LookedUp) -> None:
        parts, entries = self._front.parts, None
        if word.answer is None or parts.received.remembers(word.answer):
            entries = parts.environments[word.mode].cache.at_hand(word.keys)
        if (
            entries is not None
            and sum(len(each.body) for each in entries.values()) > 4 * AT_ONCE_BYTES_MAX
        ):
            entries = None
        self.channel.say(Had(word.number, None if entries is None else dict(entries)))

    async def _note(self, word: Noted) -> None:
        with suppress(StorageFailed):  # it is no money
            await self._front.parts.desk.commit(word.changes)

    # Callers

    async def _recognise(self, key: bytes) -> None:
        try:
            caller = await self._front.authenticator.recognise(key, self._front.parts.now_ms())
        except Exception:  # whatever it is, the front of this process will say it
            self._tell(key, None)
        else:
            self._tell(key, caller)

    def _tell(self, key: bytes, caller: Caller | None) -> None:
        if caller is None:
            self._told.pop(key, None)
            self.channel.say(CallerTold(key, None))
            return
        if len(self._told) >= _CALLERS_MAX:
            self._told.clear()
        self._told[key] = caller
        self.channel.say(CallerTold(key, caller, self._front.authenticator.limits_of(caller)))

    # Limits and charges

    def _pay(self, word: Payment, now_ms: int) -> None:
        if not word.key:  # they were counted
            self._front.parts.desk.tell(word.changes, partial(self._paid, word.number, ()))
            return
        caller = self._front.authenticator.remembered(word.key, now_ms)
        if caller is None or self._told.get(word.key) != caller:
            self._soon(self._pay_known(word, now_ms))
            return
        told = partial(self._paid, word.number)
        self._front.authenticator.pay_soon(caller, now_ms, word.changes, told)

    async def _pay_known(self, word: Payment, now_ms: int) -> None:
        """The same of a key that has to be looked up, or whose use is to be noted."""
        authenticator = self._front.authenticator
        try:
            caller = await authenticator.recognise(word.key, now_ms)
            if caller != self._told.get(word.key):
                self._tell(word.key, caller)
                self.channel.say(Paid(word.number, None))
                return
            verdicts = await authenticator.count(caller, now_ms)
        except Exception as error:
            if not isinstance(error, BalcaoError):
                log.exception("front.bug")
            self._tell(word.key, None)
            self.channel.say(Paid(word.number, None))
            return
        if not all_allow(verdicts):
            self.channel.say(Paid(word.number, None))
        elif word.changes:
            self._front.parts.desk.tell(word.changes, partial(self._paid, word.number, verdicts))
        else:
            self._paid(word.number, verdicts, None)

    def _paid(
        self,
        number: int,
        verdicts: Sequence[Verdict] | None,
        outcome: Refusal | Exception | None,
    ) -> None:
        if verdicts is None:
            self.channel.say(Paid(number, None))
            return
        left = [(each.remaining, each.reset_ms) for each in verdicts]
        if isinstance(outcome, StorageFailed):
            failure = Failure(str(outcome), perhaps_kept=outcome.perhaps_kept)
            self.channel.say(Paid(number, left, failure))
        elif isinstance(outcome, Exception):
            self.channel.say(Paid(number, left, Failure(type(outcome).__name__, bug=True)))
        else:
            self.channel.say(Paid(number, left, outcome))

    def tell_time(self, offset_ms: int) -> None:
        """What the time is, if that is news."""
        if offset_ms != self._offset_ms:
            self._offset_ms = offset_ms
            self.channel.say(Time(offset_ms))


class Fronts:
    """All of them. `Elsewhere` to the connections of the house."""

    def __init__(self, front: Front, lane: AnyLane, offset_ms: Callable[[], int]) -> None:
        """`lane`: ours, which knows what one would take."""
        self._front = front
        self._lane = lane
        self._offset_ms = offset_ms
        self.door: Door
        self.begun: list[FrontBelow] = []
        self.below: list[FrontBelow] = []  # those of them that can take clients
        self._news = asyncio.Event()

    def begin(self, end: socket.socket) -> FrontBelow:
        """One more, at the other end of this."""
        below = FrontBelow(end, self._front, self.door, self._hear)
        below.tell_time(self._offset_ms())
        self.begun.append(below)
        return below

    def _hear(self, below: FrontBelow) -> None:
        if below.is_ready:
            self.below.append(below)
        else:
            self.begun.remove(below)
            self.below = [each for each in self.begun if each.is_ready]
        self._news.set()

    async def changed(self) -> None:
        """Wait until one can take clients, or has ended."""
        self._news.clear()
        await self._news.wait()

    @property
    def clients(self) -> int:
        """How many they have."""
        return sum(each.count for each in self.below)

    def forget(self) -> None:
        """Have all of us remember nothing that was made of answers: somebody was erased."""
        self._front.parts.forget()
        for each in self.begun:
            each.channel.say(Forget())

    def tell_time(self) -> None:
        """Have them know of a clock that is believed anew."""
        for each in self.begun:
            each.tell_time(self._offset_ms())

    async def end(self, patience_seconds: float) -> None:
        """Have them finish what is under way, and end."""
        for each in self.below:
            each.channel.say(Farewell(patience_seconds))
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_seconds + 1):
                while self.below:
                    await self.changed()

    # See `Elsewhere`

    def want(self, raw: bytes) -> bool:
        """What looks like a request of the lane. Raises what a head raises that is none."""
        if not self.below or not raw.startswith(LOOKUPS):
            return False
        if self._keeps(len(self.door.connections) - 1):
            return False
        rest = raw.partition(b"\r\n")[2]
        return (self._lane.heads.get(rest) or self._lane.learn(rest, read_head(raw))) is not None

    def take(self, connection: "Connection", client: int, read: bytes, *, overdue: bool) -> None:
        """See `Elsewhere`."""
        host, port = connection.client
        self._idlest().deal(client, Take(connection.address, host, port, read))

    def deal(self, client: socket.socket, address: str, peer: tuple[str, int]) -> bool:
        """See `Elsewhere`."""
        if not self.below or self._keeps(len(self.door.connections)):
            return False
        self._idlest().deal(client.fileno(), Take(address, *peer, b""))
        client.close()
        return True

    def over(self, address: str) -> None:
        """See `Elsewhere`. Fronts tell of theirs by words."""

    def _keeps(self, own: int) -> bool:
        """Whether the house, with so many of its own, has one more client to itself.

        Beside one front it has as many as that: a core that did nothing but the books of the other
        would rest half of the time. With more fronts their books are all that it can do.
        """
        return len(self.below) == 1 and own < self.below[0].count

    def _idlest(self) -> FrontBelow:
        return min(self.below, key=lambda each: each.count)
