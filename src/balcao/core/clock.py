"""An estimate of the current time that withstands clock jumps (contract 9.8, ADR 0025).

The steady clock is monotonic and has no date; the wall clock has one and may jump. Their difference
is the *offset*, which is constant until the wall clock is set. The estimated time is the steady
clock plus an estimated offset, and only these functions change the estimate. All in milliseconds.
"""

from collections.abc import Callable

import msgspec

# Ordinary corrections (NTP, a leap second) are followed at once.
SMALL_MS = 5_000

# A time daemon undoes a wrong jump within 34 minutes. A jump that lasts this long is accepted.
CONFIRMED_MS = 3_600_000

# The machine may have been off before a start; up to this long is plausible.
OFF_MS = 86_400_000


class ClockReading(msgspec.Struct, frozen=True, gc=False):
    """A reading of the wall clock: its offset to the steady clock, and the error of that."""

    offset_ms: int
    error_ms: int


def take_reading(steady_ms: Callable[[], int], clock_ms: Callable[[], int]) -> ClockReading:
    """Read the wall clock between two readings of the steady one."""
    before = steady_ms()
    now = clock_ms()
    after = steady_ms()
    return ClockReading(now - (before + after) // 2, (after - before) // 2 + 1)


class Jump(msgspec.Struct, frozen=True, gc=False):
    """An offset that is not accepted yet, and since when (on the steady clock) it was read."""

    offset_ms: int
    since_ms: int


class ClockEstimate(msgspec.Struct, frozen=True, gc=False):
    """The estimated offset, and the other values that it may have."""

    offset_ms: int
    since_ms: int  # on the steady clock
    # The offset at which it would now be the latest instant in the ledger. Set while the clock is
    # in doubt: at the start it was before that instant, or implausibly long after it.
    ledger_ms: int | None = None
    jump: Jump | None = None

    @property
    def safe_offset_ms(self) -> int:
        """The smallest possible offset: the time by it is certainly past."""
        offset = self.offset_ms
        if self.ledger_ms is not None:
            offset = min(offset, self.ledger_ms)
        if self.jump is not None:
            offset = min(offset, self.jump.offset_ms)
        return offset

    @property
    def behind_ledger(self) -> bool:
        """Whether the clock is before the latest instant in the ledger: one of them is wrong."""
        return self.ledger_ms is not None and self.offset_ms < self.ledger_ms


class ClockState(msgspec.Struct, frozen=True):
    """The state of a process's clock, for monitoring."""

    of_database: bool = False  # the estimate follows the database's clock, not the system's
    system_ahead_ms: int = 0  # this machine's clock against the estimate
    jump_ms: int = 0  # size of a jump that is not accepted yet
    ledger_ahead_ms: int = 0  # the ledger against the clock at the start, while in doubt
    jumps: int = 0  # so far

    @property
    def is_off(self) -> bool:
        """Whether this machine's clock differs from the database's: it should get no requests.

        A machine that agrees with a jump of the database's clock is not off: if all machines are
        set by the same time server, all jump together, and no node would be left.
        """
        apart = min(abs(self.system_ahead_ms), abs(self.system_ahead_ms - self.jump_ms))
        return self.of_database and apart > SMALL_MS

    @property
    def in_doubt(self) -> bool:
        """Whether nothing may be deleted for its age."""
        return self.jump_ms != 0 or self.ledger_ahead_ms != 0


def initial_estimate(offset_ms: int, steady_ms: int, ledger_ms: int | None) -> ClockEstimate:
    """Return the initial estimate. `ledger_ms`: the offset of the ledger's latest instant.

    The wall clock is accepted, but is in doubt if it is before the ledger's latest instant or
    implausibly far after it.
    """
    expected = ledger_ms is None or -SMALL_MS <= offset_ms - ledger_ms <= OFF_MS
    return ClockEstimate(offset_ms, steady_ms, None if expected else ledger_ms)


def update(estimate: ClockEstimate, reading: ClockReading, steady_ms: int) -> ClockEstimate:
    """Return the estimate after another reading."""
    difference = reading.offset_ms - estimate.offset_ms
    if abs(difference) <= SMALL_MS:
        within_error = abs(difference) <= reading.error_ms
        offset = estimate.offset_ms if within_error else reading.offset_ms
        confirmed = steady_ms - estimate.since_ms >= CONFIRMED_MS
        return ClockEstimate(offset, estimate.since_ms, None if confirmed else estimate.ledger_ms)
    if estimate.ledger_ms is not None and _fits_better(reading.offset_ms, estimate):
        return initial_estimate(reading.offset_ms, steady_ms, estimate.ledger_ms)
    jump = estimate.jump
    if jump is None or abs(reading.offset_ms - jump.offset_ms) > SMALL_MS:
        jump = Jump(reading.offset_ms, steady_ms)
    if steady_ms - jump.since_ms >= CONFIRMED_MS:
        return ClockEstimate(reading.offset_ms, jump.since_ms)
    return msgspec.structs.replace(estimate, jump=jump)


def after_gap(estimate: ClockEstimate, gap_ms: int, steady_ms: int) -> ClockEstimate:
    """Return the estimate after a gap in the readings, measured by the steady clock.

    A long gap is treated like a start: the machine slept, or all its clocks jumped. After a
    negative gap the steady clock was not steady, and the doubts based on it are dropped.
    """
    if gap_ms < 0:
        return initial_estimate(estimate.offset_ms, steady_ms, None)
    if gap_ms > OFF_MS:
        return initial_estimate(estimate.offset_ms, steady_ms, estimate.safe_offset_ms - gap_ms)
    return estimate


def _fits_better(offset_ms: int, estimate: ClockEstimate) -> bool:
    """Return whether a clock in doubt was set to an offset that agrees better with the ledger."""
    assert estimate.ledger_ms is not None
    if offset_ms < estimate.ledger_ms - SMALL_MS:
        return False
    return estimate.behind_ledger or offset_ms < estimate.offset_ms
