"""Periodic backups, in a thread."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import apsw
import structlog

from balcao.backup.making import make
from balcao.core.calendar import HOUR_MS
from balcao.core.errors import BalcaoError
from balcao.settings import Settings
from balcao.storage.backup_files import newest_ms, remove_old
from balcao.storage.contract import TaskLock
from balcao.storage.places import place_of
from balcao.storage.transfer.errors import BackupError, BackupStopped

log = structlog.get_logger()

# Not during the start; and checked often, since backups made by hand count.
FIRST_SECONDS = 60.0
POLL_SECONDS_MAX = 3600


@dataclass(slots=True)
class BackupSchedule:
    """Backups at a fixed interval. `on_newest` receives the instant of the newest one, in ms."""

    settings: Settings
    now_ms: Callable[[], int]
    on_newest: Callable[[int], None]
    _end: threading.Event = field(default_factory=threading.Event)
    _maker: TaskLock | None = None
    _running: bool = False

    @property
    def enabled(self) -> bool:
        return self.settings.backup_every_hours > 0

    async def run(self) -> float:
        """Run `make_if_due` in a thread. Call `stop` after the last one."""
        await self._report_newest()
        wait = await asyncio.to_thread(self.make_if_due)
        await self._report_newest()
        return wait

    async def _report_newest(self) -> None:
        newest = await asyncio.to_thread(newest_ms, self.settings.backups)
        if newest is not None:
            self.on_newest(newest)

    def stop(self) -> None:
        """Abort a running backup, which leaves no file."""
        self._end.set()
        if not self._running:
            self._release()

    def make_if_due(self) -> float:
        """Make a backup if it is due. Returns the seconds until the next check.

        Raises `BackupError`, `BalcaoError`, `apsw.Error`, `OSError`: see `on_failure`.
        """
        self._running = True
        try:
            due_ms = self._due_in_ms()
            if due_ms > 0:
                return min(max(1.0, due_ms / 1000), POLL_SECONDS_MAX)
            if not self._makes_backups():
                return POLL_SECONDS_MAX
            made = make(self.settings, self.now_ms, stopped=self._end.is_set)
            removed = remove_old(self.settings.backups, self.settings.backup_keep)
            log.info("backup.made", file=made.path.name, bytes=made.bytes, removed=removed)
            if made.manifest.receipts_missing:
                log.warning("backup.receipts_missing", count=made.manifest.receipts_missing)
            return min(self._every_ms() / 1000, POLL_SECONDS_MAX)
        except BackupStopped:
            return POLL_SECONDS_MAX
        finally:
            self._running = False
            if self._end.is_set():
                self._release()

    def on_failure(self, error: Exception) -> bool:
        """Log why a backup failed; False: the error is a bug."""
        known = isinstance(error, BackupError | BalcaoError | apsw.Error | OSError)
        if known:  # texts of SQLite and the system contain no data
            log.error("backup.failed", error=type(error).__name__, detail=str(error))
        return known

    def _release(self) -> None:
        if self._maker is not None:
            self._maker.close()

    def _every_ms(self) -> int:
        return self.settings.backup_every_hours * HOUR_MS

    def _due_in_ms(self) -> int:
        newest = newest_ms(self.settings.backups)
        now = self.now_ms()
        # A backup from the future comes from a wrong clock and proves nothing.
        return 0 if newest is None or newest > now + HOUR_MS else newest + self._every_ms() - now

    def _makes_backups(self) -> bool:
        """Return whether this process makes backups: with several nodes only one does."""
        if self._maker is None:
            self._maker = place_of(self.settings).backup_lock()
        return self._maker.try_acquire()
