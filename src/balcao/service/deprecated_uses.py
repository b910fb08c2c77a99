"""Counts of requests that used deprecated features, written once a minute (ADR 0104)."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from balcao.core.access import Caller
from balcao.core.calendar import civil_day_text
from balcao.core.deprecations import DeprecatedFeature, DeprecatedUse
from balcao.core.errors import StorageFailed
from balcao.service.jobs.periodic import Periodic, warn_on_storage_failure
from balcao.storage.desk.desk import Desk

WRITE_EVERY_SECONDS = 60.0
# For every key of a large service while the database is unavailable. More are not counted.
WAITING_MAX = 30_000

_Line: TypeAlias = tuple[int, str, int, str]


class DeprecatedUseCounts:
    """Counts uses by key and day. Used on the event loop's thread only."""

    def __init__(
        self, desk: Desk, now_ms: Callable[[], int], observe: Callable[[str], None]
    ) -> None:
        self._desk = desk
        self._now_ms = now_ms
        self._observe = observe
        self._counts: dict[_Line, int] = {}
        self._writing = asyncio.Lock()

    def note(self, caller: Caller, feature: DeprecatedFeature) -> None:
        """Count a request. Microseconds, no I/O."""
        self._observe(feature.code)
        if caller.key_id is None:
            return
        day = civil_day_text(self._now_ms())
        line = (caller.account_id, feature.code, caller.key_id, day)
        if line in self._counts or len(self._counts) < WAITING_MAX:
            self._counts[line] = self._counts.get(line, 0) + 1

    def periodic(self) -> Periodic:
        """Return the task that writes the counts."""
        failed = warn_on_storage_failure("deprecated_uses.failed")
        return Periodic(
            "deprecated_uses", self.write, WRITE_EVERY_SECONDS, WRITE_EVERY_SECONDS, failed
        )

    async def write(self) -> None:
        """Write the counts. Raises `StorageFailed`; then they are kept for the next time.

        Cancelling the caller does not cancel the writing.
        """
        await asyncio.shield(asyncio.create_task(self._write()))

    async def write_last(self) -> None:
        """Write the last minute at the end of the process; lost if the storage fails."""
        with suppress(StorageFailed):
            await self._write()

    async def _write(self) -> None:
        async with self._writing:
            taken, self._counts = self._counts, {}
            try:
                await self._desk.deprecated_uses.add(
                    [DeprecatedUse(*line, count) for line, count in taken.items()]
                )
            except StorageFailed:
                for line, count in taken.items():
                    self._counts[line] = self._counts.get(line, 0) + count
                raise
