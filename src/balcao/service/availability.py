"""What sources were asked, counted as it happens and written once a minute (ADR 0058)."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from balcao.core.availability import SourceCounts, begins_ms
from balcao.core.errors import StorageFailed
from balcao.core.questions import Mode
from balcao.observability.health import SUCCESSES
from balcao.service.jobs.periodic import Periodic, warning
from balcao.sources.upstream import SourceCall
from balcao.storage.desk.desk import Desk

WRITE_EVERY_SECONDS = 60.0
PAUSE_SECONDS = 0.05
# While the database is away: an hour of every line there is. What comes then is not counted.
WAITING_MAX = 30_000

_Line: TypeAlias = tuple[Mode, int, str, str, str]


class AvailabilityCounts:
    """Counts conversations with sources. Used on the event loop's thread only."""

    def __init__(self, desk: Desk, now_ms: Callable[[], int]) -> None:
        self._desk = desk
        self._now_ms = now_ms
        # Asked, answered, turned away.
        self._counts: dict[_Line, list[int]] = {}
        self._writing: asyncio.Task[None] | None = None

    def note(self, mode: Mode, call: SourceCall, at_ms: int) -> None:
        """Count one conversation, or that it came to none, at an instant. Microseconds, no I/O.

        Of who gave up waiting nothing is known.
        """
        if not call.asked and call.outcome != "unavailable":
            return
        minute = begins_ms("minute", at_ms)
        line = (mode, minute, call.subject, call.uf, call.source)
        counts = self._counts.get(line)
        if counts is None:
            if len(self._counts) >= WAITING_MAX:
                return
            counts = self._counts[line] = [0, 0, 0]
        times = len(call.each_seconds)
        if call.asked:
            counts[0] += times
            counts[1] += times * (call.outcome in SUCCESSES)
        else:
            counts[2] += times

    def work(self) -> Periodic:
        """What is done once a minute."""
        failed = warning("availability.failed")
        return Periodic(
            "availability", self.stroke, WRITE_EVERY_SECONDS, WRITE_EVERY_SECONDS, failed
        )

    async def stroke(self) -> float | None:
        """Write what was counted, and make incidents of minutes that are over.

        The next one soon if there is more to be followed. Raises `StorageFailed`.
        """
        await self.write()
        now_ms = self._now_ms()
        more = [await self._desk.availability.follow(mode, now_ms) for mode in ("live", "test")]
        return PAUSE_SECONDS if any(more) else None

    async def write(self) -> None:
        """Write what was counted so far. Raises `StorageFailed`; then it is kept for the next time.

        Who is cut short while it waits does not cut the writing short.
        """
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await asyncio.shield(self._writing)

    async def write_last(self) -> None:
        """The last minute, at the end of the process. What cannot be written is lost."""
        with suppress(StorageFailed):
            if self._writing is not None:
                await self._writing
            await self.write()

    async def _write(self) -> None:
        try:
            for mode in ("live", "test"):
                await self._write_mode(mode)
        finally:
            self._writing = None

    async def _write_mode(self, mode: Mode) -> None:
        taken = {line: counts for line, counts in self._counts.items() if line[0] == mode}
        for line in taken:
            del self._counts[line]
        rows = [SourceCounts(*line[1:], *counts) for line, counts in taken.items()]
        try:
            await self._desk.availability.add(mode, rows)
        except StorageFailed:
            for line, counts in taken.items():
                known = self._counts.setdefault(line, [0, 0, 0])
                known[:] = [one + other for one, other in zip(known, counts, strict=True)]
            raise
