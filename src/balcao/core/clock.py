"""What time it is believed to be, when clocks disagree (contract 9.8, ADR 0025).

A steady clock counts time as it goes by and knows no date; another one tells the date and may
jump. What is between them is the *offset*: it stays as it is until the other clock is set. So the
time that is believed is the steady clock's plus an offset, and only these functions say when that
changes. All in milliseconds.
"""

from collections.abc import Callable

import msgspec

# What clocks are corrected by every day (NTP, a leap second) is followed at once.
SMALL_MS = 5_000

# A jump is undone within this time, if something watches over the clock: time daemons look every 34
# minutes at the latest. What still stands then is believed.
CONFIRMED_MS = 3_600_000

# At a start nothing tells how long the machine was off. Up to this long, nobody is surprised.
OFF_MS = 86_400_000


class Heard(msgspec.Struct, frozen=True, gc=False):
    """What a clock said: its offset to the steady one, and by how much that may be wrong."""

    offset_ms: int
    error_ms: int


def read_beside(steady_ms: Callable[[], int], clock_ms: Callable[[], int]) -> Heard:
    """What a clock says: it was read at some moment between asking and hearing."""
    before = steady_ms()
    said = clock_ms()
    after = steady_ms()
    return Heard(said - (before + after) // 2, (after - before) // 2 + 1)


class Jump(msgspec.Struct, frozen=True, gc=False):
    """What the clock has said since a moment on the steady clock, and what is not believed yet."""

    offset_ms: int
    since_ms: int


class Belief(msgspec.Struct, frozen=True, gc=False):
    """The offset that is believed, and what it may be instead."""

    offset_ms: int
    since_ms: int  # on the steady clock: when it began to be believed
    # The latest instant in the books, as if no time had gone by since: where what the clock said
    # at the start is before it, or surprisingly long after, and has not stood for long.
    books_ms: int | None = None
    jump: Jump | None = None

    @property
    def sure_ms(self) -> int:
        """The offset of an instant that is past whichever of them is right."""
        offset = self.offset_ms
        if self.books_ms is not None:
            offset = min(offset, self.books_ms)
        if self.jump is not None:
            offset = min(offset, self.jump.offset_ms)
        return offset

    @property
    def behind_books(self) -> bool:
        """Whether the clock is, or the books' was, certainly wrong."""
        return self.books_ms is not None and self.offset_ms < self.books_ms


class ClockState(msgspec.Struct, frozen=True):
    """What there is to tell about a clock; by default, that all is well."""

    of_database: bool = False  # the database's clock is believed, else the system's
    system_ahead_ms: int = 0  # this machine's clock against the time that is believed
    jump_ms: int = 0  # by how much the clock that is believed has jumped, if that is not yet
    books_ahead_ms: int = 0  # the books against the clock at the start, while it is on trial
    jumps: int = 0  # seen so far

    @property
    def is_off(self) -> bool:
        """Whether this machine's clock is not the database's: no request should be sent here.

        Nor what the database's says since a jump: where all machines are set by the same one, they
        all jump together, and no node would be left.
        """
        apart = min(abs(self.system_ahead_ms), abs(self.system_ahead_ms - self.jump_ms))
        return self.of_database and apart > SMALL_MS

    @property
    def in_doubt(self) -> bool:
        """Whether nothing is removed that only the clock says is old."""
        return self.jump_ms != 0 or self.books_ahead_ms != 0


def begin(offset_ms: int, steady_ms: int, books_ms: int | None) -> Belief:
    """What to believe at a start, with the offset of the latest instant in the books.

    The clock: nothing went by beside it while nobody was there. What it says is on trial where
    the books contradict it, or where it has gone on for surprisingly long.
    """
    expected = books_ms is None or -SMALL_MS <= offset_ms - books_ms <= OFF_MS
    return Belief(offset_ms, steady_ms, None if expected else books_ms)


def listen(belief: Belief, heard: Heard, steady_ms: int) -> Belief:
    """What to believe after the clock was read again."""
    apart = heard.offset_ms - belief.offset_ms
    if abs(apart) <= SMALL_MS:
        # What may be a fault of reading changes nothing.
        offset = belief.offset_ms if abs(apart) <= heard.error_ms else heard.offset_ms
        stood = steady_ms - belief.since_ms >= CONFIRMED_MS
        return Belief(offset, belief.since_ms, None if stood else belief.books_ms)
    if belief.books_ms is not None and _fits_better(heard.offset_ms, belief, belief.books_ms):
        return begin(heard.offset_ms, steady_ms, belief.books_ms)
    jump = belief.jump
    if jump is None or abs(heard.offset_ms - jump.offset_ms) > SMALL_MS:
        jump = Jump(heard.offset_ms, steady_ms)
    if steady_ms - jump.since_ms >= CONFIRMED_MS:
        return Belief(heard.offset_ms, jump.since_ms)
    return msgspec.structs.replace(belief, jump=jump)


def after_gap(belief: Belief, gap_ms: int, steady_ms: int) -> Belief:
    """What to believe when so much of the steady clock's time went by since the last look.

    After a long one it is as at a start: a machine that slept, or one whose clocks all jumped. A
    steady clock that has gone back was none.
    """
    if gap_ms < 0:
        return begin(belief.offset_ms, steady_ms, None)
    if gap_ms > OFF_MS:
        return begin(belief.offset_ms, steady_ms, belief.sure_ms - gap_ms)
    return belief


def _fits_better(offset_ms: int, belief: Belief, books_ms: int) -> bool:
    """Whether a clock on trial was set to what the books leave possible, or nearer to them."""
    if offset_ms < books_ms - SMALL_MS:
        return False
    return belief.behind_books or offset_ms < belief.offset_ms
