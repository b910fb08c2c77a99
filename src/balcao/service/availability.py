"""Counts of requests to sources, written once a minute (ADR 0058)."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from balcao.core.availability import SourceCounts, begins_ms
from balcao.core.errors import StorageFailed
from balcao.core.questions import Mode
from balcao.observability.health import SUCCESSES
from balcao.service.jobs.periodic import Periodic, warn_on_storage_failure
from balcao.sources.upstream import SourceCall
from balcao.storage.desk.desk import Desk

WRITE_EVERY_SECONDS = 60.0
PAUSE_SECONDS = 0.05
# For an hour of all lines while the database is unavailable. More are not counted.
WAITING_MAX = 30_000

_Line: TypeAlias = tuple[Mode, int, str, str, str]


class AvailabilityCounts:
    """Counts requests to sources. Used on the event loop's thread only."""

    def __init__(self, desk: Desk, now_ms: Callable[[], int]) -> None:
        self._desk = desk
        self._now_ms = now_ms
        # Asked, answered, rejected by the circuit.
        self._counts: dict[_Line, list[int]] = {}
        self._writing: asyncio.Task[None] | None = None

    def note(self, mode: Mode, call: SourceCall, at_ms: int) -> None:
        """Count a call of a source, or its rejection. Microseconds, no I/O.

        Calls abandoned by their caller before they were sent are not counted.
        """
        if not call.counts and call.outcome != "unavailable":
            return
        minute = begins_ms("minute", at_ms)
        line = (mode, minute, call.subject, call.uf, call.source)
        counts = self._counts.get(line)
        if counts is None:
            if len(self._counts) >= WAITING_MAX:
                return
            counts = self._counts[line] = [0, 0, 0]
        times = len(call.durations)
        if call.counts:
            counts[0] += times
            counts[1] += times * (call.outcome in SUCCESSES)
        else:
            counts[2] += times

    def periodic(self) -> Periodic:
        failed = warn_on_storage_failure("availability.failed")
        return Periodic(
            "availability", self.write_and_follow, WRITE_EVERY_SECONDS, WRITE_EVERY_SECONDS, failed
        )

    async def write_and_follow(self) -> float | None:
        """Write the counts, and derive incidents from the minutes that are over.

        Returns a short pause if there are more minutes. Raises `StorageFailed`.
        """
        await self.write()
        now_ms = self._now_ms()
        more = [await self._desk.availability.follow(mode, now_ms) for mode in ("live", "test")]
        return PAUSE_SECONDS if any(more) else None

    async def write(self) -> None:
        """Write the counts. Raises `StorageFailed`; then they are kept for the next time.

        Cancelling the caller does not cancel the writing.
        """
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        await asyncio.shield(self._writing)

    async def write_last(self) -> None:
        """Write the last minute at the end of the process; lost if the storage fails."""
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
