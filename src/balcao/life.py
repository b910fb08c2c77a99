"""What runs beside the requests: recovery at start, purging now and then, a graceful end."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx2
import structlog

from balcao import receipt_keeping
from balcao.backup.schedule import Schedule
from balcao.clock import system_now_ms
from balcao.core.calendar import HOUR_MS
from balcao.core.freshness import DAY_MS
from balcao.errors import StorageFailed
from balcao.observability.requests import RequestLog
from balcao.parts import Parts
from balcao.storage.contract import Blobs, Desk

log = structlog.get_logger()

PURGE_EVERY_SECONDS = 600.0
PURGE_PAUSE_SECONDS = 0.05
RECEIPTS_AT_ONCE = 100

# Holds of other nodes that died are given back after this long, or twice that.
RECOVER_EVERY_SECONDS = 10.0

# Bytes that a crash left without a record; the record comes within seconds of the bytes.
ORPHANS_EVERY_SECONDS = 86_400.0
ORPHAN_MS = 3_600_000


@dataclass(slots=True)
class Life:
    """What runs beside the requests, from the first event-loop turn to the last."""

    parts: Parts
    desk: Desk
    blobs: Blobs
    clients: Sequence[httpx2.AsyncClient]
    request_log: RequestLog
    backups: Schedule
    patience_seconds: float
    receipt_days: int
    trace_days: int
    session_hours: int
    tasks: "list[asyncio.Task[None]]" = field(default_factory=list)

    async def start(self) -> None:
        """Give back what dead processes held, then purge now and then."""
        given_back = self.desk.recover(system_now_ms())
        if given_back:
            log.warning("holds.given_back", holds=given_back)
        self.tasks = [
            asyncio.create_task(self._purge()),
            asyncio.create_task(self._recover_others()),
            asyncio.create_task(self._remove_orphans()),
            asyncio.create_task(self.backups.run()),
        ]

    async def stop(self) -> None:
        """Let lookups under way settle, then close the connections to the sources."""
        self.backups.stop()
        for task in self.tasks:
            task.cancel()
        if self.parts.running:
            await asyncio.wait(self.parts.running, timeout=self.patience_seconds)
        if self.parts.noting:
            await asyncio.wait(self.parts.noting, timeout=1)
        for task in self.parts.giving_back:  # the next start gives those holds back
            task.cancel()
        for world in self.parts.worlds.values():
            await world.sources.close()
        for client in self.clients:
            await client.aclose()
        self.request_log.flush()

    async def _purge(self) -> None:
        while True:
            try:
                now = system_now_ms()
                purged = await self.desk.purge(now)
                purged += await self.desk.people.purge_people(
                    now, now - self.trace_days * DAY_MS, now - self.session_hours * HOUR_MS
                )
                oldest_ms = now - self.receipt_days * DAY_MS
                purged += await receipt_keeping.purge(
                    self.desk, self.blobs, oldest_ms, RECEIPTS_AT_ONCE
                )
            except StorageFailed as error:  # the disk may have room again later
                log.warning("purge.failed", detail=error.detail)
                purged = 0
            # A long backlog goes in short strokes, so that lookups slip in between.
            await asyncio.sleep(PURGE_PAUSE_SECONDS if purged else PURGE_EVERY_SECONDS)

    async def _recover_others(self) -> None:
        """Give back what other nodes hold that died; where there can be none, this does nothing."""
        while True:
            await asyncio.sleep(RECOVER_EVERY_SECONDS)
            try:
                given_back = await self.desk.recover_others(system_now_ms())
            except StorageFailed as error:  # the next time, then
                log.warning("recovery.failed", detail=error.detail)
                continue
            if given_back:
                log.warning("holds.given_back", holds=given_back)

    async def _remove_orphans(self) -> None:
        """Once a day, and not in the hurry of a start."""
        while True:
            await asyncio.sleep(ORPHANS_EVERY_SECONDS)
            before_ms = system_now_ms() - ORPHAN_MS
            try:
                async for names in receipt_keeping.orphans(self.desk, self.blobs, before_ms):
                    for name in names:
                        await self.blobs.delete(name)
            except StorageFailed as error:
                log.warning("purge.failed", detail=error.detail)
