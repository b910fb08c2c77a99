"""The clock of a serving process; decisions get the time as an argument.

`Clock` derives the time from the monotonic clock and compares it now and then with a wall clock
(the database's if there is one, else the system's). So no jump affects a limit, a month or an
expiry before `core.clock` accepts it (ADR 0025).
"""

import time
from collections.abc import Callable
from typing import Any

from balcao.core.clock import (
    OFF_MS,
    SMALL_MS,
    ClockEstimate,
    ClockReading,
    ClockState,
    after_gap,
    initial_estimate,
    take_reading,
    update,
)

# Linux's BOOTTIME advances while a machine sleeps, as the date does. Other systems lack it.
_STEADY: int = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def system_now_ms() -> int:
    """Return the system's time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def steady_now_ms() -> int:
    """Return milliseconds of a monotonic clock, which has no date."""
    return time.clock_gettime_ns(_STEADY) // 1_000_000


def _log() -> Any:
    """Return the log of clocks that jump. Commands that only need the time do not load it."""
    import structlog  # noqa: PLC0415

    return structlog.get_logger()


class Clock:
    """The accepted time. `now_ms` may be called on any thread, the rest on one."""

    def __init__(
        self,
        system_ms: Callable[[], int] = system_now_ms,
        steady_ms: Callable[[], int] = steady_now_ms,
    ) -> None:
        self.steady_ms = steady_ms
        self._system_ms = system_ms
        self._system = take_reading(steady_ms, system_ms)
        self._estimate = initial_estimate(self._system.offset_ms, steady_ms(), None)
        self._offset_ms = self._estimate.offset_ms
        self._looked_ms = steady_ms()
        self._of_database = False
        self._jumps = 0

    def now_ms(self) -> int:
        """Return the accepted time in milliseconds since 1970."""
        return self.steady_ms() + self._offset_ms

    def safe_past_ms(self) -> int:
        """Return the latest instant that is past whatever a doubted clock turns out to be.

        Data that expired before it may be deleted.
        """
        sure = min(self._estimate.safe_offset_ms, self._system.offset_ms)
        # After a long sleep only the next check determines it.
        return min(self.steady_ms(), self._looked_ms + OFF_MS) + sure

    def begin(self, database: ClockReading | None, ledger_ms: int | None) -> bool:
        """Start with the database's clock, if there is one, and the ledger's latest instant.

        Returns True if the clock is behind the ledger.
        """
        self._system = take_reading(self.steady_ms, self._system_ms)
        self._of_database = database is not None
        steady = self._looked_ms = self.steady_ms()
        known = None if ledger_ms is None else ledger_ms - steady
        self._set_estimate(initial_estimate((database or self._system).offset_ms, steady, known))
        if self._estimate.ledger_ms is not None:
            behind_seconds = self.state().ledger_ahead_ms // 1000
            _log().warning("clock.doubted", behind_books_seconds=behind_seconds)
        return self._estimate.behind_ledger

    def look(self, database: ClockReading | None) -> bool:
        """Update the estimate by a new reading. Return whether the estimated time went back.

        `database`: a reading of the database's clock; None: there is none, or it cannot be read.
        """
        self._system = take_reading(self.steady_ms, self._system_ms)
        reading = database if self._of_database else self._system
        if reading is None:
            return False
        steady, looked_ms = self.steady_ms(), self._looked_ms
        self._looked_ms = steady
        before = after_gap(self._estimate, steady - looked_ms, steady)
        self._set_estimate(update(before, reading, steady))
        after = self._estimate
        if after.jump is not None and after.jump != before.jump:
            self._jumps += 1
            _log().error("clock.jumped", seconds=(after.jump.offset_ms - after.offset_ms) // 1000)
        changed = after.offset_ms - before.offset_ms
        if abs(changed) > SMALL_MS:
            _log().warning("clock.believed", seconds=changed // 1000)
        elif after.jump is None and before.jump is not None:
            _log().info("clock.undone")
        return changed < -SMALL_MS

    def state(self) -> ClockState:
        """Return the clock's state as of its last reading."""
        believed, jump, books = self._offset_ms, self._estimate.jump, self._estimate.ledger_ms
        return ClockState(
            self._of_database,
            self._system.offset_ms - believed,
            0 if jump is None else jump.offset_ms - believed,
            0 if books is None else books - believed,
            self._jumps,
        )

    def _set_estimate(self, estimate: ClockEstimate) -> None:
        self._estimate = estimate
        self._offset_ms = estimate.offset_ms
